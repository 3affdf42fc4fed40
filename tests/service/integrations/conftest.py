from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import httpx
import pytest

from tests.support.searching import ndjson
from tests.support.serving import Server, server
from tests.support.standing_in import STANDING_IN

DOCUMENTS = [
    {
        "id": "vulkan",
        "title": "Asche",
        "text": "Der Vulkan spuckte Asche.",
        "metadata": {"year": 2020, "url": "https://example.org/vulkan", "topic": "nature"},
    },
    {"id": "a/b", "text": "Der Vulkan schläft.", "metadata": {"year": 2010, "topic": ""}},
    {"id": "bienen", "text": "Bienen mögen Asche nicht."},
]
TABLE = b"volcano\tVulkan\t1\t1\nash\tAsche\t1\t1\n"


@dataclass(frozen=True, slots=True)
class Keyed:
    """A server with keys, and clients that have one of each scope."""

    server: Server
    admin: httpx.Client
    search: httpx.Client
    search_key: str
    admin_key: str


@pytest.fixture(scope="package")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Keyed]:
    with server(tmp_path_factory.mktemp("integrations"), STANDING_IN) as running:
        client = running.client
        keys = {}
        for scopes in (["admin", "search"], ["search"]):
            made = client.post("/v1/keys", json={"name": scopes[0], "scopes": scopes})
            keys[scopes[0]] = made.json()["key"]
            client.headers["authorization"] = f"Bearer {keys['admin']}"
        assert client.post("/v1/collections", json={"name": "news", "language": "de"}).status_code == 201
        assert client.post("/v1/collections", json={"name": "other", "language": "de"}).status_code == 201
        headers = {"content-type": "application/x-ndjson"}
        sent = client.post("/v1/collections/news/documents", content=ndjson(DOCUMENTS), headers=headers)
        assert sent.json()["accepted"] == len(DOCUMENTS)
        asked = {"source": "en", "target": "de", "activate": True}
        assert client.put("/v1/tables/words", params=asked, content=TABLE).status_code == 201
        assert client.put("/v1/aliases/latest", json={"collection": "news"}).status_code == 200
        headers = {"authorization": f"Bearer {keys['search']}"}
        with httpx.Client(base_url=running.url, timeout=60, trust_env=False, headers=headers) as searching:
            yield Keyed(running, client, searching, keys["search"], keys["admin"])
