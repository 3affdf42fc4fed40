"""``POST /v1/events`` and ``GET /v1/reports/…`` over HTTP, against a real server that records searches."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest

from tests.service.api import search_corpus
from tests.support.errorbody import check_error
from tests.support.postgresql import DATABASES
from tests.support.serving import wait_for

pytestmark = [pytest.mark.slow, pytest.mark.parametrize("served", DATABASES, indirect=True, scope="package")]

corpus = search_corpus.corpus


def search(client: httpx.Client, query: str) -> dict[str, Any]:
    body = {"query": query, "query_language": "en", "collections": ["s_de"], "method": "psq"}
    answer = client.post("/v1/search", json=body)
    return answer.raise_for_status().json()  # type: ignore[no-any-return]


def report(client: httpx.Client, kind: str, name: str, text: str) -> dict[str, Any] | None:
    answer = client.get(f"/v1/reports/{kind}", params={"limit": 10_000}).raise_for_status().json()
    assert answer["recording"] == "plain"
    rows = [row for row in answer["words" if kind == "vocabulary" else "queries"] if row[name] == text]
    assert len(rows) <= 1
    return rows[0] if rows else None


def test_searches_are_reported_until_somebody_clicks(client: httpx.Client) -> None:
    query = "volcano Zorbleflux"
    answers = [search(client, query) for _ in range(3)]
    word = report(client, "vocabulary", "word", "zorbleflux")
    assert word is not None
    assert {name: word[name] for name in ("hashed", "source", "target", "searches")} == {
        "hashed": False, "source": "en", "target": "de", "searches": 3,
    }  # fmt: skip
    for answer, action in zip(answers, ("impression", "click"), strict=False):
        event = {"query_id": answer["request_id"], "object_id": answer["hits"][0]["id"], "action_name": action}
        taken = client.post("/v1/events", json=event)
        assert (taken.status_code, taken.json()) == (202, {"accepted": 1})
    row = report(client, "searches", "query", query)
    assert row is not None
    assert {name: row[name] for name in ("language", "searches", "without_click", "without_hits")} == {
        "language": "en", "searches": 3, "without_click": 2, "without_hits": 0,
    }  # fmt: skip
    for answer in answers:
        event = {"query_id": answer["request_id"], "object_id": "1", "action_name": "item_click", "client_id": "ada"}
        event["timestamp"] = datetime.now(UTC).isoformat()
        client.post("/v1/events", json=event).raise_for_status()
    assert report(client, "searches", "query", query) is None
    listed = client.get("/v1/reports/vocabulary", params={"limit": 1}).json()
    assert len(listed["words"]) == 1 <= listed["total"]


def test_required_words_count_and_those_of_chosen_tables_do_not(client: httpx.Client) -> None:
    body = {"query": "volcano", "query_language": "en", "collections": ["s_de"], "method": "psq", "must": ["Qwyzzle"]}
    client.post("/v1/search", json=body).raise_for_status()
    chosen = {**body, "query": "volcano Blorptex", "tables": ["s_en_de"]}
    client.post("/v1/search", json=chosen).raise_for_status()
    line = {"custom_id": "1", "query": "volcano Qwyzzle", "query_language": "en", "collections": ["s_de"]}
    job = client.post("/v1/jobs", params={"type": "search"}, content=json.dumps(line), headers=search_corpus.NDJSON)
    job = job.raise_for_status().json()
    wait_for(lambda: client.get(f"/v1/jobs/{job['id']}").json()["status"] == "completed")
    word = report(client, "vocabulary", "word", "qwyzzle")
    assert word is not None and word["kinds"] == {"search": 1, "job": 1}
    assert report(client, "vocabulary", "word", "blorptex") is None
    assert report(client, "searches", "query", "volcano Qwyzzle") is None


def test_an_event_may_have_all_that_ubi_has(client: httpx.Client) -> None:
    attributes = {"object": {"object_id": "s_de/1", "object_id_field": "id"}, "position": {"ordinal": 3}}
    event = {
        "query_id": "1", "action_name": "click", "application": "shop", "session_id": "s", "client_id": "c",
        "user_query": "ash", "message": "m", "message_type": "INFO", "event_attributes": attributes,
    }  # fmt: skip
    assert client.post("/v1/events", json=event).json() == {"accepted": 1}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"query_id": ""}, "query_id"),
        ({"query_id": "x" * 129}, "query_id"),
        ({"object_id": "x" * 601}, "object_id"),
        ({"action_name": "x" * 65}, "action_name"),
        ({"action_name": "\0"}, "action_name"),
        ({"timestamp": "0001-01-01T00:00:00+14:00"}, "timestamp"),
        ({"timestamp": "yesterday"}, "timestamp"),
        ({"timestamp": "2199-01-01T00:00:00Z"}, "timestamp"),
        ({"object_id": None}, "object_id"),
        ({"object_id": None, "event_attributes": {"object": {"object_id": "a\0"}}}, "object_id"),
        ({"event_attributes": {"x": "x" * 16_400}}, "event_attributes"),
        ({"message": "x" * 4_097}, "message"),
        ({"clicks": 1}, "clicks"),
    ],
)
def test_what_is_wrong_in_an_event_is_named(client: httpx.Client, change: dict[str, Any], message: str) -> None:
    event = {"query_id": "1", "object_id": "1", "action_name": "click", **change}
    check_error(client.post("/v1/events", json=event), 422, message)


def test_what_is_wrong_in_a_report_is_named(client: httpx.Client) -> None:
    check_error(client.get("/v1/reports/searches", params={"limit": 0}), 422, "limit")
    check_error(client.get("/v1/reports/searches", params={"most": 1}), 422, "most")
    check_error(client.get("/v1/reports/nothing"), 404, "")
