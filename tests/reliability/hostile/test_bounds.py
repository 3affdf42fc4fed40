"""Bodies of many values, by each address that takes one, and many bodies at once, under a limit of memory."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Event, Thread

import httpx
import pytest

from tests.support.serving import Server, http_client, server

pytestmark = pytest.mark.slow

MIB = 1 << 20
LIMIT = 300 * MIB
HEALTH_SECONDS = 20.0
"""Far above the longest silence that a busy machine makes, far below that of a loop which validates a body."""
JSON = {"content-type": "application/json"}


class Watched:
    """A server under a limit of memory whose ``/healthz`` is asked all the time."""

    def __init__(self, running: Server) -> None:
        self.server = running
        self.silent: list[str] = []
        self._ended = Event()
        self._asking = Thread(target=self._ask, daemon=True)
        self._asking.start()

    def _ask(self) -> None:
        with http_client(self.server.url) as client:
            while not self._ended.wait(0.05):
                try:
                    client.get("/healthz", timeout=HEALTH_SECONDS).raise_for_status()
                except httpx.HTTPError as fault:
                    self.silent.append(repr(fault))

    def end(self) -> None:
        self._ended.set()
        self._asking.join(HEALTH_SECONDS + 1)

    def post(self, path: str, body: bytes, kind: str = "application/json") -> httpx.Response:
        answer = self.server.client.post(path, content=body, headers={"content-type": kind})
        assert self.server.memory() < self.before + LIMIT
        assert not self.silent, self.silent
        return answer

    @property
    def before(self) -> int:
        if not hasattr(self, "_before"):
            self._before = self.server.memory()
        return self._before


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watched]:
    with server(tmp_path_factory.mktemp("bounds"), as_shipped=True, worker_mode="process") as running:
        running.client.post("/v1/collections", json={"name": "c", "language": "de"}).raise_for_status()
        running.client.post("/v1/search", json={"query": "x"}).raise_for_status()
        running.limit_memory(2 * LIMIT)  # ends a hang; the bound is on resident memory, in `post`
        watched = Watched(running)
        assert watched.before
        yield watched
        watched.end()
        assert not watched.silent


def many(head: bytes, element: bytes, size: int, tail: bytes = b"]}") -> bytes:
    return head + (element + b",") * (size // (len(element) + 1)) + element + tail


LISTS = [
    ("/v1/rerank", b'{"query":"x","documents":['),
    ("/v1/rerank", b'{"query":"x","documents":["a"],"rank_fields":['),
    ("/v1/rerank", b'{"query":"x","documents":["a"],"tables":['),
    ("/v2/rerank", b'{"query":"x","documents":['),
    ("/rerank", b'{"query":"x","texts":['),
    ("/v1/search", b'{"query":"x","collections":['),
    ("/v1/search", b'{"query":"x","tables":['),
    ("/v1/search", b'{"query":"x","entities":['),
    ("/v1/qa", b'{"question":"x","collections":['),
    ("/v1/reason", b'{"question":"x","collections":['),
    ("/v1/tag", b'{"task":"ner","texts":['),
    ("/v1/translate", b'{"source":"de","target":"en","texts":['),
    ("/v1/keys", b'{"scopes":['),
]


@pytest.mark.parametrize(("path", "head"), LISTS)
@pytest.mark.parametrize("element", [b"1", b"[]", b'{"a":1}', b'""'])
def test_lists_of_many_wrong_elements_are_refused_at_little_cost(
    watched: Watched, path: str, head: bytes, element: bytes
) -> None:
    for size in (200_000, 4_000_000):
        answer = watched.post(path, many(head, element, size))
        assert answer.status_code in (413, 422), answer.text
        field = head.rstrip(b'":[').rpartition(b'"')[2].decode()
        assert answer.json()["message"].startswith((field, "documents: ")), answer.text
        assert len(answer.content) < 4_000


def test_a_body_close_to_the_old_limit_is_refused(watched: Watched) -> None:
    answer = watched.post("/v1/rerank", many(b'{"query":"x","documents":[', b"1", 57_000_000))
    assert answer.status_code == 413, answer.text


def test_a_body_of_the_largest_size_that_names_many_fields_is_refused(watched: Watched) -> None:
    for path, head in (("/v1/search", b'{"query":"x"'), ("/v1/rerank", b'{"query":"x","documents":["a"]')):
        for number in (1_000, 100_000, 2_000_000):
            body = head + b"".join(b',"%x":1' % one for one in range(number)) + b"}"
            answer = watched.post(path, body)
            assert answer.status_code in (413, 422), answer.text
            assert len(answer.content) < 4_000


def check_refused(answer: httpx.Response) -> None:
    """By its field, or because there is no memory for it, which says when to try again."""
    if answer.status_code == 503:
        assert answer.headers["retry-after"]
        return
    assert answer.status_code == 422, answer.text
    assert answer.json()["message"].startswith("query: ")


@pytest.mark.parametrize("filler", ["word ", "слово, ", "\U0001f600", "\\u0416", "\\ud83d\\ude00", '\\"'])
def test_a_long_text_is_refused_by_its_field(watched: Watched, filler: str) -> None:
    text = filler.encode() * (30_000_000 // len(filler.encode()))
    answer = watched.post("/v1/search", b'{"query":"' + text + b'"}')
    check_refused(answer)


def test_a_wide_character_in_a_long_text_costs_no_more_than_the_limit(watched: Watched) -> None:
    answer = watched.post("/v1/search", b'{"query":"' + b"a" * 30_000_000 + "\U0001f600".encode() + b'"}')
    check_refused(answer)


def test_a_line_of_a_job_is_bounded_as_a_body(watched: Watched) -> None:
    for element in (b"1", b"[]", b'{"a":1}'):
        for size in (200_000, 7_000_000):
            bad = many(b'{"custom_id":"bad","query":"x","documents":[', element, size) + b"\n"
            answer = watched.post("/v1/jobs?type=rerank", bad, "application/x-ndjson")
            assert answer.status_code == 202, answer.text
            assert answer.json()["counts"]["total"] == 1
            id = answer.json()["id"]
            errors = watched.server.client.get(f"/v1/jobs/{id}/errors").text
            assert "documents" in errors, errors


def test_a_document_of_many_values_is_rejected_by_its_line(watched: Watched) -> None:
    good = json.dumps({"id": "good", "text": "gut", "metadata": {"a": [1, {"b": "c"}]}}).encode()
    for part in (b"[]", b"1", b'{"a":1}'):
        bad = b'{"id":"bad","text":"x","metadata":{"a":[' + (part + b",") * (7_000_000 // (len(part) + 1)) + b"1]}}"
        answer = watched.post("/v1/collections/c/documents", bad + b"\n" + good, "application/x-ndjson")
        assert answer.status_code == 200, answer.text
        assert answer.json()["accepted"] == 1
        assert [one["line"] for one in answer.json()["rejected"]] == [1]


def test_many_large_bodies_at_once(watched: Watched) -> None:
    texts = [b'"' + b"word " * 6_000 + b'"'] * 990
    valid_but_large = b'{"query":"x","collections":["missing"],"query_id":[' + b",".join(texts) + b"]}"
    too_large = b'{"query":"' + b"a" * 60_000_000 + b'"}'

    def send(body: bytes) -> int:
        with http_client(watched.server.url) as client:
            return client.post("/v1/search", content=body, headers=JSON).status_code

    short_of_many_values = b'{"query":"x","collections":["missing"],"tables":[' + b",".join([b"{}"] * 21_000) + b"]}"
    bodies = ((valid_but_large, 25, {422, 503}), (too_large, 25, {413}), (short_of_many_values, 100, {422, 503, 429}))
    for body, count, statuses in bodies:
        with ThreadPoolExecutor(count) as pool:
            assert set(pool.map(send, [body] * count)) <= statuses
        assert watched.server.peak_memory() < watched.before + LIMIT
        assert not watched.silent
    assert watched.server.client.post("/v1/search", json={"query": "x"}).status_code == 200


@pytest.mark.parametrize("path", ["/v1/search", "/v1/collections", "/v1/rerank"])
def test_a_field_that_stands_twice_is_refused(watched: Watched, path: str) -> None:
    answer = watched.post(path, b'{"name":"d","query":"x","language":"de","documents":["a"],"query":"y"}')
    assert answer.status_code == 400, answer.text
    assert answer.json()["message"] == "query: the field occurs twice in one object"
