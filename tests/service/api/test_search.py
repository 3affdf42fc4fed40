"""``POST /v1/search`` against a real server with real indexes and tables."""

from __future__ import annotations

import math
from typing import Any

import httpx
import pytest

from tests.service.api.search_corpus import corpus, ids, search
from tests.support.errorbody import check_error

pytestmark = pytest.mark.slow

__all__ = ["corpus"]  # a fixture that all tests here use


def test_an_answer_has_the_shape_of_the_contract(client: httpx.Client) -> None:
    response = client.post(
        "/v1/search",
        json={"query": "volcano ash", "query_language": "en", "collections": ["s_de"], "top_k": 1},
        headers={"x-request-id": "my-id"},
    )
    body = response.json()
    assert set(body) == {
        "request_id", "query", "method", "rerank", "hits", "translation", "suggestions", "degraded", "truncated",
        "timings_ms", "total", "next", "found",
    }  # fmt: skip
    assert body["method"] == "psq"
    assert body["request_id"] == response.headers["x-request-id"] == "my-id"
    assert body["query"] == {
        "text": "volcano ash", "language": "en", "detected": False, "language_probability": 1.0,
    }  # fmt: skip
    (hit,) = body["hits"]
    assert set(hit) == {
        "rank", "id", "collection", "language", "score", "scores", "title", "snippet", "snippet_start", "highlights",
        "metadata", "relevance", "weak",
    }  # fmt: skip
    assert (hit["rank"], hit["id"], hit["collection"], hit["language"]) == (1, "vulkan", "s_de", "de")
    assert hit["title"] == "Asche über Island"
    assert set(hit["scores"]) == {"first_stage", "rerank"}
    assert hit["scores"]["rerank"] is None
    assert set(body["timings_ms"]) == {"translate", "first_stage", "rerank", "total"}
    assert body["translation"]["tables"] == [{"name": "s_en_de", "version": 1}]
    assert (body["degraded"], body["truncated"], body["translation"]["oov"]) == ([], [], {})


def test_what_is_null_is_left_out_and_what_is_not_asked_is_not_answered(client: httpx.Client) -> None:
    asked = {"query": "Volcano", "query_language": "en", "collections": ["s_de"], "sort": ["id"]}
    left_out = dict.fromkeys(("names", "facets", "filter", "cursor", "fields", "collapse", "tables", "rerank"))
    plain, null = (client.post("/v1/search", json=asked | options).json() for options in ({}, left_out))
    assert plain["hits"] and null["hits"] == plain["hits"]
    assert "facets" not in plain and "facets" not in null


def test_a_highlight_names_the_entry_that_made_it(client: httpx.Client) -> None:
    hit = search(client, "Volcano")["hits"][0]
    assert hit["highlights"] == [
        {
            "field": "text", "start": 4, "end": 10, "match": "table", "document_term": "Vulkan",
            "query_term": "Volcano", "probability": pytest.approx(0.8), "table": "s_en_de", "version": 1,
        }
    ]  # fmt: skip


def test_matches_in_a_title_are_highlighted_in_it(client: httpx.Client) -> None:
    hit = next(hit for hit in search(client, "ash over")["hits"] if hit["id"] == "vulkan")
    assert [(one["field"], one["start"], one["end"], one["document_term"]) for one in hit["highlights"]] == [
        ("title", 0, 5, "Asche"), ("text", 19, 24, "Asche"), ("text", 30, 35, "Asche"),
    ]  # fmt: skip


def test_translations_of_each_query_word_are_told(client: httpx.Client) -> None:
    translation = search(client, "the volcano ash")["translation"]
    assert [term["term"] for term in translation["terms"]] == ["volcano", "ash"]
    ash = translation["terms"][1]["translations"]
    assert [(one["term"], one["language"]) for one in ash] == [("asche", "de"), ("esche", "de")]
    assert [one["probability"] for one in ash] == pytest.approx([0.7, 0.3])


def test_inflected_words_of_both_languages_meet(client: httpx.Client) -> None:
    hit = search(client, "volcanoes bees houses", top_k=5)
    assert set(ids(hit)) == {"vulkan", "lang", "bienen", "haus a/b 50%"}


def test_the_snippet_of_a_long_text_is_where_it_matches(client: httpx.Client) -> None:
    hit = next(hit for hit in search(client, "volcano")["hits"] if hit["id"] == "lang")
    assert "Der Vulkan schlief lange." in hit["snippet"]
    assert hit["snippet_start"] > 1000
    assert [one["document_term"] for one in hit["highlights"]] == ["Vulkan"]


def test_a_hit_has_as_many_snippets_as_are_requested(client: httpx.Client) -> None:
    asked = {"top_k": 5, "gloss": True, "snippets": {"count": 3, "length": 50}}
    body = search(client, "ash Europa volcano", **asked)
    hit = next(hit for hit in body["hits"] if hit["id"] == "vulkan")
    text = "Der Vulkan spuckte Asche. Die Asche legte den Flugverkehr in Europa lahm."
    first, *others = hit["snippets"]
    assert first == {"text": hit["snippet"], "start": hit["snippet_start"]} and others
    for snippet in hit["snippets"]:
        assert text[snippet["start"] :].startswith(snippet["text"]) and len(snippet["text"]) <= 50
    marked = {one["document_term"] for one in hit["highlights"] if one["field"] == "text"}
    assert marked == {"Vulkan", "Asche", "Europa"}
    glossed = {text[one["start"] : one["end"]] for one in hit["gloss"] if one["field"] == "text"}
    assert {"Vulkan", "Asche"} <= glossed
    one = search(client, "ash Europa volcano", snippets={"length": 50})["hits"]
    assert all("snippets" not in hit and len(hit["snippet"]) <= 50 for hit in one)


def test_what_is_required_is_shown_by_one_of_several_snippets(client: httpx.Client) -> None:
    request = {"query": "volcano", "query_language": "en", "collections": ["s_de"], "must": ["Europa"]}
    body = client.post("/v1/search", json={**request, "snippets": {"count": 2, "length": 50}}).json()
    (hit,) = body["hits"]
    assert len(hit["snippets"]) == 2
    assert {"Vulkan", "Europa"} <= {one["document_term"] for one in hit["highlights"]}


def test_other_numbers_of_snippets_are_refused_by_field(client: httpx.Client) -> None:
    request = {"query": "volcano", "collections": ["s_de"], "snippets": {"count": 6, "length": 49, "size": 1}}
    faults = client.post("/v1/search", json=request)
    assert faults.status_code == 422
    for field in ("snippets.count", "snippets.length", "snippets.size"):
        assert field in faults.text


def test_a_search_sees_the_generation_that_it_asks_for(client: httpx.Client) -> None:
    request = {"query": "volcano", "collections": ["s_de"]}
    reached = client.get("/v1/collections/s_de").json()["generation"]
    client.put("/v1/aliases/s_alias", json={"collection": "s_de"}).raise_for_status()
    for name in ("s_de", "s_alias"):
        answer = client.post("/v1/search", json={**request, "min_generation": {name: reached}})
        assert (answer.status_code, bool(answer.json()["hits"])) == (200, True)
        answer = client.post("/v1/search", json={**request, "min_generation": {name: reached + 1}})
        check_error(answer, 409, f"min_generation.{name}: the collection is at generation {reached}")
    for wrong, status in (({"s_none": 1}, 404), ({"s_sw": 1}, 422), ({"s_de": -1}, 422), ({"s_de": "1"}, 422)):
        check_error(client.post("/v1/search", json={**request, "min_generation": wrong}), status, next(iter(wrong)))
    client.delete("/v1/aliases/s_alias").raise_for_status()


def test_offsets_are_code_points_beyond_the_basic_plane(client: httpx.Client) -> None:
    hit = search(client, "bees die")["hits"][0]
    assert [one["document_term"] for one in hit["highlights"]] == ["Bienen", "sterben", "Bienen"]


def test_collections_of_several_languages_are_searched_together(client: httpx.Client) -> None:
    body = search(client, "volcano", collections=["s_de", "s_ru", "s_mixed"])
    assert set(ids(body)) == {"vulkan", "lang", "ru1", "m-de", "m-ru", "m-en"}
    languages = {hit["id"]: (hit["collection"], hit["language"]) for hit in body["hits"]}
    assert languages["m-ru"] == ("s_mixed", "ru")
    assert languages["m-en"] == ("s_mixed", "en")
    assert body["translation"]["tables"] == [{"name": name, "version": 1} for name in ("s_en_de", "s_en_ru")]
    assert all(0 < hit["score"] < 1 for hit in body["hits"])


def test_documents_in_the_language_of_the_query_are_searched_as_it_is(client: httpx.Client) -> None:
    body = search(client, "Vulkane", query_language="de", collections=["s_mixed"])
    assert "m-de" in ids(body)
    hit = next(hit for hit in body["hits"] if hit["id"] == "m-de")
    assert [(one["table"], one["version"], one["probability"]) for one in hit["highlights"]] == [(None, None, 1.0)]


def test_a_table_answers_in_the_other_direction(client: httpx.Client) -> None:
    body = search(client, "Vulkan", query_language="de", collections=["s_mixed"])
    hit = next(hit for hit in body["hits"] if hit["id"] == "m-en")
    (highlight,) = hit["highlights"]
    assert (highlight["document_term"], highlight["query_term"]) == ("volcano", "Vulkan")
    assert highlight["probability"] == pytest.approx(0.9)
    assert highlight["table"] == "s_en_de"


def test_the_same_string_on_both_sides_matches_without_a_table(client: httpx.Client) -> None:
    body = search(client, "Tesla house")
    assert ids(body)[0] == "haus a/b 50%"
    named = {one["document_term"]: one for one in body["hits"][0]["highlights"]}
    assert (named["Tesla"]["table"], named["Tesla"]["probability"]) == (None, 1.0)
    assert named["Haus"]["table"] == "s_en_de"
    assert (named["Tesla"]["match"], named["Haus"]["match"]) == ("identical", "table")
    assert body["translation"]["oov"] == {"de": ["Tesla"]}


def test_an_unknown_name_meets_its_sound_in_another_script(client: httpx.Client) -> None:
    body = search(client, "Tesla", collections=["s_ru"])
    assert ids(body) == ["ru1"]
    assert body["translation"]["oov"] == {"ru": ["Tesla"]}
    (highlight,) = body["hits"][0]["highlights"]
    assert (highlight["document_term"], highlight["match"], highlight["table"]) == ("Тесла", "sound", None)


@pytest.mark.parametrize("method", ["psq", "smt", "none"])
def test_every_method_explains_its_scores(client: httpx.Client, method: str) -> None:
    body = search(
        client, "volcano volcano ash Tesla", collections=["s_de", "s_ru", "s_mixed"], method=method, explain=True
    )
    assert body["hits"]
    for hit in body["hits"]:
        parts = hit["contributions"]
        assert all(set(part) == {"query_term", "tf", "df", "idf", "weight", "score"} for part in parts)
        total = math.fsum(part["score"] for part in parts)
        assert total == pytest.approx(hit["scores"]["first_stage"], rel=1e-4)
    if method == "psq":
        volcano = next(part for part in body["hits"][0]["contributions"] if part["query_term"] == "volcano")
        assert volcano["weight"] == 2.0


def test_smt_tells_the_probability_of_the_query_word(client: httpx.Client) -> None:
    (highlight,) = next(hit for hit in search(client, "house", method="smt")["hits"])["highlights"]
    assert (highlight["document_term"], highlight["probability"]) == ("Haus", pytest.approx(0.7))


def test_none_searches_the_query_as_it_is(client: httpx.Client) -> None:
    assert ids(search(client, "volcano", method="none")) == []
    assert ids(search(client, "Vulkan", method="none"))[0] in ("vulkan", "lang")
    assert search(client, "Vulkan", method="none")["translation"]["tables"] == []


def test_a_pair_without_a_table_is_degraded_and_searched_as_it_is(client: httpx.Client) -> None:
    body = search(client, "volkano house", collections=["s_sw"])
    assert ids(body) == ["sw1"]
    (degraded,) = body["degraded"]
    assert degraded["stage"] == "translate"
    assert "en to sw" in degraded["reason"]
    assert body["translation"]["oov"] == {"sw": ["volkano", "house"]}


def test_a_query_that_no_table_knows_is_all_oov(client: httpx.Client) -> None:
    body = search(client, "xyzzy plugh")
    assert body["hits"] == []
    assert body["translation"]["oov"] == {"de": ["xyzzy", "plugh"]}


def test_a_word_is_unknown_only_to_the_languages_whose_tables_lack_it(client: httpx.Client) -> None:
    body = search(client, "bee volcano", collections=["s_de", "s_ru"])
    assert body["translation"]["oov"] == {"ru": ["bee"]}


def test_a_word_that_matched_in_a_phrase_is_not_unknown(client: httpx.Client) -> None:
    glossary = {"source": "en", "target": "de", "kind": "glossary", "activate": "true"}
    client.put("/v1/tables/s_terms", params=glossary, content=b"guinea pig\tMeerschweinchen\n")
    try:
        body = search(client, "guinea pig volcano", collections=["s_de", "s_ru"])
        assert body["translation"]["oov"] == {"ru": ["guinea", "pig"]}
    finally:
        client.post("/v1/tables/s_terms/deactivate")


def test_a_word_with_improbable_translations_alone_is_not_unknown(client: httpx.Client) -> None:
    parameters = {"source": "en", "target": "de", "activate": "true"}
    client.put("/v1/tables/s_rare", params=parameters, content=b"steam\tVulkan\t0.5\t0.001\n")
    try:
        body = search(client, "steam")
        assert body["translation"]["terms"][0]["translations"]
        assert body["translation"]["oov"] == {}
    finally:
        client.post("/v1/tables/s_rare/deactivate")


def test_only_the_named_tables_are_used(client: httpx.Client) -> None:
    glossary = {"source": "en", "target": "de", "kind": "glossary", "activate": "true"}
    client.put("/v1/tables/s_terms", params=glossary, content=b"house\tStadt\n")
    try:
        both = search(client, "house")
        assert both["hits"][0]["highlights"][0]["document_term"] == "Stadt"
        assert both["hits"][0]["highlights"][0]["table"] == "s_terms"
        assert len(both["translation"]["tables"]) == 2
        one = search(client, "house", tables=["s_en_de"])
        assert [h["document_term"] for h in one["hits"][0]["highlights"]] == ["Haus"]
        assert one["translation"]["tables"] == [{"name": "s_en_de", "version": 1}]
        assert [h["document_term"] for h in search(client, "house", tables=["s_terms"])["hits"][0]["highlights"]] == [
            "Stadt"
        ]
        other = search(client, "house", tables=["s_en_ru"])
        assert other["degraded"][0]["stage"] == "translate"
    finally:
        client.post("/v1/tables/s_terms/deactivate")


def test_the_language_of_a_query_is_detected(client: httpx.Client) -> None:
    for query, language in (("volcano", "en"), ("Der Vulkan und die Asche", "de"), ("вулкан и пепел", "ru")):
        body = search(client, query, query_language=None, collections=["s_de", "s_ru"])
        sure = body["query"].pop("language_probability")
        assert 0.5 < sure <= 1.0
        assert body["query"] == {"text": query, "language": language, "detected": True}
        assert body["hits"]
    body = search(client, "1234", query_language=None)
    assert (body["query"]["language"], body["degraded"][0]["stage"]) == ("en", "detect")


def test_a_short_query_leans_to_the_readers(client: httpx.Client) -> None:
    def taken(headers: dict[str, str] | None = None, **fields: Any) -> str:
        asked = {"query": "1234", "collections": ["s_de", "s_ru"]} | fields
        answer = client.post("/v1/search", json=asked, headers=headers or {})
        return str(answer.raise_for_status().json()["query"]["language"])

    assert taken(reader_languages=["sw", "de"]) == "sw"
    assert taken({"Accept-Language": "fr-CH, fr;q=0.9, en;q=0.8"}) == "fr"
    assert taken({"Accept-Language": "fr"}, reader_languages=["sw"]) == "sw"
    assert taken({"Accept-Language": "fr"}, query_language="ru") == "ru"
    for wrong in ([], ["xx"], ["en"] * 11, "en"):
        refused = client.post("/v1/search", json={"query": "x", "reader_languages": wrong})
        check_error(refused, 422, "^reader_languages")


@pytest.mark.parametrize("rerank", [{}, {"depth": 20, "model": "late"}])
def test_the_shipped_reranker_answers_when_asked(client: httpx.Client, rerank: dict[str, Any]) -> None:
    body = search(client, "volcano", rerank=rerank)
    assert body["degraded"] == []
    assert ids(body)
    assert all(0 < hit["scores"]["rerank"] < 1 for hit in body["hits"])


def test_no_rerank_is_asked_for(client: httpx.Client) -> None:
    assert search(client, "volcano", rerank=False)["degraded"] == []


@pytest.mark.parametrize(
    "query",
    [
        'text:"Vulkan" AND NOT (Asche^2)', "Vulkan~2", "[a TO z]", "*:*", "/reg.ex/", "\\", '"', "((((", "a && b || !c",
        "Vulkan\x01\x7f", "Vulkan\u2028\n\t\r", "🌋", "\u200d\u200c", "!" * 9000, "Vulkan " * 1400, "ﬀ" * 3000,
    ],
)  # fmt: skip
def test_any_text_is_a_query(client: httpx.Client, query: str) -> None:
    for method in ("psq", "smt", "none"):
        body = search(client, query, method=method, collections=None)
        assert all(hit["highlights"] is not None for hit in body["hits"])
    if "Vulkan" in query:
        assert ids(search(client, query))


def test_operators_are_words_like_any_other(client: httpx.Client) -> None:
    plain = search(client, "Vulkan Asche", method="none")
    syntax = search(client, "+Vulkan -(Asche)", method="none")
    assert ids(plain) == ids(syntax)
    assert [hit["score"] for hit in plain["hits"]] == [hit["score"] for hit in syntax["hits"]]


def test_a_word_that_is_too_long_is_cut_and_told(client: httpx.Client) -> None:
    assert search(client, "volcano " + "x" * 255)["truncated"] == []
    (told,) = search(client, "volcano " + "x" * 300)["truncated"]
    assert "at character 8" in told and "255" in told


def test_top_k_is_kept(client: httpx.Client) -> None:
    assert len(search(client, "volcano house bee", top_k=1)["hits"]) == 1
    assert len(search(client, "volcano house bee", top_k=1000)["hits"]) == 4


def test_all_collections_are_searched_by_default(client: httpx.Client) -> None:
    found = {hit["collection"] for hit in search(client, "volcano", collections=None, top_k=100)["hits"]}
    assert {"s_de", "s_ru", "s_mixed"} <= found


def test_an_empty_collection_has_no_hits(client: httpx.Client) -> None:
    assert search(client, "volcano", collections=["s_empty"])["hits"] == []


def test_a_collection_named_twice_is_searched_once(client: httpx.Client) -> None:
    assert ids(search(client, "volcano", collections=["s_de", "s_de"])) == ids(search(client, "volcano"))


@pytest.mark.parametrize(
    ("fields", "status", "message"),
    [
        ({"query": ""}, 422, "query"),
        ({"query": " \n\t "}, 422, "query.*blank"),
        ({"query": None}, 422, "query"),
        ({"query": 7}, 422, "query"),
        ({"query": ["a"]}, 422, "query"),
        ({"query": "x" * 10_001}, 422, "query.*10000"),
        ({"query": "a\0b"}, 422, "query.*NUL"),
        ({"query": "a\ud800b"}, 422, "query: holds a lone surrogate at position 1"),
        ({"query_language": "klingon"}, 422, "query_language"),
        ({"query_language": 1}, 422, "query_language"),
        ({"collections": ["nowhere"]}, 404, r"collections\[0\].*nowhere"),
        ({"collections": []}, 422, "collections"),
        ({"collections": "s_de"}, 422, "collections"),
        ({"collections": [1]}, 422, r"collections\[0\]"),
        ({"collections": ["../../etc/passwd"]}, 404, "collections"),
        ({"tables": ["s_en_de", "none"]}, 404, r"tables\[1\].*none"),
        ({"tables": []}, 422, "tables"),
        ({"top_k": 0}, 422, "top_k"),
        ({"top_k": -5}, 422, "top_k"),
        ({"top_k": 1001}, 422, "top_k.*1000"),
        ({"top_k": 10**30}, 422, "top_k"),
        ({"top_k": 1.5}, 422, "top_k"),
        ({"top_k": "10"}, 422, "top_k"),
        ({"top_k": True}, 422, "top_k"),
        ({"top_k": None}, 422, "top_k"),
        ({"method": "magic"}, 422, "method"),
        ({"rerank": True}, 422, "rerank"),
        ({"rerank": "yes"}, 422, "rerank"),
        ({"rerank": {"depth": 0}}, 422, "rerank.*depth"),
        ({"rerank": {"depth": 1001}}, 422, "rerank.depth: must be at most 1000"),
        ({"collections": ["x"] * 101}, 422, "collections: 101 of them; at most 100 are allowed"),
        ({"tables": ["x"] * 101}, 422, "tables: 101 of them; at most 100 are allowed"),
        ({"rerank": {"dept": 5}}, 422, "rerank.*dept"),
        ({"explain": "yes"}, 422, "explain"),
        ({"querry": "x"}, 422, "querry"),
        ({"query_id": ""}, 422, "query_id"),
    ],
)
def test_fields_that_are_not_allowed_are_named(
    client: httpx.Client, fields: dict[str, Any], status: int, message: str
) -> None:
    import json

    body = json.dumps({"query": "volcano", "collections": ["s_de"], **fields})
    response = client.post("/v1/search", content=body, headers={"content-type": "application/json"})
    check_error(response, status, message)


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 400),
        (b"{", 400),
        (b"[]", 422),
        (b"null", 422),
        (b'"query"', 422),
        (b"\xff", 400),
        (b'{"query": NaN}', 400),
    ],
)
def test_bodies_that_are_no_requests(client: httpx.Client, body: bytes, status: int) -> None:
    response = client.post("/v1/search", content=body, headers={"content-type": "application/json"})
    check_error(response, response.status_code, ".")
    assert response.status_code in (status, 422)


def test_a_body_of_ten_megabytes_is_too_large(client: httpx.Client) -> None:
    check_error(client.post("/v1/search", json={"query": "x" * 10_000_000}), 413, "larger than")
