"""Clients that hold connections, don't read, or send what is no proper HTTP: others are served meanwhile.

Each test ends by the client's timeout or the server's limits of files and memory, not by a clock.
"""

from __future__ import annotations

import json
import select
import socket
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress

import httpx
import pytest

from tests.support.connections import CHUNKED, HEALTHZ, MORE, POST, answered, connected, error_of, faults_in
from tests.support.searching import ndjson
from tests.support.serving import Server, dragoman, http_client, wait_for

pytestmark = pytest.mark.slow

FILES = 320
LIMITED = """
import os, resource, sys
resource.setrlimit(resource.RLIMIT_NOFILE, ({files}, {files}))
os.execv(sys.executable, [sys.executable, "-m", "dragoman.cli.main", *sys.argv[1:]])
"""
NDJSON = {"content-type": "application/x-ndjson"}


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A service with a key, which its client does not have, few files and little memory."""
    folder = tmp_path_factory.mktemp("guarded")
    assert dragoman("keys", "create", "--data-dir", folder, "--scope", "admin").returncode == 0
    running = Server(
        folder,
        [sys.executable, "-c", LIMITED.format(files=FILES)],
        forked=False,
        open_requests_per_second=1,
        open_burst=20,
        failed_sign_ins_per_second=1,
        failed_sign_ins_burst=20,
    )
    running.limit_memory(2 * MORE)
    yield running
    running.kill()


def alive(running: Server) -> bool:
    """Whether a new client is told so."""
    with http_client(running.url) as client:
        return client.get("/healthz").json() == {"status": "ok"}


@contextmanager
def dripping(connections: list[socket.socket], part: bytes) -> Iterator[None]:
    """Send a part on each connection ten times a second while the block runs."""
    done = threading.Event()

    def drip() -> None:
        left = list(connections)
        while not done.wait(0.1):
            for connection in list(left):
                try:
                    connection.sendall(part)
                except OSError:
                    left.remove(connection)

    thread = threading.Thread(target=drip, daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def closed(connection: socket.socket) -> bool:
    """Whether the server has closed the connection; what it said before is read."""
    connection.setblocking(False)
    try:
        while connection.recv(1 << 16):
            pass
    except BlockingIOError:
        return False
    except OSError:
        return True
    return True


def test_who_has_no_key_holds_no_connection(guarded: Server) -> None:
    request = POST % (b"/v1/search", b"application/json", b"Content-Length: 1000000\r\n")
    with ExitStack() as held:
        holding = [held.enter_context(connected(guarded)) for _ in range(2 * FILES)]
        for connection in holding:
            connection.sendall(request)
        with dripping(holding, b" "):
            assert alive(guarded)
            wait_for(lambda: alive(guarded) and all(closed(connection) for connection in holding))
    assert len("".join(guarded.log)) < 1_000_000


def test_idle_connections_make_room_for_others(guarded: Server) -> None:
    with ExitStack() as held:
        for _ in range(3 * FILES):
            held.enter_context(connected(guarded))
        assert alive(guarded)
        with connected(guarded) as kept:
            for _ in range(3):
                kept.sendall(HEALTHZ)
                answer = b""
                while b"}" not in answer:
                    answer += kept.recv(1 << 16)
                assert answer.startswith(b"HTTP/1.1 200")
    assert len("".join(guarded.log)) < 1_000_000


@pytest.mark.parametrize("path", ["/openapi.json", "/readyz", "/docs", "/", "/v1/collections", "/nothing"])
def test_what_needs_no_key_is_not_free_at_any_rate(guarded: Server, path: str) -> None:
    with http_client(guarded.url) as client:
        answers = [client.get(path) for _ in range(60)]
        refused = [answer for answer in answers if answer.status_code == 429]
        assert refused
        assert all(int(answer.headers["retry-after"]) >= 1 for answer in refused)
        assert {client.get("/healthz").status_code for _ in range(200)} == {200}


def ask_and_read_nothing(running: Server, held: ExitStack, count: int) -> None:
    """Ask for a large document on so many connections, each of which is held."""
    request = b"GET /v1/collections/c/documents/large HTTP/1.1\r\nHost: localhost\r\n\r\n"
    for _ in range(count):
        connection = held.enter_context(connected(running))
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.sendall(request)
        assert connection.recv(1) == b"H"


def test_answers_that_nobody_reads_are_not_kept(opened: Server) -> None:
    document = {"id": "large", "text": "neno " * 1_400_000}
    opened.client.post("/v1/collections/c/documents", content=ndjson([document]), headers=NDJSON).raise_for_status()
    with ExitStack() as held:
        ask_and_read_nothing(opened, held, 20)  # what one answer takes is no growth
    before = opened.memory()
    with ExitStack() as held:
        ask_and_read_nothing(opened, held, 120)
        assert alive(opened)
        wait_for(lambda: opened.memory() < before + MORE // 3)
    assert opened.client.get("/v1/collections/c/documents/large").json()["text"] == document["text"]
    opened.client.delete("/v1/collections/c/documents/large").raise_for_status()
    assert not faults_in(opened), faults_in(opened)


def test_a_slow_reader_gets_all_of_its_answer(opened: Server) -> None:
    document = {"id": "slowly", "text": "neno " * 1_000_000}
    opened.client.post("/v1/collections/c/documents", content=ndjson([document]), headers=NDJSON).raise_for_status()
    with connected(opened) as connection:
        connection.sendall(
            b"GET /v1/collections/c/documents/slowly HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
        )
        answer = bytearray()
        pause = threading.Event()
        while part := connection.recv(50_000):
            answer += part
            pause.wait(0.03)
    assert json.loads(answer.partition(b"\r\n\r\n")[2])["text"] == document["text"]


def test_slow_uploads_keep_no_quick_one_waiting(opened: Server) -> None:
    head = POST % (b"/v1/collections/c/documents", b"application/x-ndjson", CHUNKED)
    part = ndjson([{"id": "slow", "text": "x" * 4_000}])
    with ExitStack() as held:
        slow = [held.enter_context(connected(opened)) for _ in range(8)]
        for connection in slow:
            connection.sendall(head)
        with dripping(slow, b"%x\r\n%s\r\n" % (len(part), part)):
            for number in range(5):
                content = ndjson([{"id": f"{number}", "text": "moja"}])
                sent = opened.client.post("/v1/collections/c/documents", content=content, headers=NDJSON)
                assert sent.json()["accepted"] == 1
            assert not any(closed(connection) for connection in slow)


def test_a_fast_beginning_earns_no_slow_end(opened: Server) -> None:
    with connected(opened) as connection:
        connection.sendall(POST % (b"/v1/search", b"application/json", CHUNKED) + b"100000\r\n" + b" " * 0x100000)
        connection.sendall(b"\r\n")
        with dripping([connection], b"1\r\n \r\n"):
            assert connection.recv(1 << 16).startswith(b"HTTP/1.1 408")


@pytest.mark.parametrize("chunk", [b"1\r\n \r\n", b"2a\r\n" + b" " * 42 + b"\r\n"])
def test_a_body_in_small_chunks_takes_no_other_s_turn(opened: Server, chunk: bytes) -> None:
    with ExitStack() as held:
        sending = [held.enter_context(connected(opened)) for _ in range(40)]
        for connection in sending:
            connection.sendall(POST % (b"/v1/search", b"application/json", CHUNKED))
            connection.setblocking(False)

        def flood(done: threading.Event) -> None:
            while not done.is_set():
                for connection in sending:
                    try:
                        connection.send(chunk * (120_000 // len(chunk)))
                    except OSError:
                        done.wait(0.001)

        done = threading.Event()
        flooding = threading.Thread(target=flood, args=[done], daemon=True)
        flooding.start()
        with httpx.Client(base_url=opened.url, timeout=5, trust_env=False) as client:
            for _ in range(10):
                assert client.get("/healthz").status_code == 200
        lines = b"".join(b"neno%d\tWort%d\t0.5\t0.5\n" % (number, number) for number in range(50_000))
        parts = (lines[start : start + 50_000] for start in range(0, len(lines), 50_000))
        for content in (lines, parts):  # with a length and in chunks of a usual size
            table = opened.client.put("/v1/tables/quick", params={"source": "sw", "target": "de"}, content=content)
            assert table.status_code == 201, table.text
        done.set()
        flooding.join()


def test_requests_that_come_before_their_time_are_all_answered(opened: Server) -> None:
    """Also after a flood of small chunks from the same address."""
    head = b"POST /v1/nothing HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    whole = head + b"Content-Length: 2\r\n\r\n{}"
    chunked = head + CHUNKED + b"\r\n" + b"1\r\n{\r\n1\r\n}\r\n0\r\n\r\n"
    last = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    answer = answered(opened, (whole + chunked) * 200 + last)
    assert answer.count(b"HTTP/1.1 404") == 400
    assert answer.count(b"HTTP/1.1 200") == 1


def test_what_follows_the_last_request_of_a_connection_is_not_read(opened: Server) -> None:
    document = {"id": "last", "text": "neno " * 1_400_000}
    opened.client.post("/v1/collections/c/documents", content=ndjson([document]), headers=NDJSON).raise_for_status()
    with connected(opened) as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.sendall(b"GET /v1/collections/c/documents/last HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        assert connection.recv(1) == b"H"
        connection.setblocking(False)
        sent = 0
        with suppress(ConnectionError):  # the server gives an answer up that nobody reads
            while select.select([], [connection], [], 1.0)[1]:
                sent += connection.send(b" " * 65_536)
                assert sent < 64 << 20
    opened.client.delete("/v1/collections/c/documents/last").raise_for_status()


def test_a_caller_without_a_key_cannot_send_two_lengths_either(guarded: Server) -> None:
    body = b"Content-Length: 4\r\n" + CHUNKED
    answer = answered(guarded, POST % (b"/v1/search", b"application/json", body) + b"0\r\n\r\n" + HEALTHZ)
    assert error_of(answer)[0] in (401, 429)


def test_a_caller_without_a_key_that_is_too_fast_loses_its_connection(guarded: Server) -> None:
    answer = answered(guarded, b"GET /docs HTTP/1.1\r\nHost: localhost\r\n\r\n" * 200)
    assert answer.count(b"HTTP/1.1 429") == 1
    assert b"connection: close" in answer.rpartition(b"HTTP/1.1 429")[2].lower()


@pytest.mark.parametrize(
    "request_",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
        b"GET / HTTP/9.9 and more\r\n\r\n",
        b"GET / HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\nX: " + b"x" * 100_000 + b"\r\n\r\n",
        POST % (b"/v1/search", b"application/json", CHUNKED) + b"no number\r\n",
    ],
)
def test_what_is_no_http_gets_the_one_error_body(opened: Server, request_: bytes) -> None:
    assert error_of(answered(opened, request_)) == (400, "malformed_body")
    assert not faults_in(opened), faults_in(opened)


def test_a_web_socket_gets_the_one_error_body(opened: Server) -> None:
    upgrade = b"Connection: Upgrade, close\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
    key = b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
    answer = answered(opened, b"GET /v1/nothing HTTP/1.1\r\nHost: localhost\r\n" + upgrade + key + b"\r\n")
    assert error_of(answer) == (404, "not_found")


def test_clients_that_leave_in_mid_body_are_no_faults(opened: Server) -> None:
    def counted() -> Counter[str]:
        lines = opened.client.get("/metrics").text.splitlines()
        found: Counter[str] = Counter()
        for line in lines:
            if line.startswith("dragoman_requests_total{"):
                found[line.split('status="')[1].split('"')[0]] += int(float(line.rpartition(" ")[2]))
        return found

    before = counted()
    paths = {b"/v1/search": b"application/json", b"/v1/collections/c/documents": b"application/x-ndjson"}
    for path, kind in paths.items():
        for _ in range(10):
            with connected(opened) as connection:
                connection.sendall(POST % (path, kind, b"Content-Length: 1000\r\n") + b'{"query": ')
    wait_for(lambda: counted()["0"] >= before["0"] + 20)
    assert not [status for status, number in (counted() - before).items() if status[0] == "5"]
    assert not faults_in(opened), faults_in(opened)


@pytest.mark.parametrize("path", ["/healthz", "/v1/collections", "/v1/nothing", "/metrics", "/openapi.json", "/docs"])
def test_answers_carry_what_browsers_heed(opened: Server, path: str) -> None:
    headers = opened.client.get(path).headers
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["cache-control"] == "no-store"


def test_the_documentation_runs_scripts_of_this_service_alone(opened: Server) -> None:
    page = opened.client.get("/docs")
    policy = dict(directive.strip().split(" ", 1) for directive in page.headers["content-security-policy"].split(";"))
    assert policy["default-src"] == "'none'"
    assert policy["script-src"] == "'self'"
    assert page.text.count("<script") == page.text.count("<script src=")
