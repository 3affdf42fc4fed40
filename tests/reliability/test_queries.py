"""Queries, documents and tables that a search engine could stumble over: syntax, size, and forms of one letter."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.errorbody import check_error
from tests.support.searching import ndjson
from tests.support.serving import Server, server

pytestmark = pytest.mark.slow

NDJSON = {"content-type": "application/x-ndjson"}
MANY = 1_500
SYNTAX = ['haus" OR "*', "haus:*", "[a TO z]", "haus~2", "(haus", "/ha.s/", "haus^9 AND NOT x", "\\haus\\"]


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with server(tmp_path_factory.mktemp("queries"), body_bytes=4_000_000, query_words=2_000) as running:
        yield running


def fill(running: Server, name: str, language: str, texts: dict[str, str]) -> None:
    running.client.post("/v1/collections", json={"name": name, "language": language}).raise_for_status()
    body = ndjson({"id": id, "text": text} for id, text in texts.items())
    answer = running.client.post(f"/v1/collections/{name}/documents", content=body, headers=NDJSON)
    assert answer.json()["rejected"] == []


def put(running: Server, name: str, target: str, content: str) -> dict[str, Any]:
    asked = {"source": "en", "target": target, "activate": True}
    answer = running.client.put(f"/v1/tables/{name}", params=asked, content=content.encode())
    assert answer.status_code == 201, answer.text
    body: dict[str, Any] = answer.json()
    return body


def search(running: Server, query: str, **more: Any) -> dict[str, Any]:
    answer = running.client.post("/v1/search", json={"query": query, "query_language": "en"} | more)
    assert answer.status_code == 200, answer.text
    body: dict[str, Any] = answer.json()
    return body


def test_a_word_with_thousands_of_translations_and_a_query_of_thousands_of_words(running: Server) -> None:
    """Lucene's own limit is 1,024 clauses. Each document has a translation that no other has."""
    fill(running, "many", "sw", {f"d{n}": f"neno{n} nyumba" for n in range(MANY)})
    put(running, "many", "sw", "".join(f"thing\tneno{n}\t{1 / MANY}\t1\n" for n in range(MANY)))
    body = search(running, "thing", collections=["many"], top_k=1_000)
    assert len({hit["id"] for hit in body["hits"]}) == 1_000
    words = "thing " + " ".join(f"neno{n}" for n in range(1_200))
    for method in ("psq", "smt", "none"):
        body = search(running, words, method=method, collections=["many"], top_k=20, explain=True)
        assert body["degraded"] == []
        assert len(body["hits"]) == (10 if method == "smt" else 20)  # it takes ten translations, and words of letters
        if method != "smt":
            assert all(len(hit["contributions"]) == 1_201 for hit in body["hits"])


@pytest.mark.parametrize("path", ["/v1/search", "/v1/rerank", "/v2/rerank"])
def test_a_query_of_a_megabyte_is_refused_by_name(running: Server, path: str) -> None:
    for words, limit in ((160_000, 10_000), (170_000, 1_000_000)):  # the setting's limit, and what no setting allows
        asked = {"query": "house " * words} | ({"documents": ["a"]} if "rerank" in path else {})
        check_error(running.client.post(path, json=asked), 422, f"query: longer than {limit} characters")


def test_lucene_syntax_is_text_in_queries_documents_and_tables(running: Server) -> None:
    fill(running, "syntax", "de", {f"d{n}": text for n, text in enumerate(SYNTAX)} | {"other": "Wald und Wiese"})
    done = put(running, "syntax", "de", "".join(f"thing{n}\t{text}\n" for n, text in enumerate(SYNTAX)))
    assert done["rejected"] == []
    for method in ("psq", "smt", "none"):
        for text in SYNTAX:
            plain = search(running, "haus", method=method, collections=["syntax"])["hits"]
            found = search(running, text, method=method, collections=["syntax"], query_language="de")["hits"]
            assert "other" not in {hit["id"] for hit in [*plain, *found]}
            assert found
    for number, text in enumerate(SYNTAX):
        known = running.client.get(f"/v1/tables/syntax/terms/thing{number}").json()["translations"]
        assert len(known) == 1, text
        hits = search(running, f"thing{number}", collections=["syntax"])["hits"]
        assert "other" not in {hit["id"] for hit in hits}


FORMS = [
    ("vi", "Việt Nam đẹp", ["Vie\u0323\u0302t", "Việt"]),
    ("fr", "un élève attentif", ["e\u0301le\u0300ve", "\u00e9l\u00e8ve", "ＥＬＥＶＥ"]),
    ("fa", "کتاب\u200cهای خوب", ["كتابهاي", "کتابهای", "كتاب\u200fهاى", "کتاب\u200cهای"]),
    ("ar", "مدرسة علي الكبيرة", ["مدرسه", "مـدرسـة", "\u200fمدرسة\u200e"]),
    ("he", "שָׁלוֹם עולם", ["שלום", "\u202bשלום\u202c", "ש\u05c1לום"]),
    ("hi", "क़लम नया", ["क\u093cलम", "क़लम"]),
]


@pytest.mark.parametrize(("language", "document", "queries"), FORMS)
def test_forms_of_one_word_meet_in_documents_queries_and_tables(
    running: Server, language: str, document: str, queries: list[str]
) -> None:
    fill(running, language, language, {"d": document})
    for number, query in enumerate(queries):
        asked = {"collections": [language], "method": "none", "query_language": language}
        assert [hit["id"] for hit in search(running, query, **asked)["hits"]] == ["d"], query
        put(running, f"forms_{language}", language, f"thing{number}\t{query}\n")
        (hit,) = search(running, f"thing{number}", collections=[language], tables=[f"forms_{language}"])["hits"]
        (highlight,) = hit["highlights"]
        assert document[highlight["start"] : highlight["end"]] == highlight["document_term"]


def test_traditional_and_simplified_characters_are_one_word(running: Server) -> None:
    fill(running, "zh", "zh", {"simplified": "图书馆很大", "traditional": "圖書館很大"})
    asked = {"collections": ["zh"], "method": "none", "query_language": "zh"}
    for query in ("图书馆", "圖書館"):
        assert {hit["id"] for hit in search(running, query, **asked)["hits"]} == {"simplified", "traditional"}
    put(running, "library", "zh", "library\t圖書館\n")
    both = search(running, "library", collections=["zh"], tables=["library"])["hits"]
    assert {hit["id"] for hit in both} == {"simplified", "traditional"}
