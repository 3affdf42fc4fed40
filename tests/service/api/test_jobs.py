from __future__ import annotations

import gzip
import json
from typing import Any

import httpx
import pytest

from tests.support.errorbody import check_error
from tests.support.job_client import NDJSON, answered_once, body, finished, job, post, read, submit

pytestmark = pytest.mark.slow

LINE = {"custom_id": "a", "query": "habari", "query_language": "sw"}
LARGE = gzip.compress(body([LINE | {"query": "x" * 9000}] * 500), mtime=0)


@pytest.fixture
def line(client: httpx.Client, collection: str) -> dict[str, Any]:
    """A search that finds two documents."""
    documents = [{"id": "one two", "text": "habari njema"}, {"id": "b", "text": "habari za leo njema sana"}]
    client.post(f"/v1/collections/{collection}/documents", content=body(documents), headers=NDJSON).raise_for_status()
    return LINE | {"collections": [collection]}


def test_a_search_job_answers_what_the_search_answers(client: httpx.Client, line: dict[str, Any]) -> None:
    asked = {key: value for key, value in line.items() if key != "custom_id"}
    id = submit(client, [line, line | {"custom_id": "b", "query": "njema", "explain": True}], "search", tag="mine")
    found = finished(client, id)
    assert found["status"] == "completed"
    assert found["counts"] == {"total": 2, "completed": 2, "failed": 0}
    assert found["type"], found["tag"] == ("search", "mine")
    assert found["created_at"] <= found["started_at"] <= found["finished_at"] < found["expires_at"]
    assert found["table_versions"] == []
    results = read(client, id, "results")
    assert [one["custom_id"] for one in results] == ["a", "b"]
    live = client.post("/v1/search", json=asked, headers={"X-Request-Id": "a"}).json()
    del live["timings_ms"]
    assert results[0]["response"] == live
    assert "contributions" in results[1]["response"]["hits"][0]
    run = client.get(f"/v1/jobs/{id}/results?format=trec")
    assert run.headers["content-type"].startswith("application/x-trec-run")
    live_run = client.post("/v1/search", json=asked | {"query_id": "a"}, headers={"Accept": "application/x-trec-run"})
    assert run.text.splitlines()[:2] == live_run.text.replace("dragoman-psq", "mine").splitlines()
    assert run.text.splitlines()[0].split()[2] == "one%20two"
    assert read(client, id, "errors") == []


def test_lines_that_are_no_requests_are_errors_and_the_others_go_on(client: httpx.Client, line: dict[str, Any]) -> None:
    sent = [
        json.dumps(line),
        "",
        "{",
        json.dumps({"query": "x"}),
        json.dumps({"custom_id": 7, "query": "x"}),
        json.dumps({"custom_id": "empty", "query": " "}),
        json.dumps({"custom_id": "extra", "query": "x", "documents": []}),
        json.dumps(line | {"query": "y"}),
        json.dumps({"custom_id": "empty", "query": "x"}),
        json.dumps({"custom_id": "long", "query": "x" * 30_000}),
        json.dumps(line | {"custom_id": "deep", "query": 1}),
        json.dumps({"custom_id": "missing", "query": "x", "collections": ["nope"]}),
        json.dumps({"custom_id": "table", "query": "x", "tables": ["nope"]}),
        json.dumps(line | {"custom_id": "last"}),
        "[" * 100,
        '{"custom_id": "\\ud800", "query": "x"}',
    ]
    answer = client.post("/v1/jobs?type=search", content="\n".join(sent).encode(), headers=NDJSON)
    assert answer.status_code == 202
    id = answer.json()["id"]
    assert finished(client, id)["counts"] == {"total": 15, "completed": 2, "failed": 13}
    assert [one["custom_id"] for one in read(client, id, "results")] == ["a", "last"]
    told = [(one["line"], one["custom_id"], one["error"]["status"]) for one in read(client, id, "errors")]
    assert told == [
        (3, None, 422),
        (4, None, 422),
        (5, None, 422),
        (6, "empty", 422),
        (7, "extra", 422),
        (8, "a", 422),
        (9, "empty", 422),
        (10, None, 422),
        (11, "deep", 422),
        (12, "missing", 404),
        (13, "table", 404),
        (15, None, 422),
        (16, None, 422),
    ]
    messages = [one["error"]["message"] for one in read(client, id, "errors")]
    assert "not valid JSON" in messages[0]
    assert messages[1] == "custom_id: Field required"
    assert messages[3] == "query: must not be blank"
    assert messages[4].startswith("documents: ")
    assert messages[5] == "custom_id: that of line 1 already"
    assert messages[7] == "the line is longer than 20000 bytes"
    assert messages[9] == "collections[0]: there is no collection named 'nope'"


def test_a_request_sent_again_is_the_same_job(client: httpx.Client, line: dict[str, Any]) -> None:
    first = post(client, [line], "search", key="k-1")
    again = client.post(
        "/v1/jobs?type=search", content=gzip.compress(body([line])), headers=NDJSON | {"Idempotency-Key": "k-1"}
    )
    assert first.status_code == again.status_code == 202
    assert first.json()["id"] == again.json()["id"]
    for other in (
        post(client, [line | {"custom_id": "b"}], "search", key="k-1"),
        post(client, [line], "rerank", key="k-1"),
        post(client, [line], "search", key="k-1", tag="other"),
    ):
        check_error(other, 409, "Idempotency-Key was sent before with another")
    assert post(client, [line], "search", key="k-2").json()["id"] != first.json()["id"]
    finished(client, first.json()["id"])
    client.delete(f"/v1/jobs/{first.json()['id']}")
    assert post(client, [line | {"custom_id": "b"}], "search", key="k-1").status_code == 202


@pytest.mark.parametrize(
    ("parameters", "headers", "content", "status", "message"),
    [
        ({}, {}, body([LINE]), 422, "query parameter type: Field required"),
        ({"type": "translate"}, {}, body([LINE]), 422, "query parameter type"),
        ({"type": "search", "tag": "a b"}, {}, body([LINE]), 422, "tag: must be 1 to 64"),
        ({"type": "search", "tag": ""}, {}, body([LINE]), 422, "tag: must be 1 to 64"),
        ({"type": "search"}, {"Idempotency-Key": "a b"}, body([LINE]), 422, "Idempotency-Key: must be"),
        ({"type": "search"}, {"Idempotency-Key": "x" * 256}, body([LINE]), 422, "Idempotency-Key: must be"),
        ({"type": "search"}, {"content-type": "application/json"}, body([LINE]), 415, "NDJSON"),
        ({"type": "search"}, {}, b"", 422, "the body holds no lines"),
        ({"type": "search"}, {}, b"\n \n", 422, "the body holds no lines"),
        (
            {"type": "search"},
            {},
            gzip.compress(body([LINE] * 50), mtime=0)[:-9],
            400,
            "the gzip stream .*; no job was made",
        ),
        (
            {"type": "search"},
            {},
            LARGE,
            413,
            "larger than 4000000 bytes when unpacked",
        ),
    ],
)
def test_requests_that_make_no_job(
    client: httpx.Client,
    parameters: dict[str, str],
    headers: dict[str, str],
    content: bytes,
    status: int,
    message: str,
) -> None:
    before = {one["id"] for one in client.get("/v1/jobs").json()["jobs"]}
    answer = client.post("/v1/jobs", params=parameters, headers=NDJSON | headers, content=content)
    check_error(answer, status, message)
    assert {one["id"] for one in client.get("/v1/jobs").json()["jobs"]} == before


def test_what_is_not_there_is_404_and_what_is_not_allowed_422(client: httpx.Client) -> None:
    for method, path in [
        ("GET", "nope"),
        ("DELETE", "nope"),
        ("POST", "nope/cancel"),
        ("GET", "nope/results"),
        ("GET", "nope/results?format=trec"),
        ("GET", "nope/errors"),
        ("GET", "?after=nope"),
    ]:
        path = f"/v1/jobs/{path}" if path[0] != "?" else f"/v1/jobs{path}"
        check_error(client.request(method, path), 404, "there is no job 'nope'")
    check_error(client.get("/v1/jobs?limit=0"), 422, "limit")
    check_error(client.get("/v1/jobs/nope/results?format=xml"), 422, "format")


def test_jobs_are_listed_newest_first_and_can_be_deleted(client: httpx.Client, line: dict[str, Any]) -> None:
    ids = [submit(client, [line], "search") for _ in range(3)]
    first = client.get("/v1/jobs?limit=2").json()
    assert [one["id"] for one in first["jobs"]] == ids[:0:-1]
    assert first["has_more"]
    rest = client.get("/v1/jobs", params={"after": ids[1], "limit": 1000}).json()
    assert rest["jobs"][0]["id"] == ids[0] and not rest["has_more"]
    for id in ids:
        finished(client, id)
        assert client.delete(f"/v1/jobs/{id}").status_code == 204
        check_error(client.get(f"/v1/jobs/{id}"), 404, "there is no job")
    assert not {one["id"] for one in client.get("/v1/jobs").json()["jobs"]} & set(ids)


def test_a_job_that_has_finished_cannot_be_cancelled(client: httpx.Client, line: dict[str, Any]) -> None:
    id = submit(client, [line], "search")
    finished(client, id)
    check_error(client.post(f"/v1/jobs/{id}/cancel"), 409, "the job is completed already")
    assert job(client, id)["status"] == "completed"
    assert answered_once(client, id) == {"a": 1}
    metrics = client.get("/metrics").text
    assert 'dragoman_job_lines_total{outcome="completed"}' in metrics
