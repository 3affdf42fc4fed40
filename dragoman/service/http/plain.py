"""Answers without FastAPI, for what is said before there is an application or a request."""

from __future__ import annotations

import json
from collections.abc import Mapping

from starlette.types import Send

from dragoman.engine.core.errors import ServiceError

NOSNIFF = "nosniff"
NO_STORE = "no-store"
_FILES = "/docs/assets/"
"""Files of the installation, which a browser may keep."""


def with_security_headers(headers: list[tuple[bytes, bytes]], path: str) -> list[tuple[bytes, bytes]]:
    """The headers of a response, and those that a browser heeds, unless they are among them."""
    names = {name for name, _ in headers}
    if b"x-content-type-options" not in names:
        headers.append((b"x-content-type-options", NOSNIFF.encode()))
    if b"cache-control" not in names and not path.startswith(_FILES):
        headers.append((b"cache-control", NO_STORE.encode()))
    return headers


def error_headers(error: ServiceError, identifier: str) -> dict[str, str]:
    """The headers of the one error body."""
    return {
        "X-Request-Id": identifier,
        "Content-Type": "application/json",
        "X-Content-Type-Options": NOSNIFF,
        "Cache-Control": NO_STORE,
        **error.headers,
    }


def error_content(error: ServiceError, identifier: str) -> bytes:
    """The one error body as JSON."""
    return json.dumps(error.body(identifier)).encode()


def raw_error(error: ServiceError, identifier: str) -> bytes:
    """A whole HTTP/1.1 response with this error, after which the connection is closed."""
    content = error_content(error, identifier)
    headers = error_headers(error, identifier) | {"Content-Length": str(len(content)), "Connection": "close"}
    lines = [f"HTTP/1.1 {error.status} {error.error_type}", *(f"{name}: {text}" for name, text in headers.items())]
    return "\r\n".join([*lines, "", ""]).encode() + content


async def send_error(send: Send, error: ServiceError, identifier: str) -> None:
    """Send an error as the response."""
    await send_plain(send, error.status, error_headers(error, identifier), error_content(error, identifier))


async def send_plain(send: Send, status: int, headers: Mapping[str, str], body: bytes, head: bool = False) -> None:
    """Send a whole response; with ``head``, only its headers."""
    encoded = [(name.lower().encode(), text.encode()) for name, text in headers.items()]
    encoded.append((b"content-length", str(len(body)).encode()))
    await send({"type": "http.response.start", "status": status, "headers": encoded})
    await send({"type": "http.response.body", "body": b"" if head else body})
