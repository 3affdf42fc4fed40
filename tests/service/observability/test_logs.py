"""What real processes log: every line JSON, each with its request's id, nothing of what requests say."""

from __future__ import annotations

import json
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.support.errorbody import check_error
from tests.support.searching import ndjson
from tests.support.serving import Server, environment, server, wait_for
from tests.support.standing_in import STANDING_IN
from tests.support.worker_process import Worker

pytestmark = pytest.mark.slow

SECRETS = ("canaryquery", "canarytext", "canarykey", "canaryterm", "canaryline")


def lines(running: Server) -> list[dict[str, Any]]:
    """The log as objects, without what the stand-ins and Java print."""
    return [json.loads(line) for line in running.log if not line.startswith(("scoring ", "encoding ", "Picked up "))]


def use(running: Server) -> None:
    """Ask for what the service has, right and wrong, each time with words that nobody else is to read."""
    client = running.client
    client.headers["Authorization"] = "Bearer canarykey"
    client.post("/v1/collections", json={"name": "c", "language": "de"}).raise_for_status()
    sent = {"content": ndjson([{"id": "1", "text": "Vulkan canarytext"}]) + b'{"canaryline": 1}\n'}
    headers = {"content-type": "application/x-ndjson"}
    client.post("/v1/collections/c/documents", headers=headers, **sent).raise_for_status()
    table = b"volcano\tVulkan\t1\t1\ncanaryterm\tAsche\t2\t2\n"
    client.put("/v1/tables/t?source=en&target=de&activate=true", content=table).raise_for_status()
    asked = {"query": "volcano canaryquery", "query_language": "en"}
    with_id = {"X-Request-Id": "my-own-id"}
    client.post("/v1/search", json=asked | {"rerank": {}}, headers=with_id).raise_for_status()
    client.post("/v1/rerank", json=asked | {"documents": ["canarytext", "nan"]}).raise_for_status()
    assert client.post("/v1/search", json=asked | {"tables": ["canaryterm"]}).status_code == 404
    assert client.post("/v1/search", content=b'{"query": "canaryquery').status_code in (400, 415)
    assert client.get("/v1/collections/c/documents/canarytext").status_code == 404


def test_every_line_is_json_and_says_nothing_of_what_is_asked(tmp_path: Path) -> None:
    with server(tmp_path, STANDING_IN, log_format="json") as running:
        use(running)
        running.client.get("/v1/search?" + "canaryquery=1")
        assert running.stop() == 0
    found = lines(running)
    (one,) = [line for line in found if line.get("request_id") == "my-own-id" and line["logger"] == "dragoman.access"]
    assert (one["method"], one["route"], one["status"], one["level"]) == ("POST", "/v1/search", 200, "INFO")
    assert one["seconds"] > 0
    assert one["timestamp"].startswith("20")
    routes = {line.get("route") for line in found}
    assert {"/v1/collections/{name}/documents/{id:whole}", "/v1/tables/{name}", "/v1/rerank"} <= routes
    assert [line for line in found if line["message"].startswith("Dragoman listens on http://")]
    degraded = [line["degraded"] for line in found if line.get("route") == "/v1/rerank"]
    assert degraded == [["rerank:partial"]]
    for secret in SECRETS:
        assert secret not in "".join(running.log), secret


def test_queries_are_logged_where_that_is_set(tmp_path: Path) -> None:
    with server(tmp_path, log_format="json", log_queries="true") as running:
        running.client.post("/v1/search", json={"query": "canaryquery", "query_language": "en"})
        wait_for(lambda: any(line.get("query") == "canaryquery" for line in lines(running)))


def test_a_fault_of_the_service_is_logged_whole_under_the_id_of_its_request(tmp_path: Path) -> None:
    with server(tmp_path, log_format="json") as running:
        running.client.post("/v1/collections", json={"name": "c", "language": "de"}).raise_for_status()
        with closing(sqlite3.connect(tmp_path / "dragoman.db")) as database:
            database.execute("ALTER TABLE documents RENAME TO elsewhere")
        answer = running.client.post(
            "/v1/collections/c/documents",
            content=ndjson([{"id": "1", "text": "canarytext"}]),
            headers={"content-type": "application/x-ndjson", "X-Request-Id": "faulty"},
        )
        check_error(answer, 500, "request id faulty")
        wait_for(lambda: any("traceback" in line for line in lines(running)))
    (one,) = [line for line in lines(running) if "traceback" in line]
    assert (one["request_id"], one["level"]) == ("faulty", "ERROR")
    assert "no such table: documents" in one["traceback"]
    assert "canarytext" not in "".join(running.log)


def test_the_request_id_goes_to_the_worker(tmp_path: Path) -> None:
    worker = Worker(log_format="json")
    log = tmp_path / "worker.log"
    with log.open("wb") as sink:
        command = [*STANDING_IN, "worker", "--port", str(worker.port)]
        worker.process = subprocess.Popen(command, env=environment(log_format="json"), stderr=sink)
        try:
            with server(tmp_path / "data", STANDING_IN, worker_url=worker.url, log_format="json") as running:
                asked = {"query": "canaryquery", "query_language": "en", "documents": ["canarytext"]}
                sent = {"X-Request-Id": "across"}
                wait_for(lambda: running.client.post("/v1/rerank", json=asked, headers=sent).status_code == 200)
            wait_for(lambda: b"/v1/compute" in log.read_bytes())
        finally:
            worker.end()
    found = [json.loads(line) for line in log.read_text().splitlines() if not line.startswith("scoring ")]
    assert {line["request_id"] for line in found if line.get("route") == "/v1/compute"} == {"across"}
    assert "canary" not in log.read_text()


def test_text_has_the_id_of_the_request_too(tmp_path: Path) -> None:
    with server(tmp_path) as running:
        running.client.get("/v1/collections/none", headers={"X-Request-Id": "abc"})
        expected = "INFO dragoman.access: GET /v1/collections/{name} 404 in "
        wait_for(lambda: any(expected in line and line.endswith("s [request abc]\n") for line in running.log))


def test_settings_that_are_none_are_refused(tmp_path: Path) -> None:
    command = [*STANDING_IN, "serve", "--data-dir", str(tmp_path)]
    wrong = environment(log_level="loud", log_format="xml", traces="here")
    ended = subprocess.run(command, env=wrong, capture_output=True, text=True, timeout=120)
    assert ended.returncode == 2
    assert all(f"{setting}: " in ended.stderr for setting in ("log_level", "log_format", "DRAGOMAN_TRACES"))
