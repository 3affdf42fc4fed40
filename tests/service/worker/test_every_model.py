"""All models in worker processes: answers are those of a thread, kills lose nothing, and the API does without torch."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.service.qa.test_endpoints import write_documents
from tests.support.backbones import tiny_bridge, tiny_reader, tiny_statement_reader
from tests.support.serving import COMMAND, Server, wait_for
from tests.support.worker_process import Worker

pytestmark = [pytest.mark.slow, pytest.mark.kill]

TEXT = "Angela Merkel besuchte den Vulkan. Er spuckt Asche. Schiffe liegen im Hafen."
SINGLE: list[tuple[str, dict[str, Any]]] = [
    ("search", {"query": "Vulkan", "query_language": "de", "method": "dense"}),
    ("search", {"query": "Vulkan im Hafen", "query_language": "de", "method": "hybrid", "rerank": {"depth": 3}}),
    ("embeddings", {"input": [TEXT, "Hafen"], "model": "e5-small-query"}),
    ("rerank", {"query": "Hafen", "query_language": "de", "document_language": "de", "documents": [TEXT, "Biene"]}),
    ("tag", {"task": "ner", "texts": [TEXT, "Nichts."]}),
    ("tag", {"task": "pos", "texts": [TEXT]}),
    ("qa", {"question": "Was spuckt der Vulkan?", "context": TEXT}),
    ("qa", {"question": "Was spuckt der Vulkan?", "collections": ["de"]}),
    ("qa", {"statement": "Der Vulkan spuckt Asche.", "context": TEXT}),
    ("translate", {"texts": [TEXT, "Eine Biene."], "source": "de", "target": "en"}),
    ("reason", {"question": "Was spuckt der Vulkan?", "collections": ["de"], "max_tokens": 12, "temperature": 0}),
]
VARYING = {"request_id", "timings_ms", "meta"}


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, object]]:
    folder = tmp_path_factory.mktemp("models")
    with pytest.MonkeyPatch.context() as patch:  # without bfloat16, or each process would choose what is faster then
        patch.setenv("ONEDNN_MAX_CPU_ISA", "AVX2")
        yield _models(folder)


def _models(folder: Path) -> dict[str, object]:
    return {
        "reader": tiny_reader(folder / "reader"),
        "statement_reader": tiny_statement_reader(folder / "statement_reader"),
        "translator": tiny_bridge(folder / "translator", stage="translation"),
        "bridge": tiny_bridge(folder / "bridge"),
        "encoder_precision": "float32",  # or each process would choose what is fastest there and then
        "embed": "always",
    }


@pytest.fixture(scope="module")
def workers(models: dict[str, object]) -> Iterator[list[Worker]]:
    started = [Worker(COMMAND, **models) for _ in range(2)]
    for worker in started:
        worker.start()
    yield started
    for worker in started:
        worker.end()


@pytest.fixture(scope="module")
def threaded(models: dict[str, object], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    yield from _serving(Server(tmp_path_factory.mktemp("threaded"), forked=False, **models))


@pytest.fixture(scope="module")
def served(
    models: dict[str, object], workers: list[Worker], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Server]:
    urls = ",".join(worker.url for worker in workers)
    yield from _serving(Server(tmp_path_factory.mktemp("served"), forked=False, worker_url=urls, **models))


def _serving(running: Server) -> Iterator[Server]:
    write_documents(running)
    wait_for(lambda: running.client.get("/v1/collections/de").json()["embeddings"]["embedded"] == 3)
    yield running
    running.kill()


def answer(running: Server, path: str, body: dict[str, Any]) -> Any:
    response = running.client.post(f"/v1/{path}", json=body)
    assert response.status_code == 200, response.text
    content = response.json()
    if path == "rerank":
        del content["id"]  # that of the request, and no document's
    return without_varying(content)


def without_varying(content: Any) -> Any:
    """The same for the same answer: figures to three decimals, and no times."""
    if isinstance(content, dict):
        return {name: without_varying(part) for name, part in content.items() if name not in VARYING}
    if isinstance(content, list):
        return [without_varying(part) for part in content]
    return round(content, 3) if isinstance(content, float) else content


@pytest.mark.parametrize(("path", "body"), SINGLE)
def test_what_a_worker_answers_is_what_a_thread_answers(
    threaded: Server, served: Server, path: str, body: dict[str, Any]
) -> None:
    assert answer(served, path, body) == answer(threaded, path, body)


def test_the_reranker_has_its_name_wherever_it_is_loaded(threaded: Server, served: Server) -> None:
    for running in (threaded, served):
        answer(running, "rerank", {"query": "Hafen", "documents": [TEXT]})
    local, remote = (running.client.get("/integrations/routir/avail").json() for running in (threaded, served))
    assert remote == local and remote["score"]


def test_a_text_that_is_generated_arrives_in_pieces(served: Server) -> None:
    body = {"question": "Was spuckt der Vulkan?", "max_tokens": 40, "temperature": 0, "stream": True}
    events = served.client.post("/v1/reason", json=body).text.strip().split("\n\n")
    parts = [json.loads(event.partition("data: ")[2]) for event in events]
    pieces = [part["text"] for part in parts[:-1]]
    assert len(pieces) > 1
    whole = answer(served, "reason", {name: part for name, part in body.items() if name != "stream"})
    assert without_varying(parts[-1]) == whole


def test_a_fault_of_whoever_asks_is_named_as_without_a_worker(served: Server) -> None:
    refused = served.client.post("/v1/qa", json={"question": "wort " * 600, "context": TEXT})
    assert refused.status_code == 422
    assert refused.json()["message"].startswith("question: ")


def test_the_api_does_without_torch(served: Server) -> None:
    for path, body in SINGLE:
        answer(served, path, body)
    assert "libtorch" not in Path(f"/proc/{served.pid}/maps").read_text()


def test_kills_of_workers_under_traffic_lose_nothing(served: Server, workers: list[Worker]) -> None:
    searches = [("search", {"query": f"Vulkan {n}", "query_language": "de", "method": "dense"}) for n in range(60)]
    with ThreadPoolExecutor(8) as clients:
        answers = [clients.submit(answer, served, *search) for search in searches]
        for worker in workers:
            wait_for(lambda: any(each.done() for each in answers))
            worker.end(signal.SIGKILL)
            worker.start()
        assert all(each.result()["degraded"] == [] for each in answers)
