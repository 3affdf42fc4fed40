from __future__ import annotations

import math
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.indexes.bm25 import BM25
from dragoman.indexes.documents import IndexedDocument
from dragoman.indexes.explanation import Statistics, explain, stored_length
from dragoman.indexes.lucene.lucene_index import LuceneIndex
from dragoman.lexicon.query import Alternative, Method, TermGroup, TranslatedQuery
from dragoman.lexicon.text.tokens import AGAIN, PlainAnalysis

VOCABULARY = [f"wort{number}" for number in range(12)]
ANALYSIS = PlainAnalysis("de")

texts = st.lists(st.lists(st.sampled_from(VOCABULARY), min_size=1, max_size=90).map(" ".join), min_size=1, max_size=12)
alternatives = st.lists(
    st.builds(
        Alternative,
        st.sampled_from([*VOCABULARY, "absent", AGAIN + VOCABULARY[0], AGAIN + VOCABULARY[1]]),
        st.floats(0.01, 1.0),
        st.just(0),
    ),
    max_size=5,
)
groups = st.lists(
    st.builds(
        TermGroup, st.just("q"), st.just("q"), st.just(0), st.just(1), alternatives, st.sampled_from([1.0, 2.0, 3.0])
    ),
    min_size=1,
    max_size=4,
)
parameters = st.builds(BM25, st.floats(0.05, 3.0), st.floats(0.0, 1.0))


def count(terms: list[str]) -> dict[str, int]:
    return {term: terms.count(term) for term in set(terms)}


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(texts, groups, st.sampled_from(["psq", "smt", "none"]), parameters)
def test_contributions_add_up_to_the_score_that_lucene_computes(
    documents: list[str], found: list[TermGroup], method: Method, bm25: BM25
) -> None:
    query = TranslatedQuery(method, found)
    with tempfile.TemporaryDirectory() as folder, LuceneIndex(Path(folder)) as index:
        index.add([IndexedDocument(key, "de", text) for key, text in enumerate(documents)], {"de": ANALYSIS})
        index.refresh()
        ranking, statistics = index.rank_with_statistics(query, "de", len(documents), bm25)
        scores = dict(ranking.hits)
        for key, text in enumerate(documents):
            terms = [token.term for token in ANALYSIS.tokens(text)]
            counts = count(terms) | {AGAIN + term: number for term, number in count(terms).items()}
            parts = explain(query, statistics, counts, len(terms), bm25)
            assert len(parts) == len(found)
            assert math.fsum(part.score for part in parts) == pytest.approx(scores.get(key, 0.0), rel=1e-4, abs=1e-6)


def test_a_structured_term_has_expected_counts() -> None:
    query = TranslatedQuery(
        "psq", [TermGroup("bank", "bank", 0, 4, [Alternative("bank", 0.5, 0), Alternative("ufer", 0.25, 0)])]
    )
    statistics = Statistics(10, 200, {"bank": 4, "ufer": 2})
    (part,) = explain(query, statistics, {"bank": 2, "ufer": 4}, 20, BM25(1.0, 0.5))
    assert (part.tf, part.df) == (2.0, 2.5)
    assert part.idf == pytest.approx(math.log(1 + (10 - 2.5 + 0.5) / (2.5 + 0.5)))
    assert part.score == pytest.approx(part.idf * 2 / 3)


def test_a_word_that_repeats_another_alternative_adds_to_tf_and_not_to_df() -> None:
    found = [Alternative("haus", 0.5, 0), Alternative(AGAIN + "häuser", 1.0, 0)]
    query = TranslatedQuery("psq", [TermGroup("houses", "house", 0, 6, found)])
    frequencies = {"haus": 4, AGAIN + "häuser": 3}
    (part,) = explain(query, Statistics(4, 80, frequencies), {"haus": 2, AGAIN + "häuser": 1}, 20, BM25())
    assert (part.tf, part.df) == (2.0, 2.0)
    (part,) = explain(query, Statistics(4, 80, frequencies | {"haus": 0}), {AGAIN + "häuser": 1}, 20, BM25())
    assert (part.tf, part.df) == (1.0, 3.0)


def test_terms_that_the_index_lacks_add_nothing() -> None:
    query = TranslatedQuery("psq", [TermGroup("x", "x", 0, 1, [Alternative("x", 1.0, -1)], oov=True)])
    (part,) = explain(query, Statistics(3, 15, {"x": 0}), {}, 5, BM25())
    assert (part.tf, part.df, part.idf, part.score) == (0.0, 0.0, 0.0, 0.0)


@pytest.mark.parametrize(
    ("length", "stored"),
    [(0, 0), (23, 23), (24, 24), (39, 39), (40, 40), (41, 40), (42, 42), (1000, 984), (10**9, None)],
)
def test_lengths_are_stored_in_one_byte(length: int, stored: int | None) -> None:
    kept = stored_length(length)
    assert kept <= length
    assert kept >= length * 0.88
    if stored is not None:
        assert kept == stored
