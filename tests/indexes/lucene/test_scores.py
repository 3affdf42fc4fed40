"""Lucene's scores of translated queries against BM25 written out from its formulas."""

from __future__ import annotations

import itertools
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.indexes import BM25, Hit, IndexedDocument, LuceneIndex, Ranking
from dragoman.lexicon.query import Alternative, Method, TermGroup, TranslatedQuery
from dragoman.lexicon.text.tokens import PlainAnalysis
from tests.indexes.bm25_reference import Reference, kept_length

pytestmark = pytest.mark.slow

VOCABULARY = ["haus", "hof", "garten", "zaun", "дом", "дом", "двор", "家", "𠮷", "o'neill", "a", "1984"]
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
    st.builds(Alternative, st.sampled_from(VOCABULARY + MISSING), weights, st.just(0)), min_size=1, max_size=8
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
    """Lucene computes each group as ``w - w / (1 + tf / norm)`` in 32 bits: the error is relative to w."""
    assert {hit.key for hit in hits} == set(expected)
    for hit in hits:
        assert hit.score == pytest.approx(expected[hit.key], rel=1e-5, abs=5e-7 * attainable)
    assert hits == sorted(hits, key=lambda hit: (-hit.score, hit.key))


@pytest.mark.parametrize(("in_memory", "dense"), [(2_000_000, 4_096), (2_000_000, 0), (0, 0)])
@settings(max_examples=60, deadline=None)
@given(documents, st.lists(groups, min_size=1, max_size=4), parameters)
def test_scores_are_those_of_the_formulas(
    in_memory: int, dense: int, texts: list[list[str]], queries: list[list[TermGroup]], bm25: BM25
) -> None:
    """From the in-memory index, with dense or sparse scores, and from Lucene's postings."""
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as directory:
        patch.setattr("dragoman.indexes.memory.snapshot._MAX_INDEX_TOKENS", in_memory)
        patch.setattr("dragoman.indexes.memory.postings._DENSE_DOCUMENTS", dense)
        check_scores(LuceneIndex(Path(directory)), texts, queries, bm25)


def check_scores(opened: LuceneIndex, texts: list[list[str]], queries: list[list[TermGroup]], bm25: BM25) -> None:
    with opened as index:
        index.add([IndexedDocument(100 - i, "xx", " ".join(text)) for i, text in enumerate(texts)], ANALYSES)
        index.refresh()
        reference = Reference(texts, bm25)
        methods: tuple[Method, ...] = ("psq", "smt", "none")
        translated = [TranslatedQuery(method, groups) for groups in queries for method in methods]
        for query, broad in itertools.product(translated, (-1, 8192, 8192)):
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr("dragoman.indexes.lucene.queries._MAX_CACHED_MATCHES", broad)
                ranking = index.rank(query, "xx", 1000, bm25)
            expected = {100 - i: score for i, score in reference.scores(query).items()}
            same_scores(ranking.hits, expected, ranking.attainable)
            assert ranking.attainable == pytest.approx(reference.attainable(query), rel=1e-6, abs=1e-9)
            assert all(hit.score <= ranking.attainable * (1 + 1e-5) for hit in ranking.hits)
            assert broad < 0 or index.search(query, "xx", 3, bm25) == ranking.hits[:3]
            check_parts(index, query, bm25, ranking)
        for term in VOCABULARY + MISSING:
            assert index.document_frequency("xx", term) == reference.df(term)
        assert index.document_count("xx") == reference.count


def check_parts(index: LuceneIndex, query: TranslatedQuery, bm25: BM25, ranking: Ranking) -> None:
    """The scores by group add up to those of the ranking; documents that are not there have none."""
    keys = [7, *(hit.key for hit in ranking.hits), 1_000]
    parts = index.parts(query, "xx", keys, bm25)
    weights = np.array([group.weight for group in query.groups])
    assert parts.attainable @ weights == pytest.approx(ranking.attainable, rel=1e-6, abs=1e-9)
    expected = [0.0, *(hit.score for hit in ranking.hits), 0.0]
    np.testing.assert_allclose(parts.scores @ weights, expected, rtol=1e-5, atol=5e-7 * ranking.attainable)
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
