"""The default reranker over HTTP, with the real encoder: its scores, its links, and a worker process."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from fastapi.testclient import TestClient

from dragoman.backbone import loading, products, sentences
from dragoman.backbone.pretrained import packages
from dragoman.backbone.pretrained.e5 import E5Encoder
from dragoman.backbone.sentences import SentenceEncoder
from dragoman.engine.core.errors import NotInstalled
from dragoman.engine.models.loading import has_reranker, reranker_place
from dragoman.engine.models.models import Models
from dragoman.engine.observability.metrics import Metrics
from dragoman.engine.settings import Settings
from dragoman.ranking import scoring
from dragoman.service.app import create_app
from tests.support.serving import COMMAND, server
from tests.support.worker_process import Worker

pytestmark = pytest.mark.slow

DOCUMENTS = [
    "Die Börse schloss am Freitag im Minus.",
    "Der Vulkan spuckt seit dem Morgen Asche.",
    "Eine Socke lag auf dem Dach, und keiner wusste, wie sie dorthin gekommen war.",
    "Am Hafen wird frischer Fisch verkauft.",
]
ASKED = {"query": "volcano on the roof", "query_language": "en", "document_language": "de", "documents": DOCUMENTS}


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """In 32 bits: with fewer, some processors round a product by how many others are computed with it."""
    folder = tmp_path_factory.mktemp("late")
    exact = Settings.load(data_dir=folder, embed="on_demand", encoder_precision="float32", rerank_precision="float32")
    with TestClient(create_app(exact)) as client:
        yield client


def scores(client: Any, **changes: Any) -> dict[int, float]:
    answer = client.post("/v1/rerank", json=ASKED | changes)
    assert answer.status_code == 200, answer.text
    assert answer.json()["model"] == "late"
    return {one["index"]: one["relevance_score"] for one in answer.json()["results"]}


def test_a_document_has_its_probability_whatever_is_beside_it(client: TestClient) -> None:
    together = scores(client)
    assert max(together, key=together.__getitem__) == 1
    assert all(0 < score < 1 for score in together.values())
    for index, text in enumerate(DOCUMENTS):
        assert scores(client, documents=[text])[0] == pytest.approx(together[index], abs=1e-3)
    twice = scores(client, documents=DOCUMENTS * 2)
    assert [twice[index] for index in range(4)] == [twice[index + 4] for index in range(4)]


def test_the_three_endpoints_and_a_search_agree(client: TestClient) -> None:
    first = scores(client)
    second = client.post("/v2/rerank", json=ASKED).json()["results"]
    assert {one["index"]: one["relevance_score"] for one in second} == pytest.approx(first, abs=1e-3)
    texts = {name: value for name, value in ASKED.items() if name != "documents"} | {"texts": DOCUMENTS}
    assert {one["index"]: one["score"] for one in client.post("/rerank", json=texts).json()} == pytest.approx(
        first, abs=1e-3
    )
    client.post("/v1/collections", json={"name": "de", "language": "de"}).raise_for_status()
    lines = "\n".join(json.dumps({"id": str(number), "text": text}) for number, text in enumerate(DOCUMENTS))
    headers = {"content-type": "application/x-ndjson"}
    client.post("/v1/collections/de/documents", content=lines, headers=headers).raise_for_status()
    asked = {"query": ASKED["query"], "query_language": "en", "collections": ["de"]}
    for method in ("dense", "hybrid"):
        hits = client.post("/v1/search", json=asked | {"method": method, "rerank": {}}).json()["hits"]
        assert {int(hit["id"]): hit["scores"]["rerank"] for hit in hits} == pytest.approx(first, abs=1e-3)
        ordered = [hit["score"] for hit in hits]
        assert ordered == sorted(ordered, reverse=True)
        assert (ordered == [hit["scores"]["rerank"] for hit in hits]) == (method == "dense")  # hybrid's score joins


def test_tables_and_glossaries_raise_a_document(client: TestClient) -> None:
    query = {"query": "sock puppet", "raw_scores": True}
    before = scores(client, **query)
    heights = []
    for kind, content in (({}, b"puppet\tSocke\t1\t1\n"), ({"kind": "glossary"}, b"puppet\tSocke\n")):
        parameters = {"source": "en", "target": "de", "activate": "true", **kind}
        client.put(f"/v1/tables/ours{len(kind)}", params=parameters, content=content).raise_for_status()
        found = scores(client, **query)
        assert {index: found[index] for index in (0, 1, 3)} == pytest.approx(
            {index: before[index] for index in (0, 1, 3)}, abs=1e-2
        )
        heights.append(found[2])
    assert before[2] + 0.5 < heights[0] < heights[1] - 0.5


def test_searches_and_reranking_share_one_encoder(monkeypatch: pytest.MonkeyPatch) -> None:
    loaded, plain = [], loading.load_encoder

    def load(name: str, device: str = "cpu") -> Any:
        loaded.append(name)
        return plain(name, device)

    monkeypatch.setattr(loading, "load_encoder", load)
    monkeypatch.setattr(scoring, "load_encoder", load)
    found = Models(Settings.load(), Metrics())
    try:
        assert found.reranker().about.name == "late"
        assert found.encoder().identity.startswith("e5-small@12")
        assert loaded == ["e5-small"]
    finally:
        found.close()


def test_without_its_encoder_there_is_no_reranker(monkeypatch: pytest.MonkeyPatch) -> None:
    assert reranker_place(Settings.load()) == "late"
    assert reranker_place(Settings.load(reranker="mart")) == "mart"
    monkeypatch.setattr(packages, "find_spec", lambda name: None)
    assert not has_reranker(Settings.load())
    found = Models(Settings.load(), Metrics())
    try:
        with pytest.raises(NotInstalled, match="needs e5-small: dragoman model install e5-small"):
            found.reranker()
    finally:
        found.close()


def test_a_worker_process_scores_the_same(tmp_path: Path) -> None:
    precision = {"encoder_precision": "float32"}  # or each process would choose what is fastest there and then
    worker = Worker(COMMAND, **precision)
    worker.start()
    found = []
    for settings in ({}, {"worker_url": worker.url}):
        with server(tmp_path / str(len(settings)), **settings | precision) as running:
            parameters = {"source": "en", "target": "de", "kind": "glossary", "activate": "true"}
            running.client.put("/v1/tables/ours", params=parameters, content=b"volcano\tSocke\n").raise_for_status()
            found.append(scores(running.client))
    worker.end()
    assert found[0] == pytest.approx(found[1], abs=1e-3)
    assert max(found[1], key=found[1].__getitem__) == 2  # the glossary reached the worker


def test_the_encoder_computes_in_the_precision_that_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = []

    class Recording(SentenceEncoder):
        def __init__(self, encoder: Any, layer: int | None = None, dtype: torch.dtype | None = None) -> None:
            chosen.append(dtype)
            super().__init__(encoder, layer, dtype)

    monkeypatch.setattr(sentences, "SentenceEncoder", Recording)
    for precision in ("auto", "float32"):
        found = Models(Settings.load(encoder_precision=precision), Metrics())
        try:
            assert found.encoder().width == 384
        finally:
            found.close()
    assert chosen == [products.fastest("cpu", E5Encoder.precisions), torch.float32]
