"""Serves an application: the socket, graceful shutdown, and the announcement once it is ready."""

from __future__ import annotations

import gc
import logging
import os
import socket
import sys
from collections.abc import Callable, Mapping
from contextlib import ExitStack, closing
from functools import partial
from pathlib import Path
from threading import Timer
from typing import TYPE_CHECKING, Any

import uvicorn

from dragoman.engine.core.errors import InvalidRequest, Unavailable
from dragoman.engine.core.memory import return_freed, return_large_blocks
from dragoman.engine.observability.tracing import export_spans
from dragoman.engine.settings import DATABASE, Settings
from dragoman.service.http.connections.graceful_server import ChildServer, GracefulServer
from dragoman.service.http.connections.protocol import KEEP_ALIVE_SECONDS, protocol
from dragoman.service.http.connections.table import ConnectionLimits, Connections, raise_file_limit
from dragoman.service.http.starting import Application, StartingApp

if TYPE_CHECKING:
    from fastapi import FastAPI

    from dragoman.service.access.shares import Shares

logger = logging.getLogger("dragoman")

_BACKLOG = 512
_SWITCH_SECONDS = 0.0002
"""How long a thread of Python may compute while others wait. Each product of a model ends with such a wait."""
_FORCED_EXIT_SECONDS = 5.0
"""After this the process exits, even if threads still work on abandoned requests."""


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
    if settings.worker.worker_mode == "process" or settings.worker.worker_urls:
        return_large_blocks()
    if settings.server.processes == 1:
        _run(settings, "dragoman", partial(make_app, settings), ready)
    else:
        _serve_by_processes(settings, ready)


def _serve_by_processes(settings: Settings, ready: Callable[[str], None] | None) -> None:
    check_processes(settings)
    from dragoman.service.processes.search_processes import SearchProcesses
    from dragoman.service.processes.servers import SharingServer

    with closing(SearchProcesses(settings)) as processes:
        app: list[FastAPI] = []

        def make() -> FastAPI:
            app.append(make_app(settings, processes.shares))
            return app[0]

        def start(listener: socket.socket) -> None:
            processes.start(listener, app[0].state.runtime.models.host.addresses())

        def make_server(*parts: Any) -> GracefulServer:
            server = SharingServer(*parts)
            server.processes, server.ledger = processes, processes.ledger
            return server

        _run(settings, "dragoman", make, ready, make_server=make_server, started=start, accepts=1)


def serve_searches(
    settings: Settings, greeting: Mapping[str, Any], folder: Path, listener: socket.socket, ending: Callable[[], bool]
) -> None:
    """Answer searches beside the process that has opened the socket, until ``ending()`` says that it is time."""
    from dragoman.service.processes.search_app import make_search_app
    from dragoman.service.processes.servers import SearchServer

    return_large_blocks()
    app = make_search_app(settings, greeting, folder)

    def make_server(*parts: Any) -> GracefulServer:
        server = SearchServer(*parts)
        server.ending, server.ledger = ending, app.ledger
        return server

    _run(settings, "dragoman-search", lambda: app, None, listener, make_server=make_server, accepts=1)


def check_processes(settings: Settings) -> None:
    """Raise :class:`InvalidRequest` if other processes cannot reach the models."""
    if settings.worker.worker_mode == "thread" and not settings.worker.worker_urls:
        raise InvalidRequest(
            "DRAGOMAN_PROCESSES: several processes need the models in a process of their own, which "
            "DRAGOMAN_WORKER_MODE=process starts"
        )


def make_app(settings: Settings, shares: Shares | None = None) -> FastAPI:
    """The application of a service, with all routes built; ``shares`` are those with its search processes.

    FastAPI builds a route when it is first asked for, and parses the sources of its types for that. CPython 3.11 fails
    where two threads parse at a time (SystemError: AST constructor recursion depth mismatch), and the thread that loads
    the models parses those of torch.
    """
    from dragoman.service.app import create_app

    return _with_routes(create_app(settings) if shares is None else create_app(settings, shares=shares))


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
    *,
    make_server: Callable[..., GracefulServer] | None = None,
    started: Callable[[socket.socket], None] | None = None,
    accepts: int = _BACKLOG,
) -> None:
    """Serve what ``make`` makes. ``started`` is called before ``ready``; ``accepts`` connections are taken at a time,
    so that one process does not take all that wait for several."""
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
            if started:
                started(listener)
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
            backlog=accepts,
            http=protocol(connections),
            ws="none",
            lifespan="on",
        )
        kind = make_server or (GracefulServer if inherited is None else ChildServer)
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
