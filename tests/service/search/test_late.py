"""Late interaction over HTTP, with the real encoder: scores, links, and collections that keep no states."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from dragoman.engine.settings import Settings
from dragoman.service.app import create_app

pytestmark = pytest.mark.slow

TOPICS = ["Die Steuer steigt", "Der Verein gewinnt das Spiel", "Das Gericht vertagt den Prozess", "Die Suppe kocht"]
DOCUMENTS = [
    {"id": "harbour", "text": "Am Morgen laufen die Fischerboote in den Hafen ein und verkaufen ihren Fang."},
    {"id": "station", "text": "Der Bahnhof wurde umgebaut; die Züge halten nun an anderen Gleisen."},
    {"id": "volcano", "title": "Ausbruch", "text": "Es regnet. Der Vulkan spuckt Asche. Niemand kam um."},
    {"id": "sock", "text": "Eine Socke lag auf dem Dach, und keiner wusste, wie sie dorthin gekommen war."},
    *({"id": f"more{n}", "text": f"{TOPICS[n % 4]}, sagt der Bericht Nummer {n}."} for n in range(60)),
]


@contextmanager
def serving(folder: Path, **settings: Any) -> Iterator[TestClient]:
    with TestClient(create_app(Settings.load(data_dir=folder, embed="always", **settings))) as client:
        yield client


def upload(client: TestClient, name: str, documents: list[dict[str, str]], **fields: Any) -> None:
    made = client.post("/v1/collections", json={"name": name, "language": "de", **fields})
    assert made.status_code == 201, made.text
    lines = "\n".join(map(json.dumps, documents))
    client.post(f"/v1/collections/{name}/documents", content=lines, headers={"content-type": "application/x-ndjson"})
    until = time.monotonic() + 60
    while embeddings(client, name)["state"] != "complete":
        assert time.monotonic() < until
        time.sleep(0.05)


def embeddings(client: TestClient, name: str) -> dict[str, Any]:
    found: dict[str, Any] = client.get(f"/v1/collections/{name}").json()["embeddings"]
    return found


def search(client: TestClient, query: str, **fields: Any) -> dict[str, Any]:
    answer = client.post("/v1/search", json={"query": query, "query_language": "en", **fields})
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    assert found["method"] == "hybrid"
    return found


def ranked(answer: dict[str, Any]) -> list[tuple[str, float]]:
    return [(hit["id"], round(hit["score"], 5)) for hit in answer["hits"]]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("late")


@pytest.fixture(scope="module")
def client(folder: Path) -> Iterator[TestClient]:
    with serving(folder) as client:
        upload(client, "de", DOCUMENTS)
        yield client


def test_scores_are_explained_and_those_below_the_first_fifty_are_lower(client: TestClient) -> None:
    answer = search(client, "When did the volcano erupt?", top_k=64, explain=True)
    hits = answer["hits"]
    assert hits[0]["id"] == "volcano"
    assert answer["timings_ms"]["late"] > 0
    assert [("late" in hit["scores"]) for hit in hits] == [True] * 50 + [False] * (len(hits) - 50)
    assert len(hits) > 50
    for hit in hits[:50]:
        parts = [part for part in hit["fusion"].values() if part]
        assert hit["score"] == pytest.approx(sum(part["weight"] * part["value"] for part in parts), abs=1e-6)
        assert hit["score"] == pytest.approx((hit["scores"]["first_stage"] + hit["scores"]["late"]) / 2, abs=1e-6)
        assert 0 < hit["scores"]["late"] <= 1
    scores = [hit["score"] for hit in hits]
    assert scores == sorted(scores, reverse=True)
    assert ranked(search(client, "When did the volcano erupt?", top_k=5)) == ranked(answer)[:5]


def test_a_glossary_uploaded_a_second_ago_is_obeyed(client: TestClient) -> None:
    query = {"query": "volcano on the roof", "collections": ["de"]}
    before = search(client, **query)["hits"]
    assert before[0]["id"] == "volcano"
    parameters = {"source": "en", "target": "de", "kind": "glossary", "activate": "true"}
    client.put("/v1/tables/ours", params=parameters, content=b"volcano\tSocke\n").raise_for_status()
    after = search(client, **query)["hits"]
    assert after[0]["id"] == "sock"
    late = {hit["id"]: hit["scores"]["late"] for hit in (*before, *after)}
    old = {hit["id"]: hit["scores"]["late"] for hit in before}
    assert late["sock"] > old.get("sock", 0) + 0.05
    client.post("/v1/tables/ours/deactivate").raise_for_status()


def test_a_table_raises_the_match_of_what_it_links(client: TestClient) -> None:
    late = []
    for activate in ("false", "true"):
        parameters = {"source": "en", "target": "de", "activate": activate}
        client.put(f"/v1/tables/t{activate}", params=parameters, content=b"boats\tFischerboote\n")
        hits = search(client, "boats", collections=["de"])["hits"]
        late.append({hit["id"]: hit["scores"]["late"] for hit in hits}["harbour"])
    assert late[1] == pytest.approx(min(1.0, late[0] + 0.1), abs=1e-4)
    client.post("/v1/tables/ttrue/deactivate").raise_for_status()


def test_a_word_that_is_repeated_is_linked_wherever_it_stands(client: TestClient) -> None:
    late = []
    for activate in ("false", "true"):
        parameters = {"source": "en", "target": "de", "kind": "glossary", "activate": activate}
        client.put(f"/v1/tables/r{activate}", params=parameters, content=b"boats\tFischerboote\n").raise_for_status()
        hits = search(client, "boats boats", collections=["de"])["hits"]
        late.append({hit["id"]: hit["scores"]["late"] for hit in hits}["harbour"])
    assert late[0] < late[1] == pytest.approx(1.0, abs=1e-4)
    client.post("/v1/tables/rtrue/deactivate").raise_for_status()


def test_states_outlive_a_restart_and_change_nothing(tmp_path: Path) -> None:
    with serving(tmp_path) as client:
        upload(client, "de", DOCUMENTS)
        before = search(client, "boats in the harbour")
    with serving(tmp_path) as client:
        assert embeddings(client, "de")["late_interaction"] is True  # before the encoder is loaded
        after = search(client, "boats in the harbour")
        assert ranked(after) == ranked(before)
        assert "late" in after["hits"][0]["scores"]
        client.delete("/v1/collections/de/documents/harbour").raise_for_status()
        left = search(client, "boats in the harbour", top_k=64)
        assert "harbour" not in [hit["id"] for hit in left["hits"]]
        assert [hit["scores"].get("late") is not None for hit in left["hits"]][:50] == [True] * 50


def test_collections_without_states_are_searched_without_late_interaction(client: TestClient) -> None:
    upload(client, "plain", DOCUMENTS[:4], late_interaction=False)
    assert embeddings(client, "plain")["late_interaction"] is False
    assert embeddings(client, "de")["late_interaction"] is True
    for collections, kept in ((["plain"], False), (["de"], True), (["de", "plain"], False)):
        answer = search(client, "boats in the harbour", collections=collections)
        assert {("late" in hit["scores"]) for hit in answer["hits"]} == {kept}
        assert answer["hits"][0]["id"] == "harbour"
        assert answer["degraded"] == search(client, "boats in the harbour", collections=["de"])["degraded"]
    client.delete("/v1/collections/plain").raise_for_status()


def test_the_settings_limit_it_and_turn_it_off(tmp_path: Path) -> None:
    with serving(tmp_path, late_megabytes=0.001) as client:
        upload(client, "small", [{"id": "a", "text": "Asche."}])
        upload(client, "large", DOCUMENTS)
        upload(client, "asked", DOCUMENTS, late_interaction=True)
        assert [embeddings(client, name)["late_interaction"] for name in ("small", "large", "asked")] == [
            True,
            False,
            True,
        ]
    with serving(tmp_path, late_weight=0) as client:
        hits = search(client, "boats in the harbour", collections=["asked"])["hits"]
        assert hits[0]["score"] == hits[0]["scores"]["first_stage"]
        assert "late" not in hits[0]["scores"]


def test_ranks_are_fused_without_it(tmp_path: Path) -> None:
    with serving(tmp_path, hybrid_fusion="rrf") as client:
        upload(client, "de", DOCUMENTS[:4])
        assert "late" not in search(client, "boats in the harbour")["hits"][0]["scores"]
