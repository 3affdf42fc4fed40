"""Scores that a query's groups give to documents, kept as arrays and added up without Java.

Most query terms come again. What Lucene computed for a group once is added to the other groups' scores in a few
microseconds, on any thread, while Lucene does something else.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dragoman.indexes.bm25 import BM25, Hit, Ranking
from dragoman.indexes.recent import Recent
from dragoman.lexicon.query import Alternative, TranslatedQuery

__all__ = ["GroupScores", "ScoreCache", "best"]

_LEAST = np.float32(1e-45)
"""Stands for a score of 0 of a document that matches: the smallest number that is more."""
_DENSE = 65_536
_CACHED_GROUPS = 4_096
_CACHED_SCORES = 1_000_000
_KINDS = 8
_new = tuple.__new__


class GroupScores(NamedTuple):
    """The documents of one reader that match a group, and their scores for a group weight of 1."""

    documents: NDArray[np.int32]
    """Lucene's document numbers, ascending."""
    scores: NDArray[np.float32]
    attainable: float

    @classmethod
    def of(cls, documents: Sequence[int], scores: Sequence[float], attainable: float) -> GroupScores:
        """From lists; the documents ascend."""
        values = np.maximum(np.array(scores, dtype=np.float32), _LEAST)
        return cls(np.array(documents, dtype=np.int32), values, attainable)


class _Entry(NamedTuple):
    alternatives: list[Alternative]
    """Kept so that no other list gets its identity."""
    scores: GroupScores


class ScoreCache:
    """Group scores over one reader by the identity of the groups' lists of alternatives.

    Only the thread that owns Java writes; any thread reads.
    """

    def __init__(self, documents: int) -> None:
        self.keys = np.zeros(documents, dtype=np.int64)
        """Database key by document number, filled in for the documents of every cached group."""
        self._known: dict[tuple[str, str, BM25], Recent[int, _Entry]] = {}

    def put(self, method: str, field: str, bm25: BM25, alternatives: list[Alternative], scores: GroupScores) -> None:
        """Remember the scores of the group with this very list of alternatives."""
        kind = (method, field, bm25)
        if kind not in self._known:
            if len(self._known) >= _KINDS:
                self._known = {}
            self._known[kind] = Recent(_CACHED_GROUPS, _CACHED_SCORES)
        self._known[kind].put(id(alternatives), _Entry(alternatives, scores), len(scores.documents))

    def rank(self, query: TranslatedQuery, field: str, k: int, bm25: BM25) -> Ranking | None:
        """The ranking, or None where the scores of a group are not known."""
        known = self._known.get((query.method, field, bm25))
        if known is None:
            return None
        groups: list[GroupScores] = []
        weights: list[float] = []
        for group in query.groups:
            entry = known.get(id(group.alternatives))
            if entry is None or not 0 < group.weight < math.inf:
                return None
            groups.append(entry.scores)
            weights.append(group.weight)
        return best(groups, weights, self.keys, k)


def best(groups: Sequence[GroupScores], weights: Sequence[float], keys: NDArray[np.int64], k: int) -> Ranking:
    """The ``k`` documents with the highest weighted sums of group scores, ties by ascending key."""
    if not any(g.documents.size for g in groups):
        return Ranking()
    every = np.concatenate([g.documents for g in groups])
    weighted = [g.scores if w == 1 else g.scores.astype(np.float64) * w for g, w in zip(groups, weights, strict=True)]
    if len(keys) <= _DENSE:
        sums = np.bincount(every, weights=np.concatenate(weighted))
        documents = np.flatnonzero(sums)
        scores = sums[documents]
    else:
        documents, places = np.unique(every, return_inverse=True)
        scores = np.bincount(places, weights=np.concatenate(weighted))
    totals = scores.astype(np.float32)
    if len(totals) > k:
        kept = totals >= np.partition(totals, len(totals) - k)[len(totals) - k]
        documents, totals = documents[kept], totals[kept]
    found = keys[documents]
    order = np.lexsort((found, -totals))[:k]
    pairs = zip(found[order].tolist(), totals[order].tolist(), strict=True)
    hits = [_new(Hit, pair) for pair in pairs]
    return Ranking(hits, math.fsum([g.attainable * w for g, w in zip(groups, weights, strict=True)]))
