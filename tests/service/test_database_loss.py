"""PostgreSQL is stopped, or crashes, while a real service runs, and comes back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event, Thread

import httpx
import pytest

from tests.support import postgresql
from tests.support.searching import ndjson
from tests.support.serving import Server, server, wait_for

pytestmark = [
    pytest.mark.slow,
    pytest.mark.postgresql,
    pytest.mark.skipif(postgresql.programs() is None, reason="PostgreSQL's programs are not installed"),
]

NDJSON = {"content-type": "application/x-ndjson"}
TABLE = "".join(f"word{n}\twort{n}\n" for n in range(3000)).encode()
SEARCH = {"query": "house", "query_language": "en", "collections": ["c"]}


@pytest.fixture
def cluster() -> Iterator[postgresql.Cluster]:
    started = postgresql.Cluster()
    yield started
    started.remove()


@pytest.fixture
def served(tmp_path: Path, cluster: postgresql.Cluster) -> Iterator[Server]:
    with server(tmp_path, database_url=cluster.url, index_commit_seconds=0.1) as running:
        client = running.client
        client.post("/v1/collections", json={"name": "c", "language": "de"}).raise_for_status()
        documents(client, 0).raise_for_status()
        client.put("/v1/tables/words", params=table(True), content=b"house\tHaus\n").raise_for_status()
        yield running


def documents(client: httpx.Client, number: int) -> httpx.Response:
    lines = ndjson({"id": f"{number}.{line}", "text": f"Das Haus steht. Satz{number}"} for line in range(20))
    return client.post("/v1/collections/c/documents", content=lines, headers=NDJSON)


def table(activate: bool) -> dict[str, str]:
    return {"source": "en", "target": "de", "activate": str(activate).lower()}


class Traffic:
    """Clients of several addresses, each asking again and again; counts what they are answered."""

    def __init__(self, url: str) -> None:
        self.answers: Counter[tuple[str, int]] = Counter()
        self.faults: list[str] = []
        self.stored: set[int] = set()
        self._url = url
        self._stop = Event()
        asked: dict[str, Callable[[httpx.Client, int], httpx.Response]] = {
            "search": lambda client, _: client.post("/v1/search", json=SEARCH),
            "list": lambda client, _: client.get("/v1/collections"),
            "document": lambda client, _: client.get("/v1/collections/c/documents/0.0"),
            "tables": lambda client, _: client.get("/v1/tables/words"),
            "import": self._import,
            "upload": lambda client, _: client.put("/v1/tables/more", params=table(False), content=TABLE),
        }
        self._threads = [Thread(target=self._ask, args=(name, ask)) for name, ask in asked.items()]
        for thread in self._threads:
            thread.start()

    def seen(self, status: int) -> set[str]:
        return {name for (name, answered), count in self.answers.items() if answered == status and count}

    def stop(self) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def _import(self, client: httpx.Client, number: int) -> httpx.Response:
        answer = documents(client, number)
        if answer.status_code == 200:
            self.stored.add(number)
        return answer

    def _ask(self, name: str, ask: Callable[[httpx.Client, int], httpx.Response]) -> None:
        number = 0
        with httpx.Client(base_url=self._url, timeout=60, trust_env=False) as client:
            while not self._stop.wait(0.02):
                number += 1
                answer = ask(client, number)
                self.answers[name, answer.status_code] += 1
                if answer.status_code not in (200, 201, 503):
                    self.faults.append(f"{name}: {answer.status_code} {answer.text[:200]}")


@pytest.mark.parametrize("how", ["stop", "crash"])
def test_requests_are_answered_503_until_the_database_is_back(
    served: Server, cluster: postgresql.Cluster, how: str
) -> None:
    traffic = Traffic(served.url)
    try:
        wait_for(lambda: len(traffic.seen(200) | traffic.seen(201)) == 6)
        cluster.stop() if how == "stop" else cluster.crash()
        wait_for(lambda: len(traffic.seen(503)) == 6)
        ready = served.client.get("/readyz")
        assert (ready.status_code, ready.json()["error_type"]) == (503, "unavailable")
        assert served.client.get("/healthz").status_code == 200
        cluster.start()
        wait_for(lambda: served.client.get("/readyz").status_code == 200)
        traffic.answers.clear()
        wait_for(lambda: len(traffic.seen(200) | traffic.seen(201)) == 6)
    finally:
        traffic.stop()
    assert not traffic.faults
    assert not traffic.seen(503), "it had said that it was ready"
    assert not [line for line in served.log if "Traceback" in line]
    for number in traffic.stored:
        assert served.client.get(f"/v1/collections/c/documents/{number}.0").status_code == 200
    search = {**SEARCH, "query": f"Satz{max(traffic.stored)}", "query_language": "de", "method": "none"}
    assert len(served.client.post("/v1/search", json={**search, "top_k": 50}).json()["hits"]) == 20
