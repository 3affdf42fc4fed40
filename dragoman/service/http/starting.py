"""An ASGI application that responds while the real one starts.

Importing the service, opening its database and indexes, and starting Java takes seconds. Until the application is
ready, ``/healthz`` succeeds, ``/readyz`` gets 503, and everything else waits. This module imports nothing heavy.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol

import anyio
import anyio.to_thread
from starlette.types import Receive, Scope, Send

from dragoman.engine.core.errors import Unavailable
from dragoman.service.http.plain import NO_STORE, NOSNIFF, send_error, send_plain
from dragoman.service.http.request_id import request_identifier

_STARTING = b'{"status":"starting"}'
_HEADERS = {"Content-Type": "application/json", "X-Content-Type-Options": NOSNIFF, "Cache-Control": NO_STORE}
_WAIT_SECONDS = 30.0
"""How long a request waits for the start. Clients that take `/healthz` for readiness are served so."""


class Application(Protocol):
    """The part of FastAPI's interface that is used here."""

    state: Any
    router: Any

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None: ...


class StartingApp:
    """Creates an application on a thread when the server starts, and passes requests to it once it is ready.

    Args:
        make: creates the application; called on a thread.
        ready: called once the application serves requests.
    """

    def __init__(self, make: Callable[[], Application], ready: Callable[[], None]) -> None:
        self._make = make
        self._ready = ready
        self._app: Application | None = None
        self._draining = False
        self._listening = asyncio.Event()
        self._stopping = asyncio.Event()
        self._settled = asyncio.Event()
        self.fault: BaseException | None = None
        """Why the application could not be created or started."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._lifespan(receive, send)
        elif self._app is not None:
            await self._app(scope, receive, send)
        elif scope["type"] == "http":
            await self._answer(scope, receive, send)

    @property
    def started(self) -> bool:
        """Whether the application answers requests."""
        return self._app is not None

    def listening(self) -> None:
        """The server listens now; ``ready`` may be called."""
        self._listening.set()

    def drain(self) -> None:
        """Start draining: ``/readyz`` fails from now on."""
        self._draining = True
        if self._app is not None:
            self._app.state.draining = True

    def stop_uploads(self) -> None:
        """End all uploads; what they have stored stays."""
        if self._app is not None and (uploads := getattr(self._app.state, "uploads", None)):
            uploads.stop()

    async def _lifespan(self, receive: Receive, send: Send) -> None:
        await receive()
        running = asyncio.create_task(self._run())
        await send({"type": "lifespan.startup.complete"})
        await receive()
        self._stopping.set()
        self._settled.set()
        await running
        await send({"type": "lifespan.shutdown.complete"})

    async def _run(self) -> None:
        """Create the application and keep it open until the server stops. A lifespan has to stay in one task."""
        try:
            app = await anyio.to_thread.run_sync(self._make)
            if self._stopping.is_set():
                return
            lifespan: AbstractAsyncContextManager[Any] = app.router.lifespan_context(app)
            async with lifespan:
                app.state.draining = self._draining
                self._app = app
                self._settled.set()
                await self._listening.wait()
                if not self._stopping.is_set():
                    self._ready()
                await self._stopping.wait()
        except BaseException as fault:
            self.fault = fault
        finally:
            self._settled.set()

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"] in ("/healthz", "/healthz/") and scope["method"] in ("GET", "HEAD"):
            await send_plain(send, 200, _HEADERS, _STARTING, head=scope["method"] == "HEAD")
            return
        if scope["path"] not in ("/readyz", "/readyz/"):
            with anyio.move_on_after(_WAIT_SECONDS):
                await self._settled.wait()
            if self._app is not None:
                await self._app(scope, receive, send)
                return
        await send_error(send, Unavailable("the service is starting"), request_identifier(scope))
