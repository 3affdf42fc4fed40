"""Symmetrised joint counts from the posteriors of both directions, conditionals and pruning."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dragoman.lexicon.alignment.corpus import Doubles, Floats, Ints, Longs
from dragoman.lexicon.alignment.models import Posteriors

Bools = npt.NDArray[np.bool_]
COMPACTION_SIZE = 1 << 23


def product(forward: Posteriors, backward: Posteriors) -> Floats:
    """Probability that both directions make the link, if they are independent."""
    return forward.cells * backward.cells.transpose(0, 2, 1)


def geometric(forward: Posteriors, backward: Posteriors) -> Floats:
    result: Floats = np.sqrt(product(forward, backward))
    return result


def mean(forward: Posteriors, backward: Posteriors) -> Floats:
    result: Floats = (forward.cells + backward.cells.transpose(0, 2, 1)) * np.float32(0.5)
    return result


def intersection(forward: Posteriors, backward: Posteriors) -> Floats:
    return (_hard(forward) & _hard(backward).transpose(0, 2, 1)).astype(np.float32)


def union(forward: Posteriors, backward: Posteriors) -> Floats:
    return (_hard(forward) | _hard(backward).transpose(0, 2, 1)).astype(np.float32)


def grow_diag(forward: Posteriors, backward: Posteriors) -> Floats:
    """Intersection, grown into the union (Koehn, Och, Marcu 2003).

    A link of the union is added if it is adjacent to an accepted link, also diagonally, and its row or column has
    no link yet. Offsets (up, left, down, right, then the diagonals) are tried until nothing changes. If several
    candidates at one offset compete for a free column, the first row wins.
    """
    a, b = _hard(forward), _hard(backward).transpose(0, 2, 1)
    links, both = a & b, a | b
    while True:
        before = int(links.sum())
        for offset in ((-1, 0), (0, -1), (1, 0), (0, 1), (-1, -1), (-1, 1), (1, -1), (1, 1)):
            candidates = _shift(links, offset) & both & ~links
            free_row = ~links.any(axis=2, keepdims=True)
            free_column = ~links.any(axis=1, keepdims=True)
            by_row = candidates & free_row & (np.cumsum(candidates & free_row, axis=2) == 1)
            links |= by_row
            free_column &= ~links.any(axis=1, keepdims=True)
            by_column = candidates & free_column
            links |= by_column & (np.cumsum(by_column, axis=1) == 1)
        if int(links.sum()) == before:
            return links.astype(np.float32)


def _hard(posteriors: Posteriors) -> Bools:
    """(B, J, I): posterior decoding: the best position of each generated token, unless NULL is more probable."""
    best = posteriors.cells.argmax(axis=2)[:, :, None]
    beats_null = np.take_along_axis(posteriors.cells, best, axis=2) >= posteriors.null[:, :, None]
    links: Bools = (np.arange(posteriors.cells.shape[2]) == best) & beats_null
    return links


def _shift(links: Bools, offset: tuple[int, int]) -> Bools:
    rows, columns = links.shape[1:]
    padded = np.pad(links, ((0, 0), (1, 1), (1, 1)))
    down, right = 1 - offset[0], 1 - offset[1]
    return padded[:, down : down + rows, right : right + columns]


SYMMETRISATIONS: dict[str, Callable[[Posteriors, Posteriors], Floats]] = {
    "product": product,
    "geometric": geometric,
    "mean": mean,
    "intersection": intersection,
    "union": union,
    "grow-diag": grow_diag,
}
"""Functions of the forward (B, m, n) and backward (B, n, m) posteriors that give link weights (B, m, n)."""


class JointCounts:
    """Sums of link weights per (source word, target word), compacted from time to time."""

    def __init__(self, target_count: int) -> None:
        self._width = max(target_count, 1)
        self._keys: list[Longs] = []
        self._values: list[Doubles] = []
        self._pending = 0

    def add(self, sources: Ints, targets: Ints, values: Floats) -> None:
        """Add values[k] to the count of (sources[k], targets[k])."""
        self._keys.append(sources.astype(np.int64) * self._width + targets)
        self._values.append(values.astype(np.float64))
        self._pending += len(values)
        if self._pending >= COMPACTION_SIZE:
            self._compact()

    def _compact(self) -> None:
        keys, values = np.concatenate(self._keys), np.concatenate(self._values)
        order = np.argsort(keys, kind="stable")
        keys, values = keys[order], values[order]
        starts = np.flatnonzero(np.diff(keys, prepend=-1))
        self._keys, self._values = [keys[starts]], [np.add.reduceat(values, starts) if len(keys) else values]
        self._pending = 0

    def result(self) -> tuple[Ints, Ints, Doubles]:
        """Source word ids, target word ids and counts, ascending by source, then by target."""
        if not self._keys:
            return np.empty(0, np.int32), np.empty(0, np.int32), np.empty(0)
        self._compact()
        keys = self._keys[0]
        return (
            (keys // self._width).astype(np.int32),
            (keys % self._width).astype(np.int32),
            self._values[0],
        )


@dataclass(frozen=True)
class Pruning:
    """Criteria for the entries that are kept.

    An entry is kept if its count is at least `min_count` and, in at least one direction, its probability is at
    least `min_probability` and among the `max_translations` highest of its term. The probabilities of kept
    entries are not renormalised.
    """

    min_probability: float = 0.005
    max_translations: int = 30
    min_count: float = 0.0

    def __post_init__(self) -> None:
        if not 0 <= self.min_probability <= 1:
            raise ValueError(f"min_probability must be between 0 and 1, got {self.min_probability}")
        if self.max_translations < 1:
            raise ValueError(f"max_translations must be at least 1, got {self.max_translations}")
        if not self.min_count >= 0:
            raise ValueError(f"min_count must be at least 0, got {self.min_count}")


def prune(sources: Ints, targets: Ints, counts: Doubles, p_ts: Doubles, p_st: Doubles, rules: Pruning) -> Longs:
    """Positions of the entries that stay, by ascending source and descending P(target|source)."""
    forward = (p_ts >= rules.min_probability) & (_ranks(sources, targets, p_ts) < rules.max_translations)
    backward = (p_st >= rules.min_probability) & (_ranks(targets, sources, p_st) < rules.max_translations)
    positions = np.flatnonzero((forward | backward) & (counts >= rules.min_count))
    return positions[np.lexsort((targets[positions], -p_ts[positions], sources[positions]))]


def _ranks(groups: Ints, ties: Ints, values: Doubles) -> Longs:
    """Rank of each value within its group, 0 for the highest; equal values by ascending `ties`."""
    order = np.lexsort((ties, -values, groups))
    ordered = groups[order]
    starts = np.flatnonzero(np.diff(ordered, prepend=-1))
    lengths = np.diff(np.append(starts, len(ordered)))
    ranks = np.empty(len(groups), dtype=np.int64)
    ranks[order] = np.arange(len(ordered)) - np.repeat(starts, lengths)
    return ranks


def conditionals(
    sources: Ints, targets: Ints, counts: Doubles, source_totals: Doubles, target_totals: Doubles
) -> tuple[Doubles, Doubles]:
    """P(target|source) and P(source|target) of each counted pair."""
    return counts / source_totals[sources], counts / target_totals[targets]


def totals(ids: Ints, counts: Doubles, size: int) -> Doubles:
    """Sum of `counts` per id, (size,)."""
    return np.bincount(ids, weights=counts, minlength=size).astype(np.float64)


def occurrences(tokens: Iterable[tuple[Ints, Floats]], word_of: Ints, word_count: int) -> Doubles:
    """Weighted number of occurrences of each word, from (B, length) token ids and (B,) weights."""
    result = np.zeros(word_count)
    for ids, weights in tokens:
        repeated = np.repeat(weights, ids.shape[1]).astype(np.float64)
        np.add.at(result, word_of[ids.ravel()].astype(np.intp), repeated)
    return result
