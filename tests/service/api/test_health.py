from __future__ import annotations

import re

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

pytestmark = pytest.mark.slow


def test_the_process_is_alive_and_ready(client: httpx.Client) -> None:
    assert client.get("/healthz").json() == {"status": "ok"}
    assert client.get("/readyz").json() == {"status": "ready"}


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/", "/docs", "/openapi.json", "/v1/collections", "/v1/none"])
def test_head_is_answered_as_get_without_a_body(client: httpx.Client, path: str) -> None:
    head, get = client.head(path), client.get(path)
    assert (head.status_code, head.content) == (get.status_code, b"")
    assert head.headers["content-type"] == get.headers["content-type"]
    assert get.status_code != 200 or head.headers["content-length"] == get.headers["content-length"]


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/openapi.json", "/v1/collections", "/v1/tables"])
def test_a_slash_at_the_end_changes_nothing(client: httpx.Client, path: str) -> None:
    found = client.get(path + "/", follow_redirects=False)
    assert (found.status_code, found.content) == (200, client.get(path).content)


def test_metrics_count_requests_by_route_and_not_by_address(client: httpx.Client) -> None:
    for name in ("one", "two"):
        client.get(f"/v1/collections/{name}")
    client.get("/not/a/route")
    response = client.get("/metrics")
    assert response.headers["content-type"].startswith("text/plain")
    samples = [sample for family in text_string_to_metric_families(response.text) for sample in family.samples]
    counted = {
        (sample.labels["route"], sample.labels["status"]): sample.value
        for sample in samples
        if sample.name == "dragoman_requests_total" and sample.labels["method"] == "GET"
    }
    assert counted["/v1/collections/{name}", "404"] >= 2
    assert counted["unmatched", "404"] >= 1
    assert "dragoman_request_seconds_bucket" in {sample.name for sample in samples}


def test_documentation_and_page_are_served(client: httpx.Client) -> None:
    assert client.get("/docs").status_code == 200
    page = client.get("/")
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert re.search("(?i)<!doctype html>", page.text)


def test_the_openapi_document_says_what_clients_rely_on(client: httpx.Client) -> None:
    document = client.get("/openapi.json").json()
    operations = {
        (method.upper(), path): operation
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    }
    promised = {
        ("POST", "/v1/collections"): "201",
        ("GET", "/v1/collections"): "200",
        ("GET", "/v1/collections/{name}"): "200",
        ("DELETE", "/v1/collections/{name}"): "204",
        ("POST", "/v1/collections/{name}/documents"): "200",
        ("GET", "/v1/collections/{name}/documents/{id}"): "200",
        ("DELETE", "/v1/collections/{name}/documents/{id}"): "204",
        ("GET", "/healthz"): "200",
        ("GET", "/readyz"): "200",
        ("GET", "/metrics"): "200",
    }
    for operation, status in promised.items():
        assert status in operations[operation]["responses"], operation
    for operation in operations.values():
        for status, response in operation["responses"].items():
            if status >= "400":
                schema = response["content"]["application/json"]["schema"]
                assert schema == {"$ref": "#/components/schemas/ErrorBody"}
    schemas = document["components"]["schemas"]
    assert set(schemas["ErrorBody"]["required"]) == {
        "id", "message", "detail", "error", "error_type", "request_id"
    }  # fmt: skip
    assert set(schemas["NewCollection"]["required"]) == {"name", "language"}
    assert set(schemas["ImportBody"]["properties"]) == {"accepted", "replaced", "rejected", "generation"}
    assert {"documents", "generation", "index", "created_at"} <= set(schemas["CollectionBody"]["properties"])
    body = operations["POST", "/v1/collections/{name}/documents"]["requestBody"]["content"]
    assert set(body["application/x-ndjson"]["schema"]["properties"]) == {
        "id", "text", "title", "language", "metadata"
    }  # fmt: skip
