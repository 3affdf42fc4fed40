"""Dify, Open WebUI, RoutIR and Pyserini, with bodies as their code sends them.

Dify and RAGFlow: ``api/services/external_knowledge_service.py`` and ``api/core/rag/entities/metadata_entities.py`` of
langgenius/dify, ``api/apps/sdk/dify_retrieval.py`` of infiniflow/ragflow. Open WebUI:
``backend/open_webui/retrieval/web/external.py``. RoutIR: ``src/routir/models/relay.py``. Pyserini:
``pyserini/server/rest/routes/v1.py``.
"""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from tests.service.integrations.conftest import DOCUMENTS, Keyed

pytestmark = pytest.mark.slow


def retrieve(served: Keyed, conditions: Any = None, **fields: Any) -> httpx.Response:
    """What Dify's ``fetch_external_knowledge_retrieval`` posts."""
    body = {
        "retrieval_setting": {"top_k": 4, "score_threshold": 0.0},
        "query": "volcano ash",
        "knowledge_id": "news",
    } | fields
    if conditions is not None:
        body["metadata_condition"] = {"logical_operator": "and", "conditions": conditions}
    return served.search.post("/retrieval", json=body)


def titles(response: httpx.Response) -> set[str]:
    assert response.status_code == 200, response.text
    return {record["title"] for record in response.json()["records"]}


def test_dify_reads_records(served: Keyed) -> None:
    response = retrieve(served)
    records = response.json()["records"]
    assert records[0]["content"] == "Der Vulkan spuckte Asche."
    assert {record["title"] for record in records} == {"Asche", "a/b", "bienen"}
    for record in records:
        assert set(record) == {"content", "score", "title", "metadata"}
        assert 0 <= record["score"] <= 1 and record["metadata"]["collection"] == "news"
    assert records[0]["metadata"]["year"] == 2020
    least = sorted(record["score"] for record in records)[-1]
    setting = {"top_k": 4, "score_threshold": least}
    assert len(retrieve(served, retrieval_setting=setting, knowledge_id="latest").json()["records"]) == 1
    assert len(retrieve(served, retrieval_setting={"top_k": 1, "score_threshold": 0.0}).json()["records"]) == 1
    assert len(retrieve(served, retrieval_setting={"top_k": None, "score_threshold": 0.0}).json()["records"]) == 3


@pytest.mark.parametrize(
    ("operator", "name", "value", "matching"),
    [
        ("contains", "topic", "atu", {"Asche"}),
        ("not contains", "topic", "atu", {"a/b", "bienen"}),
        ("start with", "topic", "na", {"Asche"}),
        ("end with", "topic", "re", {"Asche"}),
        ("is", "topic", "nature", {"Asche"}),
        ("is not", "topic", "nature", {"a/b", "bienen"}),
        ("empty", "topic", None, {"a/b", "bienen"}),
        ("not empty", "topic", None, {"Asche"}),
        ("in", "topic", ["nature", "x"], {"Asche"}),
        ("in", "topic", "x, nature", {"Asche"}),
        ("not in", "topic", ["nature"], {"a/b", "bienen"}),
        ("=", "year", "2020", {"Asche"}),
        ("≠", "year", 2020, {"a/b", "bienen"}),
        (">", "year", "2015", {"Asche"}),
        ("<", "year", 2015, {"a/b"}),
        ("≥", "year", 2020, {"Asche"}),
        ("≤", "year", 2010, {"a/b"}),
        ("before", "year", 2015, {"a/b"}),
        ("after", "year", 2015, {"Asche"}),
        ("is", ["topic"], "nature", {"Asche"}),
        ("is", ["other", "topic"], "nature", {"Asche"}),
        ("is not", ["other", "topic"], "nature", {"a/b", "bienen"}),
        ("empty", ["other", "topic"], None, {"a/b", "bienen"}),
    ],
)
def test_every_operator_of_dify_is_a_filter(
    served: Keyed, operator: str, name: str | list[str], value: Any, matching: set[str]
) -> None:
    condition = {"name": name, "comparison_operator": operator, "value": value}
    assert titles(retrieve(served, [condition])) == matching


def test_dify_joins_conditions(served: Keyed) -> None:
    conditions = [
        {"name": "year", "comparison_operator": "=", "value": 2010},
        {"name": "topic", "comparison_operator": "is", "value": "nature"},
    ]
    assert titles(retrieve(served, conditions)) == set()
    either = {"logical_operator": "or", "conditions": conditions}
    assert titles(retrieve(served, metadata_condition=either)) == {"Asche", "a/b"}
    assert len(titles(retrieve(served, metadata_condition={"logical_operator": "and", "conditions": None}))) == 3


def check_dify_error(response: httpx.Response, status: int, code: int, message: str) -> None:
    body = response.json()
    assert (response.status_code, body["error_code"]) == (status, code), body
    assert message in body["error_msg"] and body["error_msg"] == body["message"]
    assert body["request_id"] == response.headers["x-request-id"] and body["error_type"]


def test_dify_reads_errors_of_its_own_form(served: Keyed) -> None:
    url = f"{served.server.url.rstrip('/')}/retrieval"
    registration = httpx.post(url, headers={"Authorization": f"Bearer {served.search_key}"})
    check_dify_error(registration, 422, 422, "the body is missing")
    check_dify_error(httpx.post(url), 401, 1001, "Authorization: Bearer KEY")
    check_dify_error(httpx.post(url, headers={"Authorization": "Basic abc"}), 401, 1001, "")
    check_dify_error(httpx.post(url, headers={"Authorization": "Bearer abc"}), 403, 1002, "not an API key")
    check_dify_error(retrieve(served, knowledge_id="nothing"), 404, 2001, "nothing")
    check_dify_error(retrieve(served, query=""), 422, 422, "query")
    check_dify_error(
        retrieve(served, [{"name": "year", "comparison_operator": "sounds like", "value": "x"}]),
        422, 422, "metadata_condition.conditions[0].comparison_operator: there is no 'sounds like'",
    )  # fmt: skip
    check_dify_error(
        retrieve(served, [{"name": "year", "comparison_operator": ">"}]), 422, 422, "conditions[0].value: is missing"
    )


def test_dify_reads_what_was_refused_before_the_route(served: Keyed) -> None:
    url = f"{served.server.url.rstrip('/')}/retrieval"

    def post(key: str, **more: Any) -> httpx.Response:
        headers = {"Authorization": f"Bearer {key}", **more.pop("headers", {})}
        return httpx.request(more.pop("method", "POST"), url, headers=headers, **more)

    body = {"knowledge_id": "news", "query": "volcano"}
    made = {"scopes": ["search"], "requests_per_second": 0.001, "burst": 1}
    rare = served.admin.post("/v1/keys", json=made).json()["key"]
    assert post(rare, json=body).status_code == 200
    limited = post(rare, json=body)
    check_dify_error(limited, 429, 429, "too many requests")
    assert int(limited.headers["retry-after"]) > 0
    jobs = served.admin.post("/v1/keys", json={"scopes": ["jobs"]}).json()["key"]
    check_dify_error(post(jobs, json=body), 403, 1002, "needs the scope search")
    key = served.search_key
    check_dify_error(post(key, method="GET"), 405, 405, "GET is not possible here")
    check_dify_error(post(key, content=b"x", headers={"content-type": "text/plain"}), 415, 415, "")
    check_dify_error(post(key, json=body | {"knowledge_id": "absent"}), 404, 2001, "absent")
    assert post(key, method="HEAD").status_code == 405


def test_ragflow_sends_the_same_form(served: Keyed) -> None:
    body = {"knowledge_id": "news", "query": "volcano", "use_kg": False, "retrieval_setting": {"top_k": 1000}}
    response = served.search.post("/retrieval", json=body | {"later": 1})
    assert "unknown fields were ignored: 'later'" in response.headers["x-dragoman-degraded"]
    assert titles(response) == {"Asche", "a/b"}
    check_dify_error(served.search.post("/retrieval", json=body | {"use_kg": True}), 422, 422, "use_kg")


def test_open_webui_reads_a_list(served: Keyed) -> None:
    path = "/integrations/openwebui/search"
    results = served.search.post(path, json={"query": "volcano", "count": 5}).json()
    assert {result["title"]: result["link"] for result in results} == {
        "Asche": "https://example.org/vulkan",
        "a/b": f"{served.server.url.rstrip('/')}/v1/collections/news/documents/a%2Fb",
    }
    link = next(result["link"] for result in results if result["title"] == "a/b")
    assert served.search.get(link).json()["text"] == "Der Vulkan schläft."
    assert len(served.search.post(path, json={"query": "volcano", "count": 1}).json()) == 1
    assert served.search.post(f"{path}?collection=other", json={"query": "volcano", "count": 1}).json() == []
    assert served.search.post(path, json={"query": "volcano", "count": 0}).status_code == 422
    assert httpx.post(f"{served.server.url.rstrip('/')}{path}", json={"query": "volcano"}).status_code == 401


def test_routir_lists_searches_and_scores(served: Keyed) -> None:
    services = served.search.get("/integrations/routir/avail").json()
    assert {"news", "latest", "other"} == set(services["search"])
    asked = {"query": "volcano", "service": "latest", "subset": "none", "limit": 1}
    ranking = served.search.post("/integrations/routir/search", json=asked).json()
    assert (ranking["query"], ranking["service"]) == ("volcano", "latest") and len(ranking["scores"]) == 1
    assert served.search.post("/integrations/routir/search", json=asked | {"service": "no"}).status_code == 404
    passages = ["Das Schiff", "Der Vulkan und die Asche"]
    (reranker,) = services["score"]
    asked = {"query": "volcano ash", "service": reranker, "passages": passages}
    scores = served.search.post("/integrations/routir/score", json=asked).json()["scores"]
    assert 0 < scores[0] < scores[1] < 1
    other = served.search.post("/integrations/routir/score", json=asked | {"service": "other"})
    assert "other" in other.headers["x-dragoman-degraded"] and other.json()["scores"] == scores


def test_pyserini_reads_whole_documents(served: Keyed) -> None:
    path = "/integrations/pyserini/v1/news/search"
    found = served.search.get(path, params={"query": "volcano ash", "hits": 1}).json()
    (candidate,) = found.pop("candidates")
    assert found == {"api": "v1", "index": "news", "query": {"text": "volcano ash"}}
    assert candidate.pop("score") > 0
    assert candidate == {
        "docid": "vulkan", "rank": 1, "doc": {"title": "Asche", "contents": "Der Vulkan spuckte Asche."},
    }  # fmt: skip
    found = served.search.get(path, params={"query": "volcano", "parse": "false"}).json()["candidates"]
    assert {json.loads(each["doc"])["contents"] for each in found} == {one["text"] for one in DOCUMENTS[:2]}
    assert served.search.get(path, params={"query": " "}).status_code == 422
    assert served.search.get(path, params={"query": "x", "hits": "0"}).status_code == 422
    assert served.search.get("/integrations/pyserini/v1/none/search", params={"query": "x"}).status_code == 404
