"""Pages, facets, orders by fields and collapsed hits agree with the one list of all hits, in any number of parts."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as budget
from hypothesis import strategies as st

from dragoman.engine.core.errors import Gone, InvalidRequest
from dragoman.engine.search import late, search_ranking
from dragoman.engine.search.listing import page_ranking
from dragoman.engine.search.request import FacetField, RerankOptions, SearchQuery
from dragoman.engine.search.response import Hit, SearchResponse
from dragoman.engine.settings import Settings
from dragoman.indexes.dense.state_codec import StateCodec
from dragoman.service.runtime import Runtime
from dragoman.store.documents.patch import DocumentPatch
from tests.support.modelling import WIDTH, LinkScorer, UpperTranslator, WordEncoder, standing_in
from tests.support.searching import add, running

METHODS = ("psq", "smt", "none", "dense", "hybrid")
BY_WORDS = ("psq", "smt", "none")
WORDS = {"de": ["Vulkan", "Asche", "Hafen", "speit"], "sw": ["asche", "vulkan", "moto", "mlima"]}
GRID = np.linspace(-1, 1, 256, dtype=np.float32)[:, None]
NAMES = (f"c{number}" for number in itertools.count())

values = st.one_of(
    st.integers(-3, 3),
    st.sampled_from([0.5, 2.0, True, False, "x", "X", "ä", "2024-01-05", "2024-01-05T00:00:00+01:00"]),
)
fields = st.fixed_dictionaries(
    {}, optional={"year": values, "tags": st.lists(st.sampled_from(["a", "b", "c"]), max_size=3)}
)
documents = st.dictionaries(
    st.integers(0, 60),
    st.tuples(
        st.sampled_from(sorted(WORDS)), st.lists(st.sampled_from(range(4)), min_size=1, max_size=5), st.none() | fields
    ),
    min_size=1,
    max_size=40,
)


@pytest.fixture(scope="module")
def runtime(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runtime]:
    settings = Settings.load(data_dir=tmp_path_factory.mktemp("listing"), ner_tagger="off")
    encoder = WordEncoder()
    encoder.codec = StateCodec(np.tile(GRID, (WIDTH, 1, 1)), np.zeros(WIDTH), np.eye(WIDTH), layer=1)
    with (
        pytest.MonkeyPatch.context() as patch,
        standing_in(patch, encoder, UpperTranslator(), LinkScorer()),
        running(settings) as opened,
    ):
        yield opened


def ask(runtime: Runtime, collections: Sequence[str], method: str, **more: Any) -> SearchResponse:
    asked = {"query": "Vulkan Asche vulkan", "query_language": "de", "rerank": False} | more
    return runtime.search.search(SearchQuery(collections=collections, method=method, **asked), "r")


def plain(hit: Hit) -> tuple[Any, ...]:
    return hit.rank, hit.id, hit.collection, hit.score, hit.scores.first_stage, hit.relevance, hit.weak


def pages(runtime: Runtime, collections: Sequence[str], method: str, size: int, **more: Any) -> list[tuple[Any, ...]]:
    page = ask(runtime, collections, method, top_k=size, **more)
    hits = [plain(hit) for hit in page.hits]
    while page.next is not None:
        page = ask(runtime, collections, method, top_k=size, cursor=page.next, **more)
        hits += [plain(hit) for hit in page.hits]
    return hits


def by_offset(
    runtime: Runtime, collections: Sequence[str], method: str, size: int, total: int
) -> list[tuple[Any, ...]]:
    starts = range(0, total, size)
    return [plain(hit) for start in starts for hit in ask(runtime, collections, method, top_k=size, offset=start).hits]


def elements(metadata: dict[str, Any], field: str) -> list[Any]:
    value = metadata.get(field, [])
    return list({(type(one) is bool, one): one for one in (value if isinstance(value, list) else [value])}.values())


def sort_key(value: Any) -> tuple[Any, ...]:
    """Booleans, dates, numbers and texts, in this order."""
    if isinstance(value, bool):
        return 0, value
    if isinstance(value, str) and value.startswith("2024"):
        return 1, -1 if value.endswith("+01:00") else 0
    return (2, value) if isinstance(value, int | float) else (3, value)


def ordered(hits: Sequence[Hit], metadata: dict[tuple[str, str], dict[str, Any]], keys: dict[Any, int]) -> list[str]:
    """By `-year`, then `tags`, then score, then where they were stored."""
    listed = sorted(hits, key=lambda hit: keys[hit.collection, hit.id])
    listed.sort(key=lambda hit: -hit.score)
    for field, descending in (("tags", False), ("year", True)):
        of_field = {
            id(hit): [sort_key(one) for one in elements(metadata[hit.collection, hit.id], field)] for hit in listed
        }
        present = [hit for hit in listed if of_field[id(hit)]]
        choose = max if descending else min
        present.sort(key=lambda hit: choose(of_field[id(hit)]), reverse=descending)
        listed = present + [hit for hit in listed if not of_field[id(hit)]]
    return [hit.id for hit in listed]


def collapsed(hits: Sequence[Hit], metadata: dict[tuple[str, str], dict[str, Any]]) -> list[tuple[str, int]]:
    first: dict[Any, str] = {}
    counts: Counter[str] = Counter()
    listed: list[str] = []
    for hit in hits:
        found = [sort_key(one) for one in elements(metadata[hit.collection, hit.id], "tags")]
        if not found:
            listed.append(hit.id)
        elif min(found) in first:
            counts[first[min(found)]] += 1
        else:
            first[min(found)] = hit.id
            listed.append(hit.id)
    return [(id, counts[id]) for id in listed]


@budget(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(documents, st.sampled_from([1, 2, 3]), st.integers(1, 9))
def test_lists_agree_with_the_whole_one(
    runtime: Runtime, uploaded: dict[int, tuple[str, list[int], dict[str, Any] | None]], shards: int, size: int
) -> None:
    names = [next(NAMES), next(NAMES)]
    metadata: dict[tuple[str, str], dict[str, Any]] = {}
    for place, name in enumerate(names):
        runtime.collections.create(name, "de", shards=shards)
        own = {id: entry for id, entry in uploaded.items() if id % 2 == place}
        lines = [
            {"id": f"d{id}", "language": language, "text": " ".join(WORDS[language][word] for word in words)}
            | ({} if more is None else {"metadata": more})
            for id, (language, words, more) in own.items()
        ]
        if lines:
            add(runtime, name, *lines)
        metadata |= {(name, f"d{id}"): more or {} for id, (_, _, more) in own.items()}
    keys = {
        (name, document.id): document.key
        for name in names
        for document in runtime.collections.list_documents(name, 1000).documents
    }
    for method in METHODS:
        whole = ask(runtime, names, method, top_k=1000)
        assert (whole.total.value, whole.total.relation, whole.next) == (len(whole.hits), "eq", None)
        assert method in BY_WORDS or len(whole.hits) == len(metadata)
        expected = [plain(hit) for hit in whole.hits]
        assert pages(runtime, names, method, size) == expected
        assert by_offset(runtime, names, method, size, len(expected)) == expected
        assert {ask(runtime, names, method, top_k=top_k).found for top_k in (1, size)} == {whole.found}
        counted = ask(runtime, names, method, top_k=1, facets=[FacetField("year", 100), FacetField("tags", 1)])
        for field, facet_size in (("year", 100), ("tags", 1)):
            counts = Counter(
                sort_key(one) if isinstance(one, bool | int | float) else (4, one)
                for hit in whole.hits
                for one in elements(metadata[hit.collection, hit.id], field)
            )
            shown = [
                (sort_key(one.value) if isinstance(one.value, bool | int | float) else (4, one.value), one.count)
                for one in counted.facets[field]
            ]
            assert [count for _, count in shown] == sorted(counts.values(), reverse=True)[:facet_size]
            assert dict(shown).items() <= counts.items()
        order = ["-year", "tags", "_score"]
        in_order = ordered(whole.hits, metadata, keys)
        assert [hit.id for hit in ask(runtime, names, method, top_k=1000, sort=order).hits] == in_order
        assert [entry[1] for entry in pages(runtime, names, method, size, sort=order)] == in_order
        once = ask(runtime, names, method, top_k=1000, collapse="tags")
        assert [(hit.id, hit.collapsed) for hit in once.hits] == collapsed(whole.hits, metadata)
        assert [entry[1] for entry in pages(runtime, names, method, size, collapse="tags")] == [
            hit.id for hit in once.hits
        ]
    for name in names:
        runtime.collections.delete(name)


@pytest.fixture
def filled(runtime: Runtime) -> Iterator[str]:
    name = next(NAMES)
    runtime.collections.create(name, "de")
    add(runtime, name, *({"id": f"d{n}", "text": "Vulkan " * (1 + n % 5) + f"wort{n}"} for n in range(60)))
    yield name
    runtime.collections.delete(name)


@pytest.mark.parametrize("method", ["dense", "hybrid"])
def test_pages_of_more_documents_than_are_fused_at_once_agree(
    runtime: Runtime, filled: str, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search_ranking, "FUSION_DEPTH", 10)
    monkeypatch.setattr(search_ranking, "MOST_RANKED", 50)
    monkeypatch.setattr(search_ranking, "LATE_DEPTH", 5)
    monkeypatch.setattr(late, "DEPTH", 5)
    whole = ask(runtime, [filled], method, top_k=50)
    assert (whole.total.value, whole.total.relation) == (50, "gte")
    assert len(whole.hits) == 50
    firsts = [
        plain(hit) for start in range(0, 10, 5) for hit in ask(runtime, [filled], method, top_k=5, offset=start).hits
    ]
    assert firsts == [plain(hit) for hit in whole.hits[:10]]
    assert pages(runtime, [filled], method, 7)[:50] == [plain(hit) for hit in whole.hits]


def test_reranked_pages_agree(runtime: Runtime, filled: str) -> None:
    options = RerankOptions(depth=13)
    whole = ask(runtime, [filled], "psq", top_k=60, rerank=options)
    assert whole.rerank is not None
    assert pages(runtime, [filled], "psq", 8, rerank=options) == [plain(hit) for hit in whole.hits]


def test_a_cursor_is_of_one_search_and_one_state(runtime: Runtime, filled: str) -> None:
    cursor = ask(runtime, [filled], "none", top_k=3).next
    assert cursor is not None
    with pytest.raises(InvalidRequest, match=r"^cursor: is of another search"):
        ask(runtime, [filled], "none", top_k=3, cursor=cursor, query="Asche")
    with pytest.raises(InvalidRequest, match=r"^cursor: is none"):
        ask(runtime, [filled], "none", top_k=3, cursor=cursor[:-2] + ("AA" if cursor[-2:] != "AA" else "BB"))
    with pytest.raises(InvalidRequest, match=r"^offset: a cursor"):
        ask(runtime, [filled], "none", top_k=3, cursor=cursor, offset=3)
    assert [hit.rank for hit in ask(runtime, [filled], "none", top_k=2, cursor=cursor).hits] == [4, 5]
    runtime.collections.change_document(filled, "d1", DocumentPatch(metadata={"year": 1}))
    with pytest.raises(Gone):
        ask(runtime, [filled], "none", top_k=3, cursor=cursor)


@pytest.mark.parametrize(
    ("wish", "message"),
    [
        ({"sort": ["-_score"]}, r"^sort\[0\]: _score is best first"),
        ({"sort": ["year", "entities"]}, r"^sort\[1\]: "),
        ({"sort": ["$year"]}, r"^sort\[0\]: "),
        ({"facets": [FacetField("year"), FacetField("year")]}, r"^facets\[1\]: 'year' is there twice"),
        ({"collapse": "entities"}, "^collapse: "),
        ({"offset": 999, "top_k": 2}, "^offset: "),
        ({"sort": ["year"], "rerank": RerankOptions()}, "^rerank: "),
    ],
)
def test_wishes_that_cannot_be_fulfilled_name_the_field(
    runtime: Runtime, filled: str, wish: dict[str, Any], message: str
) -> None:
    with pytest.raises(InvalidRequest, match=message):
        ask(runtime, [filled], "psq", **wish)


@pytest.fixture
def told(runtime: Runtime) -> Iterator[str]:
    name = next(NAMES)
    runtime.collections.create(name, "de")
    deep = {"f": [{"k": ["x", "y"]}, {"k": "x"}], "year": 2019}
    texts = ("Vulkan", "Vulkan", "Vulkan Asche", "Vulkan")
    metadata = (deep, deep, {"year": 2020}, {"year": 2018})
    documents = [
        {"id": f"d{place}", "text": text, "metadata": more}
        for place, (text, more) in enumerate(zip(texts, metadata, strict=True))
    ]
    add(runtime, name, *documents)
    yield name
    runtime.collections.delete(name)


@pytest.mark.parametrize("method", METHODS)
def test_a_document_counts_once_for_a_value_at_several_places(runtime: Runtime, told: str, method: str) -> None:
    answer = ask(runtime, [told], method, facets=[FacetField("f.k")])
    assert answer.facets is not None
    assert {one.value: one.count for one in answer.facets["f.k"]} == {"x": 2, "y": 2}


@pytest.mark.parametrize("method", BY_WORDS)
def test_sorted_hits_have_their_scores(runtime: Runtime, told: str, method: str) -> None:
    scores = {hit.id: plain(hit)[3:] for hit in ask(runtime, [told], method).hits}
    by_year = ask(runtime, [told], method, sort=["year"])
    assert [hit.id for hit in by_year.hits] == ["d3", "d0", "d1", "d2"]
    assert {hit.id: plain(hit)[3:] for hit in by_year.hits} == scores
    assert [hit.id for hit in ask(runtime, [told], method, sort=["_score", "-year"]).hits] == ["d2", "d0", "d1", "d3"]
    request = SearchQuery(query="Vulkan", query_language="de", collections=[told], method="none", sort=["-year"])
    run = [line.score for line in runtime.search.run(request).lines]
    assert run == sorted(run, reverse=True) and len(set(run)) == 4


def test_a_page_that_other_documents_reached_meanwhile_is_gone(
    runtime: Runtime, filled: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    cursor = ask(runtime, [filled], "none", top_k=3).next
    rank = search_ranking.SearchRanking.rank

    def rank_late(self: Any, retrieval: Any, k: int) -> None:
        monkeypatch.undo()
        add(runtime, filled, {"id": "new", "text": "Vulkan"})
        rank(self, retrieval, k)

    monkeypatch.setattr(search_ranking.SearchRanking, "rank", rank_late)
    with pytest.raises(Gone):
        ask(runtime, [filled], "none", top_k=3, cursor=cursor)


def test_no_page_reaches_beyond_the_last_hit(runtime: Runtime, filled: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_ranking, "MOST_RANKED", 50)
    assert [len(ask(runtime, [filled], "none", top_k=30, offset=start).hits) for start in (0, 30)] == [30, 20]
