"""Which sentences of a text and of its translation belong together; sentences may be split, merged, left out or added.

The dynamic programme is that of Gale & Church (1993, "A Program for Aligning Sentences in Bilingual Corpora") with the
cosines of the sentences beside their lengths.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dragoman.checking.knowledge import Knowledge, Vectors
from dragoman.checking.lengths import measure_length
from dragoman.checking.thresholds import Thresholds, shipped_thresholds
from dragoman.deadline import check_each
from dragoman.lexicon.text.passages import Span, sentences

__all__ = ["MOST_SENTENCES", "AlignedSpans", "TooManySentences", "align"]

MOST_SENTENCES = 1_000
"""Of either text."""
LONGEST = 1_000
"""A longer sentence is cut, in code points."""
_MOVES = {(1, 1): 0.0, (1, 0): 6.0, (0, 1): 6.0, (2, 1): 1.5, (1, 2): 1.5, (3, 1): 3.0, (1, 3): 3.0, (2, 2): 3.0}
"""Sentences of the source and of the translation that may go together, and what that costs."""
_DEVIATIONS = 4.0
"""By how many a length may be wrong before it counts no more."""
_BAND = 20
"""Sentences by which a place may lie off the diagonal, beside the difference of the counts."""
_MEANING = 8.0
"""What a cosine of 0 costs."""


class TooManySentences(ValueError):
    """A text has more than :data:`MOST_SENTENCES`; the message says how many, and ``side`` of which text."""

    def __init__(self, side: str, count: int) -> None:
        super().__init__(f"{count} sentences; at most {MOST_SENTENCES} are allowed")
        self.side = side


@dataclass(frozen=True, slots=True)
class AlignedSpans:
    """The span of the source and that of the translation that belong together; one may be empty."""

    source: Span
    target: Span


def align(
    source: str, translation: str, knowledge: Knowledge, thresholds: Thresholds | None = None
) -> list[AlignedSpans]:
    """The spans of two texts that belong together, in order; every sentence is in one of them.

    Raises:
        TooManySentences: one of the texts has too many.
    """
    fit = thresholds or shipped_thresholds()
    first, second = sentences(source, LONGEST), sentences(translation, LONGEST)
    for side, spans in (("source", first), ("target", second)):
        if len(spans) > MOST_SENTENCES:
            raise TooManySentences(side, len(spans))
    if len(first) == len(second) == 1:
        return [AlignedSpans(first[0], second[0])]
    vectors = None
    if knowledge.encode is not None and first and second:
        vectors = (
            knowledge.encode([source[a:b] for a, b in first], knowledge.source),
            knowledge.encode([translation[a:b] for a, b in second], knowledge.target),
        )
    costs = _Costs(first, second, knowledge, fit, vectors)
    return list(_trace(first, second, _compute_best_moves(len(first), len(second), costs)))


class _Costs:
    """What it costs to say that some sentences are the translation of some others."""

    def __init__(
        self,
        first: Sequence[Span],
        second: Sequence[Span],
        knowledge: Knowledge,
        fit: Thresholds,
        vectors: tuple[Vectors, Vectors] | None,
    ) -> None:
        self._first, self._second = _sum_lengths(first), _sum_lengths(second)
        self._knowledge, self._fit = knowledge, fit
        self._sums = None if vectors is None else tuple(_sum_rows(side) for side in vectors)

    def of(self, row: int, column: int, rows: int, columns: int) -> float:
        """The cost of ``rows`` sentences of the source from ``row`` on and of ``columns`` of the translation."""
        cost = _MOVES[rows, columns]
        if not rows or not columns:
            return cost
        lengths = self._first[row + rows] - self._first[row], self._second[column + columns] - self._second[column]
        deviation = measure_length(*lengths, self._knowledge.source, self._knowledge.target, self._fit)
        weight = (rows + columns) / 2
        cost += weight * min(abs(deviation), _DEVIATIONS)
        if self._sums is not None:
            one_side = self._sums[0][row + rows] - self._sums[0][row]
            other = self._sums[1][column + columns] - self._sums[1][column]
            norms = float(np.linalg.norm(one_side) * np.linalg.norm(other))
            cost += weight * _MEANING * (1 - float(one_side @ other) / max(norms, 1e-9))
        return cost


def _sum_lengths(spans: Sequence[Span]) -> list[int]:
    sums = [0]
    for start, end in spans:
        sums.append(sums[-1] + end - start)
    return sums


def _sum_rows(vectors: Vectors) -> Vectors:
    return np.concatenate([np.zeros((1, vectors.shape[1]), np.float32), np.cumsum(vectors, axis=0)])


def _compute_best_moves(rows: int, columns: int, costs: _Costs) -> dict[tuple[int, int], tuple[int, int]]:
    """The last move of the cheapest way to each place near the diagonal."""
    cheapest = {(0, 0): 0.0}
    moves: dict[tuple[int, int], tuple[int, int]] = {}
    band = _BAND + abs(rows - columns)
    for row in check_each(range(rows + 1)):
        middle = round(row * columns / rows) if rows else 0
        for column in range(max(0, middle - band), min(columns, middle + band) + 1 if rows else columns + 1):
            for move in _MOVES:
                before = (row - move[0], column - move[1])
                if before not in cheapest:
                    continue
                cost = cheapest[before] + costs.of(*before, *move)
                if cost < cheapest.get((row, column), np.inf):
                    cheapest[row, column], moves[row, column] = cost, move
    return moves


def _trace(
    first: Sequence[Span], second: Sequence[Span], moves: dict[tuple[int, int], tuple[int, int]]
) -> list[AlignedSpans]:
    place, aligned = (len(first), len(second)), []
    while place != (0, 0):
        rows, columns = moves[place]
        place = place[0] - rows, place[1] - columns
        aligned.append(AlignedSpans(_join(first, place[0], rows), _join(second, place[1], columns)))
    return aligned[::-1]


def _join(spans: Sequence[Span], start: int, count: int) -> Span:
    """The span of some sentences in a row; of none, the empty one where they would stand."""
    if count:
        return spans[start][0], spans[start + count - 1][1]
    end = spans[start - 1][1] if start else 0
    return end, end
