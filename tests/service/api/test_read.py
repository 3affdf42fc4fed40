"""What a reader's tool asks: ``POST /v1/read``, ``GET /v1/lookup``, versions of tables and the attention of hits."""

from __future__ import annotations

import re
from typing import Any

import httpx
import pytest

from tests.service.api.search_corpus import EN_DE, corpus, search
from tests.support.errorbody import check_error
from tests.support.job_client import finished, submit
from tests.support.job_client import read as results_of

pytestmark = pytest.mark.slow

__all__ = ["corpus"]  # a fixture that all tests here use

OTHER = EN_DE.replace("volcano\tVulkan\t0.9", "volcano\tVulkan\t0.5").replace("ash\tAsche", "cinder\tAsche")


@pytest.fixture
def newer(client: httpx.Client) -> int:
    """A version of the German table that is not active."""
    parameters = {"source": "en", "target": "de"}
    version: int = client.put("/v1/tables/s_en_de", params=parameters, content=OTHER.encode()).json()["version"]
    return version


def read(client: httpx.Client, **fields: Any) -> httpx.Response:
    asked = {"collection": "s_de", "id": "vulkan", "reader_language": "en", **fields}
    return client.post("/v1/read", json={name: field for name, field in asked.items() if field is not None})


def test_a_document_is_read_as_the_contract_says(client: httpx.Client) -> None:
    client.put("/v1/aliases/news", json={"collection": "s_de"}).raise_for_status()
    response = read(client, collection="news", query="volcano ash", query_language="en")
    client.delete("/v1/aliases/news").raise_for_status()
    assert response.status_code == 200
    body = response.json()
    assert body.keys() == {
        "request_id", "document", "query", "translation", "highlights", "gloss", "sentences", "degraded", "truncated",
    }  # fmt: skip
    assert body["document"] == client.get("/v1/collections/s_de/documents/vulkan").json()
    (hit,) = (hit for hit in search(client, "volcano ash")["hits"] if hit["id"] == "vulkan")
    assert body["highlights"] == hit["highlights"]
    assert body["gloss"][0] == {
        "field": "title", "start": 0, "end": 5,
        "translations": [{"term": "ash", "probability": 0.6, "table": "s_en_de", "version": 1}],
    }  # fmt: skip
    assert body["sentences"] == [
        {"field": "title", "start": 0, "end": 17},
        {"field": "text", "start": 0, "end": 25},
        {"field": "text", "start": 26, "end": 73},
    ]
    assert (body["degraded"], body["truncated"]) == ([], [])
    assert not {"query", "translation"} & read(client).json().keys()


@pytest.mark.parametrize(
    ("fields", "status", "named"),
    [
        ({"collection": "nowhere"}, 404, "nowhere"),
        ({"id": "nothing"}, 404, "nothing"),
        ({"reader_language": None}, 422, "reader_language"),
        ({"reader_language": "xx"}, 422, "reader_language"),
        ({"query": " "}, 422, "query"),
        ({"query_language": "en"}, 422, "query_language: there is no query"),
        ({"tables": ["s_en_de@99"]}, 404, "tables[0]"),
        ({"tables": ["s_en_de@0"]}, 422, "tables[0]"),
        ({"language": "en"}, 422, "language"),
    ],
)
def test_what_cannot_be_read_is_named(client: httpx.Client, fields: dict[str, Any], status: int, named: str) -> None:
    response = read(client, **fields)
    check_error(response, status, re.escape(named))


def test_a_term_is_looked_up_in_all_tables_of_a_pair(client: httpx.Client, newer: int) -> None:
    content = b"Vulkane\tvolcanoes\nAsche\tcinder\n"
    client.put("/v1/tables/a_back", params={"source": "de", "target": "en"}, content=content).raise_for_status()
    for term, source, target in (("volcano", "en", "de"), ("Asche", "de", "en"), ("quorbix", "en", "de")):
        body = client.get("/v1/lookup", params={"term": term, "source": source, "target": target}).json()
        assert body["degraded"] == []
        shown = [(table["name"], table["version"], table["active"]) for table in body["tables"]]
        assert shown == [("s_en_de", 1, True), ("a_back", 1, False)]
        for table in body["tables"]:
            side = "source" if (table["name"] == "s_en_de") == (source == "en") else "target"
            parameters = {"version": table["version"], "side": side}
            alone = client.get(f"/v1/tables/{table['name']}/terms/{term}", params=parameters).json()
            assert table["translations"] == alone["translations"]
            assert (table["matched"], table["translations_total"]) == (alone["matched"], alone["translations_total"])
    client.post("/v1/tables/s_en_de/deactivate").raise_for_status()
    body = client.get("/v1/lookup", params={"term": "volcano", "source": "en", "target": "de"}).json()
    assert [(table["name"], table["version"]) for table in body["tables"]] == [("a_back", 1), ("s_en_de", newer)]
    client.post("/v1/tables/s_en_de/versions/1/activate").raise_for_status()
    client.delete("/v1/tables/a_back/versions/1").raise_for_status()
    for parameters, named in (
        ({"term": "x", "source": "en", "target": "en"}, "target"),
        ({"term": "x", "source": "en"}, "target"),
        ({"term": "", "source": "en", "target": "de"}, "term"),
        ({"term": "x", "source": "en", "target": "de", "table": "y"}, "table"),
    ):
        check_error(client.get("/v1/lookup", params=parameters), 422, named)
    assert client.get("/v1/lookup", params={"term": "x", "source": "sw", "target": "fr"}).json()["tables"] == []


def test_a_version_that_is_not_active_serves_search_rerank_and_jobs(client: httpx.Client, newer: int) -> None:
    chosen = [f"s_en_de@{newer}"]
    used = [{"name": "s_en_de", "version": newer}]
    body = search(client, "cinder", tables=chosen)
    assert body["translation"]["tables"] == used
    assert body["hits"][0]["highlights"][0]["version"] == newer
    assert search(client, "cinder", tables=["s_en_de@1"])["hits"] == []
    asked = {"query": "cinder", "query_language": "en", "document_language": "de", "documents": ["Asche"]}
    ranked = client.post("/v1/rerank", json={**asked, "tables": chosen}).json()
    assert ranked["meta"]["translation"]["tables"] == used
    line = {"query": "cinder", "query_language": "en", "collections": ["s_de"], "method": "psq", "rerank": False}
    lines = [{"custom_id": "new", **line, "tables": chosen}, {"custom_id": "active", **line}]
    id = submit(client, lines, "search")
    job = finished(client, id)
    assert [version for version in job["table_versions"] if version["name"] == "s_en_de"] == [
        {"name": "s_en_de", "version": version} for version in (1, newer)
    ]
    results = {result["custom_id"]: result["response"] for result in results_of(client, id, "results")}
    assert [hit["id"] for hit in results["new"]["hits"]] == ["vulkan"]
    assert results["active"]["hits"] == []


def test_the_attention_of_a_hit_is_asked_for(client: httpx.Client) -> None:
    hit = search(client, "volcano ash", explain={"attention": True})["hits"][0]
    attention = hit["attention"]
    assert [word["text"] for word in attention["query_words"]] == ["volcano", "ash"]
    assert [(word["field"], word["text"]) for word in attention["document_words"]] == [
        ("title", "Asche"), ("text", "Vulkan"), ("text", "Asche"), ("text", "Asche"),
    ]  # fmt: skip
    assert attention["weights"] == [[0.0, pytest.approx(0.85), 0.0, 0.0], [0.65, 0.0, 0.65, 0.65]]
    for explain in (True, {"attention": False}, {}):
        explained = search(client, "volcano ash", explain=explain)["hits"][0]
        assert explained["contributions"] == hit["contributions"]
        assert "attention" not in explained
    for explain, named in (
        ("yes", "explain"),
        ({"attention": 1}, "explain.attention"),
        ({"more": True}, "explain.more"),
    ):
        refused = client.post("/v1/search", json={"query": "ash", "explain": explain})
        check_error(refused, 422, f"^{re.escape(named)}: ")
