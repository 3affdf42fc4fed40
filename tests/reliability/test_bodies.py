"""Requests that are slow, endless or larger than they look, over plain sockets."""

from __future__ import annotations

import gzip
import socket
import time
from collections.abc import Iterator
from contextlib import closing

import pytest

from tests.support.errorbody import check_error
from tests.support.serving import Server, server

pytestmark = pytest.mark.slow

LIMITS = {
    "request_head_seconds": 1,
    "upload_idle_seconds": 1,
    "body_bytes_per_second": 10_000,
    "concurrent_uploads": 2,
    "decompressed_bytes": 30_000_000,
}
JSON = "Content-Type: application/json\r\n"
LINES = "Content-Type: application/x-ndjson\r\n"


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with server(tmp_path_factory.mktemp("bodies"), as_shipped=True, **LIMITS) as running:
        running.client.post("/v1/collections", json={"name": "c", "language": "sw"}).raise_for_status()
        yield running


def connected(running: Server) -> socket.socket:
    url = running.client.base_url
    connection = socket.create_connection((url.host, url.port))
    connection.settimeout(60)
    return connection


def dribbled(connection: socket.socket, parts: Iterator[bytes]) -> bytes:
    """Send parts a tenth of a second apart until the server ends it; returns what it said."""
    answer = b""
    try:
        for part in parts:
            connection.sendall(part)
            connection.settimeout(0.1)
            try:
                answer += (got := connection.recv(65536))
                if not got:
                    return answer
            except TimeoutError:
                continue
        raise AssertionError("the server took it all")
    except ConnectionError:
        return answer


def head(path: str, more: str) -> bytes:
    return f"POST {path} HTTP/1.1\r\nHost: localhost\r\n{more}Transfer-Encoding: chunked\r\n\r\n".encode()


def endless(first: bytes, part: bytes) -> Iterator[bytes]:
    yield first
    for _ in range(300):
        yield part


def test_connections_whose_heads_come_too_slowly_are_closed_and_others_served(running: Server) -> None:
    slow = [connected(running) for _ in range(100)]
    for connection in slow:
        connection.sendall(b"POST /v1/search HTTP/1.1\r\n")
    assert running.client.post("/v1/search", json={"query": "x"}).status_code == 200
    assert dribbled(slow[0], endless(b"Host: localhost\r\n", b"X-Slow: 1\r\n")) == b""
    for connection in slow[1:]:
        with closing(connection):
            assert connection.recv(100) == b""


def test_a_kept_connection_is_closed_when_its_next_head_comes_too_slowly(running: Server) -> None:
    with closing(connected(running)) as connection:
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        answer = b""
        while b"}" not in answer:
            answer += connection.recv(65536)
        assert answer.startswith(b"HTTP/1.1 200")
        assert dribbled(connection, endless(b"GET /heal", b"t")) == b""


def test_a_connection_may_be_idle_for_longer_than_a_head_may_take(running: Server) -> None:
    with closing(connected(running)) as connection:
        for _ in range(2):
            connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
            answer = b""
            while b"}" not in answer:
                answer += connection.recv(65536)
            assert answer.startswith(b"HTTP/1.1 200")
            time.sleep(6)  # longer than uvicorn's own limit of five seconds, and the timeout of heads here


@pytest.mark.parametrize(("path", "kind"), [("/v1/search", JSON), ("/v1/collections/c/documents", LINES)])
def test_bodies_that_come_too_slowly_are_ended(running: Server, path: str, kind: str) -> None:
    with closing(connected(running)) as connection:
        answer = dribbled(connection, endless(head(path, kind), b"1\r\n \r\n"))
        assert answer.startswith(b"HTTP/1.1 408")
        assert b"the body arrived more slowly than 10000 bytes per second" in answer
    with closing(connected(running)) as connection:
        connection.sendall(head(path, kind))
        assert connection.recv(65536).startswith(b"HTTP/1.1 408")


def test_slow_uploads_do_not_keep_others_out(running: Server) -> None:
    slow = [connected(running) for _ in range(6)]
    for connection in slow:
        connection.sendall(head("/v1/collections/c/documents", LINES) + b"1\r\n \r\n")
    body = b'{"id": "1", "text": "moja"}\n'
    sent = running.client.post(
        "/v1/collections/c/documents", content=body, headers={"content-type": "application/x-ndjson"}
    )
    assert sent.json()["accepted"] == 1
    for connection in slow:
        connection.close()


def test_a_body_without_a_length_that_nests_deeper_than_python_can_follow(running: Server) -> None:
    parts = (b"[" * 100_000 for _ in range(20))
    answer = running.client.post("/v1/search", content=parts, headers={"content-type": "application/json"})
    check_error(answer, 400, "nested deeper than 64 levels")


@pytest.mark.parametrize("path", ["/v1/collections/c/documents", "/v1/tables/bomb?source=en&target=de"])
def test_a_gzip_bomb_is_refused_in_little_memory(running: Server, path: str) -> None:
    bomb = gzip.compress(b"\n" * (64 << 20))
    before = running.memory()
    begun = time.monotonic()
    sent = running.client.request(
        "POST" if "documents" in path else "PUT",
        path,
        content=bomb,
        headers={"content-type": "application/x-ndjson"},
    )
    check_error(sent, 413, "times its size")
    assert running.memory() < before + (150 << 20)
    assert time.monotonic() < begun + 60
    assert running.client.get("/v1/tables").json() == {"tables": []}


@pytest.mark.parametrize("name", ["../escape", "..", ".", "a/../../b", "%2e%2e%2fescape", "a\\..\\b", "/etc/passwd"])
def test_names_do_not_lead_out_of_the_data_directory(running: Server, name: str) -> None:
    before = {path.name for path in running.data_dir.parent.iterdir()}
    answer = running.client.post("/v1/collections", json={"name": name, "language": "de"})
    check_error(answer, 422, "name: must be 1 to 64 characters")
    put = running.client.put(
        "/v1/tables/" + name.replace("/", "%2F"), params={"source": "en", "target": "de"}, content=b"a\tb\n"
    )
    assert put.status_code in (404, 405, 422), put.text
    assert {path.name for path in running.data_dir.parent.iterdir()} == before
    assert running.client.get("/v1/tables").json() == {"tables": []}
