"""Tables that a request chooses by version: active or not, deleted meanwhile, or not there."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.engine.core.errors import InvalidRequest, NotFound
from dragoman.engine.search.request import SearchQuery
from dragoman.engine.search.response import SearchResponse
from dragoman.engine.settings import Settings
from dragoman.engine.tables.choices import parse_choices, versions_named
from dragoman.engine.tables.snapshot import Snapshot
from dragoman.service.runtime import Runtime
from dragoman.store.tables.service import Upload
from tests.support.searching import add, running

TABLE_NAMES = st.from_regex(r"[a-z0-9][a-z0-9_.-]{0,5}", fullmatch=True)
CHOICES = st.dictionaries(TABLE_NAMES, st.none() | st.integers(1, 2**31), max_size=5)


@given(CHOICES)
def test_what_is_written_is_what_is_read(choices: dict[str, int | None]) -> None:
    written = [name if version is None else f"{name}@{version}" for name, version in choices.items()]
    assert parse_choices([*written, *written]) == [*choices.items(), *choices.items()]
    assert versions_named(written) == {choice for choice in choices.items() if choice[1] is not None}


@given(st.text("ab@0123456789 ١", max_size=6))
def test_any_text_is_a_choice_or_refused_with_its_place(text: str) -> None:
    try:
        (_, (name, version)) = parse_choices(["first", text])
    except InvalidRequest as fault:
        assert str(fault).startswith("tables[1]: ")
        assert versions_named([text]) == set()
    else:
        assert text == (name if version is None else f"{name}@{version}")


@pytest.fixture
def runtime(settings: Settings) -> Iterator[Runtime]:
    """A table with an active version and a newer one, and one that was never active."""
    with running(settings) as opened:
        opened.collections.create("de", "de")
        add(opened, "de", {"id": "new", "text": "Der Feuerberg raucht."}, {"id": "old", "text": "Der Vulkan raucht."})
        put(opened, "words", "volcano\tVulkan\n", activate=True)
        put(opened, "words", "volcano\tFeuerberg\n")
        put(opened, "swahili", "volkano\tVulkan\nmoshi\tRauch\nmlima\tBerg\n", source="sw")
        yield opened


def put(runtime: Runtime, name: str, content: str, source: str = "en", activate: bool = False) -> None:
    runtime.tables.upload(Upload(name, source, "de", activate=activate), iter([content.encode()]))


def search(
    runtime: Runtime, tables: list[str] | None, query: str = "volcano", snapshot: Snapshot | None = None, **more: Any
) -> SearchResponse:
    request = SearchQuery(query=query, tables=tables, method="psq", rerank=False, gloss=True, **more)
    return runtime.search.search(request, "x", snapshot=snapshot)


def used(answer: SearchResponse) -> list[tuple[str, int]]:
    return [(table.name, table.version) for table in answer.translation.tables]


@pytest.mark.slow
def test_two_versions_of_a_table_can_be_compared(runtime: Runtime) -> None:
    found = {
        choice: (used(answer), [hit.id for hit in answer.hits], answer.hits[0].highlights[0].version)
        for choice in ("words", "words@1", "words@2")
        for answer in [search(runtime, [choice], query_language="en")]
    }
    assert found["words"] == found["words@1"] == ([("words", 1)], ["old"], 1)
    assert found["words@2"] == ([("words", 2)], ["new"], 2)


@pytest.mark.slow
def test_a_table_that_was_never_active_is_searched_and_detected_by(runtime: Runtime) -> None:
    answer = search(runtime, ["swahili@1", "words"], "moshi wa volkano mlima")
    assert answer.query.language == "sw"
    assert used(answer) == [("swahili", 1)]
    assert {hit.id for hit in answer.hits} == {"new", "old"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("tables", "error", "message"),
    [
        (["words", "words@3"], InvalidRequest, r"tables\[1\]: table 'words' is named before, with another version"),
        (["words@3"], NotFound, r"tables\[0\]: there is no version 3 of a table named 'words'"),
        (["words", "other@1"], NotFound, r"tables\[1\]: there is no version 1 of a table named 'other'"),
        (["words@x"], InvalidRequest, r"tables\[0\]: 'words@x' names no table"),
        (["swahili"], NotFound, r"tables\[0\]: there is no active table named 'swahili'"),
    ],
)
def test_what_is_not_there_is_named(runtime: Runtime, tables: list[str], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        search(runtime, tables)


@pytest.mark.slow
def test_a_version_that_is_deleted_meanwhile_breaks_no_answer_and_leaves_nothing(
    runtime: Runtime, settings: Settings
) -> None:
    registry, folder = runtime.tables.registry, settings.store.tables_dir / "selected"
    under_way = registry.include(registry.snapshot, ["words@2"])
    assert len(list(folder.iterdir())) == 2
    put(runtime, "more", "ash\tAsche\n", activate=True)  # another snapshot lets go of nothing that was named
    assert len(list(folder.iterdir())) == 2
    older = registry.include(registry.snapshot, ["swahili@1"])
    runtime.tables.delete("words", 2)
    assert [hit.id for hit in search(runtime, ["words@2"], query_language="en", snapshot=under_way).hits] == ["new"]
    with pytest.raises(NotFound, match="there is no version 2"):
        search(runtime, ["words@2"])
    runtime.tables.delete("swahili", 1)
    assert list(folder.iterdir()) == []
    assert search(runtime, ["swahili@1", "words"], "moshi volkano", snapshot=older).query.language == "sw"
    assert list(folder.iterdir()) == []
