"""Candidates in arrays against plain Python: whatever two rankings hold, the documents and their scores are these."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dragoman.engine.search.candidates import LEAST_LINK, Candidates, MeaningRanking, WordMatches, WordRanking
from dragoman.engine.search.search_ranking import _by_ranks, _by_scores
from dragoman.indexes.bm25 import Parts
from dragoman.indexes.fusion import RRF_K

COLLECTIONS = [SimpleNamespace(key=7, name="a"), SimpleNamespace(key=3, name="b")]
"""The documents of even keys are in the first one, in German; those of odd keys in the other, in Russian."""
RANKINGS = [
    SimpleNamespace(collection=collection, attainable=8.0, translated=SimpleNamespace(language=language))
    for collection, language in zip(COLLECTIONS, ("de", "ru"), strict=True)
]
scores = st.integers(1, 5)
ranked = st.dictionaries(st.integers(0, 12), scores, max_size=10)


def best_first(found: dict[int, int]) -> list[int]:
    return sorted(found, key=lambda key: (-found[key], COLLECTIONS[key % 2].key, key))


@given(ranked, ranked, ranked, st.integers(1, 12), st.booleans(), st.integers(1, 15))
def test_documents_are_those_of_plain_python(
    words: dict[int, int], meanings: dict[int, int], more: dict[int, int], depth: int, by_ranks: bool, k: int
) -> None:
    """``more`` are the words of documents that BM25 did not rank."""
    retrieval: Any = SimpleNamespace(
        collections=COLLECTIONS,
        collection_rankings=RANKINGS if words else [],
        translations=[
            SimpleNamespace(language="de", foreign=True, view=object()),
            SimpleNamespace(language="ru", foreign=True, view=None),
        ],
    )
    by_words, by_meaning = best_first(words), best_first(meanings)
    candidates = Candidates.join(retrieval, word_ranking(words), meaning_ranking(meanings), depth)
    if words:
        words = {key: more[key] for key in more.keys() & meanings.keys()} | words
        candidates.add_words(retrieval, word_matches(candidates, words))
    weight = 0.4
    fused = (_by_ranks if by_ranks else _by_scores)(retrieval, candidates, weight)

    expected: dict[int, float] = {}
    for key in words.keys() | meanings.keys():
        rank_of = [ranking.index(key) + 1 if key in ranking[:depth] else None for ranking in (by_words, by_meaning)]
        if by_ranks and any(rank_of):
            parts = [of / (RRF_K + rank) for rank, of in zip(rank_of, (1 - weight, weight), strict=True) if rank]
            expected[key] = sum(parts)
        elif not by_ranks:
            near = 0.9 if key % 2 else weight  # the query cannot be translated into Russian
            share = words.get(key, 0) / 8
            expected[key] = (1 - near) * share + near * (meanings[key] / 10) if key in meanings else share
    documents = candidates.best(retrieval, fused, k)
    order = sorted(expected, key=lambda key: (-expected[key], COLLECTIONS[key % 2].key, key))
    assert [(one.key, round(one.score, 12)) for one in documents] == [
        (key, round(expected[key], 12)) for key in order[:k]
    ]
    for one in documents:
        assert (one.collection.name, one.language) == [("a", "de"), ("b", "ru")][one.key % 2]
        assert (one.bm25.score if one.bm25 else None) == words.get(one.key)
        assert (one.dense.score if one.dense else None) == meanings.get(one.key)
        assert (one.collection_ranking is None) == (one.key not in words)
        assert (None if one.linked is None else one.linked.tolist()) == (
            [words[one.key] >= 8 * LEAST_LINK, False] if one.key in words else None
        )


def word_ranking(found: dict[int, int]) -> WordRanking:
    keys = np.array(best_first(found), np.int64)
    scored = np.array([found[key] for key in keys.tolist()], np.float64)
    return WordRanking(keys, keys % 2, scored, scored / 8)


def meaning_ranking(found: dict[int, int]) -> MeaningRanking:
    keys = np.array(best_first(found), np.int64)
    scored = np.array([found[key] for key in keys.tolist()], np.float64)
    collections = np.array([COLLECTIONS[key % 2].key for key in keys.tolist()], np.int64)
    languages = np.array([("de", "ru")[key % 2] for key in keys.tolist()], object)
    return MeaningRanking(keys, collections, languages, scored, scored, scored / 10)


def word_matches(candidates: Candidates, found: dict[int, int]) -> Iterator[WordMatches]:
    """What an index says of all candidates of its collection, of a query with two groups."""
    for index, ranking in enumerate(RANKINGS):
        keys = candidates.keys[candidates.collections == ranking.collection.key]
        totals = np.array([found.get(key, 0) for key in keys.tolist()], np.float32)
        groups = np.stack([totals, np.zeros_like(totals)], axis=1)
        yield WordMatches(index, keys, Parts(groups, np.array([8.0, 8.0]), totals))
