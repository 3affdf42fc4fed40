"""A document that cannot be analysed harms itself alone: others are searched, and it can be deleted or tried again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.poisoning import POISONING
from tests.support.searching import ndjson
from tests.support.serving import Server, server, wait_for

pytestmark = pytest.mark.slow

NDJSON = {"content-type": "application/x-ndjson"}


def upload(running: Server, collection: str, *documents: dict[str, Any]) -> dict[str, Any]:
    body = ndjson(documents)
    answer = running.client.post(f"/v1/collections/{collection}/documents", content=body, headers=NDJSON)
    answer.raise_for_status()
    done: dict[str, Any] = answer.json()
    return done


def ready(running: Server) -> bool:
    return running.client.get("/readyz").status_code == 200


def ids(running: Server, collection: str) -> list[str]:
    listed = running.client.get(f"/v1/collections/{collection}/unindexed").json()
    assert listed["total"] == len(listed["documents"])
    return [document["id"] for document in listed["documents"]]


def hits(running: Server, collection: str, query: str) -> list[str]:
    answer = running.client.post(
        "/v1/search", json={"collections": [collection], "query": query, "query_language": "sw"}
    )
    answer.raise_for_status()
    return [hit["id"] for hit in answer.json()["hits"]]


def test_a_poisoned_document_harms_itself_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings: dict[str, Any] = {"index_commit_seconds": 3600, "analysis_seconds": 2, "startup_wait_seconds": 0}
    documents = [
        {"id": "1", "text": "moja"},
        {"id": "raises", "text": "sumu"},
        {"id": "hangs", "text": "ganda"},
        {"id": "2", "text": "mbili"},
    ]
    with server(tmp_path / "data", POISONING, **settings) as running:
        for name in ("bad", "good"):
            running.client.post("/v1/collections", json={"name": name, "language": "sw"}).raise_for_status()
            upload(running, name, *documents)
        running.kill()
    monkeypatch.setenv("POISON_RAISES", "sumu")
    monkeypatch.setenv("POISON_HANGS", "ganda")
    with server(tmp_path / "data", POISONING, **settings) as running:
        wait_for(lambda: ready(running))
        assert ids(running, "bad") == ids(running, "good") == ["raises", "hangs"]
        assert running.client.get("/v1/collections/bad").json()["index"]["failed"] == 2
        assert hits(running, "bad", "moja") == ["1"] and hits(running, "bad", "sumu") == []
        rejected = upload(running, "good", {"id": "3", "text": "tatu"}, {"id": "y", "text": "sumu"})["rejected"]
        assert [(line["line"], line["id"]) for line in rejected] == [(2, "y")]
        assert running.client.post("/v1/collections/bad/unindexed/retry").json() == {"indexed": 0, "failed": 2}
        assert running.client.delete("/v1/collections/good/documents/raises").status_code == 204
        assert ids(running, "good") == ["hangs"]
        assert running.client.delete("/v1/collections/good").status_code == 204
        running.kill()
    monkeypatch.delenv("POISON_RAISES")
    monkeypatch.delenv("POISON_HANGS")
    with server(tmp_path / "data", POISONING, **settings) as running:
        wait_for(lambda: ready(running))
        assert running.client.post("/v1/collections/bad/unindexed/retry").json() == {"indexed": 2, "failed": 0}
        assert ids(running, "bad") == [] and hits(running, "bad", "sumu") == ["raises"]
