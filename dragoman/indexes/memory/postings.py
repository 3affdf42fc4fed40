"""The postings of one language as arrays, and group scores computed from them without Java.

A group of a probabilistic structured query stands for dozens of document terms. A few numpy operations gather,
weight and add up the postings of all terms of all uncached groups of a query.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dragoman.indexes.bm25 import BM25
from dragoman.indexes.explanation import Statistics, stored_length
from dragoman.indexes.memory.scores import LEAST, GroupScores
from dragoman.indexes.memory.term_ids import NOTHING, TermDictionary

__all__ = ["Postings", "WeightedTerms"]

_DENSE_DOCUMENTS = 4_096
"""Up to this many documents, a group has a score for each document: adding arrays is faster than merging."""
_NORMS = 8
_TINY = 1e-300


class WeightedTerms(NamedTuple):
    """The term ids of a group's distinct terms, and their positive weights."""

    numbers: NDArray[np.int32]
    weights: NDArray[np.float64]


class Postings:
    """The postings of one language in a point-in-time snapshot. Immutable, so thread-safe.

    Args:
        term_dictionary: the term ids; it may grow while this object is in use.
        keys: the database key of each document with at least one term.
        documents: the document number of each token.
        terms: the term id of each token.
    """

    def __init__(
        self,
        term_dictionary: TermDictionary,
        keys: NDArray[np.int64],
        documents: NDArray[np.int32],
        terms: NDArray[np.int32],
    ) -> None:
        self.keys = keys
        self.dense = len(keys) <= _DENSE_DOCUMENTS
        self.term_dictionary = term_dictionary
        self._count = count = len(keys)
        tokens = terms.astype(np.int64) * count + documents
        tokens.sort()
        firsts = np.flatnonzero(np.diff(tokens, prepend=-1))
        held, documents_held = np.divmod(tokens[firsts], max(count, 1))
        self._documents = documents_held.astype(np.int32)
        self._counts = np.diff(firsts, append=len(tokens)).astype(np.float32)
        self._terms = int(terms.max(initial=NOTHING)) + 1
        frequencies = np.bincount(held, minlength=self._terms)
        self._frequencies = frequencies.astype(np.int32)
        self._starts = (np.cumsum(frequencies) - frequencies).astype(np.int32)
        lengths, inverse = np.unique(np.bincount(documents, minlength=count), return_inverse=True)
        self._lengths = np.array([stored_length(length) for length in lengths.tolist()], dtype=np.float64)[inverse]
        self._average = len(tokens) / count if count else 0.0
        self._norms: dict[BM25, NDArray[np.float64]] = {}

    def document_count(self) -> int:
        """The number of documents with at least one term."""
        return self._count

    def document_frequencies(self, terms: Collection[str]) -> dict[str, int]:
        """The document frequency of each term."""
        numbers = self._known(self.term_dictionary.numbers(terms, len(terms)))
        return dict(zip(terms, self._frequencies[numbers].tolist(), strict=True))

    def statistics(self, terms: Collection[str]) -> Statistics:
        """The statistics behind the scores of ``terms``."""
        return Statistics(self._count, self._average, self.document_frequencies(terms))

    def sharing_skeleton(self, term: str) -> list[str] | None:
        """The indexed terms that share a skeleton with ``term``; None if the dictionary is too large to search."""
        found = self.term_dictionary.sharing_skeleton(term)
        return None if found is None else [t for t, df in self.document_frequencies(found).items() if df]

    def structured(self, groups: Sequence[WeightedTerms], bm25: BM25) -> list[GroupScores]:
        """One BM25 term per group, with ``tf_e = sum_f w_f tf_f`` and ``df_e = sum_f w_f df_f``."""
        terms, weights, owners = self._flat(groups)
        weights = np.minimum(weights, 1.0)
        df = _sums(owners, weights * self._frequencies[terms], len(groups))
        idf = self._idf(df)
        attainable = np.where(df > 0, idf, 0.0).tolist()
        documents, tf, sizes = self._gathered(terms)
        parts = np.repeat(weights, sizes) * tf
        cells = np.repeat(owners * self._count, sizes) + documents
        norm = self._norm(bm25)
        if self.dense:
            sums = _sums(cells, parts, len(groups) * self._count).reshape(len(groups), self._count)
            return _rows(idf[:, None] * (sums / np.maximum(sums + norm, _TINY)), sums, attainable)
        cells, sums = _merged(cells, parts)
        scores = idf[cells // self._count] * (sums / (sums + norm[cells % self._count]))
        return self._split(cells, scores, attainable)

    def weighted(self, groups: Sequence[WeightedTerms], bm25: BM25) -> list[GroupScores]:
        """``sum_f w_f BM25(f)`` per group."""
        terms, weights, owners = self._flat(groups)
        term_weights = weights * self._idf(self._frequencies[terms])
        attainable = np.bincount(owners, term_weights, len(groups)).tolist()
        documents, tf, sizes = self._gathered(terms)
        parts = np.repeat(term_weights, sizes) * (tf / (tf + self._norm(bm25)[documents]))
        cells = np.repeat(owners * self._count, sizes) + documents
        if self.dense:
            sums = _sums(cells, parts, len(groups) * self._count).reshape(len(groups), self._count)
            return _rows(sums, sums, attainable)
        return self._split(*_merged(cells, parts), attainable)

    def _known(self, numbers: NDArray[np.int32]) -> NDArray[np.int32]:
        """The term ids, with :data:`NOTHING` for terms added after these postings."""
        return np.where(numbers < self._terms, numbers, NOTHING)

    def _flat(
        self, groups: Sequence[WeightedTerms]
    ) -> tuple[NDArray[np.int32], NDArray[np.float64], NDArray[np.int64]]:
        """The terms of all groups that are in the index, with their weights and the positions of their groups."""
        sizes = [len(group.numbers) for group in groups]
        terms = self._known(np.concatenate([group.numbers for group in groups]))
        held = np.flatnonzero(self._frequencies[terms])
        weights = np.concatenate([group.weights for group in groups])
        return terms[held], weights[held], np.repeat(np.arange(len(groups)), sizes)[held]

    def _gathered(self, terms: NDArray[np.int32]) -> tuple[NDArray[np.int32], NDArray[np.float32], NDArray[np.int32]]:
        """The concatenated postings of all terms: documents, term frequencies, and the number of postings per term."""
        sizes = self._frequencies[terms]
        ends = np.cumsum(sizes)
        shifts = np.repeat(self._starts[terms] - ends + sizes, sizes)
        positions = np.arange(len(shifts)) + shifts
        return self._documents[positions], self._counts[positions], sizes

    def _split(
        self, cells: NDArray[np.int64], scores: NDArray[np.float64], attainable: Sequence[float]
    ) -> list[GroupScores]:
        """The scores of each group; a cell is ``group * documents + document``."""
        values = np.maximum(scores.astype(np.float32), LEAST)
        ends = np.searchsorted(cells, np.arange(len(attainable) + 1) * self._count).tolist()
        return [
            GroupScores((cells[start:end] - i * self._count).astype(np.int32), values[start:end].copy(), best)
            for i, (start, end, best) in enumerate(zip(ends, ends[1:], attainable, strict=False))
        ]

    def _idf(self, df: NDArray[np.float64] | NDArray[np.int32]) -> NDArray[np.float64]:
        counted = np.minimum(df, float(self._count))
        return np.log(1 + (self._count - counted + 0.5) / (counted + 0.5))

    def _norm(self, bm25: BM25) -> NDArray[np.float64]:
        found = self._norms.get(bm25)
        if found is None:
            if len(self._norms) >= _NORMS:
                self._norms = {}
            found = bm25.k1 * (1 - bm25.b + bm25.b * self._lengths / (self._average or 1.0))
            self._norms[bm25] = found
        return found


def _rows(scores: NDArray[np.float64], matches: NDArray[np.float64], attainable: Sequence[float]) -> list[GroupScores]:
    """The dense scores of each group; matching documents have a score above 0."""
    values = np.maximum(scores.astype(np.float32), (matches > 0) * LEAST)
    return [GroupScores(None, row.copy(), best) for row, best in zip(values, attainable, strict=True)]


def _merged(cells: NDArray[np.int64], parts: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The distinct cells in ascending order, and the sum of the parts of each."""
    cells, inverse = np.unique(cells, return_inverse=True)
    return cells, _sums(inverse, parts, len(cells))


def _sums(positions: NDArray[np.int64], parts: NDArray[np.float64], count: int) -> NDArray[np.float64]:
    return np.bincount(positions, parts, count).astype(np.float64, copy=False)
