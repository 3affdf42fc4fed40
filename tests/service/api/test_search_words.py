"""Which words of a query are searched, and which only say how it is asked."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.support.serving import Server

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module", autouse=True)
def _data(served: Server) -> Iterator[None]:
    client = served.client
    assert client.post("/v1/collections", json={"name": "w_de", "language": "de"}).status_code == 201
    sent, kind = b'{"id": "one", "text": "Der Vulkan beim Haus"}\n', {"Content-Type": "application/x-ndjson"}
    assert client.post("/v1/collections/w_de/documents", content=sent, headers=kind).status_code == 200
    asked = {"source": "en", "target": "de", "activate": "true"}
    assert client.put("/v1/tables/w_en_de", params=asked, content=b"volcano\tVulkan\nhouse\tHaus\n").status_code == 201
    yield
    client.delete("/v1/collections/w_de")
    client.post("/v1/tables/w_en_de/deactivate")


def search(client: httpx.Client, query: str, **options: Any) -> dict[str, Any]:
    asked = {"query": query, "query_language": "en", "collections": ["w_de"], **options}
    response = client.post("/v1/search", json=asked)
    assert response.status_code == 200, response.text
    body: dict[str, Any] = response.json()
    return body


@pytest.mark.parametrize(
    ("query", "searched", "ignored"),
    [
        ("What did the volcano do to a house?", ["volcano", "house"], ["What", "did", "the", "do", "to", "a"]),
        ("What is it", ["What", "is", "it"], []),
        ("WHO report on the volcano", ["WHO", "report", "volcano"], ["on", "the"]),
        ("WHO 2020", ["WHO", "2020"], []),
        ("WHO WAS AT THE HOUSE", ["HOUSE"], ["WHO", "WAS", "AT", "THE"]),
        ("a house by The Who", ["house", "The", "Who"], ["a", "by"]),
        ("Who Was At Home", ["Home"], ["Who", "Was", "At"]),
        ('"What did the house do?"', ["house"], ["What", "did", "the", "do"]),
        ("- What is a house? Who was there", ["house"], ["What", "is", "a", "Who", "was", "there"]),
        ("a house by “The Who”", ["house", "The", "Who"], ["a", "by"]),
        ("how do I house", ["house"], ["how", "do", "I"]),
        ("How many houses did the volcano bury?", ["houses", "volcano", "bury"], ["How", "many", "did", "the"]),
    ],
)
def test_words_that_only_ask_are_not_searched(
    client: httpx.Client, query: str, searched: list[str], ignored: list[str]
) -> None:
    found = search(client, query)["translation"]
    assert [one["term"] for one in found["terms"]] == searched
    assert found["ignored"] == ignored


def test_words_that_only_ask_are_searched_where_a_glossary_has_them(client: httpx.Client) -> None:
    glossary = {"source": "en", "target": "de", "kind": "glossary", "activate": "true"}
    client.put("/v1/tables/w_asks", params=glossary, content=b"who\tVulkan\nwhat if analysis\tHaus\nhow many\tHaus\n")
    try:
        assert [one["term"] for one in search(client, "who is there")["translation"]["terms"]] == ["who"]
        phrase = search(client, "how many are there, and what is the house?")["translation"]
        assert [one["term"] for one in phrase["terms"]] == ["how many", "house"]
    finally:
        client.post("/v1/tables/w_asks/deactivate")


def test_a_search_as_it_is_ignores_the_stop_words_of_the_documents_language(client: httpx.Client) -> None:
    translation = search(client, "what die volcano", method="none")["translation"]
    assert translation["ignored"] == ["die"]
