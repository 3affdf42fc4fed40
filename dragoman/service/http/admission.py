"""Admission of requests to threads: a limit of those under way, of which the rest waits for a thread."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

import anyio
import anyio.from_thread
import anyio.to_thread
from fastapi import Request

from dragoman.service.core.admission import Limit
from dragoman.service.core.errors import ClientDisconnected
from dragoman.service.core.settings import Settings
from dragoman.service.inference.batching import Cancelled

T = TypeVar("T")

_COMPUTING = 4
"""Threads for requests that only compute; more would contend for Python's interpreter lock."""
_SPARE = 8
"""Threads beside those that wait for the models, so that a search that is made without them still gets one."""
_WAIT_SECONDS = 1.0
"""After this long in the queue, check whether the client has disconnected."""


class Threads:
    """Runs the requests of one application on threads. Call it from the event loop's thread only."""

    def __init__(self, settings: Settings) -> None:
        self._requests = Limit(settings.concurrent_searches, "requests are under way")
        self._computing = anyio.CapacityLimiter(_COMPUTING)
        self._waiting = anyio.CapacityLimiter(settings.concurrent_model_searches + _SPARE)

    async def run(self, request: Request, work: Callable[[Cancelled], T], *, waits: bool) -> T:
        """Run ``work`` on a thread as soon as one is free; ``waits`` says that it will wait for the models.

        It is told whether the client has disconnected.

        Raises:
            TooManyRequests: the limit of concurrent requests is reached.
            Unavailable: the client disconnected while queued.
        """
        queued_at = time.monotonic()

        def cancelled() -> bool:
            return anyio.from_thread.run(request.is_disconnected)

        def start() -> T:
            if time.monotonic() - queued_at > _WAIT_SECONDS and cancelled():
                raise ClientDisconnected("the client disconnected")
            return work(cancelled)

        with self._requests.place():
            return await anyio.to_thread.run_sync(start, limiter=self._waiting if waits else self._computing)
