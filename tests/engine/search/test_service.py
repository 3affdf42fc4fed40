"""Searches while tables change under them."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from threading import Event, Thread

import pytest

from dragoman.engine.core.answer import LEFT_OUT
from dragoman.engine.core.errors import NotFound, Unavailable
from dragoman.engine.search.request import SearchQuery
from dragoman.engine.settings import Settings
from dragoman.service.runtime import Runtime
from dragoman.store.tables.service import Upload
from tests.support.searching import add, running

pytestmark = pytest.mark.slow

VERSIONS = 6


@pytest.fixture
def runtime(settings: Settings) -> Iterator[Runtime]:
    with running(settings) as opened:
        opened.collections.create("de", "de")
        words = ["Haus", "Heim", "Hütte"]
        add(opened, "de", *({"id": f"{word}{n}", "text": f"{word} am See {n}"} for word in words for n in range(5)))
        yield opened


def put(runtime: Runtime, content: str, name: str = "words", activate: bool = True) -> int:
    return runtime.tables.upload(Upload(name, "en", "de", activate=activate), iter([content.encode()])).version


def probability(version: int, name: str = "words") -> float:
    """What version ``version`` says of P(house | Haus): every version of every table says something else."""
    return round(0.1 * version + (0.05 if name == "more" else 0.0), 4)


def test_an_answer_rests_on_one_version_while_others_are_activated(runtime: Runtime) -> None:
    for version in range(1, VERSIONS + 1):
        content = f"house\tHaus\t1.0\t{probability(version)}\nlake\tSee\t1.0\t{probability(version)}\n"
        put(runtime, content, activate=version == 1)
    stop = Event()
    faults: list[str] = []
    seen: set[int] = set()

    def activate() -> None:
        noise = random.Random(1)
        while not stop.is_set():
            runtime.tables.activate("words", noise.randint(1, VERSIONS))

    def searching(seed: int) -> None:
        noise = random.Random(seed)
        try:
            for _ in range(120):
                fault = _inconsistent(runtime, noise.choice(["house", "house lake", "lake house house"]), seen)
                if fault:
                    faults.append(fault)
        except Exception as fault:
            faults.append(repr(fault))

    changer = Thread(target=activate)
    searchers = [Thread(target=searching, args=(seed,)) for seed in range(4)]
    for thread in [changer, *searchers]:
        thread.start()
    for thread in searchers:
        thread.join()
    stop.set()
    changer.join()
    assert faults == []
    assert len(seen) > 1, "no activation happened while searches ran"


def _inconsistent(runtime: Runtime, query: str, seen: set[int]) -> str | None:
    """What in the answer disagrees with the one version that it names."""
    request = SearchQuery(query=query, query_language="en", collections=["de"], top_k=20, explain=True)
    answer = runtime.search.search(request, "x")
    ((name, version),) = [(table.name, table.version) for table in answer.translation.tables]
    seen.add(version)
    expected = probability(version)
    for hit in answer.hits:
        assert hit.contributions is not LEFT_OUT
        for one in hit.highlights:
            if (one.table, one.version) != (name, version) or not math.isclose(one.probability, expected, rel_tol=1e-5):
                return f"version {version} ({expected}): {one}"
        for part in hit.contributions:
            if part.tf and not math.isclose(part.tf, expected, rel_tol=1e-5):
                return f"version {version} ({expected}): {part}"
        total = math.fsum(part.score for part in hit.contributions)
        if not math.isclose(total, hit.scores.first_stage, rel_tol=1e-4):
            return f"contributions add up to {total}, not to {hit.scores.first_stage}"
    return None


def test_the_next_search_sees_what_was_activated(runtime: Runtime) -> None:
    put(runtime, "house\tHaus\n")
    put(runtime, "house\tHeim\n")
    for version, word in [(1, "Haus"), (2, "Heim"), (1, "Haus")]:
        runtime.tables.activate("words", version)
        answer = runtime.search.search(SearchQuery(query="house", query_language="en"), "x")
        assert {hit.id[:-1] for hit in answer.hits} == {word}
        assert [(used.name, used.version) for used in answer.translation.tables] == [("words", version)]
    runtime.tables.deactivate("words")
    answer = runtime.search.search(SearchQuery(query="house", query_language="en"), "x")
    assert answer.hits == []
    assert [one.stage for one in answer.degraded] == ["translate"]


def test_a_search_that_began_before_a_version_was_deleted_ends_with_it(runtime: Runtime) -> None:
    put(runtime, "house\tHaus\n")
    before = runtime.tables.registry.snapshot
    put(runtime, "house\tHeim\n")
    runtime.tables.delete("words", 1)
    put(runtime, "house\tHütte\n")
    view = before.views["en", "de"]
    assert [entry.term for entry in view.surface.translations("house")] == ["haus"]
    assert [entry.term for entry in view.analysed.translations("hous")] == ["haus"]


def test_one_collection_that_cannot_be_searched_is_told_and_the_others_searched(
    runtime: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    runtime.collections.create("ill", "de")
    add(runtime, "ill", {"id": "x", "text": "Haus"})
    put(runtime, "house\tHaus\n")
    ill = runtime.collections.get("ill").key
    of = runtime.indexes.of

    def failing(key: int):  # type: ignore[no-untyped-def]
        if key == ill:
            raise Unavailable("the index is building, so the collection cannot be searched yet")
        return of(key)

    monkeypatch.setattr(runtime.indexes, "of", failing)
    answer = runtime.search.search(SearchQuery(query="house", query_language="en"), "x")
    assert {hit.collection for hit in answer.hits} == {"de"}
    assert [(one.stage, "ill" in one.reason) for one in answer.degraded] == [("first_stage", True)]
    with pytest.raises(Unavailable):
        runtime.search.search(SearchQuery(query="house", query_language="en", collections=["ill"]), "x")


def test_a_restricted_selection_is_compiled_once_and_forgotten_with_its_tables(runtime: Runtime) -> None:
    for name, word in [("a", "Haus"), ("b", "Heim"), ("c", "Hütte")]:
        put(runtime, f"house\t{word}\n", name=name)
    request = SearchQuery(query="house", query_language="en", tables=["a", "c"])
    registry = runtime.tables.registry
    first = registry.select(registry.snapshot, ["a", "c"], "en", ["de"]).views["en", "de"]
    answer = runtime.search.search(request, "x")
    assert {hit.id[:-1] for hit in answer.hits} == {"Haus", "Hütte"}
    again = registry.select(registry.snapshot, ["c", "a"], "en", ["de"]).views["en", "de"]
    assert again.surface.by_source is first.surface.by_source
    runtime.tables.deactivate("c")
    with pytest.raises(NotFound, match=r"tables\[1\]"):
        runtime.search.search(request, "x")
    assert not list((runtime.settings.store.tables_dir / "selected").iterdir())
