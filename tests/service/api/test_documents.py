"""Documents over HTTP: changed, listed and guarded by generations."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from tests.support.errorbody import check_error
from tests.support.postgresql import DATABASES
from tests.support.searching import ndjson

pytestmark = [pytest.mark.slow, pytest.mark.parametrize("served", DATABASES, indirect=True, scope="package")]

NDJSON = {"content-type": "application/x-ndjson"}
METADATA = {"year": 2024, "authors": [{"name": "A", "born": 1}, {"name": "B"}, 3], "title": "of the book"}


@pytest.fixture
def documents(client: httpx.Client, collection: str) -> str:
    """The address of three documents."""
    address = f"/v1/collections/{collection}/documents"
    lines: list[dict[str, Any]] = [
        {"id": "a b/c", "title": "Kwanza", "text": "neno moja", "language": "de", "metadata": METADATA},
        {"id": "2", "text": "neno mbili"},
        {"id": "3", "text": "neno tatu", "metadata": {"year": 1999}},
    ]
    client.post(address, content=ndjson(lines), headers=NDJSON).raise_for_status()
    return address


def found(client: httpx.Client, collection: str, query: str, language: str) -> list[str]:
    asked = {"query": query, "query_language": language, "method": "psq", "collections": [collection]}
    return [hit["id"] for hit in client.post("/v1/search", json=asked).raise_for_status().json()["hits"]]


def test_a_document_is_changed_field_by_field(client: httpx.Client, collection: str, documents: str) -> None:
    address = f"{documents}/a%20b%2Fc"
    first = client.get(address)
    assert (first.json()["generation"], first.headers["etag"]) == (1, '"1"')
    answer = client.patch(address, json={"metadata": {"year": None, "url": "x"}})
    rest = {name: METADATA[name] for name in ("authors", "title")}
    assert answer.json() == {**first.json(), "metadata": {**rest, "url": "x"}, "generation": 2}
    assert answer.headers["etag"] == '"2"'
    answer = client.patch(address, json={"text": "Häuser", "title": ""})
    assert answer.json() == client.get(address).json()
    assert (answer.json()["title"], answer.json()["text"], answer.json()["language"]) == (None, "Häuser", "de")
    assert found(client, collection, "Haus", "de") == ["a b/c"] and found(client, collection, "moja", "de") == []
    assert client.patch(address, json={}).json() == answer.json()
    assert client.patch(address, json={"metadata": None}).json()["metadata"] is None
    info = client.get(f"/v1/collections/{collection}").json()
    assert (info["generation"], info["index"]["generation"], info["index"]["state"]) == (4, 4, "ready")


def test_a_document_sent_again_keeps_what_is_left_out(client: httpx.Client, documents: str) -> None:
    sent = [{"id": "a b/c", "text": "Häuser"}, {"id": "3", "text": "t", "metadata": {}}]
    answer = client.post(documents, content=ndjson(sent), headers=NDJSON).json()
    assert (answer["accepted"], answer["replaced"]) == (2, 2)
    kept = client.get(f"{documents}/a%20b%2Fc").json()
    assert (kept["title"], kept["language"], kept["metadata"]) == (None, "de", METADATA)
    assert client.get(f"{documents}/3").json()["metadata"] is None


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"text": " "}, "text: must not be blank"),
        ({"text": None}, "text: "),
        ({"language": None}, "language: "),
        ({"language": "xx"}, "language: "),
        ({"title": 3}, "title: "),
        ({"metadata": [1]}, "metadata: "),
        ({"metadata": {"a": "\0"}}, "metadata: holds a NUL"),
        ({"id": "x"}, "id: "),
        ([], "body: "),
    ],
)
def test_a_change_that_is_none_is_refused(client: httpx.Client, documents: str, change: Any, message: str) -> None:
    check_error(client.patch(f"{documents}/2", json=change), 422, message)
    assert client.get(f"{documents}/2").json()["generation"] == 1


def test_documents_are_listed_page_by_page(client: httpx.Client, documents: str) -> None:
    whole = client.get(documents).json()
    assert [one["id"] for one in whole["documents"]] == ["a b/c", "2", "3"]
    assert (whole["total"], whole["next"]) == (3, None)
    assert whole["documents"] == [client.get(f"{documents}/{id}").json() for id in ("a%20b%2Fc", "2", "3")]
    page = client.get(documents, params={"limit": 2}).json()
    assert (page["documents"], page["total"]) == (whole["documents"][:2], 3)
    page = client.get(documents, params={"limit": 2, "cursor": page["next"]}).json()
    assert page == {"documents": whole["documents"][2:], "next": None, "total": 3}


@pytest.mark.parametrize(
    ("fields", "chosen"),
    [
        ("id", {}),
        ("title,language", {"title": "Kwanza", "language": "de"}),
        ("text, generation", {"text": "neno moja", "generation": 1}),
        ("year", {"metadata": {"year": 2024}}),
        ("authors.name", {"metadata": {"authors": [{"name": "A"}, {"name": "B"}]}}),
        ("metadata.title,nothing,year.deep", {"metadata": {"title": "of the book"}}),
        ("metadata,year", {"metadata": METADATA}),
    ],
)
def test_fields_of_listed_documents_are_chosen(
    client: httpx.Client, documents: str, fields: str, chosen: dict[str, Any]
) -> None:
    listed = client.get(documents, params={"fields": fields, "limit": 1}).json()["documents"]
    assert listed == [{"id": "a b/c", **chosen}]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"filtre": "{}"}, "unknown query parameter 'filtre': there are "),
        ({"limit": "0"}, "query parameter limit: "),
        ({"limit": "1001"}, "query parameter limit: "),
        ({"cursor": "nonsense"}, "cursor: is none"),
        ({"fields": "title,,text"}, "fields: must be names"),
        ({"fields": "a..b"}, "fields: must be names"),
    ],
)
def test_a_list_refuses_what_it_does_not_know(
    client: httpx.Client, documents: str, parameters: dict[str, str], message: str
) -> None:
    check_error(client.get(documents, params=parameters), 422, message)


@pytest.mark.parametrize("tag", ['"1"', "1", 'W/"1"', '"9", "1"', "*"])
def test_what_is_of_the_expected_generation_is_changed(client: httpx.Client, documents: str, tag: str) -> None:
    headers = {"If-Match": tag}
    assert client.patch(f"{documents}/2", json={"text": "t"}, headers=headers).status_code == 200
    assert client.delete(f"{documents}/3", headers=headers).status_code == 204


def test_what_is_of_another_generation_is_left_alone(client: httpx.Client, collection: str, documents: str) -> None:
    address, stale = f"/v1/collections/{collection}", {"If-Match": '"0"'}
    before = client.get(address)
    assert before.headers["etag"] == '"1"'
    answers = [
        client.patch(f"{documents}/2", json={"text": "t"}, headers=stale),
        client.delete(f"{documents}/2", headers=stale),
        client.post(documents, content=ndjson([{"id": "4", "text": "t"}]), headers=NDJSON | stale),
        client.patch(address, json={"shards": 2}, headers=stale),
        client.delete(address, headers=stale),
    ]
    for answer in answers:
        check_error(answer, 412, "has changed: its generation is 1")
        assert answer.json()["error_type"] == "precondition_failed"
    assert client.get(address).json() == before.json()
    for tag in ('"x"', "", '"1', "1 2", '"1",'):
        check_error(client.delete(address, headers={"If-Match": tag}), 422, "header If-Match: must be a generation")
    assert client.post(documents, content=ndjson([{"id": "4", "text": "t"}]), headers=NDJSON | {"If-Match": '"1"'})
    assert client.delete(address, headers={"If-Match": '"2"'}).status_code == 204
