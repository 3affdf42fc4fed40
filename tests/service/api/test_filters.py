"""Filters over HTTP: searches, lists, exports, deletions, questions and jobs."""

from __future__ import annotations

import gzip
import json
from typing import Any

import httpx
import pytest

from tests.support.errorbody import check_error
from tests.support.job_client import finished, post, read
from tests.support.searching import ndjson

pytestmark = pytest.mark.slow

NDJSON = {"content-type": "application/x-ndjson"}
LATE = {"n": {"$gte": 20}}


@pytest.fixture
def filled(client: httpx.Client, collection: str) -> str:
    """The address of a collection of thirty documents."""
    lines = [{"id": f"{n:02}", "text": "neno moja", "metadata": {"n": n, "url": f"x/{n}"}} for n in range(30)]
    address = f"/v1/collections/{collection}"
    client.post(f"{address}/documents", content=ndjson(lines), headers=NDJSON).raise_for_status()
    return address


def search(client: httpx.Client, address: str, **more: Any) -> list[dict[str, Any]]:
    asked = {"query": "moja", "query_language": "sw", "method": "psq", "collections": [address.split("/")[-1]]}
    hits: list[dict[str, Any]] = client.post("/v1/search", json=asked | more).raise_for_status().json()["hits"]
    return hits


def test_hits_are_filtered_and_have_metadata(client: httpx.Client, filled: str) -> None:
    hits = search(client, filled, filter=LATE, top_k=50)
    assert sorted(hit["id"] for hit in hits) == [str(n) for n in range(20, 30)]
    assert all(hit["metadata"] == {"n": int(hit["id"]), "url": f"x/{hit['id']}"} for hit in hits)
    chosen = search(client, filled, filter=LATE, fields=["url"])
    assert all(hit["metadata"] == {"url": f"x/{hit['id']}"} for hit in chosen)


def test_lists_and_exports_are_filtered(client: httpx.Client, filled: str) -> None:
    ids: list[str] = []
    parameters = {"filter": json.dumps(LATE), "limit": "4", "fields": "id"}
    while True:
        page = client.get(f"{filled}/documents", params=parameters).raise_for_status().json()
        assert page["total"] == 10
        ids += [document["id"] for document in page["documents"]]
        if page["next"] is None:
            break
        parameters["cursor"] = page["next"]
    assert ids == [str(n) for n in range(20, 30)]
    other = {**parameters, "filter": json.dumps({"n": {"$gt": 5}})}
    check_error(client.get(f"{filled}/documents", params=other), 422, "cursor: is none")
    del other["filter"]
    check_error(client.get(f"{filled}/documents", params=other), 422, "cursor: is none")
    plain = client.get(f"{filled}/export", params={"filter": json.dumps(LATE)}, headers={"accept-encoding": "identity"})
    assert [json.loads(line)["id"] for line in plain.content.splitlines()] == ids
    with client.stream("GET", f"{filled}/export", params={"filter": json.dumps(LATE)}) as packed:
        assert gzip.decompress(b"".join(packed.iter_raw())) == plain.content


def test_what_a_filter_leaves_is_counted_and_deleted(client: httpx.Client, filled: str) -> None:
    address = f"{filled}/documents/delete"
    assert client.post(address, json={"filter": LATE, "dry_run": True}).json() == {"deleted": 10}
    generation = client.get(filled).json()["generation"]
    check_error(
        client.post(address, json={"filter": LATE}, headers={"if-match": '"99"'}), 412, "collection has changed"
    )
    answer = client.post(address, json={"filter": LATE}, headers={"if-match": f'"{generation}"'})
    assert answer.json() == {"deleted": 10}
    assert client.post(address, json={"filter": LATE}).json() == {"deleted": 0}
    info = client.get(filled).json()
    assert (info["documents"], info["generation"]) == (20, generation + 1)
    assert search(client, filled, filter=LATE) == [] and len(search(client, filled, top_k=50)) == 20


@pytest.mark.parametrize(
    ("filter", "message"),
    [
        ("{", r"^filter: it is not valid JSON"),
        ("[]", r"^filter: must be a JSON object"),
        ('{"n": {"$x": 1}}', r"^filter\.n\.\$x: there is no operator"),
        ('{"n": 1, "n": 2}', r"^filter: n: the field occurs twice"),
        ('{"n": "\\u0000"}', r"^filter: holds a NUL"),
        ('{"n": "\\ud800"}', r"^filter: holds a lone surrogate"),
        ('{"n": NaN}', r"^filter: it is not valid JSON"),
        (f"{'[' * 200}", r"^filter: "),
    ],
)
def test_a_filter_that_is_none_is_refused_everywhere(
    client: httpx.Client, filled: str, filter: str, message: str
) -> None:
    for place in ("documents", "export"):
        check_error(client.get(f"{filled}/{place}", params={"filter": filter}), 422, message)
    if "valid JSON" in message or "twice" in message or message == "^filter: ":
        return  # so is the body
    name = filled.split("/")[-1]
    bodies = {
        "/v1/search": {"query": "moja", "collections": [name]},
        f"{filled}/documents/delete": {},
    }
    for address, body in bodies.items():
        content = json.dumps(body)[:-1] + (", " if body else "") + f'"filter": {filter}}}'
        answer = client.post(address, content=content, headers={"content-type": "application/json"})
        check_error(answer, 422, r"^filter: " if filter == "[]" else message)
    assert client.get(filled).json()["documents"] == 30


def test_parameters_are_checked(client: httpx.Client, filled: str) -> None:
    check_error(client.post(f"{filled}/documents/delete", json={}), 422, "^filter: ")
    check_error(client.post(f"{filled}/documents/delete", json={"filter": {}, "dry": True}), 422, "^dry: ")
    check_error(client.get(f"{filled}/export", params={"filters": "{}"}), 422, "unknown query parameter 'filters'")
    check_error(
        client.get(f"{filled}/documents", params={"filter": f'{{"n": "{"x" * 60_000}"}}'}), 422, "filter: longer"
    )
    asked = {"query": "moja", "fields": ["a..b"], "collections": [filled.split("/")[-1]]}
    check_error(client.post("/v1/search", json=asked), 422, "^fields: must be names")
    question = {"question": "what?", "context": "x", "filter": {}}
    check_error(client.post("/v1/qa", json=question), 422, "filter: there is a context")
    check_error(client.post("/v1/reason", json={"question": "what?", "filter": {}}), 422, "filter: needs collections")


def test_lines_of_search_jobs_are_filtered(client: httpx.Client, filled: str) -> None:
    common = {"query": "moja", "query_language": "sw", "method": "psq", "collections": [filled.split("/")[-1]]}
    lines = [
        {"custom_id": "late", **common, "filter": LATE, "fields": ["n"], "top_k": 50},
        {"custom_id": "wrong", **common, "filter": {"n": {"$x": 1}}},
    ]
    job = post(client, lines, "search").raise_for_status().json()["id"]
    finished(client, job)
    (result,) = read(client, job, "results")
    assert sorted(hit["metadata"]["n"] for hit in result["response"]["hits"]) == list(range(20, 30))
    (error,) = read(client, job, "errors")
    assert error["custom_id"] == "wrong" and error["error"]["message"].startswith("filter.n.$x: ")
