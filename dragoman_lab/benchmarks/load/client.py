"""A client for throughput: plain sockets in a separate process, for low CPU usage.

    python -m dragoman_lab.benchmarks.load.client URL CLIENTS SECONDS < requests.json

Each connection posts a request to the URL, reads the response, and posts the next, over and over; any status other than
200 aborts the run.
"""

from __future__ import annotations

import json
import re
import selectors
import socket
import sys
import time
from itertools import cycle
from urllib.parse import urlsplit

_LENGTH = re.compile(rb"content-length: (\d+)", re.IGNORECASE)


class Connection:
    """A connection and its pending response."""

    def __init__(self, host: str, port: int) -> None:
        self.socket = socket.create_connection((host, port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._received = bytearray()
        self._expected = 0
        self.sent = 0.0

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
            if not self._received.startswith(b"HTTP/1.1 200"):
                raise SystemExit(bytes(self._received[:2000]).decode(errors="replace"))
            length = _LENGTH.search(self._received, 0, head)
            assert length is not None
            self._expected = head + 4 + int(length[1])
        return len(self._received) >= self._expected


def main() -> None:
    """Print the latency of each request in milliseconds and the total seconds as JSON."""
    address, clients, seconds = urlsplit(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
    assert address.hostname is not None and address.port is not None
    bodies = [json.dumps(request).encode() for request in json.load(sys.stdin)]
    head = (
        f"POST {address.path} HTTP/1.1\r\nHost: {address.netloc}\r\nContent-Type: application/json\r\nContent-Length: "
    )
    requests = cycle([f"{head}{len(body)}\r\n\r\n".encode() + body for body in bodies])
    milliseconds = []
    with selectors.DefaultSelector() as selector:
        started = time.perf_counter()
        for _ in range(clients):
            connection = Connection(address.hostname, address.port)
            selector.register(connection.socket, selectors.EVENT_READ, connection)
            connection.send(next(requests))
        while selector.get_map():
            for key, _ in selector.select():
                connection = key.data
                if not connection.receive():
                    continue
                now = time.perf_counter()
                milliseconds.append((now - connection.sent) * 1000)
                if now - started < seconds:
                    connection.send(next(requests))
                else:
                    selector.unregister(connection.socket)
                    connection.socket.close()
    print(json.dumps({"milliseconds": milliseconds, "seconds": time.perf_counter() - started}))  # noqa: T201


if __name__ == "__main__":
    main()
