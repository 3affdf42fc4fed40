"""``POST /v1/search`` answered as a TREC run."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from tests.service.api.search_corpus import NDJSON, corpus, search
from tests.support.job_client import finished, submit
from tests.support.searching import ndjson

pytestmark = pytest.mark.slow

__all__ = ["corpus"]  # a fixture that all tests here use

TREC = {"accept": "application/x-trec-run"}


def test_a_trec_run(client: httpx.Client) -> None:
    request = {"query": "volcano house", "query_language": "en", "collections": ["s_de", "s_ru"], "query_id": "q 1"}
    response = client.post("/v1/search", json=request, headers=TREC)
    assert response.headers["content-type"].startswith("application/x-trec-run")
    lines = [line.split(" ") for line in response.text.splitlines()]
    assert all(len(line) == 6 for line in lines)
    assert {line[0] for line in lines} == {"q%201"}
    assert {line[1] for line in lines} == {"Q0"}
    assert "s_de/haus%20a/b%2050%25" in {line[2] for line in lines}
    assert [int(line[3]) for line in lines] == list(range(1, len(lines) + 1))
    scores = [float(line[4]) for line in lines]
    assert scores == sorted(scores, reverse=True)
    hits = search(client, "volcano house", collections=["s_de", "s_ru"])["hits"]
    assert scores == [hit["score"] for hit in hits]


def test_a_trec_run_without_a_query_id_carries_the_id_of_the_request(client: httpx.Client) -> None:
    request = {"query": "volcano", "query_language": "en", "collections": ["s_de"]}
    response = client.post("/v1/search", json=request, headers={**TREC, "x-request-id": "run-7"})
    assert response.text.startswith("run-7 Q0 ")


def test_a_trec_run_tells_documents_of_one_id_apart(client: httpx.Client) -> None:
    for name in ("s_twin1", "s_twin2"):
        client.post("/v1/collections", json={"name": name, "language": "de"})
        documents = ndjson([{"id": "same", "text": "Der Vulkan."}])
        client.post(f"/v1/collections/{name}/documents", content=documents, headers=NDJSON)
    try:
        request = {"query": "volcano", "query_language": "en", "collections": ["s_twin1", "s_twin2"]}
        assert _names(client, request) == {"s_twin1/same", "s_twin2/same"}
        assert _names(client, request | {"collections": ["s_twin1"]}) == {"same"}
        assert _names(client, request | {"collections": ["s_twin1"], "query_id": "x"}) == {"same"}
        lines = [
            request | {"custom_id": "both", "query": "Vulkan", "query_language": "de"},
            {"custom_id": "one", "query": "Vulkan", "query_language": "de", "collections": ["s_twin1"]},
        ]
        id = submit(client, lines, "search")
        finished(client, id)
        run = client.get(f"/v1/jobs/{id}/results?format=trec").text
        assert [line.split()[2] for line in run.splitlines()][-1] == "s_twin1/same"
    finally:
        for name in ("s_twin1", "s_twin2"):
            client.delete(f"/v1/collections/{name}")


def test_a_name_does_not_depend_on_what_else_is_found(client: httpx.Client) -> None:
    request = {"query": "Vulkan", "query_language": "de", "collections": ["s_de", "s_ru"]}
    assert all(name.startswith(("s_de/", "s_ru/")) for name in _names(client, request))


def _names(client: httpx.Client, request: dict[str, Any]) -> set[str]:
    run = client.post("/v1/search", json=request, headers=TREC)
    return {line.split()[2] for line in run.text.splitlines()}


def test_an_empty_trec_run(client: httpx.Client) -> None:
    response = client.post("/v1/search", json={"query": "xyzzy", "collections": ["s_de"]}, headers=TREC)
    assert (response.status_code, response.text) == (200, "")
