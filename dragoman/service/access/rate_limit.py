"""How much one caller may ask: a token bucket for requests per second, and a count of requests under way.

The libraries at hand count requests in windows of time, and have neither a burst apart from the rate nor a count of
what is under way.
"""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Quota:
    """What a caller may ask; a ``rate`` or ``concurrent`` of 0 is no limit."""

    rate: float
    """Requests per second, in the long run."""
    burst: int
    """Requests that may come at once after a pause."""
    concurrent: int
    """Requests under way at a time."""


class Meter:
    """Counts one caller's requests against a quota. All calls have to come from one thread."""

    def __init__(self, quota: Quota) -> None:
        self.quota = quota
        self._capacity = float(max(quota.burst, 1))
        self._tokens = self._capacity
        self._at = -math.inf
        self._under_way = 0

    def enter(self, now: float) -> float | None:
        """Let a request in at ``now`` seconds and return None, or return after how many seconds one may be let in.

        For each that was let in :meth:`leave` has to be called.
        """
        quota = self.quota
        if quota.concurrent and self._under_way >= quota.concurrent:
            return 1.0
        if quota.rate:
            elapsed = max(0.0, now - self._at)
            self._tokens = min(self._capacity, self._tokens + elapsed * quota.rate)
            self._at = now
            if self._tokens < 1:
                return (1 - self._tokens) / quota.rate
            self._tokens -= 1
        self._under_way += 1
        return None

    def leave(self) -> None:
        """A request that was let in has been answered."""
        self._under_way -= 1
