"""The three rerank endpoints over a real server, with a stand-in that scores by links, and what may go wrong there."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support.errorbody import check_error
from tests.support.serving import Server, server, wait_for
from tests.support.standing_in import STANDING_IN

pytestmark = pytest.mark.slow

LIMITS = {"rerank_documents": 40, "document_chars": 2_000, "query_chars": 1_000, "worker_queue": 60}
TABLE = "volcano\tVulkan\t1\t1\nash\tAsche\t0.5\t0.5\n"
OTHER = "magma\tFeuerberg\t1\t1\n"
DOCUMENTS = ["Ein Schiff im Hafen", "Der Vulkan speit Asche", "Asche", "volcano"]


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with server(tmp_path_factory.mktemp("rerank"), STANDING_IN, **LIMITS) as running:
        for name, table in (("words", TABLE), ("other", OTHER)):
            asked = {"source": "en", "target": "de", "activate": True}
            assert running.client.put(f"/v1/tables/{name}", params=asked, content=table.encode()).status_code == 201
        yield running


def post(running: Server, path: str = "/v1/rerank", jina: bool = False, **body: Any) -> httpx.Response:
    given = {"query": "volcano ash", "query_language": "en", "document_language": "de"} | body
    if path == "/rerank" and "documents" in given and not jina:
        given["texts"] = given.pop("documents")
    return running.client.post(path, json=given)


def order(response: httpx.Response) -> list[int]:
    assert response.status_code == 200, response.text
    body = response.json()
    return [one["index"] for one in (body if isinstance(body, list) else body["results"])]


def sigmoid(value: float) -> float:
    return 1 / (1 + math.exp(-value))


def test_the_form_of_cohere_v1_and_jina(running: Server) -> None:
    body = post(running, documents=DOCUMENTS, model="links", return_documents=True, top_n=2).json()
    assert [one["index"] for one in body["results"]] == [1, 3]
    assert [one["document"] for one in body["results"]] == [{"text": DOCUMENTS[1]}, {"text": DOCUMENTS[3]}]
    assert body["results"][0]["relevance_score"] == pytest.approx(sigmoid(1.654), abs=1e-6)
    tables = [{"name": name, "version": 1} for name in ("other", "words")]
    assert body["meta"] == {
        "api_version": {"version": "1"},
        "billed_units": {"search_units": 1},
        "query": {"language": "en", "detected": False, "language_probability": 1.0},
        "translation": {"tables": tables},
    }
    assert set(body["results"][0]) == {"index", "relevance_score", "document"}
    assert (body["model"], body["usage"]["total_tokens"]) == ("links", 10)
    assert set(body) == {"id", "results", "meta", "model", "usage"}


def test_the_form_of_cohere_v2(running: Server) -> None:
    body = post(running, "/v2/rerank", documents=DOCUMENTS, model="links", top_n=1, max_tokens_per_doc=9).json()
    assert set(body) == {"id", "results", "meta"}
    (only,) = body["results"]
    assert (only["index"], set(only)) == (1, {"index", "relevance_score"})


def test_the_form_of_tei(running: Server) -> None:
    body = post(running, "/rerank", documents=DOCUMENTS, return_text=True, truncate=True).json()
    assert [one["index"] for one in body] == [1, 3, 2, 0]
    assert [one["text"] for one in body] == [DOCUMENTS[number] for number in (1, 3, 2, 0)]
    assert all(set(one) == {"index", "score", "text"} for one in body)
    raw = post(running, "/rerank", documents=DOCUMENTS, raw_scores=True).json()
    assert [one["score"] for one in raw] == pytest.approx([1.654, 1.101, 0.551, 0.004], abs=1e-6)
    assert [sigmoid(one["score"]) for one in raw] == pytest.approx([one["score"] for one in body], abs=1e-6)


@pytest.mark.parametrize("path", ["/v1/rerank", "/v2/rerank", "/rerank"])
@pytest.mark.parametrize(("top_n", "many"), [(None, 4), (0, 4), (3, 3), (99, 4)])
def test_how_many_are_returned(running: Server, path: str, top_n: int | None, many: int) -> None:
    assert len(order(post(running, path, documents=DOCUMENTS, top_n=top_n))) == many


def test_equal_documents_stay_in_their_order(running: Server) -> None:
    assert order(post(running, documents=["Salz", "Asche", "Salz", "Asche", "Salz"])) == [1, 3, 0, 2, 4]


def test_documents_with_fields(running: Server) -> None:
    documents: list[Any] = [{"text": "Salz"}, {"title": "Vulkan", "text": "Asche"}, "Asche"]
    assert order(post(running, documents=documents)) == [1, 2, 0]
    fields = [{"title": "Vulkan", "text": "Asche"}, {"title": "Salz", "text": "Asche"}]
    body = post(running, documents=fields, rank_fields=["title", "text"], return_documents=True).json()
    assert (body["results"][0]["index"], body["results"][0]["document"]) == (0, fields[0])
    check_error(post(running, documents=[{"text": "a"}, {"title": "b"}]), 422, r"documents\[1\].text: must be a text")
    check_error(post(running, documents=fields, rank_fields=["body"]), 422, r"documents\[0\].body: must be a text")


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ('{"title": "\\u0000"}', r"documents\[0\]\.title: .*NUL"),
        ('{"title": "x \\ud800"}', r"documents\[0\]\.title: .*surrogate"),
        ('{"title": "a", "more": {"x": ["\\ud800"]}}', r"documents\[0\]\.more: .*surrogate"),
        ('{"title": "a", "\\ud800": 1}', r"documents\[0\]: .*a field's name .*surrogate"),
        ('{"title": "a", "weight": 1e999}', r"documents\[0\]\.weight: "),
        ('{"title": "a", "text": 5}', r"documents\[0\]\.text: must be a text"),
        ("null", r"documents\[0\]: .*must be a text or an object"),
        ("[]", r"documents\[0\]: .*must be a text or an object"),
    ],
)
def test_documents_that_cannot_be_given_back_are_refused(running: Server, document: str, message: str) -> None:
    sent = f'{{"query": "a", "documents": [{document}], "rank_fields": ["title"], "return_documents": true}}'
    answer = running.client.post("/v1/rerank", content=sent, headers={"Content-Type": "application/json"})
    check_error(answer, 422, message)


def test_languages_are_detected(running: Server) -> None:
    asked = {"query": "the volcano and its ash", "documents": ["Das Schiff fährt", "Der Vulkan und die Asche"]}
    for path in ("/v1/rerank", "/v2/rerank"):
        answer = running.client.post(path, json=asked)
        assert order(answer) == [1, 0]
        assert [one["language"] for one in answer.json()["results"]] == ["de", "de"]
        query = answer.json()["meta"]["query"]
        assert (query["language"], query["detected"]) == ("en", True)
        assert 0.9 < query["language_probability"] <= 1.0
    mixed = asked | {"documents": ["Der Vulkan und die Asche", "the volcano and its ash"]}
    found = running.client.post("/v1/rerank", json=mixed).json()["results"]
    assert {one["index"]: one["language"] for one in found} == {0: "de", 1: "en"}


def test_tables_are_chosen_by_name(running: Server) -> None:
    documents = ["Vulkan", "Feuerberg"]
    for names, first in ((["words"], 0), (["other"], 1)):
        answer = post(running, query="volcano magma", documents=documents, tables=names)
        assert order(answer)[0] == first
        assert answer.json()["meta"]["translation"]["tables"] == [{"name": names[0], "version": 1}]
    check_error(post(running, documents=documents, tables=["nothing"]), 404, r"tables\[0\].*'nothing'")


def test_what_no_table_translates_is_told(running: Server) -> None:
    documents = ["Der Vulkan und die Asche", "вулкан", "пепел", "the volcano and its ash"]
    asked = {"query": "the volcano and its ash", "documents": documents}
    answer = running.client.post("/v1/rerank", json=asked).json()
    assert answer["meta"]["warnings"] == ["documents whose language could not be detected, assumed to be en: 2"]
    assert {one["index"]: one.get("language") for one in answer["results"]} == {0: "de", 1: None, 2: None, 3: "en"}
    missing = "no table in use translates en to ru; documents scored without one: 4"
    told = running.client.post("/v2/rerank", json=asked | {"document_language": "ru"}).json()["meta"]["warnings"]
    assert told == [f"{missing} (query language: en)"]
    russian = asked | {"query_language": "en", "document_language": "ru"}
    meta = running.client.post("/v1/rerank", json=russian).json()["meta"]
    assert meta["warnings"] == [missing]
    assert meta["translation"] == {"tables": []}
    plain = running.client.post("/rerank", json={"query": "42", "texts": ["die Asche", "the volcano"]})
    (told,) = json.loads(plain.headers["x-dragoman-degraded"])
    assert told["reason"] == "the language of the query could not be detected; it was assumed to be en"


@pytest.fixture
def without_tables(running: Server) -> Iterator[Server]:
    for name in ("words", "other"):
        running.client.post(f"/v1/tables/{name}/deactivate").raise_for_status()
    yield running
    for name in ("words", "other"):
        running.client.post(f"/v1/tables/{name}/versions/1/activate").raise_for_status()


def test_without_a_table_latin_letters_are_not_taken_for_english(without_tables: Server) -> None:
    documents = [
        "Der Vulkan spuckt seit Montag Asche",
        "Le volcan crache de la cendre",
        "Wulkan wyrzuca popiół od wtorku",
    ]
    asked = {"query": "The volcano has been spitting ash since Monday", "documents": documents}
    answer = without_tables.client.post("/v1/rerank", json=asked).json()
    assert {one["index"]: one["language"] for one in answer["results"]} == {0: "de", 1: "fr", 2: "pl"}
    assert answer["meta"]["query"]["language"] == "en"
    missing = "no table in use translates en to {}; documents scored without one: 1 (query language: en)"
    assert answer["meta"]["warnings"] == [missing.format(language) for language in ("de", "fr", "pl")]


def test_a_language_that_is_not_sure_is_told_and_leans_to_the_readers(without_tables: Server) -> None:
    asked = {"query": "Panama", "documents": ["Oslo"], "document_language": "nb"}
    vague = without_tables.client.post("/v1/rerank", json=asked).json()["meta"]
    assert vague["query"]["language_probability"] < 0.5
    assert any("the language of the query is not sure" in one for one in vague["warnings"])
    for language in ("en", "es"):
        by_field = without_tables.client.post("/v1/rerank", json=asked | {"reader_languages": [language]}).json()
        by_header = without_tables.client.post("/v1/rerank", json=asked, headers={"Accept-Language": language}).json()
        assert by_field["meta"]["query"] == by_header["meta"]["query"]
    check_error(post(without_tables, documents=["x"], reader_languages=["xx"]), 422, r"reader_languages\[0\]: unknown")


def test_names_that_no_table_has_are_linked(running: Server) -> None:
    german = ["Ein Haus mit vielen großen Fenstern", "Elway", "Der Vulkan ist sehr hoch"]  # longer ones score higher
    assert order(post(running, query="who is Elway", documents=german, document_language="de"))[0] == 1
    russian = ["Это очень большой и старый дом", "Тесла бросил"]
    assert order(post(running, query="did Tesla throw", documents=russian, document_language="ru"))[0] == 1


def test_a_word_that_a_glossary_translates_is_not_the_same_word_elsewhere(tmp_path: Path) -> None:
    documents = ["Gift", "Ein Haus mit vielen Fenstern"]
    glossary = {"source": "en", "target": "de", "kind": "glossary", "activate": True}
    with server(tmp_path, STANDING_IN) as running:
        assert order(post(running, query="gift", documents=documents))[0] == 0
        running.client.put("/v1/tables/gifts", params=glossary, content=b"gift\tGeschenk").raise_for_status()
        assert order(post(running, query="gift", documents=documents))[0] == 1


def test_a_model_of_another_name_is_told(running: Server) -> None:
    for path in ("/v1/rerank", "/v2/rerank"):
        (told,) = post(running, path, documents=["Asche"], model="rerank-multilingual-v3.0").json()["meta"]["warnings"]
        assert told == "scored by the model 'links'; there is no model named 'rerank-multilingual-v3.0'"


@pytest.mark.parametrize("path", ["/v1/rerank", "/v2/rerank", "/rerank"])
@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({}, "documents|texts"),
        ({"documents": []}, "documents: |texts: "),
        ({"documents": "Asche"}, "documents: |texts: "),
        ({"documents": ["Asche", 7]}, r"documents\[1\]|texts\[1\]"),
        ({"documents": ["a"], "query": " "}, "query: must not be blank"),
        ({"documents": ["a"], "query": None}, "query: "),
        ({"documents": ["a"], "query": "b" * 1001}, "query: longer than 1000 characters"),
        ({"documents": ["a", "b" * 2001]}, r"documents\[1\]: longer than 2000 characters"),
        ({"documents": ["a"] * 41}, "documents: 41 of them; at most 40 are allowed"),
        ({"documents": ["a"], "tables": ["t"] * 101}, "tables: 101 of them; at most 100 are allowed"),
        ({"documents": ["a"], "top_n": -1}, "top_n: "),
        ({"documents": ["a"], "top_n": "2"}, "top_n: "),
        ({"documents": ["a\u0000"]}, r"documents\[0\]|texts\[0\]"),
        ({"documents": ["a"], "query_language": "klingon"}, "query_language: .*klingon"),
        ({"documents": ["a"], "raw_scores": "yes"}, "raw_scores: "),
    ],
)
def test_what_cannot_be_reranked_is_refused_by_name(
    running: Server, path: str, body: dict[str, Any], message: str
) -> None:
    check_error(post(running, path, **body), 422, message)


def test_a_query_that_leaves_no_room_is_read_in_part(running: Server) -> None:
    body = post(running, documents=DOCUMENTS, query="volcano ash " + "b " * 300).json()
    assert body["meta"]["warnings"] == ["only the beginning of the query was read, to leave room for the documents"]
    assert [one["index"] for one in body["results"]] == [1, 3, 2, 0]


def test_fields_of_other_services_are_ignored_and_listed(running: Server) -> None:
    others = {"truncation_direction": "right", "max_chunks_per_doc": 10, "return_embeddings": False, "priority": None}
    warning = "unknown fields were ignored: 'truncation_direction', 'max_chunks_per_doc', 'return_embeddings'"
    for path in ("/v1/rerank", "/v2/rerank", "/rerank"):
        answer = post(running, path, documents=DOCUMENTS, **others)
        assert order(answer) == [1, 3, 2, 0]
        if path == "/rerank":
            assert json.loads(answer.headers["x-dragoman-degraded"]) == [{"stage": "rerank", "reason": warning}]
        else:
            assert answer.json()["meta"]["warnings"] == [warning]


def test_both_forms_at_the_addresses_of_both(running: Server) -> None:
    for path in ("/rerank", "/rerank/", "/v1/rerank", "/v1/rerank/", "/v1/v1/rerank"):
        jina = post(running, path, jina=True, documents=DOCUMENTS, top_k=2)
        assert [one["index"] for one in jina.json()["results"]] == [1, 3]
        assert jina.json()["usage"]["total_tokens"] > 0
        tei = post(running, path, texts=DOCUMENTS, top_k=2)
        assert [one["index"] for one in tei.json()] == [1, 3]
    for path in ("/v2/rerank", "/v1/v2/rerank"):
        assert order(post(running, path, documents=DOCUMENTS, top_k=2, top_n=2)) == [1, 3]
    check_error(post(running, documents=DOCUMENTS, top_k=2, top_n=3), 422, "top_k: 2 is not top_n, 3")
    check_error(post(running, "/rerank", jina=True), 422, "documents: ")
    voyage = post(running, documents=DOCUMENTS, top_k=1, truncation=True).json()
    assert voyage["data"] == voyage["results"]


def test_one_bad_document_fails_alone(running: Server) -> None:
    documents = ["Asche", "nan", "Vulkan", "poison", ""]
    body = post(running, documents=documents).json()
    assert [one["index"] for one in body["results"]] == [2, 0, 4, 1, 3]
    assert [one["relevance_score"] for one in body["results"][3:]] == [0, 0]
    assert body["failed"] == [
        {"index": 1, "reason": "the model's score of a document is not a number"},
        {"index": 3, "reason": "the model failed on this document"},
    ]
    assert body["meta"]["warnings"] == ["2 documents could not be scored and follow the others"]
    plain = post(running, "/rerank", documents=documents)
    assert order(plain) == [2, 0, 4, 1, 3]
    raw = post(running, documents=documents, raw_scores=True).json()["results"]
    assert [one["relevance_score"] for one in raw[2:]] == [raw[2]["relevance_score"]] * 3
    assert "2 documents could not be scored" in plain.headers["x-dragoman-degraded"]
    check_error(post(running, documents=["nan", "poison"]), 500, "none of 2 documents could be scored")


def test_one_bad_pair_among_32_clients(running: Server) -> None:
    def asked(number: int) -> httpx.Response:
        return post(running, documents=["poison" if number == 13 else "Asche"], raw_scores=True)

    with ThreadPoolExecutor(32) as clients:
        answers = list(clients.map(asked, range(32)))
    assert [number for number, answer in enumerate(answers) if answer.status_code != 200] == [13]
    scores = [answer.json()["results"][0]["relevance_score"] for answer in answers if answer.status_code == 200]
    assert scores == pytest.approx([0.551] * 31)
    assert len(set(scores)) == 1


def test_a_full_queue_is_told_and_who_leaves_is_forgotten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gate = tmp_path / "gate"
    monkeypatch.setenv("STANDING_IN_GATE", str(gate))
    limits = {"worker_queue": 8, "worker_batch_tokens": 4}
    with server(tmp_path / "data", STANDING_IN, **limits) as slow, ThreadPoolExecutor(2) as clients:
        assert order(post(slow, documents=["load"])) == [0]
        held = clients.submit(post, slow, documents=["hold hold hold hold"])
        wait_for(lambda: scored(slow) == 2)
        assert left(slow, 8) is None
        wait_for(lambda: left(slow, 8) is None)  # the first eight have lost their places
        time.sleep(1)  # and so have these, whose places would be taken for those of the ones that stay
        staying = clients.submit(retry_while_taken, slow, documents=["stays"] * 8)
        wait_for(lambda: left(slow, 1) is not None)
        refused = post(slow, documents=["gone gone gone"] * 9)
        check_error(refused, 429, "8 texts are waiting to be computed")
        assert refused.headers["retry-after"] == "1"
        time.sleep(1)  # the server looks four times a second whether clients are there
        gate.touch()
        assert order(held.result()) == [0]
        assert order(staying.result()) == list(range(8))
        assert order(post(slow, documents=["Asche"] * 20)) == list(range(20))
        assert not any("[4, 4, 4]" in line for line in slow.log)


def scored(running: Server) -> int:
    """Documents that the model was given."""
    return sum(int(line.split()[1][:-1]) for line in running.log if line.startswith("scoring "))


def retry_while_taken(running: Server, **body: Any) -> httpx.Response:
    while (answer := post(running, **body)).status_code == 429:
        time.sleep(0.05)
    return answer


def left(running: Server, many: int) -> httpx.Response | None:
    """What a client is told that does not wait for long; None where it left before."""
    with httpx.Client(base_url=running.url, timeout=httpx.Timeout(10, read=0.4), trust_env=False) as client:
        try:
            asked = {"query": "a", "query_language": "en", "document_language": "en"}
            return client.post("/v1/rerank", json=asked | {"documents": ["gone gone gone"] * many})
        except httpx.ReadTimeout:
            return None
