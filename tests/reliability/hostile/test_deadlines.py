"""Costly queries: they end in time, with their clients, and keep nobody else waiting."""

from __future__ import annotations

import json
import random
import select
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import product
from pathlib import Path

import httpx
import pytest

from tests.support.searching import ndjson
from tests.support.serving import Server, server, wait_for

pytestmark = pytest.mark.slow

NDJSON = {"content-type": "application/x-ndjson"}
MEMORY = 300 << 20
CONSONANTS = "mrktln"
SPELLINGS = ["".join(map("".join, zip(CONSONANTS, vowels, strict=True))) for vowels in product("aeiou", repeat=6)]
"""Words that differ in their vowels alone, and so sound alike."""
ANOTHER = "127.0.0.2"
"""The address of another caller; an open service is fair by address."""


def documents(words: list[str], of_one: int = 1_000) -> bytes:
    parts = [" ".join(words[start : start + of_one]) for start in range(0, len(words), of_one)]
    plain = [{"id": "plain", "text": "nyumba kubwa"}]
    return ndjson(plain + [{"id": str(number), "text": part} for number, part in enumerate(parts)])


def query(size: int, seed: int) -> str:
    """A query of so many characters, of words that no document has and that sound like all of them."""
    chosen = random.Random(seed).sample(SPELLINGS, size // 14)
    return " ".join(word + "o" for word in chosen)


def asked(text: str) -> dict[str, object]:
    return {"query": text, "query_language": "en", "method": "psq"}


@pytest.fixture(scope="module")
def data_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("alike")
    with server(found) as running:
        running.client.post("/v1/collections", json={"name": "c", "language": "sw"}).raise_for_status()
        words = SPELLINGS + [word + "e" for word in SPELLINGS[:4_400]]
        running.client.post("/v1/collections/c/documents", content=documents(words), headers=NDJSON).raise_for_status()
    return found


@pytest.fixture(scope="module")
def running(data_dir: Path) -> Iterator[Server]:
    with server(data_dir, as_shipped=True, request_seconds=600) as found:
        found.client.post("/v1/search", json=asked("nyumba")).raise_for_status()
        found.limit_memory(MEMORY)
        yield found


def test_a_query_of_words_that_sound_like_twenty_thousand_others_is_answered(running: Server) -> None:
    answer = running.client.post("/v1/search", json=asked(query(1_700, 1)))
    assert answer.status_code == 200
    assert any("matched by sound" in reason for reason in answer.json()["truncated"])


def begin(running: Server, text: str) -> socket.socket:
    """A connection on which a search was sent, whose answer nobody has read yet."""
    body = json.dumps(asked(text))
    head = "POST /v1/search HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    client = socket.create_connection((running.client.base_url.host, running.client.base_url.port or 0))
    client.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n{body}".encode())
    return client


def test_the_work_for_a_client_that_leaves_ends(running: Server) -> None:
    before, without = running.computed(), stopped(running)
    with begin(running, query(9_990, 2)):
        wait_for(lambda: running.computed() > before + 0.2)
    wait_for(lambda: stopped(running) == without + 1)
    wait_for(lambda: idle(running))


def stopped(running: Server) -> float:
    """How many searches ended without an answer, since their clients had left."""
    lines = running.client.get("/metrics").text.splitlines()
    counted = [line for line in lines if "requests_total" in line and "/v1/search" in line and '"0"' in line]
    return sum(float(line.rpartition(" ")[2]) for line in counted)


def idle(running: Server) -> bool:
    before = running.computed()
    time.sleep(0.5)
    return running.computed() - before < 0.25


def test_costly_queries_of_one_caller_do_not_keep_another_waiting(running: Server) -> None:
    transport = httpx.HTTPTransport(local_address=ANOTHER)
    before = running.computed()
    with ExitStack() as stack:
        plain = stack.enter_context(httpx.Client(base_url=running.url, transport=transport, timeout=60))
        costly = [stack.enter_context(begin(running, query(9_990, seed))) for seed in range(10, 18)]
        wait_for(lambda: running.computed() > before + 0.5)
        answers = [plain.post("/v1/search", json=asked("nyumba")) for _ in range(3)]
        ended, _, _ = select.select(costly, [], [], 0)
        assert not ended, "a costly search ended first"
        assert {one.status_code for one in answers} == {200}
        assert [hit["id"] for hit in answers[0].json()["hits"]] == ["plain"]
    wait_for(lambda: idle(running))


def test_a_passed_deadline_is_degraded_or_503(running: Server, data_dir: Path) -> None:
    running.kill()
    with server(data_dir, request_seconds=2) as hurried:
        for text in ("nyumba", query(9_990, 3)):
            answer = hurried.client.post("/v1/search", json=asked(text))
            if answer.status_code == 200:
                stages = {one["stage"] for one in answer.json()["degraded"]}
                assert (text == "nyumba") or "translate" in stages or answer.json()["truncated"]
            else:
                assert answer.status_code == 503
                assert int(answer.headers["Retry-After"]) >= 1
    with server(data_dir, request_seconds=1e-6) as hurried:
        answer = hurried.client.post("/v1/search", json=asked("nyumba"))
        assert (answer.status_code, answer.json()["error_type"]) == (503, "unavailable")
        assert int(answer.headers["Retry-After"]) >= 1
