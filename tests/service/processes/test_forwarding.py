"""What a search process does not answer itself is answered as if it were not between, and limits hold over all."""

from __future__ import annotations

import http.client
import os
import signal
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from dragoman.service.processes.ledger import Ledger
from tests.service.processes.test_answers import GERMAN, document, embedded, write
from tests.support.backbones import tiny_veco
from tests.support.processes import Connection, Processes, children, command_of
from tests.support.searching import ndjson
from tests.support.serving import dragoman, wait_for

pytestmark = [pytest.mark.slow]

DOCUMENTS = "/v1/collections/de/documents"
SENT = {"Content-Type": "application/x-ndjson"}


@pytest.fixture(scope="module")
def data_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("forwarding") / "data"


@pytest.fixture(scope="module")
def admin(data_dir: Path) -> str:
    made = dragoman("keys", "create", "--scope", "admin", "--scope", "search", "--data-dir", data_dir)
    return made.stdout.split()[-1]


@pytest.fixture(scope="module")
def service(data_dir: Path, admin: str) -> Iterator[Processes]:
    chosen = {"concurrent_model_searches": 2, "worker_seconds": 20, "upload_idle_seconds": 2, "query_cache_bytes": 0}
    running = Processes(data_dir, encoder=tiny_veco(data_dir.parent / "encoder"), root_path="/tools", **chosen)
    try:
        client = running.server.client
        client.headers["X-API-Key"] = admin
        client.post("/v1/collections", json={"name": "de", "language": "de"}).raise_for_status()
        write(client, "de", [document(number, text) for number, text in enumerate(GERMAN)])
        wait_for(lambda: embedded(client))
        yield running
    finally:
        running.server.kill()


@pytest.fixture
def way(service: Processes) -> Iterator[Connection]:
    """A connection to a search process."""
    connection = service.connect(service.searching[0])
    yield connection
    connection.close()


def exchange(service: Processes, request: bytes) -> bytes:
    """What a search process answers to the bytes of a request, until it closes the connection."""
    parts = urlsplit(service.server.url)
    os.kill(service.server.pid, signal.SIGSTOP)
    try:
        connection = socket.create_connection((parts.hostname, parts.port), timeout=30)
        connection.sendall(request[:1])
        wait_for(lambda: holds(service.searching[0], connection))
    finally:
        os.kill(service.server.pid, signal.SIGCONT)
    connection.sendall(request[1:])
    answer = b""
    while part := connection.recv(65536):
        answer += part
    return answer


def holds(pid: int, connection: socket.socket) -> bool:
    probe = Connection.__new__(Connection)
    probe._connection = http.client.HTTPConnection("127.0.0.1")
    probe._connection.sock = connection
    return probe.is_with(pid)


def test_other_requests_are_answered_by_the_service(service: Processes, way: Connection, admin: str) -> None:
    key = {"X-API-Key": admin}
    assert way.ask("GET", "/healthz")[:2] == (200, {"status": "ok"})
    status, body, headers = way.ask("GET", "/v1/collections", headers=key | {"X-Request-Id": "mine"})
    assert status == 200 and [each["name"] for each in body["collections"]] == ["de"]
    assert headers["x-request-id"] == "mine" and "date" in headers
    assert way.ask("GET", "/tools/v1/collections", headers=key)[1] == body
    assert way.ask("HEAD", "/v1/collections", headers=key)[:2] == (200, b"")
    assert way.ask("GET", "/v1/nothing?a=%20b", headers=key)[0] == 404
    assert way.ask("GET", "/openapi.json")[1]["paths"]
    assert way.ask("POST", "/v1/search", {"query": ""}, key)[0] == 422
    assert way.ask("POST", "/tools/v1/search", {"query": "Vulkan"}, key)[0] == 200
    assert len(way.ask("GET", "/v1/collections/de/export", headers=key)[1].splitlines()) == len(GERMAN)


def test_bodies_are_passed_on_as_they_come(service: Processes, way: Connection, admin: str) -> None:
    lines = [document(number, "Ein langer Satz über den Berg. " * 400) for number in range(200, 230)]
    parts = urlsplit(service.server.url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=60)
    chunks = iter([ndjson([line]) for line in lines])
    connection.request("POST", DOCUMENTS, chunks, SENT | {"X-API-Key": admin}, encode_chunked=True)
    assert connection.getresponse().read().startswith(b'{"accepted":30')
    status, body, _ = way.ask("POST", DOCUMENTS, ndjson(lines), SENT | {"X-API-Key": admin})
    assert (status, body["replaced"]) == (200, 30)
    filter = {"filter": {"year": {"$gte": 2200}}}
    assert way.ask("POST", f"{DOCUMENTS}/delete", filter, {"X-API-Key": admin})[1] == {"deleted": 30}


def test_hostile_requests_are_answered_as_the_service_answers_them(service: Processes, admin: str) -> None:
    head = (
        b"POST /v1/search HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nX-API-Key: %b\r\n" % admin.encode()
    )
    both = exchange(service, head + b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n")
    assert both.startswith(b"HTTP/1.1 400") and b"Content-Length" in both
    slow = exchange(service, head + b"Content-Length: 50\r\n\r\n{")
    assert slow.startswith(b"HTTP/1.1 408")
    large = exchange(service, head + b"Content-Length: 99999999999\r\nExpect: 100-continue\r\n\r\n")
    assert b"HTTP/1.1 413" in large
    expecting = exchange(
        service, head + b'Connection: close\r\nContent-Length: 18\r\nExpect: 100-continue\r\n\r\n{"query":"Vulkan"}'
    )
    assert b"200 OK" in expecting
    old = b"GET /healthz HTTP/1.0\r\n\r\n"
    assert exchange(service, old).endswith(b'{"status":"ok"}')
    assert exchange(service, b"no http at all\r\n\r\n").startswith(b"HTTP/1.1 400")


def test_requests_that_do_not_wait_for_answers_are_all_answered(service: Processes, admin: str) -> None:
    head = b"POST /v1/nothing HTTP/1.1\r\nHost: a\r\nX-API-Key: %b\r\n" % admin.encode()
    sent = head + b"Transfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\n\r\n"
    last = head + b"Content-Length: 0\r\nConnection: close\r\n\r\n"
    assert exchange(service, 99 * sent + last).count(b"HTTP/1.1 404") == 100


@pytest.mark.parametrize("attempt", range(5))
def test_an_answer_before_the_body_was_read_is_passed_back(service: Processes, admin: str, attempt: int) -> None:
    key = b"X-API-Key: %b\r\n" % admin.encode()
    body = b"%x\r\n%b\r\n0\r\n\r\n" % (300_000, 300_000 * b"a")
    head = b"POST /v1/nothing HTTP/1.1\r\nHost: a\r\n" + key
    lengths = b"Content-Length: 300000\r\nTransfer-Encoding: chunked\r\n\r\n"
    assert exchange(service, head + lengths + body).startswith(b"HTTP/1.1 400")
    old = b"POST /v1/nothing HTTP/1.0\r\n" + key + b"Content-Length: 300000\r\n\r\n" + 300_000 * b"a"
    assert b" 404 " in exchange(service, old).partition(b"\r\n")[0]


def test_what_is_not_to_be_expected_is_not_waited_for(service: Processes, admin: str) -> None:
    for version, expected in ((b"1.1", b"foo"), (b"1.0", b"100-continue"), (b"1.1", b"100-Continue")):
        head = b"POST /tools/v1/search HTTP/%b\r\nHost: a\r\nConnection: close\r\nExpect: %b\r\n" % (version, expected)
        kind = b"Content-Type: application/json\r\nX-API-Key: %b\r\nContent-Length: 18\r\n\r\n" % admin.encode()
        assert b" 200 OK" in exchange(service, head + kind + b'{"query":"Vulkan"}')


def test_many_at_a_time_find_a_place(service: Processes, way: Connection) -> None:
    os.kill(service.server.pid, signal.SIGSTOP)  # it accepts nothing
    parts = urlsplit(service.server.url)
    ways = []
    try:
        for _ in range(600):
            connection = socket.create_connection((parts.hostname, parts.port), timeout=60)
            connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
            ways.append(connection)
        wait_for(lambda: all(holds(service.searching[0], connection) for connection in ways[-3:]))
    finally:
        os.kill(service.server.pid, signal.SIGCONT)
    answers = [connection.makefile("rb").read() for connection in ways]
    assert [answer for answer in answers if b" 200 OK" not in answer] == []
    for connection in ways:
        connection.close()


def test_the_clients_address_is_passed_on(service: Processes, way: Connection) -> None:
    status, _, _ = way.ask("POST", "/v1/search", {"query": "Vulkan"}, {"X-API-Key": "wrong"})
    assert status == 401
    wait_for(lambda: any("path=/v1/search" in line for line in service.server.log))
    (line,) = (line for line in service.server.log if "path=/v1/search" in line)
    assert "client=127.0.0.1" in line


def test_a_key_works_from_its_making_to_its_revocation(service: Processes, way: Connection, admin: str) -> None:
    client = service.server.client
    (pid,) = service.searching
    for collections in (None, ["de"], ["other"]):
        new = {"name": "reader", "scopes": ["search"]} | ({"collections": collections} if collections else {})
        made = client.post("/v1/keys", json=new).json()
        answers = [way.search(made["key"], query="Vulkan") for _ in range(3)]  # the first is to be noted as its use
        assert [len(answer["hits"]) > 0 for answer in answers] == 3 * [collections != ["other"]]
        client.delete(f"/v1/keys/{made['id']}").raise_for_status()
        assert way.ask("POST", "/v1/search", {"query": "Vulkan"}, {"X-API-Key": made["key"]})[0] == 401
    wait_for(lambda: service.answered(pid) > 0)
    assert "last_used_at" in client.get("/v1/keys").text


def test_a_rate_is_that_of_all_processes_together(service: Processes, way: Connection, admin: str) -> None:
    limited = {"name": "slow", "scopes": ["search"], "requests_per_second": 0.001, "burst": 6}
    key = service.server.client.post("/v1/keys", json=limited).json()["key"]
    other = service.connect(service.server.pid)
    settle_with(service, admin)
    (pid,) = service.searching
    before = service.answered(pid)
    body: dict[str, Any] = {"query": "Vulkan", "method": "psq"}
    statuses = [
        connection.ask("POST", "/v1/search", body, {"X-API-Key": key})[0]
        for connection in (way, other, way, other, way, way, way, other)
    ]
    other.close()
    assert statuses == 6 * [200] + 2 * [429]
    wait_for(lambda: service.answered(pid) == before + 4)  # all but the first, with which the key's use is noted


def test_a_limit_is_that_of_all_processes_together(service: Processes, admin: str) -> None:
    settle_with(service, admin)
    (worker,) = children(service.server.pid, "worker_child")
    (pid,) = service.searching
    body, key = {"query": "Vulkan", "method": "dense"}, {"X-API-Key": admin}
    ways = [service.connect(place) for place in (pid, service.server.pid, pid, service.server.pid)]
    os.kill(worker, signal.SIGSTOP)
    try:
        with ThreadPoolExecutor(2) as threads:
            waiting = [threads.submit(way.ask, "POST", "/v1/search", body, key) for way in ways[:2]]
            wait_for(lambda: waiting_together(pid) == 2)
            assert [way.ask("POST", "/v1/search", body, key)[0] for way in ways[2:]] == [429, 429]
            os.kill(worker, signal.SIGCONT)
            assert [answer.result()[0] for answer in waiting] == [200, 200]
    finally:
        with suppress(ProcessLookupError):
            os.kill(worker, signal.SIGCONT)
        for way in ways:
            way.close()


def waiting_together(pid: int) -> int:
    """The searches that wait for the models in all processes."""
    ledger = Ledger(Path(command_of(pid)[4]) / "counts", 0, 2)
    with ledger.hold():
        total = ledger.entry("searches are waiting for the models").total
    ledger.close()
    return total


def settle_with(service: Processes, key: str) -> None:
    way = service.connect(service.searching[0])

    def answers() -> bool:
        before = service.answered(service.searching[0])
        way.search(key, query="Vulkan")
        return service.answered(service.searching[0]) > before

    wait_for(answers)
    way.close()
