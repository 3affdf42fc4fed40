"""A client for throughput: plain sockets in a separate process, for low CPU usage.

    python -m dragoman_lab.benchmarks.load.client URL CLIENTS SECONDS < requests.json

Each connection posts a request to the URL, reads the response, and posts the next, over and over; any status other than
200 aborts the run. With 0 SECONDS each request is sent once. Then a status other than 200 is counted, and of each
answer the method and what was degraded are read after the last one, when nothing is measured any more.
"""

from __future__ import annotations

import json
import re
import selectors
import socket
import sys
import time
from collections import Counter
from itertools import cycle, islice
from typing import Any
from urllib.parse import SplitResult, urlsplit

_LENGTH = re.compile(rb"content-length: (\d+)", re.IGNORECASE)


class Connection:
    """A connection and its pending response."""

    def __init__(self, host: str, port: int) -> None:
        self.socket = socket.create_connection((host, port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._received = bytearray()
        self._expected = 0
        self.sent = 0.0
        self.status = 0

    def send(self, request: bytes) -> None:
        """Send a request that fits into the socket buffer."""
        self._received.clear()
        self._expected = 0
        self.sent = time.perf_counter()
        self.socket.sendall(request)

    def receive(self) -> bool:
        """Read available data; return whether the response is complete."""
        part = self.socket.recv(1 << 18)
        if not part:
            raise SystemExit("the server closed a connection")
        self._received += part
        if not self._expected:
            head = self._received.find(b"\r\n\r\n")
            if head < 0:
                return False
            self.status = int(self._received[9:12])
            length = _LENGTH.search(self._received, 0, head)
            assert length is not None
            self._expected = head + 4 + int(length[1])
        return len(self._received) >= self._expected

    @property
    def response(self) -> bytes:
        """The whole response, with its headers."""
        return bytes(self._received)


class Record:
    """The latencies of answers, and of each request that is sent once what came back."""

    def __init__(self) -> None:
        self.milliseconds: list[float] = []
        self.refused: Counter[int] = Counter()
        self.responses: list[bytes] = []
        self.full: tuple[int, float] | None = None
        """How many were answered, and after how many seconds, while every connection had a request under way."""

    def report(self, seconds: float) -> dict[str, Any]:
        """What is printed."""
        answered, full_seconds = self.full or (len(self.milliseconds), seconds)
        figures = {"milliseconds": self.milliseconds, "seconds": full_seconds, "answered": answered}
        bodies = [json.loads(response.partition(b"\r\n\r\n")[2]) for response in self.responses]
        degraded = [{f"{stage['stage']}: {stage['reason']}" for stage in body.get("degraded", ())} for body in bodies]
        return figures | {
            "methods": Counter(body.get("method", "unknown") for body in bodies),
            "hits": sum(len(body.get("hits", ())) for body in bodies),
            "degraded": sum(map(bool, degraded)),
            "reasons": Counter(reason for reasons in degraded for reason in reasons),
            "refused": self.refused,
        }


def read_requests(address: SplitResult) -> list[bytes]:
    """The requests of standard input as they are sent."""
    bodies = [json.dumps(request).encode() for request in json.load(sys.stdin)]
    head = (
        f"POST {address.path} HTTP/1.1\r\nHost: {address.netloc}\r\nContent-Type: application/json\r\nContent-Length: "
    )
    return [f"{head}{len(body)}\r\n\r\n".encode() + body for body in bodies]


def main() -> None:
    """Print the latency of each request in milliseconds and the total seconds as JSON."""
    address, clients, seconds = urlsplit(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
    assert address.hostname is not None and address.port is not None
    once, bodies = not seconds, read_requests(address)
    requests = iter(bodies) if once else cycle(bodies)
    record = Record()
    with selectors.DefaultSelector() as selector:
        started = time.perf_counter()
        for request in islice(requests, clients):
            connection = Connection(address.hostname, address.port)
            selector.register(connection.socket, selectors.EVENT_READ, connection)
            connection.send(request)
        while selector.get_map():
            for key, _ in selector.select():
                connection = key.data
                if not connection.receive():
                    continue
                now = time.perf_counter()
                if connection.status == 200:
                    record.milliseconds.append((now - connection.sent) * 1000)
                elif once:
                    record.refused[connection.status] += 1
                else:
                    raise SystemExit(connection.response[:2000].decode(errors="replace"))
                if once and connection.status == 200:
                    record.responses.append(connection.response)
                following = next(requests, None) if once or now - started < seconds else None
                if following is not None:
                    connection.send(following)
                    continue
                if once and record.full is None:
                    record.full = len(record.milliseconds), now - started
                selector.unregister(connection.socket)
                connection.socket.close()
    print(json.dumps(record.report(time.perf_counter() - started)))  # noqa: T201


if __name__ == "__main__":
    main()
