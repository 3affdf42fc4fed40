"""Shared by the probes and metrics of the service and of a worker."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable

import anyio
import anyio.to_thread
from fastapi import Request
from pydantic import BaseModel

from dragoman.engine.core.errors import Unavailable

_FRESH_SECONDS = 1.0
METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Health(BaseModel):
    status: str


class SharedCheck:
    """A check that costs something, made at most once a second, for however many ask. Use it from one event loop."""

    def __init__(self, check: Callable[[], None], seconds: float = _FRESH_SECONDS) -> None:
        self._check = check
        self._seconds = seconds
        self._thread = anyio.CapacityLimiter(1)
        self._checked_at = -math.inf
        self._fault: Exception | None = None
        self._running: asyncio.Task[None] | None = None

    async def check(self) -> None:
        """Wait for the check, or take the result of less than a second ago; raises what it raised."""
        if self._running is None and time.monotonic() - self._checked_at >= self._seconds:
            self._running = asyncio.create_task(self._run())
        if self._running is not None:
            await asyncio.wait([self._running])
        if self._fault is not None:
            raise self._fault.with_traceback(None)

    async def _run(self) -> None:
        try:
            await anyio.to_thread.run_sync(self._check, limiter=self._thread)
        except Exception as fault:
            self._fault = fault
        else:
            self._fault = None
        finally:
            self._checked_at = time.monotonic()
            self._running = None


def check_not_stopping(request: Request) -> None:
    """Raise :class:`Unavailable` if the process is shutting down."""
    if request.app.state.draining:
        raise Unavailable("the service is stopping")
