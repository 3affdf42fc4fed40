"""Connections that are held, dripped on, or never read; each scenario lasts a few seconds."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress

from dragoman_lab.benchmarks.hostile.service import Target

_SECONDS = 6.0
_MANY = 250


@contextmanager
def _open_connections(target: Target, count: int) -> Iterator[list[socket.socket]]:
    with ExitStack() as stack:
        opened = []
        for _ in range(count):
            with suppress(OSError):
                opened.append(stack.enter_context(socket.create_connection((target.host, target.port), timeout=5)))
        yield opened


def _send(connections: list[socket.socket], content: bytes) -> None:
    for connection in connections:
        with suppress(OSError):
            connection.sendall(content)


def _drip(connections: list[socket.socket], content: bytes) -> None:
    until = time.monotonic() + _SECONDS
    while time.monotonic() < until:
        _send(connections, content)
        time.sleep(0.5)


def _authorization(target: Target, role: str) -> str:
    return "".join(f"{name}: {key}\r\n" for name, key in target.head(role).items())


def silent(target: Target) -> None:
    """Connections that send nothing."""
    with _open_connections(target, _MANY):
        time.sleep(_SECONDS)


def slow_heads(target: Target) -> None:
    """Heads that come a byte at a time."""
    with _open_connections(target, _MANY) as connections:
        _send(connections, b"GET /healthz HTTP/1.1\r\nHost: a\r\nX: ")
        _drip(connections, b"x")


def unauthorized_bodies(target: Target) -> None:
    """Callers without a key that go on sending their bodies after 401."""
    with _open_connections(target, _MANY) as connections:
        _send(connections, b"POST /v1/search HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n")
        _drip(connections, b"x")


def slow_uploads(target: Target) -> None:
    """Uploads that come as slowly as is allowed, more of them than are worked on at a time."""
    head = "POST /v1/collections/scratch/documents HTTP/1.1\r\nHost: a\r\nContent-Type: application/x-ndjson\r\n"
    head += _authorization(target, "admin") + "Content-Length: 9000000\r\n\r\n"
    with _open_connections(target, 16) as connections:
        _send(connections, head.encode())
        _drip(connections, b" " * 1024)


def paused_uploads(target: Target) -> None:
    """Uploads of documents of many values that pause before their ends."""
    line = b'{"id":"1","text":"a","metadata":{"a":[' + b"{}," * 9_990 + b"{}]}}\n"
    head = "POST /v1/collections/scratch/documents HTTP/1.1\r\nHost: a\r\nContent-Type: application/x-ndjson\r\n"
    head += _authorization(target, "admin") + "Content-Length: 9000000\r\n\r\n"
    with _open_connections(target, 16) as connections:
        _send(connections, head.encode() + line * (7_500_000 // len(line)))
        _drip(connections, b" " * 16_384)


def small_chunks(target: Target) -> None:
    """Bodies in chunks of few bytes, as fast as they are taken, without a key."""
    until = time.monotonic() + _SECONDS
    with _open_connections(target, 40) as connections:
        _send(connections, b"POST /v1/search HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n")
        for connection in connections:
            connection.setblocking(False)
        while time.monotonic() < until:
            for index, connection in enumerate(connections):
                with suppress(OSError):
                    connection.send((b"2a\r\n" + b" " * 42 + b"\r\n" if index % 2 else b"1\r\n \r\n") * 2_000)
            time.sleep(0.001)


def slow_bodies(target: Target) -> None:
    """JSON bodies whose rest does not come."""
    head = "POST /v1/search HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
    head += _authorization(target, "search") + "Content-Length: 30000000\r\n\r\n"
    with _open_connections(target, 25) as connections:
        _send(connections, head.encode() + b'{"query":"' + b"a" * 2_000_000)
        _drip(connections, b"a")


def unread_answers(target: Target) -> None:
    """Answers that nobody reads, of a document of five million characters and of the OpenAPI document."""
    with _open_connections(target, 60) as connections:
        for index, connection in enumerate(connections):
            path = "/v1/collections/long/documents/1" if index % 2 else "/openapi.json"
            request = f"GET {path} HTTP/1.1\r\nHost: a\r\n{_authorization(target, 'search')}\r\n"
            with suppress(OSError):
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
                connection.sendall(request.encode() * 6)
        time.sleep(_SECONDS)


def free_paths(target: Target) -> None:
    """Open addresses asked as fast as they answer, without a key."""
    with _open_connections(target, 40) as connections:
        for path in ("/openapi.json", "/readyz", "/docs", "/"):
            _send(connections, f"GET {path} HTTP/1.1\r\nHost: a\r\n\r\n".encode() * 50)
        until = time.monotonic() + _SECONDS
        for connection in connections:
            connection.settimeout(0.05)
            with suppress(OSError):
                while time.monotonic() < until and connection.recv(1 << 16):
                    pass


def two_lengths(target: Target) -> None:
    """Requests whose length is said in two ways."""
    with _open_connections(target, 50) as connections:
        head = b"POST /v1/search HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n"
        _send(connections, head + b"0\r\n\r\nGET /healthz HTTP/1.1\r\nHost: a\r\n\r\n")
        time.sleep(1.0)


def upgrades(target: Target) -> None:
    """WebSockets that are asked for."""
    with _open_connections(target, 50) as connections:
        head = b"GET /v1/search HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
        _send(connections, head + b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n")
        time.sleep(1.0)


def leaving(target: Target) -> None:
    """Clients that leave in the middle of their bodies."""
    head = "POST /v1/rerank HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
    head += _authorization(target, "search") + "Content-Length: 3000000\r\n\r\n"
    for _ in range(20):
        with _open_connections(target, 10) as connections:
            _send(connections, head.encode() + b'{"query":"' + b"a" * 100_000)


SCENARIOS: dict[str, Callable[[Target], None]] = {
    work.__name__: work
    for work in (
        silent, slow_heads, unauthorized_bodies, slow_uploads, paused_uploads, small_chunks, slow_bodies,
        unread_answers, free_paths, two_lengths, upgrades, leaving,
    )
}  # fmt: skip
