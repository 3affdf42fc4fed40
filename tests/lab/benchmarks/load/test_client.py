"""The client that measures: what it counts of answers, over a server that answers in several ways."""

from __future__ import annotations

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread

import pytest

from dragoman_lab.benchmarks.load.throughput import ask, rate


class _Server(ThreadingHTTPServer):
    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.received: list[str] = []
        self.lock = Lock()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def do_POST(self) -> None:
        query = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["query"]
        with self.server.lock:
            self.server.received.append(query)
        kind = query.split()[0]
        degraded = [{"stage": "dense", "reason": "too many"}, {"stage": "late", "reason": "off"}]
        answer = {"method": "psq" if kind == "degraded" else "hybrid", "hits": [{}, {}]}
        answer["degraded"] = degraded if kind == "degraded" else []
        body = json.dumps(answer).encode()
        self.send_response(429 if kind == "refused" else 200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[_Server]:
    with _Server() as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


def test_each_request_is_sent_once_and_answers_are_counted_by_what_they_say(server: _Server) -> None:
    queries = [f"{kind} {index}" for index in range(10) for kind in ("plain", "degraded", "refused")]
    turn = ask(f"http://127.0.0.1:{server.server_port}/", [{"query": query} for query in queries], 4, 0)
    assert sorted(server.received) == sorted(queries)
    assert len(turn["milliseconds"]) == 20 and 0 < turn["answered"] <= 20
    assert turn["methods"] == {"hybrid": 10, "psq": 10}
    assert (turn["degraded"], turn["reasons"]) == (10, {"dense: too many": 10, "late: off": 10})
    assert turn["refused"] == {"429": 10}
    assert turn["hits"] == 40
    assert rate(turn) > 0


def test_more_clients_than_requests(server: _Server) -> None:
    turn = ask(f"http://127.0.0.1:{server.server_port}/", [{"query": "plain"}], 8, 0)
    assert len(turn["milliseconds"]) == turn["answered"] == len(server.received) == 1


def test_requests_are_repeated_until_the_seconds_are_over(server: _Server) -> None:
    turn = ask(f"http://127.0.0.1:{server.server_port}/", [{"query": "plain"}, {"query": "degraded"}], 1, 0.2)
    assert turn["answered"] == len(turn["milliseconds"]) == len(server.received) > 2
