"""Serves an application: the socket, graceful shutdown, and the announcement once it is ready."""

from __future__ import annotations

import asyncio
import errno
import gc
import logging
import os
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from threading import Timer
from types import FrameType
from typing import TYPE_CHECKING, Any

import uvicorn

from dragoman.engine.core.errors import InvalidRequest, Unavailable
from dragoman.engine.core.memory import return_freed
from dragoman.engine.observability.tracing import export_spans
from dragoman.engine.settings import DATABASE, Settings
from dragoman.service.http.connections.last_timer import LastTimer
from dragoman.service.http.connections.protocol import KEEP_ALIVE_SECONDS, protocol
from dragoman.service.http.connections.table import ConnectionLimits, Connections, raise_file_limit
from dragoman.service.http.starting import Application, StartingApp

if TYPE_CHECKING:
    from fastapi import FastAPI

logger = logging.getLogger("dragoman")

_BACKLOG = 512
_NO_MORE = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)
_ROOM = 16
"""Connections that are closed where the system has no room for a new one."""
_SWITCH_SECONDS = 0.0002
"""How long a thread of Python may compute while others wait. Each product of a model ends with such a wait."""
_SWEEP_TICKS = 5
"""Tenths of a second between two looks at all connections' timers."""
_FORCED_EXIT_SECONDS = 5.0
"""After this the process exits, even if threads still work on abandoned requests."""
_CLOSING_SECONDS = 10.0
"""What a stop may take beyond ``drain_seconds`` and ``shutdown_seconds``: to close the database and the indexes."""


class _Server(uvicorn.Server):
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


class _ChildServer(_Server):
    """A server that ends with its parent alone, which may need it for the requests under way after a signal to both."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        for ending in (signal.SIGINT, signal.SIGTERM):
            signal.signal(ending, signal.SIG_IGN)
        yield


def serve(settings: Settings, ready: Callable[[str], None] | None = None) -> None:
    """Serve until the process is stopped (SIGTERM, SIGINT).

    Requests under way are finished first, as far as ``shutdown_seconds`` allow. Uploads end with what they have
    stored, and their responses say so. ``/healthz`` succeeds at once, everything else once the service has started;
    ``ready`` is then called with its address.

    Raises:
        InvalidRequest: other machines can reach the host, and there is no API key.
        ServiceError: the address, the data directory or the database cannot be used, or the encoder cannot be had.
    """
    check_host(settings)
    check_encoder(settings)
    _run(settings, "dragoman", partial(make_app, settings), ready)


def make_app(settings: Settings) -> FastAPI:
    """The application of a service, with all routes built.

    FastAPI builds a route when it is first asked for, and parses the sources of its types for that. CPython 3.11 fails
    where two threads parse at a time (SystemError: AST constructor recursion depth mismatch), and the thread that loads
    the models parses those of torch.
    """
    from dragoman.service.app import create_app

    return _with_routes(create_app(settings))


def _with_routes(app: FastAPI) -> FastAPI:
    app.openapi()
    return app


def serve_worker(settings: Settings, ready: Callable[[str], None] | None = None) -> None:
    """Serve the models to API processes until the process is stopped.

    Raises:
        InvalidRequest: other machines can reach the host, and there is no token.
        ServiceError: the address cannot be used, or the model cannot be loaded.
    """
    if not settings.server.loopback and settings.worker.worker_token is None:
        raise InvalidRequest(
            f"refusing to listen on {settings.server.host}: other machines could reach it, and DRAGOMAN_WORKER_TOKEN "
            "is not set; set it here and for `dragoman serve`, or listen on 127.0.0.1"
        )

    def make() -> FastAPI:
        from dragoman.service.worker.endpoints import create_worker_app

        return _with_routes(create_worker_app(settings))

    _run(settings, "dragoman-worker", make, ready)


def serve_child(settings: Settings, stored_precision: str | None, listener: socket.socket) -> None:
    """Serve the models to the parent process, on a socket that it has opened, until the process is ended."""

    def make() -> FastAPI:
        from dragoman.service.worker.endpoints import create_worker_app

        return _with_routes(create_worker_app(settings, stored_precision, loads=False))

    _run(settings, "dragoman-worker", make, None, listener)


def _run(
    settings: Settings,
    name: str,
    make: Callable[[], Application],
    ready: Callable[[str], None] | None,
    inherited: socket.socket | None = None,
) -> None:
    raise_file_limit()
    connections = Connections(ConnectionLimits.of(settings))
    with ExitStack() as opened:
        opened.callback(sys.setswitchinterval, sys.getswitchinterval())
        sys.setswitchinterval(_SWITCH_SECONDS)
        listener = opened.enter_context(inherited or _listen(settings.server.host, settings.server.port))
        address = _address(settings.server.host, listener.getsockname()[1]) if ready else ""
        forced_exit = Timer(_FORCED_EXIT_SECONDS, os._exit, [0])
        forced_exit.daemon = True
        opened.callback(forced_exit.cancel)
        opened.enter_context(export_spans(settings, name))

        def announce() -> None:
            gc.collect()  # or what the start has left in circles would stay for ever
            gc.freeze()  # a collection of garbage reads all objects there are, and holds every thread for so long
            return_freed()
            if ready:
                ready(address)  # of a socket that a signal may have closed by now

        app = StartingApp(make, announce)
        config = uvicorn.Config(
            app,
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            timeout_keep_alive=KEEP_ALIVE_SECONDS,
            timeout_graceful_shutdown=settings.server.shutdown_seconds,
            backlog=_BACKLOG,
            http=protocol(connections),
            ws="none",
            lifespan="on",
        )
        kind = _Server if inherited is None else _ChildServer
        kind(config, app, connections, settings.server.drain_seconds, forced_exit.start).run([listener])
        if app.fault is not None:
            raise app.fault


def check_host(settings: Settings) -> None:
    """Raise :class:`InvalidRequest` if other machines can reach this host and there is no usable API key."""
    if settings.server.loopback or _has_key(settings):
        return
    raise InvalidRequest(
        f"refusing to listen on {settings.server.host}: other machines could reach it, and no API key is configured; "
        "make one with `dragoman keys create --scope admin --scope search --scope jobs`, or listen on 127.0.0.1"
    )


def check_encoder(settings: Settings) -> None:
    """Raise :class:`Unavailable` if the encoder is a name that cannot be had. It is not loaded."""
    place = settings.models.encoder
    if place is None or Path(place).is_absolute() or Path(place).is_dir() or settings.worker.worker_urls:
        return  # a folder may be mounted later
    from dragoman.backbone.checkpoints import CheckpointError
    from dragoman.backbone.pretrained.hub import require_available
    from dragoman.engine.models.loading import ENCODER

    if place == ENCODER:
        return
    try:
        require_available(place)
    except CheckpointError as fault:
        raise Unavailable(f"DRAGOMAN_ENCODER: {fault}") from fault


def _has_key(settings: Settings) -> bool:
    if settings.store.database_url is None and not (settings.store.data_dir / DATABASE).exists():
        return False
    from dragoman.service.access.keys import Keys
    from dragoman.store.database import existing_store
    from dragoman.store.models import ApiKey, now

    with existing_store(settings.store.url) as store:  # not migrated: a start that is refused must not change it
        return store.has_table(ApiKey) and any(key.usable(now()) for key in Keys(store).all())


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio turns off Nagle's algorithm, which delays responses by 40 ms, only if the protocol is named
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(_BACKLOG)
    except OSError as fault:
        listener.close()
        raise Unavailable(
            f"cannot listen on {_address(host, port)}: {fault.strerror}; --port chooses another port"
        ) from fault
    return listener


def _address(host: str, port: int) -> str:
    return f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"
