"""Admission control: limits concurrent searches and refuses the rest at once, which keeps latency low."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

import anyio
import anyio.to_thread

from dragoman.service.core.errors import ClientDisconnected, TooManyRequests
from dragoman.service.core.pace import Pace
from dragoman.service.inference.batching import Cancelled

T = TypeVar("T")

_COMPUTING = 4
"""Threads for searches that only compute; more would contend for Python's interpreter lock."""
_WAITING = 40
"""Threads for searches that wait for the models."""
_WAIT_SECONDS = 1.0
"""After this long in the queue, check whether the client has disconnected."""


class Searches:
    """Runs the searches of one application on threads. Call it from the event loop's thread only."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._under_way = 0
        self._pace = Pace()
        self._computing = anyio.CapacityLimiter(_COMPUTING)
        self._waiting = anyio.CapacityLimiter(_WAITING)

    async def run(self, work: Callable[[], T], cancelled: Cancelled, *, waits: bool) -> T:
        """Run ``work`` on a thread as soon as one is free; ``waits`` says that it will wait for the models.

        Raises:
            TooManyRequests: the limit of concurrent searches is reached.
            Unavailable: the client disconnected while queued.
        """
        if self._under_way >= self._limit:
            raise TooManyRequests(f"{self._limit} searches are under way; try again in a moment", self._pace.wait(1))
        self._under_way += 1
        queued_at = time.monotonic()

        def start() -> T:
            if time.monotonic() - queued_at > _WAIT_SECONDS and cancelled():
                raise ClientDisconnected("the client disconnected")
            return work()

        try:
            return await anyio.to_thread.run_sync(start, limiter=self._waiting if waits else self._computing)
        finally:
            self._under_way -= 1
            self._pace.done(1, time.monotonic() - queued_at)
