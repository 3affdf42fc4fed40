"""``GET /v1/suggest`` over HTTP, against a real server."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.support.errorbody import check_error
from tests.support.postgresql import DATABASES
from tests.support.searching import ndjson
from tests.support.serving import Server

pytestmark = [pytest.mark.slow, pytest.mark.parametrize("served", DATABASES, indirect=True, scope="package")]

NDJSON = {"content-type": "application/x-ndjson"}
TABLE = """volcano\tVulkan\t0.9\t0.8
volcanic\tvulkanisch\t0.9\t0.8
eruption\tAusbruch\t0.7\t0.6
Über-Haus\tHaus\t1\t0.1
Łódź\tLodsch\n"""


@pytest.fixture(scope="module", autouse=True)
def corpus(served: Server) -> Iterator[None]:
    client = served.client
    for name, documents in (
        ("g_news", [{"id": "1", "title": "Vulkan auf Island", "text": "Asche"}, {"id": "2", "text": "ohne"}]),
        (
            "g_more",
            [
                {"id": "1", "title": "VÚLKANE der Welt", "text": "Asche"},
                {"id": "2", "title": "Đà Nẵng", "text": "ohne"},
            ],
        ),
    ):
        client.post("/v1/collections", json={"name": name, "language": "de"}).raise_for_status()
        client.post(f"/v1/collections/{name}/documents", content=ndjson(documents), headers=NDJSON).raise_for_status()
    parameters = {"source": "en", "target": "de", "activate": "true"}
    client.put("/v1/tables/g_en_de", params=parameters, content=TABLE.encode()).raise_for_status()
    client.put("/v1/aliases/g_live", json={"collection": "g_more"}).raise_for_status()
    yield
    client.delete("/v1/aliases/g_live")
    for name in ("g_news", "g_more"):
        client.delete(f"/v1/collections/{name}")
    client.post("/v1/tables/g_en_de/deactivate")
    client.delete("/v1/tables/g_en_de/versions/1")


def suggest(client: httpx.Client, q: str, collections: str = "g_news,g_more", **options: str) -> dict[str, Any]:
    parameters = {"q": q, "language": "en", "collections": collections, **options}
    answer = client.get("/v1/suggest", params=parameters)
    assert answer.status_code == 200, answer.text
    assert set(answer.json()) == {"request_id", "completions", "spelling"}
    return answer.json()  # type: ignore[no-any-return]


def completions(client: httpx.Client, q: str, *collections: str, **options: str) -> list[Any]:
    names = ",".join(collections) or "g_news,g_more"
    answer = suggest(client, q, names, **options)
    return [(one["kind"], one["text"], one.get("translation")) for one in answer["completions"]]


def test_terms_have_a_translation_and_titles_are_folded(client: httpx.Client) -> None:
    assert sorted(completions(client, "VOLC")) == [
        ("term", "volcanic", "vulkanisch"),
        ("term", "volcano", "Vulkan"),
    ]
    assert completions(client, "vulka") == [
        ("title", "Vulkan auf Island", None),
        ("title", "VÚLKANE der Welt", None),
    ]
    assert completions(client, "vulka", language="de")[0] == ("term", "Vulkan", None)
    assert completions(client, "uber") == [("term", "Über-Haus", "Haus")]
    assert completions(client, "lodz") == completions(client, "Łód") == [("term", "Łódź", "Lodsch")]
    assert completions(client, "da nang") == completions(client, "Đà") == [("title", "Đà Nẵng", None)]
    assert completions(client, "the Erup") == [("term", "the eruption", "Ausbruch")]
    assert completions(client, "xyz") == completions(client, "...") == []


def test_a_change_of_a_document_shows_at_once(client: httpx.Client) -> None:
    path = "/v1/collections/g_news/documents"
    assert completions(client, "vulkan a", "g_news") == [("title", "Vulkan auf Island", None)]
    client.patch(f"{path}/1", json={"title": "Asche über Island"}).raise_for_status()
    assert completions(client, "vulkan a", "g_news") == []
    assert completions(client, "asche", "g_news") == [("title", "Asche über Island", None)]
    client.delete(f"{path}/1").raise_for_status()
    assert completions(client, "asche", "g_news") == []
    again = ndjson([{"id": "1", "title": "Vulkan auf Island", "text": "Asche"}])
    client.post(path, content=again, headers=NDJSON).raise_for_status()
    assert completions(client, "vulkan a", "g_news") == [("title", "Vulkan auf Island", None)]


def test_an_alias_stands_for_its_collection(client: httpx.Client) -> None:
    assert completions(client, "vulkan", "g_live") == [("title", "VÚLKANE der Welt", None)]
    repeated = client.get("/v1/suggest?q=vulkan&language=en&collections=g_live&collections=g_news").json()
    assert len(repeated["completions"]) == 2


def test_words_that_no_table_has_are_spelt_otherwise(client: httpx.Client) -> None:
    def spelling(q: str, **options: str) -> list[str]:
        return [one["text"] for one in suggest(client, q, **options)["spelling"]]

    assert suggest(client, "big volcanno erupion")["spelling"] == [
        {"text": "big volcano erupion", "word": "volcanno", "correction": "volcano"},
        {"text": "big volcanno eruption", "word": "erupion", "correction": "eruption"},
    ]
    assert spelling("eruptio") == []  # it may be going on
    assert spelling("eruptio ") == ["eruption "]
    assert spelling("volcanoes") == spelling("ashes") == spelling("2020") == []
    assert spelling("Vulkna", language="de") == ["Vulkan"]
    assert spelling("policy ") == []


@pytest.mark.parametrize(
    ("parameters", "status", "field"),
    [
        ({}, 422, "q"),
        ({"q": " "}, 422, "q"),
        ({"q": "x" * 201}, 422, "q"),
        ({"q": "x", "language": "xx"}, 422, "language"),
        ({"q": "x", "collections": "nowhere"}, 404, r"collections\[0\]"),
        ({"q": "x", "collections": "g_news," * 101}, 422, "collections"),
        ({"q": "x", "colections": "g_news"}, 422, "colections"),
        ({"q": "x", "collections": ",,"}, 422, "collections"),
    ],
)
def test_what_is_wrong_is_named(client: httpx.Client, parameters: dict[str, str], status: int, field: str) -> None:
    check_error(client.get("/v1/suggest", params=parameters), status, field)
