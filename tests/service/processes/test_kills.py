"""Whatever ends a process of a service: nothing that was confirmed is lost, and no process is left over."""

from __future__ import annotations

import os
import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from dragoman.engine.core.limits import BATCH_LINES
from tests.service.processes.test_answers import GERMAN, document, embedded, settle, write
from tests.support.backbones import tiny_veco
from tests.support.postgresql import DATABASES, database
from tests.support.postgresql import server as postgresql_server
from tests.support.processes import Connection, Processes, children, command_of
from tests.support.searching import ndjson
from tests.support.serving import dragoman, wait_for

pytestmark = [pytest.mark.slow, pytest.mark.kill]

DOCUMENTS = "/v1/collections/de/documents"
SENT = {"Content-Type": "application/x-ndjson"}


def fill(service: Processes) -> None:
    client = service.server.client
    client.post("/v1/collections", json={"name": "de", "language": "de"}).raise_for_status()
    write(client, "de", [document(number, text) for number, text in enumerate(GERMAN)])
    wait_for(lambda: embedded(client))
    settle(service)


def all_processes(service: Processes) -> list[int]:
    return [service.server.pid, *service.searching, *children(service.server.pid, "worker_child")]


def test_kills_under_traffic_lose_nothing_and_leave_no_process(tmp_path: Path) -> None:
    encoder = tiny_veco(tmp_path / "encoder")
    service = Processes(tmp_path / "data", 3, encoder=encoder)
    written: list[str] = []
    stopped = threading.Event()

    def write_on() -> None:
        while not stopped.is_set():
            with suppress(OSError):
                way = Connection(service.server.url)
                added = document(1000 + len(written), "Noch ein Vulkan.")
                if way.ask("POST", DOCUMENTS, ndjson([added]), SENT)[0] == 200:
                    written.append(added["id"])
                way.close()

    try:
        service.server.client.post("/v1/collections", json={"name": "de", "language": "de"}).raise_for_status()
        with ThreadPoolExecutor(1) as threads:
            writing = threads.submit(write_on)
            try:
                for _ in range(2):
                    more = len(written) + 3
                    wait_for(lambda more=more: len(written) >= more)  # type: ignore[misc]
                    killed = service.searching[0]
                    os.kill(killed, signal.SIGKILL)
                    service.wait_for_all(2, but=killed)
                pids = all_processes(service)
                folder = Path(command_of(service.searching[0])[4])
                service.server.kill()
            finally:
                stopped.set()
            writing.result()
        wait_for(lambda: not any(command_of(pid) for pid in pids[1:]))
        assert not folder.exists()
        service = Processes(tmp_path / "data", 2, encoder=encoder)
        exported = service.server.client.get("/v1/collections/de/export").text
        assert [id for id in written if f'"{id}"' not in exported] == []
    finally:
        service.server.kill()


def begin_upload(way: Connection) -> bytes:
    """Send a batch of documents, and no end; the answer comes when the service ends the upload."""
    connection = way._connection
    connection.putrequest("POST", DOCUMENTS)
    for name, text in (SENT | {"Transfer-Encoding": "chunked"}).items():
        connection.putheader(name, text)
    connection.endheaders()
    lines = ndjson([document(500 + number, "Ein Berg.") for number in range(BATCH_LINES)])
    connection.send(b"%x\r\n%b\r\n" % (len(lines), lines))
    return connection.getresponse().read()


def test_a_stop_finishes_what_is_under_way_in_all_processes(tmp_path: Path) -> None:
    service = Processes(tmp_path / "data", encoder=tiny_veco(tmp_path / "encoder"), worker_seconds=30)
    try:
        fill(service)
        pids = all_processes(service)
        (worker,) = children(service.server.pid, "worker_child")
        upload, search = (service.connect(service.searching[0]) for _ in range(2))
        os.kill(worker, signal.SIGSTOP)
        with ThreadPoolExecutor(2) as threads:
            answer = threads.submit(search.ask, "POST", "/v1/search", {"query": "Vulkan am Fluss", "method": "dense"})
            imported = threads.submit(begin_upload, upload)
            address = f"{DOCUMENTS}/d500"
            wait_for(lambda: service.server.client.get(address).status_code == 200)
            service.server.tell(signal.SIGTERM)
            assert b"stopping" in imported.result()
            os.kill(worker, signal.SIGCONT)
            assert answer.result()[0] == 200
        assert service.server.ended() == 0
        wait_for(lambda: not any(command_of(pid) for pid in pids[1:]))
    finally:
        with suppress(ProcessLookupError):
            service.server.kill()


def test_a_stop_kills_search_processes_that_hang(tmp_path: Path) -> None:
    service = Processes(tmp_path / "data", 3, encoder=tiny_veco(tmp_path / "encoder"), shutdown_seconds=1)
    hanging = service.searching
    for pid in hanging:
        os.kill(pid, signal.SIGSTOP)
    service.server.tell(signal.SIGTERM)
    assert service.server.ended() == 0
    assert not any(command_of(pid) for pid in hanging)
    assert sum("hangs, and is killed" in line for line in service.server.log) == 2


@pytest.mark.parametrize("kind", DATABASES)
def test_both_databases(tmp_path: Path, kind: str) -> None:
    with ExitStack() as opened:
        chosen = {}
        if kind == "postgresql":
            cluster = opened.enter_context(postgresql_server())
            chosen["database_url"] = opened.enter_context(database(cluster))
        service = Processes(tmp_path / "data", encoder=tiny_veco(tmp_path / "encoder"), **chosen)
        try:
            fill(service)
            (pid,) = service.searching
            here, there = service.connect(service.server.pid), service.connect(pid)
            for method in ("psq", "dense", None):
                asked = {"query": "Vulkan Asche", "query_language": "de", "method": method}
                assert there.search(**asked) == here.search(**asked)
                write(service.server.client, "de", [document(700, "Der neue Vulkan.")])
                assert "d700" in {hit["id"] for hit in there.search(**asked)["hits"]}
                service.server.client.delete(f"{DOCUMENTS}/d700").raise_for_status()
                assert "d700" not in {hit["id"] for hit in there.search(**asked)["hits"]}
                settle(service)
        finally:
            service.server.kill()


def test_models_in_this_process_cannot_be_shared(tmp_path: Path) -> None:
    refused = dragoman("serve", "--data-dir", tmp_path, "--processes", 2)
    assert refused.returncode != 0
    assert "DRAGOMAN_WORKER_MODE" in refused.stderr
