"""Searches that find very long documents cost what they show, and answers have a limit."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.support.job_client import NDJSON
from tests.support.serving import Server, server

pytestmark = pytest.mark.slow

MIB = 1024**2
FILLER = "Der Fluss fließt langsam durch das breite Tal. "
MATCH = "Nach dem Vulkanausbruch lag überall Asche. "
LENGTH = 5_000_000
PLACES = {"beginning": 0.0, "first half": 0.3, "middle": 0.5, "second half": 0.8, "end": 1.0}


def long_text(place: float) -> str:
    count = LENGTH // len(FILLER)
    before = int(place * count)
    return FILLER * before + MATCH + FILLER * (count - before)


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A service with long documents, and with short ones of long titles; its memory is limited."""
    directory: Path = tmp_path_factory.mktemp("shown")
    with server(directory, as_shipped=True, answer_bytes=4 * MIB) as started:
        for name in ("long", "titled"):
            assert started.client.post("/v1/collections", json={"name": name, "language": "de"}).status_code == 201
        for id, place in PLACES.items():
            put(started, "long", {"id": id, "text": long_text(place)})
        title = "Asche und Glut " * 200
        put(started, "titled", *({"id": str(n), "title": title, "text": f"{MATCH} {n}"} for n in range(500)))
        search(started, "Fluss")
        started.limit_memory(300 * MIB)
        yield started


def put(started: Server, collection: str, *documents: dict[str, Any]) -> None:
    lines = b"".join(json.dumps(one).encode() + b"\n" for one in documents)
    response = started.client.post(f"/v1/collections/{collection}/documents", content=lines, headers=NDJSON)
    assert response.status_code == 200 and response.json()["accepted"] == len(documents), response.text


def search(started: Server, query: str, **options: Any) -> dict[str, Any]:
    body = {"query": query, "query_language": "de", "method": "psq", "collections": ["long"], "rerank": False}
    response = started.client.post("/v1/search", json=body | options)
    assert response.status_code == 200, response.text
    answer: dict[str, Any] = response.json()
    return answer


def text_of(started: Server, id: str) -> str:
    text: str = started.client.get(f"/v1/collections/long/documents/{id}").json()["text"]
    return text


@pytest.mark.parametrize("options", [{}, {"explain": True}, {"gloss": True}, {"method": "none"}])
def test_the_match_in_a_document_of_5_mb_is_shown_wherever_it_is(running: Server, options: dict[str, Any]) -> None:
    answer = search(running, "Vulkanausbruch Asche", **options)
    assert {hit["id"] for hit in answer["hits"]} == set(PLACES)
    for hit in answer["hits"]:
        assert MATCH.strip() in hit["snippet"] and len(hit["snippet"]) <= 400
        assert [one["document_term"] for one in hit["highlights"]] == ["Vulkanausbruch", "Asche"]
        assert any(repr(hit["id"]) in reason for reason in answer["truncated"])


def test_offsets_in_a_long_document_are_true(running: Server) -> None:
    (hit, *_) = [one for one in search(running, "Asche Tal")["hits"] if one["id"] == "second half"]
    text = text_of(running, "second half")
    assert text[hit["snippet_start"] :].startswith(hit["snippet"])
    assert {text[one["start"] : one["end"]] for one in hit["highlights"]} >= {"Asche", "Tal"}


def test_an_answer_has_its_limit_and_says_what_is_left_out(running: Server) -> None:
    answer = search(running, "Asche Glut", collections=["titled"], top_k=500, explain=True)
    assert len(answer["hits"]) == 500 and len(json.dumps(answer, ensure_ascii=False).encode()) <= 4 * MIB
    assert any(reason.startswith("highlights: cut short in") for reason in answer["truncated"])
    assert all(MATCH.strip() in hit["snippet"] for hit in answer["hits"])


def test_several_long_snippets_of_long_documents_are_parts_of_them(running: Server) -> None:
    answer = search(running, "Vulkanausbruch Asche Tal", snippets={"count": 5, "length": 2_000})
    assert len(answer["hits"]) == len(PLACES)
    for hit in answer["hits"]:
        text = text_of(running, hit["id"])
        ranges = sorted((part["start"], part["start"] + len(part["text"])) for part in hit["snippets"])
        assert len(ranges) > 1 and all(end <= start for (_, end), (start, _) in pairwise(ranges))
        assert all(text[part["start"] :].startswith(part["text"]) for part in hit["snippets"])
        assert {"Vulkanausbruch", "Asche", "Tal"} <= {one["document_term"] for one in hit["highlights"]}


def test_first_snippets_that_have_no_room_together_are_refused(running: Server) -> None:
    body = {"query": "Asche", "collections": ["titled"], "top_k": 1_000, "snippets": {"length": 2_000}}
    refused = running.client.post("/v1/search", json=body)
    assert refused.status_code == 422 and "snippets.length: an answer of 1000 hits has room for" in refused.text
    answer = search(running, "Asche Glut", collections=["titled"], top_k=500, snippets={"count": 5, "length": 1_000})
    assert len(json.dumps(answer, ensure_ascii=False).encode()) <= 4 * MIB
