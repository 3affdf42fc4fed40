"""What a stop does to requests under way: real processes, real signals."""

from __future__ import annotations

import signal
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from dragoman.engine.models.tasks import Score
from dragoman.indexes.lucene.lucene_index import LuceneIndex
from dragoman.service.remote.tasks import Asked
from tests.support.errorbody import check_error
from tests.support.searching import ndjson
from tests.support.serving import Server, server, wait_for
from tests.support.standing_in import STANDING_IN
from tests.support.worker_process import Worker, answers, ask, pair

pytestmark = pytest.mark.slow

HELD = {"query": "volcano", "documents": ["hold hold hold hold"], "query_language": "en", "document_language": "en"}


def post(url: str, path: str, body: dict[str, Any]) -> httpx.Response:
    """A request on a connection of its own."""
    return httpx.post(url.rstrip("/") + path, json=body, timeout=60, trust_env=False)


def held(running: Server, clients: ThreadPoolExecutor) -> Future[httpx.Response]:
    """A rerank request that is being computed."""
    answer = clients.submit(post, running.url, "/v1/rerank", HELD)
    wait_for(lambda: any("scoring 1: [[4, 4, 4, 4]]" in line for line in running.log))
    return answer


def test_a_stop_finishes_what_is_under_way_and_saves_the_indexes(
    tmp_path: Path, gate: Path, clients: ThreadPoolExecutor
) -> None:
    data = tmp_path / "data"
    with server(data, STANDING_IN, index_commit_seconds=3600, forked=False) as running:
        running.client.post("/v1/collections", json={"name": "c", "language": "sw"}).raise_for_status()
        for number in range(3):
            sent = {"content": ndjson([{"id": f"{number}", "text": "moja"}])}
            headers = {"content-type": "application/x-ndjson"}
            running.client.post("/v1/collections/c/documents", headers=headers, **sent).raise_for_status()
        answer = held(running, clients)
        running.tell(signal.SIGTERM)
        wait_for(lambda: answers(f"{running.url}healthz") == 0)
        assert not answer.done()
        gate.touch()
        assert answer.result().status_code == 200
        assert answer.result().json()["results"][0]["index"] == 0
        assert running.ended() == 0
    (current,) = (data / "indexes").glob("*/current")
    with LuceneIndex(current.parent / current.read_text()) as index:
        assert index.generation == 3


def test_requests_are_taken_for_a_while_and_readiness_says_that_it_stops(
    tmp_path: Path, gate: Path, clients: ThreadPoolExecutor
) -> None:
    gate.touch()
    with server(tmp_path / "data", STANDING_IN, drain_seconds=6) as running:
        assert running.client.get("/readyz").status_code == 200
        running.tell(signal.SIGTERM)
        wait_for(lambda: running.client.get("/readyz").status_code == 503)
        check_error(running.client.get("/readyz"), 503, "the service is stopping")
        assert running.client.get("/healthz").status_code == 200
        assert post(running.url, "/v1/rerank", HELD).status_code == 200
        assert running.ended() == 0


def test_a_request_that_takes_longer_than_a_stop_may_is_told_so(
    tmp_path: Path, gate: Path, clients: ThreadPoolExecutor
) -> None:
    with server(tmp_path / "data", STANDING_IN, shutdown_seconds=1) as running:
        answer = held(running, clients)
        running.tell(signal.SIGTERM)
        check_error(answer.result(), 503, "the service is stopping; the request did not finish in time")
        assert running.ended() == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_second_signal_ends_the_process_at_once(
    tmp_path: Path, gate: Path, clients: ThreadPoolExecutor, number: signal.Signals
) -> None:
    with server(tmp_path / "data", STANDING_IN, shutdown_seconds=3600) as running:
        answer = held(running, clients)
        running.tell(signal.SIGTERM)
        wait_for(lambda: answers(f"{running.url}healthz") == 0)
        running.tell(number)
        assert running.ended() == -number
        assert isinstance(answer.exception(), httpx.TransportError)


def test_a_worker_finishes_what_it_scores(gate: Path, clients: ThreadPoolExecutor) -> None:
    worker = Worker()
    worker.start()
    request = pair("hold hold hold hold", [(5 * n, 5 * n + 4) for n in range(4)])
    answer = clients.submit(ask, worker.url, Asked(Score(), [request], 60.0))
    wait_for(lambda: 'dragoman_worker_busy_seconds{task="score"}' in metrics(worker))
    worker.tell(signal.SIGTERM)
    wait_for(lambda: answers(f"{worker.url}/healthz") == 0)
    assert not answer.done()
    gate.touch()
    (result,) = answer.result()
    assert len(result.content.values) == 1
    assert worker.process is not None
    assert worker.process.wait(60) == 0


def metrics(worker: Worker) -> str:
    return httpx.get(f"{worker.url}/metrics", trust_env=False).text


def test_a_stop_while_the_model_is_being_loaded_is_an_orderly_one(tmp_path: Path) -> None:
    with server(tmp_path / "data", rerank="auto", forked=False) as running:
        running.tell(signal.SIGTERM)
        assert running.ended() == 0
