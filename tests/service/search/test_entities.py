"""Names in documents: a real service with the shipped tagger, through HTTP."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from dragoman.engine.settings import Settings
from dragoman.service.app import create_app
from tests.support.searching import ndjson

pytestmark = pytest.mark.slow

NDJSON = {"content-type": "application/x-ndjson"}
DOCUMENTS: tuple[dict[str, Any], ...] = (
    {"id": "merkel", "title": "Angela Merkel in Paris", "text": "Angela Merkel traf den Präsidenten von Frankreich."},
    {"id": "both", "text": "Angela Merkel und Barack Obama trafen sich in Berlin. Später sprach Angela Merkel allein."},
    {"id": "obama", "text": "Barack Obama hielt eine Rede in Berlin."},
    {"id": "none", "text": "Der Präsident hielt eine lange Rede."},
    {"id": "russian", "language": "ru", "text": "Ангела Меркель приехала в Москву на встречу с президентом."},
)
FULL_TABLE = "munich\tMünchen\t1.0\t0.9\nspeech\tRede\t1.0\t0.9\npresident\tPräsident\t1.0\t0.9\n"


def service(place: Path, **more: Any) -> Iterator[TestClient]:
    settings = Settings.load(data_dir=place, embed="on_demand", rerank="never", **more)
    with TestClient(create_app(settings)) as opened:
        yield opened


def ready(client: TestClient, name: str) -> dict[str, Any]:
    until = time.monotonic() + 120
    while time.monotonic() < until:
        found: dict[str, Any] = client.get(f"/v1/collections/{name}").json()["entities"]
        if found["state"] == "complete":
            return found
        time.sleep(0.05)
    raise AssertionError(f"the names are not found: {found}")


def add(client: TestClient, name: str, *documents: dict[str, Any]) -> None:
    client.post(f"/v1/collections/{name}/documents", content=ndjson(documents), headers=NDJSON).raise_for_status()


def search(client: TestClient, **body: Any) -> dict[str, Any]:
    asked = {"query_language": "de", "method": "psq", "collections": ["news"]} | body
    response = client.post("/v1/search", json=asked)
    response.raise_for_status()
    answer: dict[str, Any] = response.json()
    return answer


def ids(answer: dict[str, Any]) -> set[str]:
    return {hit["id"] for hit in answer["hits"]}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("entities")


@pytest.fixture(scope="module")
def client(place: Path) -> Iterator[TestClient]:
    for opened in service(place):
        opened.post("/v1/collections", json={"name": "news", "language": "de", "entities": True}).raise_for_status()
        opened.post("/v1/collections", json={"name": "plain", "language": "de"}).raise_for_status()
        add(opened, "news", *DOCUMENTS)
        add(opened, "plain", *DOCUMENTS)
        uploaded = opened.put("/v1/tables/words?source=en&target=de&activate=true", content=FULL_TABLE)
        uploaded.raise_for_status()
        ready(opened, "news")
        yield opened


def test_the_collection_says_how_many_documents_were_read(client: TestClient) -> None:
    assert ready(client, "news") == {"state": "complete", "tagged": 5, "failed": 0, "total": 5}
    assert client.get("/v1/collections/plain").json()["entities"] is None


def test_hits_show_the_names_of_their_documents_where_they_stand(client: TestClient) -> None:
    answer = search(client, query="Präsident Rede")
    documents = {one["id"]: one for one in DOCUMENTS}
    assert {"merkel", "obama", "none"} <= ids(answer)
    for hit in answer["hits"]:
        for one in hit["entities"]:
            assert documents[hit["id"]][one["field"]][one["start"] : one["end"]] == one["text"]
    found = {hit["id"]: {one["text"] for one in hit["entities"]} for hit in answer["hits"]}
    assert "Angela Merkel" in found["merkel"] and "Barack Obama" in found["obama"] and found["none"] == set()
    (both,) = search(client, query="Später allein")["hits"]
    assert [one["text"] for one in both["entities"]].count("Angela Merkel") == 1  # each name once


def test_collections_without_entities_show_none(client: TestClient) -> None:
    for hit in search(client, query="Präsident", collections=["plain"])["hits"]:
        assert "entities" not in hit


@pytest.mark.parametrize("method", ["psq", "dense", "hybrid", "none", "smt"])
def test_a_search_is_limited_to_documents_with_all_the_names(client: TestClient, method: str) -> None:
    query = "Rede des Präsidenten in Berlin"
    assert ids(search(client, query=query, method=method, entities=["Barack Obama"])) == {"obama", "both"}
    assert ids(search(client, query=query, method=method, entities=["barack  OBAMA", "Merkel"])) == {"both"}
    assert ids(search(client, query=query, method=method, entities=["Boris Jelzin"])) == set()


def test_a_limited_search_ranks_and_scores_as_the_whole_one_does(client: TestClient) -> None:
    for method in ("psq", "dense", "hybrid"):
        whole = search(client, query="Rede in Berlin", method=method, explain=True)["hits"]
        some = search(client, query="Rede in Berlin", method=method, entities=["Obama"], explain=True)["hits"]
        scores = {hit["id"]: hit["score"] for hit in whole}
        assert [hit["id"] for hit in some] == [hit["id"] for hit in whole if hit["id"] in {"obama", "both"}]
        for hit in some:
            assert hit["score"] == pytest.approx(scores[hit["id"]], abs=1e-6)


def test_a_name_is_found_in_another_script_by_its_sound(client: TestClient) -> None:
    assert ids(search(client, query="президент", query_language="ru", entities=["Angela Merkel"])) >= {"russian"}
    assert "russian" in ids(search(client, query="Präsident", method="dense", entities=["Angela Merkel"]))


def test_a_name_is_found_by_the_translation_that_a_table_has(client: TestClient) -> None:
    add(client, "news", {"id": "munich", "text": "Der Präsident hielt seine Rede in München vor vielen Gästen."})
    try:
        ready(client, "news")
        found = search(client, query="speech", query_language="en", entities=["Munich"])
        assert ids(found) == {"munich"}
    finally:
        client.delete("/v1/collections/news/documents/munich")


def test_a_replaced_document_has_the_names_of_its_present_text(client: TestClient) -> None:
    add(client, "news", {"id": "changing", "text": "Barack Obama hielt eine Rede über Eisbären."})
    ready(client, "news")
    assert ids(search(client, query="Eisbären", entities=["Obama"])) == {"changing"}
    add(client, "news", {"id": "changing", "text": "Angela Merkel hielt eine Rede über Eisbären."})
    assert ids(search(client, query="Eisbären", entities=["Obama"])) == set()  # at once, not when it is read again
    ready(client, "news")
    (hit,) = search(client, query="Eisbären", entities=["Merkel"])["hits"]
    assert "Barack Obama" not in {one["text"] for one in hit["entities"]}
    client.delete("/v1/collections/news/documents/changing").raise_for_status()
    assert ids(search(client, query="Eisbären", entities=["Merkel"])) == set()


def test_bad_filters_name_the_field(client: TestClient) -> None:
    for body, words in (
        ({"entities": []}, "entities"),
        ({"entities": ["..."]}, "entities[0]"),
        ({"entities": "Obama"}, "entities"),
        ({"entities": ["Obama"], "collections": ["plain"]}, "plain"),
    ):
        response = client.post("/v1/search", json={"query": "Rede", "query_language": "de", "method": "psq"} | body)
        assert response.status_code == 422 and words in response.json()["message"]


def test_without_collections_those_with_entities_are_searched(client: TestClient) -> None:
    answer = search(client, query="Rede", entities=["Obama"], collections=None)
    assert {hit["collection"] for hit in answer["hits"]} == {"news"}


def test_a_long_document_is_read_whole(client: TestClient) -> None:
    text = " ".join(["Der Wald ist groß und still."] * 800) + " Dort lebte Friedrich Schiller viele Jahre."
    add(client, "news", {"id": "long", "text": text})
    try:
        ready(client, "news")
        assert ids(search(client, query="Wald", entities=["Friedrich Schiller"])) == {"long"}
    finally:
        client.delete("/v1/collections/news/documents/long")


def test_without_a_tagger_the_collection_is_refused(tmp_path: Path) -> None:
    for client in service(tmp_path, ner_tagger="off"):
        response = client.post("/v1/collections", json={"name": "c", "language": "de", "entities": True})
        assert response.status_code == 503 and "tagger" in response.json()["message"]
        assert client.get("/v1/collections/c").status_code == 404


def test_what_was_not_read_is_read_after_a_restart(tmp_path: Path) -> None:
    for client in service(tmp_path):
        client.post("/v1/collections", json={"name": "news", "language": "de", "entities": True}).raise_for_status()
        add(client, "news", *({"id": f"d{n}", "text": f"Barack Obama hielt Rede {n}."} for n in range(200)))
    for client in service(tmp_path):
        answer = search(client, query="Rede", entities=["Obama"], top_k=200)
        missing = [one for one in answer["degraded"] if one["stage"] == "entities"]
        assert missing or len(ids(answer)) == 200  # what is not read yet is said
        assert ready(client, "news")["tagged"] == 200
        assert len(ids(search(client, query="Rede", entities=["Obama"], top_k=200))) == 200
