"""Rate limits of one caller: a token bucket for requests per second, and a limit of concurrent requests.

The available libraries count requests in time windows. They have neither a burst separate from the rate nor a limit of
concurrent requests.
"""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Quota:
    """The limits of a caller; a ``rate`` or ``concurrent`` of 0 means no limit."""

    rate: float
    """Requests per second on average."""
    burst: int
    """Capacity of the token bucket: requests that may arrive at once after a pause."""
    concurrent: int
    """Concurrent requests."""


class Meter:
    """Counts one caller's requests against a quota. Call it from one thread only."""

    def __init__(self, quota: Quota) -> None:
        self.quota = quota
        self._capacity = float(max(quota.burst, 1))
        self._tokens = self._capacity
        self._at = -math.inf
        self._under_way = 0

    def change(self, quota: Quota) -> None:
        """Count against another quota from now on; what is under way stays counted."""
        self.quota = quota
        self._capacity = float(max(quota.burst, 1))
        self._tokens = min(self._tokens, self._capacity)

    def enter(self, now: float) -> float | None:
        """Admit a request at ``now`` (seconds) and return None, or return the seconds to wait before a retry.

        Call :meth:`leave` once for each admitted request.
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
        """An admitted request has finished."""
        self._under_way -= 1
