"""A real server, killed at random moments of an import."""

from __future__ import annotations

import random
import time
from pathlib import Path
from threading import Thread

import httpx
import pytest

from dragoman.engine.settings import Settings
from tests.support.searching import found, ndjson, running
from tests.support.serving import Server
from tests.support.small_batches import SMALL_BATCHES

pytestmark = [pytest.mark.slow, pytest.mark.kill]

NDJSON = {"content-type": "application/x-ndjson"}
QUICK = {"index_commit_seconds": 0.05}


class Importer(Thread):
    """Sends documents without end, some of them again, some deleted; knows what was acknowledged.

    ``text`` of an id says which request wrote it, so that an old version cannot pass for a new one. Its metadata says
    so too; they are changed alone now and then.
    """

    def __init__(self, url: str, noise: random.Random, known: dict[str, int | None], first: int) -> None:
        super().__init__()
        self.url = url
        self.noise = noise
        self.acknowledged = known
        self.pending: dict[str, int | None] = {}
        self.request = first
        self.together: list[str] = []
        """What a deletion under way deletes, all of it or nothing."""
        self.aliases = {"c", "d"}
        """What the alias may stand for."""

    def run(self) -> None:
        with httpx.Client(base_url=self.url, timeout=30, trust_env=False) as client:
            try:
                while True:
                    self.request += 1
                    self._send_one(client)
                    self.acknowledged.update(self.pending)
                    self.pending = {}
            except httpx.TransportError:
                pass  # the server is dead

    def _send_one(self, client: httpx.Client) -> None:
        if self.noise.random() < 0.2:
            target = self.noise.choice(["c", "d"])
            self.aliases.add(target)
            client.put("/v1/aliases/live", json={"collection": target}).raise_for_status()
            self.aliases = {target}
            return
        present = [id for id, version in self.acknowledged.items() if version is not None]
        if present and self.noise.random() < 0.2:
            id = self.noise.choice(present)
            self.pending = {id: None}
            assert client.delete(f"/v1/collections/c/documents/{id}").status_code == 204
            return
        if present and self.noise.random() < 0.1:
            self.together = self.noise.sample(present, min(30, len(present)))
            self.pending = dict.fromkeys(self.together)
            chosen = {"filter": {"id": {"$in": self.together}}}
            answer = client.post("/v1/collections/c/documents/delete", json=chosen)
            assert answer.json() == {"deleted": len(self.together)}, answer.text
            self.together = []
            return
        if present and self.noise.random() < 0.3:
            self._change(client, self.noise.choice(present))
            return
        ids = [f"d{self.noise.randrange(4000)}" for _ in range(self.noise.choice([1, 30, 200]))]
        self.pending = dict.fromkeys(ids, self.request)
        metadata = {"toleo": self.request}
        lines = [{"id": id, "text": f"neno{id} toleo{self.request} wote", "metadata": metadata} for id in ids]
        body = ndjson(lines)
        answer = client.post("/v1/collections/c/documents", content=body, headers=NDJSON)
        assert answer.json()["accepted"] == len(ids), answer.text

    def _change(self, client: httpx.Client, id: str) -> None:
        change: dict[str, object] = {"metadata": {"toleo": self.request}}
        if self.noise.random() < 0.5:
            change["text"] = f"neno{id} toleo{self.request} wote"
            self.pending = {id: self.request}
        answer = client.patch(f"/v1/collections/c/documents/{id}", json=change)
        assert answer.json()["metadata"] == change["metadata"], answer.text


def test_nothing_acknowledged_is_lost_and_nothing_is_there_twice(tmp_path: Path, database_url: str | None) -> None:
    noise = random.Random(0 if database_url is None else 1)
    settings = QUICK if database_url is None else {**QUICK, "database_url": database_url}
    known: dict[str, int | None] = {}
    request = 0
    for round in range(3):
        server = Server(tmp_path, SMALL_BATCHES, **settings)
        if round == 0:
            for name in ("c", "d"):
                server.client.post("/v1/collections", json={"name": name, "language": "sw"}).raise_for_status()
            server.client.put("/v1/aliases/live", json={"collection": "c"}).raise_for_status()
        importer = Importer(server.url, noise, known, request)
        importer.start()
        wanted = request + noise.randrange(6, 18)
        while importer.request < wanted and importer.is_alive():
            time.sleep(0.001)
        time.sleep(noise.uniform(0.0, 0.1))
        server.kill()
        importer.join()
        request = importer.request
        known = _check(Settings.load(data_dir=tmp_path, database_url=database_url), known, importer)
    assert sum(version is not None for version in known.values()) > 20


def _check(settings: Settings, known: dict[str, int | None], importer: Importer) -> dict[str, int | None]:
    """Compare the database and the index with what was acknowledged; returns what is there.

    An id of the request that was under way may be as before it or as after it.
    """
    pending = importer.pending
    with running(settings) as runtime:
        info = runtime.collections.get("c")
        assert runtime.collections.aliases.get("live").collection in importer.aliases
        assert (info.index_state, info.index_generation) == ("ready", info.generation)
        ids = found(runtime, "c", "wote")
        assert len(ids) == len(set(ids)) == info.documents
        assert len({id in ids for id in importer.together}) <= 1
        filtered = [{"toleo": {"$exists": True}}, {"$or": [{"id": {"$in": ids}}, {"toleo": {"$lt": 0}}]}]
        for filter in filtered:
            assert runtime.collections.list_documents("c", 1, filter=filter).total == info.documents
        documents = {id: runtime.collections.document("c", id) for id in ids}
        stored = {id: int(document.text.split()[1][5:]) for id, document in documents.items()}
        for id, document in documents.items():
            assert document.metadata is not None and document.metadata["toleo"] >= stored[id]
            assert document.generation <= info.generation
        for id in known.keys() | pending.keys():
            allowed = {known.get(id)} | ({pending[id]} if id in pending else set())
            assert stored.get(id) in allowed, id
        assert stored.keys() <= known.keys() | pending.keys()
        for version in {*stored.values()}:
            expected = sorted(id for id, of in stored.items() if of == version)
            assert sorted(found(runtime, "c", f"toleo{version}")) == expected
        assert all(found(runtime, "c", f"neno{id}") == [id] for id in random.sample(ids, min(50, len(ids))))
    return dict(stored)
