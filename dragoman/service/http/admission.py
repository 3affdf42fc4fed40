"""How many searches are under way at a time: the others are refused at once, so that those taken are answered soon."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

import anyio
import anyio.to_thread

from dragoman.service.core.errors import ClientDisconnected, TooManyRequests
from dragoman.service.inference.batching import Cancelled

T = TypeVar("T")

_COMPUTING = 4
"""Threads of searches that wait for nothing: with more, Python's threads hinder each other."""
_WAITING = 40
"""Threads of searches that wait for the models."""
_WAIT_SECONDS = 1.0
"""After so long in the queue it is asked whether the client is still there."""


class Searches:
    """The searches of one application, each worked on by a thread. For the event loop's thread alone."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._under_way = 0
        self._computing = anyio.CapacityLimiter(_COMPUTING)
        self._waiting = anyio.CapacityLimiter(_WAITING)

    async def run(self, work: Callable[[], T], cancelled: Cancelled, *, waits: bool) -> T:
        """Run ``work`` on a thread as soon as there is one; ``waits`` says that it will wait for the models.

        Raises:
            TooManyRequests: so many are under way already.
            Unavailable: the client disconnected before its turn.
        """
        if self._under_way >= self._most:
            raise TooManyRequests(f"{self._most} searches are under way; try again in a moment")
        self._under_way += 1
        asked = time.monotonic()

        def taken() -> T:
            if time.monotonic() - asked > _WAIT_SECONDS and cancelled():
                raise ClientDisconnected("the client disconnected")
            return work()

        try:
            return await anyio.to_thread.run_sync(taken, limiter=self._waiting if waits else self._computing)
        finally:
            self._under_way -= 1
