"""A real server with stand-in models, killed at random moments while it embeds."""

from __future__ import annotations

import random
import time
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support.searching import ndjson
from tests.support.serving import Server, server
from tests.support.standing_in import STANDING_IN

pytestmark = [pytest.mark.slow, pytest.mark.kill]

NDJSON = {"content-type": "application/x-ndjson"}
QUICK = {"embed_seconds": 120, "index_commit_seconds": 0.05, "worker_batch": 8}


def ready(server: Server) -> None:
    """Wait until all indexes are open, which on a busy machine can take longer than a start waits."""
    while not server.client.get("/readyz").is_success:
        time.sleep(0.05)


def post(server: Server, documents: dict[str, str]) -> None:
    body = ndjson({"id": id, "text": text} for id, text in documents.items())
    server.client.post("/v1/collections/c/documents", content=body, headers=NDJSON).raise_for_status()


def search(server: Server, query: str, **more: Any) -> dict[str, Any]:
    asked = {"query": query, "query_language": "sw", "method": "dense", "top_k": 1000} | more
    response = server.client.post("/v1/search", json=asked)
    response.raise_for_status()
    answer: dict[str, Any] = response.json()
    return answer


def test_killed_while_it_embeds_it_serves_exactly_what_the_database_has(
    tmp_path: Path, database_url: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STANDING_IN_SECONDS", "0.01")
    noise = random.Random(0 if database_url is None else 1)
    settings: dict[str, Any] = QUICK if database_url is None else {**QUICK, "database_url": database_url}
    known: dict[str, str] = {}
    for round in range(3):
        running = Server(tmp_path, STANDING_IN, **settings)
        ready(running)
        if round == 0:
            running.client.post("/v1/collections", json={"name": "c", "language": "sw"}).raise_for_status()
            post(running, {"d0": "mwanzo"})
            known["d0"] = "mwanzo"
            search(running, "mwanzo")
        changed = {f"d{noise.randrange(400)}": f"neno{noise.randrange(10**6)} toleo{round}" for _ in range(250)}
        post(running, changed)
        known.update(changed)
        for id in noise.sample(sorted(known), 10):
            assert running.client.delete(f"/v1/collections/c/documents/{id}").status_code == 204
            del known[id]
        time.sleep(noise.uniform(0.0, 0.4))
        running.kill()
    with server(tmp_path, STANDING_IN, **settings) as running:
        ready(running)
        for id in noise.sample(sorted(known), 20):
            answer = search(running, known[id])
            assert answer["degraded"] == []
            assert sorted(hit["id"] for hit in answer["hits"]) == sorted(known)
            best = answer["hits"][0]
            assert (best["id"], best["snippet"]) == (id, known[id])
            assert best["score"] == pytest.approx(1.0, abs=1e-5)


def test_what_was_saved_before_the_kill_is_not_computed_again(tmp_path: Path) -> None:
    with server(tmp_path, STANDING_IN, **QUICK) as running:
        ready(running)
        running.client.post("/v1/collections", json={"name": "c", "language": "sw"}).raise_for_status()
        post(running, {f"d{n}": f"neno{n}" for n in range(300)})
        search(running, "neno1")
        body = running.client.get("/v1/collections/c").json()
        assert body["embeddings"]["embedded"] == 300
        running.kill()
    with server(tmp_path, STANDING_IN, **QUICK) as running:
        ready(running)
        assert len(search(running, "neno1")["hits"]) == 300
        assert sum(line.startswith("encoding") for line in running.log) == 1


def test_an_idle_server_has_no_model_library_in_memory(tmp_path: Path) -> None:
    with server(tmp_path, STANDING_IN, forked=False, **QUICK) as running:
        ready(running)
        running.client.post("/v1/collections", json={"name": "c", "language": "sw"}).raise_for_status()
        post(running, {"a": "moja"})
        assert search(running, "moja", method="psq")["hits"]
        maps = Path(f"/proc/{running._process.pid}/maps")
        assert not any(name in maps.read_text() for name in ("libtorch", "faiss"))
        assert search(running, "moja")["hits"]
        assert "faiss" in maps.read_text()
        assert "libtorch" not in maps.read_text()  # the stand-in needs none


def test_a_search_whose_client_goes_away_leaves_the_server_well(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setenv("STANDING_IN_SECONDS", "0.3")
    with server(tmp_path, STANDING_IN, **QUICK) as running:
        ready(running)
        running.client.post("/v1/collections", json={"name": "c", "language": "sw"}).raise_for_status()
        post(running, {f"d{n}": f"neno{n}" for n in range(30)})
        with pytest.raises(httpx.ReadTimeout):
            running.client.post("/v1/search", json={"query": "neno1", "method": "hybrid"}, timeout=0.2)
        answer = search(running, "neno1", method="hybrid")
        assert answer["hits"][0]["id"] == "d1"
        assert answer["degraded"] == []
