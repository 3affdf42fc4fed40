"""More than the service can do: clients that leave by the thousand, and ten times as many as it takes.

``DRAGOMAN_TEST_OVERLOAD_SECONDS`` is how long it is overloaded; docs/reliability.md has the figures of 60 seconds.
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
import resource
import socket
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import uvicorn

from dragoman.engine.settings import Settings
from dragoman.service.app import create_app
from dragoman.service.runtime import Runtime
from tests.support.modelling import LinkScorer, WordEncoder, standing_in
from tests.support.searching import ndjson
from tests.support.serving import Server, server, wait_for
from tests.support.standing_in import STANDING_IN

pytestmark = pytest.mark.slow

SECONDS = float(os.environ.get("DRAGOMAN_TEST_OVERLOAD_SECONDS", "3"))
LEAVING = 1_000
NDJSON = {"content-type": "application/x-ndjson"}


@contextmanager
def served(runtime: Runtime) -> Iterator[tuple[str, int]]:
    """The address of the application over a runtime, served in a thread of this process, whose inside can be seen."""
    running = uvicorn.Server(uvicorn.Config(create_app(runtime.settings, runtime), port=0, log_level="error"))
    thread = threading.Thread(target=running.run)
    thread.start()
    wait_for(lambda: running.started)
    try:
        yield running.servers[0].sockets[0].getsockname()
    finally:
        running.should_exit = True
        thread.join()


def post(document: str, query: str = "a") -> bytes:
    body = json.dumps({"query": query, "query_language": "en", "document_language": "en", "documents": [document]})
    head = "POST /v1/rerank HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    return f"{head}Content-Length: {len(body)}\r\n\r\n{body}".encode()


def futures() -> int:
    gc.collect()
    return sum(issubclass(type(one), Future | asyncio.Future) for one in gc.get_objects())


def waiting(runtime: Runtime) -> int:
    return runtime.models.worker._waiting


@pytest.fixture
def many_files() -> Iterator[None]:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 3 * LEAVING
    if before[0] < wanted:
        if before[1] < wanted:
            pytest.skip(f"no more than {before[1]} files may be open here, and {wanted} are needed")
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


@pytest.mark.usefixtures("many_files")
def test_of_clients_that_leave_while_they_wait_nothing_is_computed_and_nothing_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scorer = LinkScorer()
    with standing_in(monkeypatch, WordEncoder(), None, scorer):
        seconds = {"worker_seconds": 600.0, "worker_hung_seconds": 600.0, "request_seconds": 600.0}  # on a busy machine
        runtime = Runtime(Settings.load(data_dir=tmp_path, **seconds))
        with served(runtime) as address:
            leave(runtime, scorer, address, LEAVING)  # what so many need for a moment the process keeps
            before, batches = futures(), len(scorer.batches)
            memory = resident()
            leave(runtime, scorer, address, LEAVING)
            assert sum(map(len, scorer.batches[batches:])) == 1 + 1, "the model saw a client that had left"
            wait_for(lambda: futures() <= before)
            assert waiting(runtime) == 0
            assert resident() < memory + (10 << 20)
            wait_for(lambda: threading.active_count() < 100)


def leave(runtime: Runtime, scorer: LinkScorer, address: tuple[str, int], many: int) -> None:
    """Let so many clients come and go while the model is held up; then two more get their answers."""
    scorer.barrier.clear()
    with socket.create_connection(address) as first, socket.create_connection(address) as last:
        computed = len(scorer.batches)
        first.sendall(post("first"))
        wait_for(lambda: len(scorer.batches) == computed + 1)
        clients = [socket.create_connection(address) for _ in range(many)]
        for number in range(0, many, 50):  # no more than the service reads at a time
            for client in clients[number : number + 50]:
                client.sendall(post("left before its turn"))
            wait_for(lambda number=number: waiting(runtime) == min(number + 50, many))
        for client in clients:
            client.close()
        last.sendall(post("last"))
        wait_for(lambda: waiting(runtime) == many + 1)
        time.sleep(1)  # the service looks four times a second whether clients are there
        scorer.barrier.set()
        for connection in (first, last):
            assert connection.recv(1 << 16).startswith(b"HTTP/1.1 200")


def resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def overload(running: Server, clients: int, path: str, asked: dict[str, Any]) -> dict[int, list[float]]:
    """Seconds of each answer by status; each client asks again when it is answered, for ``SECONDS``.

    The clients are plain sockets, which take less of the machine than the service does.
    """
    body = json.dumps(asked)
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    request = f"{head}Content-Length: {len(body)}\r\n\r\n{body}".encode()
    found: list[tuple[int, float]] = []
    url = running.client.base_url

    async def client(until: float) -> None:
        reader, writer = await asyncio.open_connection(url.host, url.port)
        while (begun := time.monotonic()) < until:
            writer.write(request)
            answer = (await reader.readuntil(b"\r\n\r\n")).lower()
            content = await reader.readexactly(int(answer.split(b"content-length: ")[1].split()[0]))
            status = int(answer.split()[1])
            found.append((status, time.monotonic() - begun))
            if status == 429:
                assert 1 <= int(answer.split(b"\r\nretry-after: ")[1].split()[0]) <= 60
                assert json.loads(content)["error_type"] == "overloaded"
                await asyncio.sleep(1)
        writer.close()

    async def all_of_them() -> None:
        until = time.monotonic() + SECONDS
        await asyncio.wait_for(asyncio.gather(*(client(until) for _ in range(clients))), SECONDS + 120)

    asyncio.run(all_of_them())
    return {status: [seconds for one, seconds in found if one == status] for status in {one for one, _ in found}}


def told(what: str, found: dict[int, list[float]]) -> None:
    for status, seconds in sorted(found.items()):
        p50, p99 = np.percentile(seconds, [50, 99])
        print(f"{what}, {SECONDS:g} s: {len(seconds)} of {status}, p50 {p50:.3f} s, p99 {p99:.3f} s")  # noqa: T201


def test_ten_times_the_searches_that_are_taken_at_a_time(tmp_path: Path) -> None:
    allowed = 16
    with server(tmp_path, concurrent_searches=allowed) as running:
        running.client.post("/v1/collections", json={"name": "c", "language": "sw"}).raise_for_status()
        documents = ndjson({"id": f"{n}", "text": f"nyumba namba {n}"} for n in range(200))
        running.client.post("/v1/collections/c/documents", content=documents, headers=NDJSON).raise_for_status()
        asked = {"query": "nyumba", "query_language": "sw"}
        found = overload(running, 10 * allowed, "/v1/search", asked)
        told("searches", found)
        assert set(found) == {200, 429}, Counter({status: len(one) for status, one in found.items()})
        assert max(found[200]) < 30
        assert running.client.post("/v1/search", json=asked).status_code == 200


def test_ten_times_the_texts_that_may_wait_for_the_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STANDING_IN_SECONDS", "0.05")
    allowed = 16
    with server(tmp_path, STANDING_IN, worker_queue=allowed, worker_batch_tokens=8) as running:
        asked = {"query": "a", "query_language": "en", "document_language": "en", "documents": ["one two three"]}
        running.client.post("/v1/rerank", json=asked).raise_for_status()
        found = overload(running, 10 * allowed, "/v1/rerank", asked)
        told("reranking", found)
        assert set(found) == {200, 429}, Counter({status: len(one) for status, one in found.items()})
        assert max(found[200]) < 30
        assert running.client.post("/v1/rerank", json=asked).status_code == 200
