"""Array arithmetic over table entries."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from dragoman.lexicon.table.table import Table

Ids = NDArray[np.integer]
Floats = NDArray[np.float64]
EntryColumns = tuple[Ids, Ids, Floats, Floats, Ids]
"""Columns of entries: both terms, both probabilities, and the origin of each."""

ORIGINS = 256
"""Origins are 0 to 255."""

_ITERATIONS = 10
_FLOOR = 1e-6
_BLOCK = 1 << 16
_BLOCKS = 16
"""Entries are sorted in at most so many blocks, of at least so many entries."""


def marginals(table: Table) -> tuple[Floats, Floats]:
    """Estimate the marginals p(s) of the source terms and p(t) of the target terms from both conditionals.

    The conditionals of one joint distribution satisfy ``p(t) = sum_s P(t|s) p(s)`` and
    ``p(s) = sum_t P(s|t) p(t)``. This iterates both equations ten times from uniform distributions, with rows
    normalised to sum to 1, so that no mass is lost. Both results sum to 1; no value is below 1e-6 of the uniform
    one.
    """
    side = table.by_source
    s, t = side.owners(), side.ids
    counts = len(table.sources), len(table.targets)
    forward = _normalise(s, side.forward, counts[0])
    backward = _normalise(t, side.backward, counts[1])
    p_s, p_t = (np.full(count, 1.0 / max(1, count)) for count in counts)
    for _ in range(_ITERATIONS):
        p_s, p_t = (
            _distribution(p_s + totals(s, backward * p_t[t], counts[0])),
            _distribution(p_t + totals(t, forward * p_s[s], counts[1])),
        )
    return p_s, p_t


def totals(owners: NDArray[np.integer], values: NDArray[np.floating], count: int) -> Floats:
    """The sum of the values of each of ``count`` owners."""
    return np.asarray(np.bincount(owners, values, minlength=count), dtype=np.float64)


def _normalise(owners: NDArray[np.integer], values: NDArray[np.floating], count: int) -> Floats:
    return ratio(values.astype(np.float64), totals(owners, values, count)[owners])


def _distribution(values: Floats) -> Floats:
    total = values.sum()
    if not total:
        return values
    floored = np.maximum(values / total, _FLOOR / len(values))
    return np.asarray(floored / floored.sum())


def ratio(values: Floats, by: Floats) -> Floats:
    """``values / by``, or 0 where ``by`` is 0."""
    return np.divide(values, by, out=np.zeros_like(values), where=by > 0)


def strongest(s: Ids, t: Ids, forward: Floats, backward: Floats, origins: Ids) -> EntryColumns:
    """Add up the contributions to each pair (s, t), and find the origin with the largest contribution.

    Among equal origins the first wins. Pairs are returned in ascending order, their ids and origins with the types that
    they came with. One block of source terms is sorted at a time, since sorting takes several times what is sorted.
    """
    if len(s) <= _BLOCK:
        return _strongest(s, t, forward, backward, origins)
    return join_parts(
        [_strongest(s[chosen], t[chosen], forward[chosen], backward[chosen], origins[chosen]) for chosen in _blocks(s)]
    )


def join_parts(parts: list[EntryColumns]) -> EntryColumns:
    """The columns of all parts in one, which are taken from the list one by one."""
    columns = [list(column) for column in zip(*parts, strict=True)]
    parts.clear()
    s, t, forward, backward, origins = (np.concatenate(columns.pop(0)) for _ in range(5))
    return s, t, forward, backward, origins


def _blocks(s: Ids) -> Iterator[NDArray[np.intp]]:
    """The places of the entries of a few source terms at a time, in the order of these terms."""
    ends = np.cumsum(np.bincount(s))
    size = max(_BLOCK, -(-len(s) // _BLOCKS))
    first = 0
    while first < len(ends):
        before = int(ends[first - 1]) if first else 0
        last = max(first + 1, int(np.searchsorted(ends, before + size, "right")))
        yield np.flatnonzero((s >= first) & (s < last))
        first = last


def _strongest(s: Ids, t: Ids, forward: Floats, backward: Floats, origins: Ids) -> EntryColumns:
    width = int(t.max()) + 1 if len(t) else 1
    distinct, inverse = np.unique((s.astype(np.int64) * width + t) * ORIGINS + origins, return_inverse=True)
    forward = totals(inverse, forward, len(distinct))
    backward = totals(inverse, backward, len(distinct))
    pairs, kinds = np.divmod(distinct, ORIGINS)
    order = np.lexsort((kinds, -(forward + backward), pairs))
    starts = np.flatnonzero(np.diff(pairs, prepend=-1))
    distinct_pairs = pairs[starts]
    if len(starts):  # reduceat refuses an empty list
        forward, backward = np.add.reduceat(forward, starts), np.add.reduceat(backward, starts)
    first, second, best = distinct_pairs // width, distinct_pairs % width, kinds[order[starts]]
    return first.astype(s.dtype), second.astype(t.dtype), forward, backward, best.astype(origins.dtype)
