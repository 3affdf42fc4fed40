"""Ranking with the in-memory index, without Java and on any thread."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from dragoman.indexes.analysis.transliteration import most_alike
from dragoman.indexes.bm25 import BM25, Parts, Ranking
from dragoman.indexes.explanation import Statistics
from dragoman.indexes.memory.lru import LruCache
from dragoman.indexes.memory.postings import Postings, WeightedTerms
from dragoman.indexes.memory.scores import GroupScores, ScoreCache, best
from dragoman.indexes.memory.term_ids import TermDictionary
from dragoman.lexicon.query import Alternative, TranslatedQuery

__all__ = ["SMALLEST_WEIGHT", "ArrayRanker", "check_weight"]

SMALLEST_WEIGHT = 1.2e-38
"""Smaller weights count as 0, since Lucene's weights are 32-bit floats."""

_FIELD = ""
_CACHED_SOUNDS = 4_096
_CACHED_LISTS = 20_000
_CACHED_TERMS = 1_000_000


class _Entry(NamedTuple):
    alternatives: list[Alternative]
    """Kept alive, so that its ``id`` stays unique."""
    terms: tuple[str, ...]
    weighted: WeightedTerms
    dictionary_size: int
    """The size of the term dictionary when the terms were looked up."""


_LISTS: LruCache[tuple[int, TermDictionary], _Entry] = LruCache(_CACHED_LISTS, _CACHED_TERMS)
"""Lists of alternatives as arrays, shared by all indexes."""


class ArrayRanker:
    """Ranks the documents of one language in one snapshot, for the methods ``psq`` and ``none``."""

    def __init__(self, postings: Postings) -> None:
        self.postings = postings
        self._by_key = np.argsort(postings.keys)
        self._cache = ScoreCache(postings.keys)
        self._sounds: LruCache[str, list[tuple[str, float]]] = LruCache(_CACHED_SOUNDS)

    def rank(self, query: TranslatedQuery, k: int, bm25: BM25) -> Ranking:
        """The ``k`` best hits, and the maximal attainable score.

        Raises:
            ValueError: if a weight is not a positive number.
        """
        weights = [group.weight for group in query.groups]
        for group in query.groups:
            check_weight(group.weight, group.query_word)
        return best(self._groups(query, bm25), weights, self.postings.keys, k)

    def parts(self, query: TranslatedQuery, keys: Sequence[int], bm25: BM25) -> Parts:
        """The scores of the documents ``keys`` for each group; 0 for a document that is not in this language."""
        groups = self._groups(query, bm25)
        wanted = np.asarray(keys, np.int64)
        found = np.zeros((len(wanted), len(groups)), np.float32)
        documents = np.minimum(np.searchsorted(self.postings.keys, wanted, sorter=self._by_key), len(self._by_key) - 1)
        if len(self._by_key):
            documents = self._by_key[documents]
            held = self.postings.keys[documents] == wanted
            for column, group in enumerate(groups):
                found[held, column] = group.at(documents[held])
        return Parts(found, np.array([group.attainable for group in groups]))

    def _groups(self, query: TranslatedQuery, bm25: BM25) -> list[GroupScores]:
        known = self._cache.get(query, _FIELD, bm25)
        missing = [group.alternatives for group, scores in zip(query.groups, known, strict=True) if scores is None]
        computed = iter(self._computed(query, missing, bm25) if missing else ())
        return [scores or next(computed) for scores in known]

    def sounding(self, term: str) -> list[tuple[str, float]] | None:
        """The phonetically most similar terms; None if only Lucene can search for them."""
        found = self._sounds.get(term)
        if found is None:
            candidates = self.postings.sharing_skeleton(term)
            if candidates is None:
                return None
            found = most_alike(term, candidates)
            self._sounds.put(term, found)
        return found

    def statistics(self, query: TranslatedQuery) -> Statistics:
        """The statistics behind the query's scores."""
        terms = {alternative.term for group in query.groups for alternative in group.alternatives}
        return self.postings.statistics(terms)

    def _computed(
        self, query: TranslatedQuery, missing: Sequence[list[Alternative]], bm25: BM25
    ) -> Sequence[GroupScores]:
        compute = self.postings.structured if query.method == "psq" else self.postings.weighted
        found = compute([_weighted(alternatives, self.postings.term_dictionary) for alternatives in missing], bm25)
        for alternatives, scores in zip(missing, found, strict=True):
            self._cache.put(query.method, _FIELD, bm25, alternatives, scores)
        return found


def check_weight(weight: float, term: str) -> None:
    """Raise ValueError unless the weight is a positive number."""
    if not 0 < weight < math.inf:
        raise ValueError(f"weight {weight} of {term!r} in the query is not a positive number")


def _weighted(alternatives: list[Alternative], term_dictionary: TermDictionary) -> WeightedTerms:
    """The id of each distinct term and the sum of its weights."""
    key = (id(alternatives), term_dictionary)
    entry = _LISTS.get(key)
    dictionary_size = len(term_dictionary)
    if entry is None:
        weights: dict[str, float] = {}
        for alternative in alternatives:
            check_weight(alternative.weight, alternative.term)
            if alternative.weight >= SMALLEST_WEIGHT:
                weights[alternative.term] = weights.get(alternative.term, 0.0) + alternative.weight
        array = np.array(list(weights.values()), dtype=np.float64)
        weighted = WeightedTerms(term_dictionary.numbers(weights, len(weights)), array)
        entry = _Entry(alternatives, tuple(weights), weighted, dictionary_size)
        _LISTS.put(key, entry, len(weights))
    elif entry.dictionary_size < dictionary_size and not entry.weighted.numbers.all():
        numbers = term_dictionary.numbers(entry.terms, len(entry.terms))
        entry = entry._replace(weighted=entry.weighted._replace(numbers=numbers), dictionary_size=dictionary_size)
        _LISTS.put(key, entry)
    return entry.weighted
