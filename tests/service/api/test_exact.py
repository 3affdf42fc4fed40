"""Required and excluded words over HTTP."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from tests.service.api.search_corpus import GERMAN, MIXED, RUSSIAN, corpus

__all__ = ["corpus"]

pytestmark = pytest.mark.slow


def ask(client: httpx.Client, query: str = "volcano house", **more: Any) -> httpx.Response:
    asked = {"query_language": "en", "method": "psq", "rerank": False, "collections": ["s_de", "s_ru", "s_mixed"]}
    return client.post("/v1/search", json={"query": query} | asked | more)


def ids(response: httpx.Response) -> list[str]:
    assert response.status_code == 200, response.text
    return sorted(hit["id"] for hit in response.json()["hits"])


def test_words_and_phrases_are_required_and_excluded_in_translation(client: httpx.Client) -> None:
    assert ids(ask(client, must=["ash"])) == ["ru1", "vulkan"]
    assert ids(ask(client, must=["ash"], must_not=["Tesla"])) == ["vulkan"]
    assert ids(ask(client, must=["volcano ash"])) == []
    assert ids(ask(client, query="+ash volcano -Tesla", syntax="simple")) == ["vulkan"]
    answer = ask(client, must=["Tesla"]).json()
    assert sorted(hit["id"] for hit in answer["hits"]) == ["haus a/b 50%", "ru1"]
    (text,) = answer["translation"]["must"]
    assert {language: reading["literal"] for language, reading in text["languages"].items()} == {
        "de": ["Tesla"],
        "en": [],
        "ru": ["Tesla"],
    }
    marks = {mark["document_term"]: mark["match"] for hit in answer["hits"] for mark in hit["highlights"]}
    assert (marks["Tesla"], marks["Тесла"]) == ("identical", "sound")
    assert "must" not in ask(client).json()["translation"]


@pytest.mark.parametrize("method", ["psq", "smt", "none", "dense", "hybrid"])
def test_evidence_of_required_words_is_true(client: httpx.Client, method: str) -> None:
    word, language = ("Asche", "de") if method == "none" else ("ash", "en")
    response = ask(client, query="Vulkan volcano", query_language=language, method=method, must=[word])
    texts = {id: {"title": title, "text": text} for id, (title, text) in [*GERMAN.items(), *RUSSIAN.items()]}
    texts |= {document["id"]: {"text": document["text"]} for document in MIXED}
    used = {(table["name"], table["version"]) for table in response.json()["translation"]["tables"]}
    assert "vulkan" in ids(response)
    for hit in response.json()["hits"]:
        marks = [mark for mark in hit["highlights"] if mark["query_term"] == word]
        assert {mark["document_term"] for mark in marks} & {"Asche", "пепел"}
        assert len({(mark["field"], mark["start"]) for mark in marks}) == len(marks)
        for mark in marks:
            text = texts[hit["id"]][mark["field"]]
            assert text is not None
            assert text[mark["start"] : mark["end"]] == mark["document_term"]
            assert mark["match"] == "identical" or (mark["table"], mark["version"]) in used


def test_a_phrase_from_the_title_into_the_text_is_marked_in_both(client: httpx.Client) -> None:
    options = {"query_language": "de", "collections": ["s_de"], "method": "psq"}
    (hit,) = ask(client, query="Flugverkehr", must=["Island der Vulkan"], **options).json()["hits"]
    marks = [(mark["field"], mark["start"], mark["document_term"]) for mark in hit["highlights"]]
    assert [mark for mark in marks if mark[2] != "Flugverkehr"] == [
        ("title", 11, "Island"), ("text", 0, "Der"), ("text", 4, "Vulkan"),
    ]  # fmt: skip


def test_pages_orders_and_counts_are_of_what_is_required(client: httpx.Client) -> None:
    answer = ask(client, must=["volcano"], facets=["language"], sort=["-id"], top_k=2).json()
    everything = [hit["id"] for hit in ask(client, must=["volcano"], sort=["-id"]).json()["hits"]]
    assert everything == sorted({"vulkan", "lang", "ru1", "m-de", "m-ru", "m-en"}, reverse=True)
    assert answer["total"] == {"value": 6, "relation": "eq"}
    assert {count["value"]: count["count"] for count in answer["facets"]["language"]} == {"de": 3, "ru": 2, "en": 1}
    second = ask(client, must=["volcano"], facets=["language"], sort=["-id"], top_k=4, cursor=answer["next"]).json()
    assert [hit["id"] for hit in [*answer["hits"], *second["hits"]]] == everything
    other = ask(client, must=["ash"], facets=["language"], sort=["-id"], top_k=2, cursor=answer["next"])
    assert (other.status_code, other.json()["detail"][:7]) == (422, "cursor:")


@pytest.mark.parametrize(
    ("more", "detail"),
    [
        ({"must": [""]}, "must[0]"),
        ({"must": ["ash", "…"]}, "must[1]"),
        ({"must": "ash"}, "must"),
        ({"must_not": ["x" * 1001]}, "must_not[0]"),
        ({"must": ["ash"] * 51}, "must"),
        ({"must": ["a " * 33]}, "must[0]"),
        ({"must": ["Tesla"], "untranslated": "error"}, "must[0]: 'Tesla' has no translation into de"),
        ({"must": ["ash"], "untranslated": "error", "method": "none"}, "must[0]: 'ash' is not translated into de by"),
        ({"query": "+Tesla", "syntax": "simple", "untranslated": "error"}, "query: 'Tesla' has no translation into de"),
        ({"query": "-ash", "syntax": "simple"}, "query"),
        ({"syntax": "lucene"}, "syntax"),
        ({"untranslated": "drop"}, "untranslated"),
    ],
)
def test_faults_name_their_field(client: httpx.Client, more: dict[str, Any], detail: str) -> None:
    response = ask(client, **more)
    assert (response.status_code, response.json()["detail"][: len(detail)]) == (422, detail)
