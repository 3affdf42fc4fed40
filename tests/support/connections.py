"""Requests over sockets of their own, as no client of HTTP would send them."""

from __future__ import annotations

import json
import re
import socket

from tests.support.serving import Server

POST = b"POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: %s\r\n%s\r\n"
CHUNKED = b"Transfer-Encoding: chunked\r\n"
MORE = 300 << 20
HEALTHZ = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
LARGE = (b"10000\r\n" + b" " * 0x10000 + b"\r\n") * 64 + b"0\r\n\r\n"
"""A body in chunks, of 4 MiB."""


def connected(running: Server) -> socket.socket:
    url = running.client.base_url
    connection = socket.create_connection((url.host, url.port))
    connection.settimeout(60)
    return connection


def answered(running: Server, request: bytes) -> bytes:
    """All that comes back until the server closes the connection; a reset ends it too."""
    with connected(running) as connection:
        connection.sendall(request)
        answer = b""
        try:
            while part := connection.recv(1 << 16):
                answer += part
        except ConnectionError:
            pass
        return answer


def error_of(answer: bytes) -> tuple[int, str]:
    """The status and kind of the one error body, which is all of the answer."""
    head, _, content = answer.partition(b"\r\n\r\n")
    body = json.loads(content)
    assert body["message"] == body["detail"] == body["error"]
    assert body["id"] == body["request_id"]
    return int(head.split()[1]), body["error_type"]


def faults_in(running: Server) -> str:
    """All that the server has logged since its first error, if there is one."""
    log = "".join(running.log)
    return log[found.start() :] if (found := re.search(r"^.* ERROR |.*Traceback", log, re.MULTILINE)) else ""
