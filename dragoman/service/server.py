"""Serving the application: the socket, the log, and the announcement once requests are answered."""

from __future__ import annotations

import logging
import socket
from collections.abc import Callable

import uvicorn
from fastapi import FastAPI

from dragoman.service.app import create_app
from dragoman.service.errors import InvalidRequest, Unavailable
from dragoman.service.runtime import Runtime
from dragoman.service.settings import Settings
from dragoman.service.slow_heads import impatient

_BACKLOG = 512
_STOP_SECONDS = 30


class _Server(uvicorn.Server):
    """A server that says when it answers, and that ends uploads where they are when it has to stop."""

    def __init__(self, config: uvicorn.Config, app: FastAPI, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._app = app
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        if uploads := getattr(self._app.state, "uploads", None):
            uploads.stop()
        await super().shutdown(sockets)


def serve(settings: Settings, runtime: Runtime | None = None, ready: Callable[[str], None] | None = None) -> None:
    """Serve until the process is told to stop (SIGTERM, SIGINT). Requests under way are finished first;
    uploads end at what they have stored, and are told so.

    ``ready`` is called with the server's address once it answers. A ``runtime`` that is handed over is
    closed at the end.

    Raises:
        InvalidRequest: the host can be reached from other machines, and there is no key to keep them out.
        ServiceError: the address, the data directory or the database cannot be used.
    """
    check_host(settings)
    _run(settings, lambda: create_app(settings, runtime or Runtime(settings)), ready)


def serve_worker(settings: Settings, ready: Callable[[str], None] | None = None) -> None:
    """Serve the reranker to API processes until told to stop.

    Raises:
        InvalidRequest: the host can be reached from other machines.
        ServiceError: the address cannot be used, or the model cannot be loaded.
    """
    from dragoman.service.worker_app import create_worker_app

    check_host(settings)
    _run(settings, lambda: create_worker_app(settings), ready)


def _run(settings: Settings, make: Callable[[], FastAPI], ready: Callable[[str], None] | None) -> None:
    listener = _listen(settings.host, settings.port)
    with listener:
        app = make()
        config = uvicorn.Config(
            app,
            log_config=None,
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=_STOP_SECONDS,
            http=impatient(settings.request_head_seconds),
            lifespan="on",
        )
        address = _address(settings.host, listener.getsockname()[1])
        server = _Server(config, app, lambda: ready(address) if ready else None)
        server.run(sockets=[listener])


def check_host(settings: Settings) -> None:
    """Raise :class:`InvalidRequest` where serving on this host would let strangers in."""
    if not settings.loopback:
        raise InvalidRequest(
            f"refusing to listen on {settings.host}: other machines could reach it, and no API key is configured, "
            "so anybody could read and change everything; listen on 127.0.0.1 (behind a proxy that authenticates)"
        )


def configure_log(level: str) -> None:
    """Send the log to standard error, one line an event."""
    logging.basicConfig(level=level.upper(), format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    logging.getLogger("alembic").setLevel("WARNING")
    logging.getLogger("uvicorn.error").setLevel("WARNING")
    logging.getLogger("kivy").setLevel("WARNING")


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio turns off Nagle's algorithm, which delays answers by 40 ms, only where the protocol is named
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
