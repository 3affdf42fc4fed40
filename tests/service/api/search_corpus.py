"""The collections and tables that tests of ``POST /v1/search`` search, and what every answer must keep."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.support.searching import ndjson
from tests.support.serving import Server

GERMAN = {
    "vulkan": ("Asche über Island", "Der Vulkan spuckte Asche. Die Asche legte den Flugverkehr in Europa lahm."),
    "bienen": (None, "Bienen sterben durch Pestizide.\nDie Landwirtschaft braucht die Bienen 🐝 dringend."),
    "haus a/b 50%": (None, "Das Haus der Familie Tesla steht am Rand der Stadt."),
    "lang": (None, "Ein Satz ohne Belang. " * 60 + "Der Vulkan schlief lange. " + "Noch ein Satz. " * 60),
}
RUSSIAN = {"ru1": (None, "Вулкан выбросил пепел. Инженер Тесла изучал молнии."), "ru2": (None, "Дом стоит у реки.")}
SWAHILI = {"sw1": (None, "Volkano ilirusha majivu angani."), "sw2": (None, "Nyumba iko karibu na mto.")}
MIXED = [
    {"id": "m-de", "text": "Der Vulkan raucht wieder.", "language": "de"},
    {"id": "m-ru", "text": "Вулкан снова дымит.", "language": "ru"},
    {"id": "m-en", "text": "The volcano is smoking again.", "language": "en"},
]
EN_DE = """volcano\tVulkan\t0.9\t0.8
volcano\tFeuerberg\t0.1\t0.9
ash\tAsche\t0.7\t0.6
ash\tEsche\t0.3\t0.9
bee\tBiene\t1.0\t0.9
die\tsterben\t0.8\t0.5
house\tHaus\t0.9\t0.7
house\tHeim\t0.1\t0.2
"""
EN_RU = "volcano\tвулкан\t1.0\t0.95\nash\tпепел\t0.6\t0.5\nhouse\tдом\t0.9\t0.4\n"
NDJSON = {"content-type": "application/x-ndjson"}


@pytest.fixture(scope="module", autouse=True)
def corpus(served: Server) -> Iterator[None]:
    """Collections in three languages and one of several, with tables from English to two of them."""
    client = served.client
    for name, language, documents in (
        ("s_de", "de", [{"id": id, "title": title, "text": text} for id, (title, text) in GERMAN.items()]),
        ("s_ru", "ru", [{"id": id, "text": text} for id, (_, text) in RUSSIAN.items()]),
        ("s_sw", "sw", [{"id": id, "text": text} for id, (_, text) in SWAHILI.items()]),
        ("s_mixed", "de", MIXED),
        ("s_empty", "fr", []),
    ):
        assert client.post("/v1/collections", json={"name": name, "language": language}).status_code == 201
        if documents:
            path = f"/v1/collections/{name}/documents"
            assert not client.post(path, content=ndjson(documents), headers=NDJSON).json()["rejected"]
    for name, target, content in (("s_en_de", "de", EN_DE), ("s_en_ru", "ru", EN_RU)):
        parameters = {"source": "en", "target": target, "activate": "true"}
        assert client.put(f"/v1/tables/{name}", params=parameters, content=content.encode()).status_code == 201
    yield
    for name in ("s_de", "s_ru", "s_sw", "s_mixed", "s_empty"):
        client.delete(f"/v1/collections/{name}")
    for name in ("s_en_de", "s_en_ru"):
        client.post(f"/v1/tables/{name}/deactivate")
        for version in client.get(f"/v1/tables/{name}").json()["versions"]:  # the next module begins with version 1
            client.delete(f"/v1/tables/{name}/versions/{version['version']}").raise_for_status()


def search(client: httpx.Client, query: str, **options: Any) -> dict[str, Any]:
    request = {"query": query, "query_language": "en", "collections": ["s_de"], **options}
    response = client.post("/v1/search", json={key: value for key, value in request.items() if value is not None})
    assert response.status_code == 200, response.text
    body: dict[str, Any] = response.json()
    check_evidence(client, body)
    return body


def check_evidence(client: httpx.Client, body: dict[str, Any]) -> None:
    """Every highlight of every hit lies in a snippet and says what stands there."""
    assert [hit["rank"] for hit in body["hits"]] == list(range(1, len(body["hits"]) + 1))
    scores = [hit["score"] for hit in body["hits"]]
    assert scores == sorted(scores, reverse=True)
    texts = {id: text for documents in (GERMAN, RUSSIAN, SWAHILI) for id, (_, text) in documents.items()}
    texts |= {document["id"]: document["text"] for document in MIXED}
    used = {(table["name"], table["version"]) for table in body["translation"]["tables"]}
    for hit in body["hits"]:
        text, start = texts[hit["id"]], hit["snippet_start"]
        assert hit["snippet"] == text[start : start + len(hit["snippet"])]
        assert len(hit["snippet"]) <= 400
        snippets = hit.get("snippets") or [{"text": hit["snippet"], "start": start}]
        for one in hit["highlights"]:
            field = hit["title"] if one["field"] == "title" else text
            assert field[one["start"] : one["end"]] == one["document_term"]
            if one["field"] == "text":
                ends = [(snippet["start"], snippet["start"] + len(snippet["text"])) for snippet in snippets]
                assert any(start <= one["start"] < one["end"] <= end for start, end in ends)
            assert one["query_term"] in body["query"]["text"]
            assert 0 < one["probability"] <= 1
            assert (one["match"] == "table") == (one["table"] is not None) == (one["version"] is not None)
            assert one["table"] is None or (one["table"], one["version"]) in used


def ids(body: dict[str, Any]) -> list[str]:
    return [hit["id"] for hit in body["hits"]]
