"""Kills under traffic: of the worker, which nobody notices, and of the service, which loses nothing it confirmed."""

from __future__ import annotations

import os
import signal
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import count
from pathlib import Path
from threading import Event
from typing import Any

import httpx
import pytest

from tests.service.worker.test_child_process import SETTINGS, children, runs, search
from tests.support.backbones import tiny_veco
from tests.support.searching import ndjson
from tests.support.serving import Server, http_client, wait_for

pytestmark = [pytest.mark.slow, pytest.mark.kill]

ADDRESS = "/v1/collections/de/documents"


class Traffic:
    """Writes documents and searches them until it is stopped, or the service ends."""

    def __init__(self, url: str) -> None:
        self.confirmed: list[str] = []
        self.answers: list[dict[str, Any]] = []
        self._url, self._stopped = url, Event()

    def write(self) -> None:
        with http_client(self._url) as client, suppress(httpx.TransportError):
            for number in count():
                if self._stopped.is_set():
                    return
                document = {"id": f"d{number}", "text": f"Der Vulkan Nummer {number} spuckt Asche."}
                sent = {"content-type": "application/x-ndjson"}
                response = client.post(ADDRESS, content=ndjson([document]), headers=sent)
                assert response.json()["accepted"] == 1, response.text
                self.confirmed.append(document["id"])

    def search(self) -> None:
        with http_client(self._url) as client, suppress(httpx.TransportError):
            for number in count():
                if self._stopped.is_set():
                    return
                body = {"query": f"Vulkan {number}", "query_language": "de", "method": "dense"}
                response = client.post("/v1/search", json=body)
                assert response.status_code == 200, response.text
                self.answers.append(response.json())

    def more(self) -> None:
        """Wait for more of both."""
        written, answered = len(self.confirmed) + 3, len(self.answers) + 6
        wait_for(lambda: len(self.confirmed) >= written and len(self.answers) >= answered)

    def stop(self) -> None:
        self._stopped.set()


def test_kills_of_the_worker_and_of_the_service_under_traffic_lose_nothing(tmp_path: Path) -> None:
    settings = SETTINGS | {"encoder": tiny_veco(tmp_path / "encoder")}
    running = Server(tmp_path / "data", forked=False, **settings)
    running.client.post("/v1/collections", json={"name": "de", "language": "de"}).raise_for_status()
    traffic = Traffic(running.url)
    try:
        with ThreadPoolExecutor(4) as threads:
            under_way = [threads.submit(traffic.write), *(threads.submit(traffic.search) for _ in range(3))]
            try:
                traffic.more()
                (first,) = children(running.pid)
                os.kill(first, signal.SIGKILL)
                traffic.more()
                (second,) = children(running.pid)
                assert second != first
            finally:
                running.kill()
                traffic.stop()
            for each in under_way:
                each.result()
    finally:
        running.kill()
    reasons = [note["reason"] for answer in traffic.answers for note in answer["degraded"]]
    assert all("have no embedding yet" in reason for reason in reasons), set(reasons)
    again = Server(tmp_path / "data", forked=False, **settings)  # at once, on the same folder
    try:
        wait_for(lambda: not runs(second))
        stored = [again.client.get(f"{ADDRESS}/{identifier}").status_code for identifier in traffic.confirmed]
        assert set(stored) == {200}
        wait_for(lambda: again.client.get("/v1/collections/de").json()["embeddings"]["state"] == "complete")
        embeddings = again.client.get("/v1/collections/de").json()["embeddings"]
        assert embeddings["embedded"] >= len(traffic.confirmed)
        answer = search(again, "Vulkan")
        assert answer["degraded"] == [] and answer["hits"]
        (third,) = children(again.pid)
        assert again.stop() == 0
        assert not runs(third)
    finally:
        again.kill()
