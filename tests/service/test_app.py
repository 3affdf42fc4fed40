"""The application in this process, with faults put under it."""

from __future__ import annotations

import ast
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn
from fastapi.testclient import TestClient
from sqlalchemy import event

from dragoman.engine.indexing.lucene.builds import IndexState
from dragoman.engine.settings import Settings
from dragoman.service.app import create_app
from dragoman.service.runtime import Runtime
from dragoman.service.server import make_app
from tests.support.errorbody import check_error
from tests.support.searching import ndjson

pytestmark = pytest.mark.slow

NDJSON = {"content-type": "application/x-ndjson"}


def test_a_served_application_parses_no_source_for_a_request(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Torch parses its own while it is imported, and CPython 3.11 fails where two threads parse."""
    settings = Settings.load(data_dir=tmp_path, embed="on_demand")
    with TestClient(make_app(settings), base_url="http://localhost") as client:
        parse = ast.parse
        parsed: list[str] = []

        def note(*arguments: Any, **options: Any) -> Any:
            if (thread := threading.current_thread().name) != "dragoman-load":
                parsed.append(thread)
            return parse(*arguments, **options)

        monkeypatch.setattr(ast, "parse", note)
        client.post("/v1/collections", json={"name": "c", "language": "sw"}).raise_for_status()
        client.post("/v1/collections/c/documents", content=ndjson([{"id": "1", "text": "moja"}]), headers=NDJSON)
        for path in ("/v1/collections", "/v1/tables", "/v1/jobs", "/v1/models", "/metrics", "/readyz"):
            client.get(path)
        asked = {"query": "moja", "query_language": "sw", "rerank": False}
        assert client.post("/v1/search", json=asked).json()["hits"]
    assert not parsed


@pytest.fixture
def runtime(tmp_path: Path) -> Runtime:
    return Runtime(Settings.load(data_dir=tmp_path, index_commit_seconds=3600))


@pytest.fixture
def client(runtime: Runtime) -> Iterator[httpx.Client]:
    """A client of the application over the runtime, which a server in another thread serves."""
    app = create_app(runtime.settings, runtime)
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="error"))
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        assert thread.is_alive()
        time.sleep(0.01)
    port = server.servers[0].sockets[0].getsockname()[1]
    with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=60, trust_env=False) as client:
        client.post("/v1/collections", json={"name": "c", "language": "sw"}).raise_for_status()
        yield client
    server.should_exit = True
    thread.join()


def _documents(count: int, text: str = "x ") -> bytes:
    return ndjson({"id": f"{n}", "text": text * 500} for n in range(count))


def test_a_fault_that_nobody_foresaw_tells_nothing_but_the_request(
    client: httpx.Client, runtime: Runtime, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail() -> None:
        raise RuntimeError("a secret of the inside")

    monkeypatch.setattr(runtime.collections, "all", fail)
    response = client.get("/v1/collections", headers={"X-Request-Id": "find-me"})
    message = check_error(response, 500, "request id find-me")
    assert "secret" not in message
    assert "a secret of the inside" in caplog.text
    assert client.get("/healthz").status_code == 200


def test_a_full_database_is_507_and_keeps_what_was_acknowledged(client: httpx.Client, runtime: Runtime) -> None:
    client.post("/v1/collections/c/documents", content=_documents(3), headers=NDJSON).raise_for_status()

    def fill(connection: object, *_: object) -> None:
        pages = connection.execute("PRAGMA page_count").fetchone()[0]  # type: ignore[attr-defined]
        connection.execute(f"PRAGMA max_page_count = {pages + 20}")  # type: ignore[attr-defined]

    runtime.store.engine.dispose()
    event.listen(runtime.store.engine, "connect", fill)
    check_error(
        client.post("/v1/collections/c/documents", content=_documents(2000), headers=NDJSON), 507, "no space is left"
    )
    event.remove(runtime.store.engine, "connect", fill)
    runtime.store.engine.dispose()
    info = client.get("/v1/collections/c").json()
    assert info["documents"] == info["generation"] + 2 == 3
    answer = client.post("/v1/collections/c/documents", content=_documents(2000), headers=NDJSON)
    assert answer.json()["accepted"] == 2000


def test_not_ready_while_an_index_is_not(client: httpx.Client, runtime: Runtime) -> None:
    index = runtime.collections.index_of("c")
    assert client.get("/readyz").status_code == 200
    for state in (IndexState.BUILDING, IndexState.FAILED, IndexState.STALE):
        index.state = state
        response = client.get("/readyz")
        check_error(response, 503, f"not all indexes are ready: 1 {state.value}")
        assert response.headers["retry-after"] == "2"
        assert client.get("/v1/collections/c").json()["index"]["state"] == state.value
        assert f'dragoman_collections{{state="{state.value}"}} 1.0' in client.get("/metrics").text
    index.state = IndexState.BUILDING
    sent = client.post("/v1/collections/c/documents", content=_documents(1), headers=NDJSON)
    check_error(sent, 503, "being built")
    index.state = IndexState.READY
    assert client.get("/readyz").status_code == 200


def test_not_ready_while_the_database_cannot_be_written(
    client: httpx.Client, runtime: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runtime.store, "writable", lambda: False)
    check_error(client.get("/readyz"), 503, "the database cannot be written")


def test_searches_go_on_while_documents_are_added(client: httpx.Client) -> None:
    done = threading.Event()
    faults: list[str] = []

    def look() -> None:
        with httpx.Client(base_url=client.base_url, timeout=60, trust_env=False) as own:
            while not done.is_set():
                response = own.post("/v1/search", json={"query": "neno", "query_language": "sw"})
                if response.status_code != 200:
                    faults.append(response.text)

    threads = [threading.Thread(target=look) for _ in range(3)]
    for thread in threads:
        thread.start()
    for _ in range(5):
        client.post("/v1/collections/c/documents", content=_documents(300, "neno "), headers=NDJSON).raise_for_status()
    done.set()
    for thread in threads:
        thread.join()
    assert not faults
