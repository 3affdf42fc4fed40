"""A document that cannot be analysed harms itself alone: others are searched, and it can be deleted or tried again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.service.poisoning import POISONING
from tests.service.searching import ndjson
from tests.service.serving import Server, server, wait_for

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


@pytest.mark.parametrize("poison", ["POISON_RAISES", "POISON_HANGS"])
def test_a_poisoned_document_harms_itself_alone(poison: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings: dict[str, Any] = {"index_commit_seconds": 3600, "analysis_seconds": 2, "startup_wait_seconds": 0}
    with server(tmp_path / "data", POISONING, **settings) as running:
        for name in ("bad", "good"):
            running.client.post("/v1/collections", json={"name": name, "language": "sw"}).raise_for_status()
            upload(
                running, name, {"id": "1", "text": "moja"}, {"id": "x", "text": "sumu"}, {"id": "2", "text": "mbili"}
            )
        running.kill()
    monkeypatch.setenv(poison, "sumu")
    with server(tmp_path / "data", POISONING, **settings) as running:
        wait_for(lambda: ready(running))
        listed = running.client.get("/v1/collections/bad/unindexed").json()
        assert [document["id"] for document in listed["documents"]] == ["x"] and listed["total"] == 1
        assert running.client.get("/v1/collections/bad").json()["index"]["failed"] == 1
        rejected = upload(running, "good", {"id": "3", "text": "tatu"}, {"id": "y", "text": "sumu"})["rejected"]
        assert [(line["line"], line["id"]) for line in rejected] == [(2, "y")]
        assert running.client.post("/v1/collections/bad/unindexed/retry").json() == {"indexed": 0, "failed": 1}
        assert running.client.delete("/v1/collections/good/documents/x").status_code == 204
        assert running.client.get("/v1/collections/good/unindexed").json() == {"documents": [], "total": 0}
        assert running.client.delete("/v1/collections/good").status_code == 204
        running.kill()
    monkeypatch.delenv(poison)
    with server(tmp_path / "data", POISONING, **settings) as running:
        wait_for(lambda: ready(running))
        assert running.client.post("/v1/collections/bad/unindexed/retry").json() == {"indexed": 1, "failed": 0}
        assert running.client.get("/v1/collections/bad/unindexed").json()["total"] == 0
