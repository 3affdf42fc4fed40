"""A server that ends gracefully: it drains, finishes what is under way, and is over within its time."""

from __future__ import annotations

import asyncio
import errno
import logging
import signal
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import uvicorn

from dragoman.service.http.connections.last_timer import LastTimer
from dragoman.service.http.connections.table import Connections
from dragoman.service.http.starting import StartingApp

logger = logging.getLogger("dragoman")

_NO_MORE = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)
_ROOM = 16
"""Connections that are closed where the system has no room for a new one."""
_SWEEP_TICKS = 5
"""Tenths of a second between two looks at all connections' timers."""
_CLOSING_SECONDS = 10.0
"""What a stop may take beyond ``drain_seconds`` and ``shutdown_seconds``: to close the database and the indexes."""


class GracefulServer(uvicorn.Server):
    """A server with graceful shutdown.

    After SIGTERM it drains: ``/readyz`` fails, and everything else is served for ``drain_seconds`` more. Then it
    accepts no connections, ends uploads with what they have stored, and finishes the requests under way, for at most
    ``shutdown_seconds``. SIGINT skips the draining. A second signal ends the process at once; nothing acknowledged
    is lost. Whatever runs, the process ends ``_CLOSING_SECONDS`` after both at the latest.
    """

    def __init__(
        self,
        config: uvicorn.Config,
        app: StartingApp,
        connections: Connections,
        drain_seconds: float,
        stopped: Callable[[], None],
    ) -> None:
        """``stopped`` is called when everything is saved and closed."""
        super().__init__(config)
        self._app = app
        self._connections = connections
        self._room_at = 0.0
        self._drain_seconds = drain_seconds
        self._stop_at: float | None = None
        self._stopped = stopped
        self._last_timer = LastTimer()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        if self._stop_at is not None:
            signal.signal(sig, signal.SIG_DFL)
            signal.raise_signal(sig)
        draining = self._drain_seconds if self._app.started and sig != signal.SIGINT else 0
        self._stop_at = time.monotonic() + draining
        self._begin_end(draining)
        self._app.drain()
        if sig == signal.SIGINT:
            super().handle_exit(sig, frame)

    async def on_tick(self, counter: int) -> bool:
        if counter % _SWEEP_TICKS == 0:
            self._connections.sweep(asyncio.get_running_loop().time())
        due = self._app.fault is not None or (self._stop_at is not None and time.monotonic() >= self._stop_at)
        return await super().on_tick(counter) or due

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        asyncio.get_running_loop().set_exception_handler(self._on_fault)
        await super().startup(sockets)
        if self.started:
            self._app.listening()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        starting = not self._app.started
        if not starting:  # a start that fails is bounded by `stopped`, and its caller may go on
            self._begin_end(0)
        self._app.drain()
        if self._app.fault is None:
            logger.info("stopping; %d requests are under way", len(self.server_state.tasks))
        self._app.stop_uploads()
        if starting:
            self._stopped()  # what is being opened cannot be cancelled, and has acknowledged nothing
        await super().shutdown(sockets)
        if self._app.fault is None:
            logger.info("stopped")
        if not starting:
            self._stopped()

    def _begin_end(self, draining: float) -> None:
        self._last_timer.begin(draining + (self.config.timeout_graceful_shutdown or 0) + _CLOSING_SECONDS)

    def _on_fault(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Make room where the system refuses a connection; asyncio tries again after a second."""
        fault = context.get("exception")
        if isinstance(fault, OSError) and fault.errno in _NO_MORE and "accept" in context["message"]:
            if loop.time() >= self._room_at:  # asyncio reports it hundreds of times at once
                self._room_at = loop.time() + 1
                self._connections.make_room(_ROOM)
                logger.warning("no connection can be accepted: %s", fault.strerror)
        else:
            loop.default_exception_handler(context)


class ChildServer(GracefulServer):
    """A server that ends with its parent alone, which may need it for the requests under way after a signal to both."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        for ending in (signal.SIGINT, signal.SIGTERM):
            signal.signal(ending, signal.SIG_IGN)
        yield
