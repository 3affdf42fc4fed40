"""Cached scores of query groups, as arrays that are added up without Java.

Most query terms recur. A group's scores are computed once; adding them to those of other groups takes a few
microseconds on any thread, even while Lucene is busy.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dragoman.indexes.bm25 import BM25, Hit, Ranking
from dragoman.indexes.memory.lru import LruCache
from dragoman.lexicon.query import Alternative, TranslatedQuery

__all__ = ["LEAST", "GroupScores", "ScoreCache", "best"]

LEAST = np.float32(1e-45)
"""The least score of a matching document: the smallest number above 0."""
_DENSE = 65_536
_CACHED_GROUPS = 4_096
_CACHED_SCORES = 3_000_000
_KINDS = 8
_new = tuple.__new__


class GroupScores(NamedTuple):
    """The documents of one reader that match a group, and their scores for a group weight of 1."""

    documents: NDArray[np.int32] | None
    """Ascending document numbers; None if ``scores`` covers all documents, with 0 for those that do not match."""
    scores: NDArray[np.float32]
    attainable: float

    @classmethod
    def of(cls, documents: Sequence[int], scores: Sequence[float], attainable: float) -> GroupScores:
        """Build from lists; the documents must be ascending."""
        values = np.maximum(np.array(scores, dtype=np.float32), LEAST)
        return cls(np.array(documents, dtype=np.int32), values, attainable)

    def at(self, documents: NDArray[np.integer[Any]]) -> NDArray[np.float32]:
        """The scores of these documents; 0 for those that do not match."""
        found = np.zeros(len(documents), np.float32)
        if self.documents is None:
            found[:] = self.scores[documents]
        elif len(self.documents):
            places = np.minimum(np.searchsorted(self.documents, documents), len(self.documents) - 1)
            held = self.documents[places] == documents
            found[held] = self.scores[places[held]]
        return found


class _Entry(NamedTuple):
    alternatives: list[Alternative]
    """Kept alive, so that its ``id`` stays unique."""
    scores: GroupScores


class ScoreCache:
    """Group scores for one reader, by the identity of the groups' lists of alternatives. Thread-safe.

    ``keys`` maps document numbers to database keys, at least for the documents of all cached groups.
    """

    def __init__(self, keys: NDArray[np.int64]) -> None:
        self.keys = keys
        self._known: dict[tuple[str, str, BM25], LruCache[int, _Entry]] = {}

    def put(self, method: str, field: str, bm25: BM25, alternatives: list[Alternative], scores: GroupScores) -> None:
        """Cache the scores of the group with this list object of alternatives."""
        kind = (method, field, bm25)
        if kind not in self._known:
            if len(self._known) >= _KINDS:
                self._known = {}
            self._known[kind] = LruCache(_CACHED_GROUPS, _CACHED_SCORES)
        weight = len(scores.scores) * (1 if scores.documents is None else 2)
        self._known[kind].put(id(alternatives), _Entry(alternatives, scores), weight)

    def get(self, query: TranslatedQuery, field: str, bm25: BM25) -> list[GroupScores | None]:
        """The scores of each query group, None where they are not cached."""
        known = self._known.get((query.method, field, bm25))
        if known is None:
            return [None] * len(query.groups)
        found = [known.get(id(group.alternatives)) for group in query.groups]
        return [entry and entry.scores for entry in found]

    def rank(self, query: TranslatedQuery, field: str, k: int, bm25: BM25) -> Ranking | None:
        """The ranking, or None if the scores of a group are not cached."""
        known = self.get(query, field, bm25)
        groups = [scores for scores in known if scores is not None]
        weights = [group.weight for group in query.groups]
        if len(groups) < len(known) or not all(0 < weight < math.inf for weight in weights):
            return None
        return best(groups, weights, self.keys, k)


def best(groups: Sequence[GroupScores], weights: Sequence[float], keys: NDArray[np.int64], k: int) -> Ranking:
    """The ``k`` documents with the highest weighted sums of group scores, ties by ascending key.

    ``documents`` is None for all groups or for none.
    """
    sparse = [group.documents for group in groups if group.documents is not None]
    scores = [group.scores for group in groups]
    if not groups:
        return Ranking()
    if not sparse:
        totals = _added(scores, weights, len(keys))
        documents = np.flatnonzero(totals >= _threshold(totals, k))
        totals = totals[documents]
    else:
        documents, totals = _merged(sparse, scores, weights, len(keys))
        kept = totals >= _threshold(totals, k)
        documents, totals = documents[kept], totals[kept]
    found = keys[documents]
    order = np.lexsort((found, -totals))[:k]
    pairs = zip(found[order].tolist(), totals[order].tolist(), strict=True)
    hits = [_new(Hit, pair) for pair in pairs]
    return Ranking(hits, math.fsum([g.attainable * w for g, w in zip(groups, weights, strict=True)]))


def _threshold(totals: NDArray[np.float32], k: int) -> np.float32:
    """The ``k``-th highest total, but at least :data:`LEAST`."""
    if len(totals) <= k:
        return LEAST
    return max(np.float32(np.partition(totals, len(totals) - k)[len(totals) - k]), LEAST)


def _added(scores: Sequence[NDArray[np.float32]], weights: Sequence[float], documents: int) -> NDArray[np.float32]:
    """The weighted sum of scores for every document."""
    totals = np.zeros(documents)
    for group, weight in zip(scores, weights, strict=True):
        totals += group if weight == 1 else group * weight
    return totals.astype(np.float32)


def _merged(
    numbers: Sequence[NDArray[np.int32]],
    scores: Sequence[NDArray[np.float32]],
    weights: Sequence[float],
    count: int,
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """The documents that match a group, and the weighted sum of the scores of each."""
    every = np.concatenate(numbers)
    weighted = [group if w == 1 else group.astype(np.float64) * w for group, w in zip(scores, weights, strict=True)]
    if count <= _DENSE:
        sums = np.bincount(every, weights=np.concatenate(weighted))
        documents = np.flatnonzero(sums)
        return documents, sums[documents].astype(np.float32)
    documents, inverse = np.unique(every, return_inverse=True)
    totals: NDArray[np.float32] = np.bincount(inverse, weights=np.concatenate(weighted)).astype(np.float32)
    return documents.astype(np.int64), totals
