"""Array arithmetic over table entries."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dragoman.lexicon.table.table import Table

Ids = NDArray[np.integer]
Floats = NDArray[np.float64]

ORIGINS = 256
"""Origins are 0 to 255."""

_ITERATIONS = 10
_FLOOR = 1e-6


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
    forward = _normalised(s, side.forward, counts[0])
    backward = _normalised(t, side.backward, counts[1])
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


def _normalised(owners: NDArray[np.integer], values: NDArray[np.floating], count: int) -> Floats:
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


def strongest(s: Ids, t: Ids, forward: Floats, backward: Floats, origins: Ids) -> tuple[Ids, Ids, Floats, Floats, Ids]:
    """Add up the contributions to each pair (s, t), and find the origin with the largest contribution.

    Among equal origins the first wins. Pairs are returned in ascending order.
    """
    width = int(t.max()) + 1 if len(t) else 1
    distinct, inverse = np.unique((s.astype(np.int64) * width + t) * ORIGINS + origins, return_inverse=True)
    forward = totals(inverse, forward, len(distinct))
    backward = totals(inverse, backward, len(distinct))
    pairs, origins = np.divmod(distinct, ORIGINS)
    order = np.lexsort((origins, -(forward + backward), pairs))
    starts = np.flatnonzero(np.diff(pairs, prepend=-1))
    kept = pairs[starts]
    if not len(starts):
        return kept, kept, forward, backward, origins
    best = origins[order[starts]]
    return kept // width, kept % width, np.add.reduceat(forward, starts), np.add.reduceat(backward, starts), best
