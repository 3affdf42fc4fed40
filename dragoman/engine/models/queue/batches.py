"""Batches of items within limits, and how fast each kind of task computes them."""

from __future__ import annotations

from collections.abc import Hashable
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from typing import Any

_PARTS = 8
"""A batch may always have one of so many parts of the greatest cost: smaller ones take longer in all."""
_RECENT = 0.3
"""Weight of the last batch in the pace."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The maximum number of items in one batch, and the maximum total cost of a batch of several items.

    Where a batch is `padded`, each of its items costs as much as its most expensive one. With ``seconds`` a batch of
    several items costs no more than its kind of task has lately computed in that time, or an eighth of ``cost``.
    """

    items: int
    cost: int
    padded: bool = False
    seconds: float | None = None


@dataclass(slots=True, eq=False)
class QueueEntry:
    """An item that waits for the worker: what to compute for a request, and the future of its result."""

    content: Any
    cost: int
    background: bool
    caller: Hashable
    origin: Any = None
    """The span of its request, for traces."""
    result: Future[Any] = field(default_factory=Future)


class Batch:
    """Items within limits; one of any cost is always within."""

    def __init__(self, limits: Limits) -> None:
        self.entries: list[QueueEntry] = []
        self._limits, self._total, self._longest = limits, 0, 0

    def fits(self, entry: QueueEntry) -> bool:
        """Whether there is room for one more."""
        if not self.entries:
            return True
        count, longest = len(self.entries) + 1, max(self._longest, entry.cost)
        cost = longest * count if self._limits.padded else self._total + entry.cost
        return count <= self._limits.items and cost <= self._limits.cost

    def add(self, entry: QueueEntry) -> None:
        self.entries.append(entry)
        self._total, self._longest = self._total + entry.cost, max(self._longest, entry.cost)


class Paces:
    """The cost per second of recent batches, by kind of task; one that was cheap for its cost counts for little."""

    def __init__(self) -> None:
        self._paces: dict[type, float] = {}

    def note(self, task: Hashable, cost: int, seconds: float) -> None:
        """Count a batch."""
        last = cost / max(seconds, 1e-6)
        before = self._paces.get(type(task), last)
        self._paces[type(task)] = min(last, _RECENT * last + (1 - _RECENT) * before)

    def within(self, task: Hashable, limits: Limits) -> Limits:
        """The limits of a task's next batch, with no more than is computed in their time."""
        if limits.seconds is None:
            return limits
        pace = self._paces.get(type(task), 0.0)
        least = max(1, limits.cost // _PARTS)
        return replace(limits, cost=min(limits.cost, max(least, int(pace * limits.seconds))))
