"""The scores of translated queries against BM25 written out from its formulas."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.indexes import BM25, Hit, IndexedDocument, LuceneIndex, Ranking
from dragoman.lexicon.query import Alternative, Method, TermGroup, TranslatedQuery
from dragoman.lexicon.text.tokens import AGAIN, PlainAnalysis
from tests.indexes.bm25_reference import Reference, kept_length

pytestmark = pytest.mark.slow

VOCABULARY = ["haus", "hof", "garten", "zaun", "дом", "дом", "двор", "家", "𠮷", "o'neill", "a", "1984"]
REPEATED = [AGAIN + "haus", AGAIN + "дом", AGAIN + "nirgends"]
MISSING = ["nirgends", "niemals", "not one term", "", "\ue001", "x\ue002y", "\ue003"]
ANALYSES = {"xx": PlainAnalysis("de")}

documents = st.lists(
    st.one_of(
        st.lists(st.sampled_from(VOCABULARY), max_size=12),
        st.tuples(st.lists(st.sampled_from(VOCABULARY), min_size=1, max_size=5), st.integers(1, 60)).map(
            lambda pair: pair[0] * pair[1]
        ),
    ),
    min_size=1,
    max_size=12,
)
weights = st.one_of(st.floats(0.001, 1.0), st.just(1.0))
alternatives = st.lists(
    st.builds(Alternative, st.sampled_from(VOCABULARY + MISSING + REPEATED), weights, st.just(0)),
    min_size=1,
    max_size=8,
)
groups = st.lists(
    st.builds(
        TermGroup,
        st.just("q"),
        st.just("q"),
        st.just(0),
        st.just(1),
        alternatives,
        st.sampled_from([1.0, 2.0, 0.3]),
    ),
    max_size=4,
)
parameters = st.builds(BM25, st.sampled_from([0.9, 0.0, 1.2, 4.0]), st.sampled_from([0.4, 0.0, 0.75, 1.0]))


def same_scores(hits: list[Hit], expected: dict[int, float], attainable: float) -> None:
    assert {hit.key for hit in hits} == set(expected)
    for hit in hits:
        assert hit.score == pytest.approx(expected[hit.key], rel=1e-5, abs=5e-7 * attainable)
    assert hits == sorted(hits, key=lambda hit: (-hit.score, hit.key))


@settings(max_examples=60, deadline=None)
@given(documents, st.lists(groups, min_size=1, max_size=4), parameters)
def test_scores_are_those_of_the_formulas(texts: list[list[str]], queries: list[list[TermGroup]], bm25: BM25) -> None:
    with tempfile.TemporaryDirectory() as directory, LuceneIndex(Path(directory)) as index:
        add(index, {100 - i: text for i, text in enumerate(texts)})
        index.refresh()
        check_scores(index, {100 - i: text for i, text in enumerate(texts)}, queries, bm25)


changes = st.lists(
    st.tuples(st.dictionaries(st.integers(0, 9), documents.map(lambda texts: texts[0])), st.sets(st.integers(0, 9))),
    min_size=1,
    max_size=6,
)


@settings(max_examples=60, deadline=None)
@given(changes, st.lists(groups, min_size=1, max_size=2), parameters)
def test_only_live_documents_count_after_any_changes(
    changes: list[tuple[dict[int, list[str]], set[int]]], queries: list[list[TermGroup]], bm25: BM25
) -> None:
    """Inserts, replacements and deletions, each refresh with a segment of its own."""
    live: dict[int, list[str]] = {}
    with tempfile.TemporaryDirectory() as directory, LuceneIndex(Path(directory)) as index:
        for added, deleted in changes:
            add(index, added)
            index.delete(deleted)
            index.refresh()
            live = {key: text for key, text in (live | added).items() if key not in deleted}
            check_scores(index, live, queries, bm25)
            assert index.document_count() == len(live)


def add(index: LuceneIndex, texts: dict[int, list[str]]) -> None:
    index.add([IndexedDocument(key, "xx", " ".join(text)) for key, text in texts.items()], ANALYSES)


def check_scores(index: LuceneIndex, texts: dict[int, list[str]], queries: list[list[TermGroup]], bm25: BM25) -> None:
    reference = Reference(list(texts.values()), bm25)
    keys = list(texts)
    methods: tuple[Method, ...] = ("psq", "smt", "none")
    for query in [TranslatedQuery(method, groups) for groups in queries for method in methods]:
        ranking, statistics = index.rank_with_statistics(query, "xx", 1000, bm25)
        expected = {keys[place]: score for place, score in reference.scores(query).items()}
        same_scores(ranking.hits, expected, ranking.attainable)
        assert ranking.attainable == pytest.approx(reference.attainable(query), rel=1e-6, abs=1e-9)
        assert all(hit.score <= ranking.attainable * (1 + 1e-5) for hit in ranking.hits)
        assert index.search(query, "xx", 3, bm25) == ranking.hits[:3]
        terms = {a.term for group in query.groups for a in group.alternatives}
        assert statistics.frequencies == {term: reference.df(term) for term in terms}
        assert statistics.documents == reference.count
        assert statistics.average_length == pytest.approx(reference.average)
        check_parts(index, query, bm25, ranking)
    assert index.document_frequencies("xx", VOCABULARY + MISSING) == {
        term: reference.df(term) for term in VOCABULARY + MISSING
    }
    assert index.document_count("xx") == reference.count


def check_parts(index: LuceneIndex, query: TranslatedQuery, bm25: BM25, ranking: Ranking) -> None:
    """The scores by group add up to those of the ranking; documents that are not there have none."""
    keys = [7_000, *(hit.key for hit in ranking.hits), 1_000]
    parts = index.parts(query, "xx", keys, bm25)
    weights = np.array([group.weight for group in query.groups])
    assert parts.attainable @ weights == pytest.approx(ranking.attainable, rel=1e-6, abs=1e-9)
    expected = [0.0, *(hit.score for hit in ranking.hits), 0.0]
    np.testing.assert_allclose(parts.scores @ weights, expected, rtol=1e-5, atol=5e-7 * ranking.attainable)
    assert parts.totals.tolist() == expected
    assert not index.parts(query, "yy", keys, bm25).scores.any()
    assert index.parts(query, "xx", [], bm25).scores.shape == (0, len(query.groups))


def test_the_reference_rounds_lengths_as_lucene_does() -> None:
    assert [kept_length(n) for n in (0, 1, 24, 39, 40, 41, 42, 43, 56, 59, 60)] == [
        0, 1, 24, 39, 40, 40, 42, 42, 56, 56, 60
    ]  # fmt: skip
    assert all(kept_length(n) <= n < kept_length(n) * 1.125 for n in range(1, 20_000))


def test_thousands_of_alternatives_in_one_group(tmp_path: Path) -> None:
    vocabulary = [f"wort{i:06d}" + "x" * 200 for i in range(6000)]
    group = TermGroup("q", "q", 0, 1, [Alternative(term, 0.5, 0) for term in vocabulary])
    with LuceneIndex(tmp_path) as index:
        texts = [vocabulary[i::40] for i in range(40)]
        index.add([IndexedDocument(i, "xx", " ".join(text)) for i, text in enumerate(texts)], ANALYSES)
        index.refresh()
        queries = [TranslatedQuery("psq", [group]), TranslatedQuery("smt", [group])]
        single = [TermGroup("q", term, 0, 1, [Alternative(term, 1.0, 0)]) for term in vocabulary]
        reference = Reference(texts, BM25())
        for query in [*queries, TranslatedQuery("none", single)]:
            ranking = index.rank(query, "xx", 100)
            same_scores(ranking.hits, reference.scores(query), ranking.attainable)
