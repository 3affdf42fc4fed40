"""A MART in real processes: a bad pair among many, memory that runs out, scores that are no numbers, and
scores that are the same whatever is scored beside them.
"""

from __future__ import annotations

import json
import random
import resource
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.resources import files
from pathlib import Path
from typing import Any

import httpx
import pytest
import torch

from dragoman.backbone.loading import load_encoder
from dragoman.ranking.about import RerankerAbout
from dragoman.ranking.checkpoints import save_mart
from dragoman.ranking.mart import Mart, MartConfig
from dragoman_lab.backbone.small import SMALL
from tests.reliability.large_batches import LARGE_BATCHES
from tests.support.serving import Server, server
from tests.support.worker_process import Worker

pytestmark = pytest.mark.slow

DEMO = files("dragoman") / "demo"
WHOLE: list[str] = [
    json.loads(line)["text"] for line in (DEMO / "documents.de.jsonl").read_text(encoding="utf-8").splitlines()[:31]
]
"""The short ones of the demo's documents."""
TEXTS = [*WHOLE, *(text[: len(text) // 2] for text in WHOLE)][:32]
QUERIES: list[str] = [
    json.loads(line)["text"] for line in (DEMO / "queries.en.jsonl").read_text(encoding="utf-8").splitlines()
]
NAN = "Xylophon"
"""The model of these tests cannot score a document with this word."""


@pytest.fixture(scope="module")
def reranker(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A MART over the shipped backbone, but a subword of ``NAN`` that no demo document has is embedded as no number."""
    torch.manual_seed(1)
    model = Mart(load_encoder(str(SMALL)), MartConfig([-3, -2]))
    used = {id for one in model.encoder.subwords([*TEXTS, *QUERIES]) for id in one.ids}
    alone = [id for id in model.encoder.subwords([NAN])[0].ids if id not in used]
    with torch.no_grad():
        model.encoder.model.tokens.weight[alone] = torch.nan  # type: ignore[attr-defined]
    assert alone
    folder = tmp_path_factory.mktemp("models") / "mart"
    save_mart(folder, model, RerankerAbout("mart"))
    return folder


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory, reranker: Path) -> Iterator[Server]:
    with server(tmp_path_factory.mktemp("data"), reranker=reranker, torch_threads=1) as running:
        filled(running)
        yield running


def filled(running: Server) -> None:
    asked = {"source": "en", "target": "de", "activate": True}
    table = (DEMO / "table.en-de.tsv").read_bytes()
    assert running.client.put("/v1/tables/words", params=asked, content=table).status_code == 201


def rerank(running: Server, query: str, documents: Sequence[Any]) -> httpx.Response:
    asked = {"query": query, "query_language": "en", "document_language": "de", "raw_scores": True}
    return running.client.post("/v1/rerank", json=asked | {"documents": documents})


def scores(answer: httpx.Response) -> dict[int, float]:
    assert answer.status_code == 200, answer.text
    return {one["index"]: one["relevance_score"] for one in answer.json()["results"]}


@pytest.mark.parametrize(
    ("malformed", "status"), [([7], 422), ([{"title": "no text"}], 422), (["a \0"], 422), ([NAN], 500)]
)
def test_of_32_clients_pairs_31_are_right_and_the_malformed_one_is_refused(
    running: Server, malformed: list[Any], status: int
) -> None:
    """The last one reaches the model, in a batch with others."""
    queries = [QUERIES[number % len(QUERIES)] for number in range(32)]
    alone = [scores(rerank(running, query, [text])) for query, text in zip(queries, TEXTS, strict=True)]
    documents = [[text] if number != 13 else malformed for number, text in enumerate(TEXTS)]
    with ThreadPoolExecutor(32) as clients:
        answers = list(clients.map(lambda one: rerank(running, *one), zip(queries, documents, strict=True)))
    assert answers[13].status_code == status
    for number, answer in enumerate(answers):
        if number != 13:
            assert scores(answer) == pytest.approx(alone[number], abs=1e-4)
    assert len({round(one[0], 3) for one in alone}) > 20


def test_a_score_that_is_no_number_is_told_and_the_others_stand(running: Server) -> None:
    texts = [*TEXTS[:5], f"Das {NAN} steht im Saal.", *TEXTS[5:9]]
    answer = rerank(running, QUERIES[0], texts)
    assert answer.json()["failed"] == [{"index": 5, "reason": "the model's score of a document is not a number"}]
    others = scores(rerank(running, QUERIES[0], TEXTS[:9]))
    given = scores(answer)
    assert given.pop(5) == min(given.values())  # every document comes back, those without a score last
    assert given == pytest.approx({one + (one >= 5): value for one, value in others.items()}, abs=1e-4)


def test_a_score_is_the_same_alone_together_shuffled_and_beside_a_long_text(running: Server) -> None:
    query = QUERIES[3]
    together = scores(rerank(running, query, TEXTS))
    assert len({round(value, 3) for value in together.values()}) > 20
    for number in range(0, 32, 5):
        assert scores(rerank(running, query, [TEXTS[number]]))[0] == pytest.approx(together[number], abs=1e-4)
    order = random.Random(1).sample(range(32), 32)
    shuffled = scores(rerank(running, query, [TEXTS[number] for number in order]))
    assert {order[place]: value for place, value in shuffled.items()} == pytest.approx(together, abs=1e-4)
    padded = scores(rerank(running, query, [*TEXTS[:4], " ".join(TEXTS)]))
    assert {number: padded[number] for number in range(4)} == pytest.approx(
        {number: together[number] for number in range(4)}, abs=1e-4
    )


def test_when_memory_runs_out_in_the_forward_pass_smaller_batches_give_the_same_scores(
    tmp_path: Path, reranker: Path
) -> None:
    """The worker's address space is limited to less and less above what it takes when idle."""
    at_once = {"MALLOC_MMAP_THRESHOLD_": "65536"}  # what a batch frees leaves the address space at once
    batches = {"worker_batch_tokens": 64_000, "worker_batch_seconds": 0}
    worker = Worker(LARGE_BATCHES, at_once, torch_threads=1, **batches, reranker=str(reranker))
    worker.start()
    try:
        with server(tmp_path, worker_url=worker.url, worker_seconds=120) as running:
            filled(running)
            documents = [" ".join(TEXTS[number:] + TEXTS[:number]) for number in range(12)]
            rerank(running, QUERIES[0], TEXTS[:2])
            assert worker.process is not None
            for mebibytes in range(96, 8, -4):  # how much is too little depends on what is free inside the process
                status = Path(f"/proc/{worker.process.pid}/status").read_text()
                room = int(status.split("VmSize:")[1].split()[0]) * 1024 + (mebibytes << 20)
                resource.prlimit(worker.process.pid, resource.RLIMIT_AS, (room, resource.RLIM_INFINITY))
                short_of_memory = rerank(running, QUERIES[0], documents)
                unlimited = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
                resource.prlimit(worker.process.pid, resource.RLIMIT_AS, unlimited)
                if "out of memory" in worker.log():
                    break
            assert "out of memory" in worker.log()
            assert "failed" not in short_of_memory.json()
            assert scores(short_of_memory) == pytest.approx(scores(rerank(running, QUERIES[0], documents)), abs=1e-4)
    finally:
        worker.end()
