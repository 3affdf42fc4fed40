"""A real server, killed at random moments while tables are uploaded and activated."""

from __future__ import annotations

import random
import time
from pathlib import Path
from threading import Thread

import httpx
import pytest
from sqlalchemy import select

from dragoman.engine.settings import Settings
from dragoman.store.database import Store
from dragoman.store.models import TableEntry, TableVersion
from tests.support.searching import ndjson
from tests.support.serving import Server

pytestmark = [pytest.mark.slow, pytest.mark.kill]

ENTRIES = 1000


def content(number: int) -> bytes:
    """A table whose every entry tells which upload it comes from."""
    lines = [f"word{place}\twort{place}x{number}\n" for place in range(ENTRIES)]
    return "".join(["house\tHaus\t1.0\t0.5\n", f"which\tnr{number}\n", *lines]).encode()


class Uploader(Thread):
    """Uploads and activates without end; knows what was acknowledged and what may have happened."""

    def __init__(self, url: str, noise: random.Random, acknowledged: dict[int, int], active: int | None) -> None:
        super().__init__()
        self.url = url
        self.noise = noise
        self.acknowledged = acknowledged
        self.active = active
        self.possible: set[int | None] = {active}
        self.number = max(acknowledged.values(), default=0)
        self.finished: list[float] = []

    def wait(self, operations: int) -> None:
        """Until so many operations have been acknowledged, and some moment of the next has come."""
        started = time.monotonic()
        while len(self.finished) < operations:
            assert self.is_alive() and time.monotonic() < started + 60
            time.sleep(0.002)
        time.sleep(self.noise.uniform(0.0, 1.2) * (self.finished[-1] - started) / operations)

    def run(self) -> None:
        with httpx.Client(base_url=self.url, timeout=60, trust_env=False) as client:
            try:
                while True:
                    self._one(client)
            except httpx.TransportError:
                pass  # the server is dead

    def _one(self, client: httpx.Client) -> None:
        if self.acknowledged and self.noise.random() < 0.4:
            version = self.noise.choice(list(self.acknowledged))
            self.possible = {self.active, version}
            assert client.post(f"/v1/tables/words/versions/{version}/activate").status_code == 200
            self.active = version
        else:
            self.number += 1
            activate = self.noise.random() < 0.5
            self.possible = {self.active, max(self.acknowledged, default=0) + 1} if activate else {self.active}
            parameters = {"source": "en", "target": "de", "activate": activate}
            answer = client.put("/v1/tables/words", params=parameters, content=content(self.number))  # type: ignore[arg-type]
            assert answer.status_code == 201, answer.text
            self.acknowledged[answer.json()["version"]] = self.number
            if activate:
                self.active = answer.json()["version"]
        self.possible = {self.active}
        self.finished.append(time.monotonic())


def test_no_half_of_a_version_is_ever_seen(tmp_path: Path, database_url: str | None) -> None:
    noise = random.Random(7)
    settings = {} if database_url is None else {"database_url": database_url}
    acknowledged: dict[int, int] = {}
    active: int | None = None
    server = Server(tmp_path, **settings)
    try:
        _documents(server.client)
        for _ in range(3):
            uploader = Uploader(server.url, noise, acknowledged, active)
            uploader.start()
            uploader.wait(noise.randint(1, 3))
            server.kill()
            uploader.join()
            server = Server(tmp_path, **settings)
            active, versions = _check(server.client, acknowledged, uploader)
            _check_rows(Settings.load(data_dir=tmp_path, **settings), versions)
    finally:
        server.kill()
    assert len(acknowledged) > 1


def _documents(client: httpx.Client) -> None:
    client.post("/v1/collections", json={"name": "de", "language": "de"}).raise_for_status()
    headers = {"content-type": "application/x-ndjson"}
    body = ndjson([{"id": "d", "text": "Das Haus steht."}])
    client.post("/v1/collections/de/documents", content=body, headers=headers).raise_for_status()


def _check(client: httpx.Client, acknowledged: dict[int, int], uploader: Uploader) -> tuple[int | None, int]:
    """Compare what is served with what was acknowledged; returns the active version, and how many there are."""
    response = client.get("/v1/tables/words")
    versions = response.json()["versions"] if response.status_code == 200 else []
    numbers = [one["version"] for one in versions]
    assert numbers == list(range(1, len(numbers) + 1))
    assert set(acknowledged) <= set(numbers)
    assert len(numbers) <= len(acknowledged) + 1, "one upload was under way"
    for one in versions:
        assert one["entries"] == ENTRIES + 2
        (which,) = _terms(client, "which", one["version"])
        number = int(which.removeprefix("nr"))
        assert acknowledged.setdefault(one["version"], number) == number
        last = _terms(client, f"word{ENTRIES - 1}", one["version"])
        assert last == [f"wort{ENTRIES - 1}x{number}"]
    (active,) = [one["version"] for one in versions if one["active"]] or [None]
    assert active in uploader.possible
    _check_search(client, active)
    return active, len(versions)


def _terms(client: httpx.Client, term: str, version: int) -> list[str]:
    found = client.get(f"/v1/tables/words/terms/{term}", params={"version": version, "side": "source"})
    return [one["term"] for one in found.json()["translations"]]


def _check_search(client: httpx.Client, active: int | None) -> None:
    request = {"query": "house", "query_language": "en", "collections": ["de"]}
    body = client.post("/v1/search", json=request).json()
    used = [table["version"] for table in body["translation"]["tables"]]
    assert used == ([] if active is None else [active])
    assert len(body["hits"]) == (0 if active is None else 1)


def _check_rows(settings: Settings, versions: int) -> None:
    store = Store(settings.store.url)
    try:
        with store.read() as session:
            states = session.scalars(select(TableVersion.state)).all()
            entries = session.scalars(select(TableEntry.version_id)).all()
    finally:
        store.close()
    assert list(states) == ["ready"] * versions
    assert len(entries) == versions * (ENTRIES + 2)
