"""Readiness while the models work: busy is not hung."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from tests.support.errorbody import check_error
from tests.support.serving import Server, server, wait_for
from tests.support.standing_in import STANDING_IN
from tests.support.worker_process import Worker, answers

pytestmark = pytest.mark.slow

TRANSLATE = {"text": "hold", "source": "en", "target": "de"}
RERANK = {"query": "a", "query_language": "en", "document_language": "en", "documents": ["b"]}


def post(running: Server, path: str, body: dict[str, object]) -> httpx.Response:
    return httpx.post(running.url.rstrip("/") + path, json=body, timeout=60, trust_env=False)


def test_a_long_batch_of_another_model_is_no_reason_to_be_unready_but_one_longer_than_any_should_be_is(
    tmp_path: Path, gate: Path, clients: ThreadPoolExecutor
) -> None:
    with server(tmp_path / "data", STANDING_IN, translator="upper", worker_hung_seconds=6) as running:
        assert post(running, "/v1/rerank", RERANK).status_code == 200
        held = clients.submit(post, running, "/v1/translate", TRANSLATE)
        wait_for(lambda: any("translating 1: hold" in line for line in running.log))
        assert running.client.get("/readyz").status_code == 200
        assert "dragoman_worker_up 1.0" in running.client.get("/metrics").text
        wait_for(lambda: running.client.get("/readyz").status_code == 503)
        check_error(running.client.get("/readyz"), 503, "the models have been computing one batch for [0-9]+ seconds")
        assert "dragoman_worker_up 0.0" in running.client.get("/metrics").text
        gate.touch()
        assert held.result().status_code == 200
        wait_for(lambda: running.client.get("/readyz").status_code == 200)


def test_a_worker_process_whose_model_hangs_is_unready_and_so_is_who_needs_it(
    tmp_path: Path, gate: Path, clients: ThreadPoolExecutor
) -> None:
    worker = Worker(worker_hung_seconds=0.5)
    worker.start()
    try:
        with server(tmp_path / "data", STANDING_IN, worker_url=worker.url) as running:
            held = clients.submit(post, running, "/v1/rerank", RERANK | {"documents": ["hold hold hold hold"]})
            wait_for(lambda: answers(f"{worker.url}/readyz") == 503)
            check_error(running.client.get("/readyz"), 503, "worker: the models have been computing one batch for")
            gate.touch()
            assert held.result().status_code == 200
            wait_for(lambda: running.client.get("/readyz").status_code == 200)
    finally:
        worker.end()
