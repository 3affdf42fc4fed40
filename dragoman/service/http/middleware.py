"""Middleware around every request: its id, metrics, log line and trace, and the error body for unexpected faults."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from typing import Any
from urllib.parse import unquote_to_bytes

from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dragoman.engine.core.answer import Degraded
from dragoman.engine.core.errors import AmbiguousLength, InvalidRequest, Unavailable
from dragoman.engine.observability.logs import access, known_method, request_id
from dragoman.engine.observability.metrics import Metrics
from dragoman.engine.observability.tracing import request_span
from dragoman.service.http.connections.exchange import has_two_lengths
from dragoman.service.http.errors import error_response, report_fault
from dragoman.service.http.plain import with_security_headers
from dragoman.service.http.request_id import request_identifier

_LOGGED = ("key_id", "degraded", "query")
"""Attributes of the request's state that endpoints set for its log line."""


ELSEWHERE = "elsewhere"
"""In the state of a request that another process answers, which counts and logs it."""
DEGRADED_HEADER = "X-Dragoman-Degraded"
"""The degraded stages of an answer whose form has no room for them, as JSON."""


def note_degraded(request: Request, degraded: Sequence[Degraded]) -> None:
    """Name the degraded stages and their causes in the request's log line."""
    request.state.degraded = sorted({f"{note.stage}:{note.cause}" for note in degraded})


class RequestContext:
    """Gives each request an id (the caller's X-Request-Id if valid) and returns it; counts, times, logs and traces."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        request = request_identifier(scope)
        scope.setdefault("state", {})["request_id"] = request
        request_id.set(request)
        method = known_method(scope["method"])
        attributes: dict[str, Any] = {"http.request.method": method, "dragoman.request_id": request}
        with request_span(scope["headers"], attributes):
            started = time.perf_counter()
            status = await self._answer(scope, receive, send, request)
            route = getattr(scope.get("route"), "path", "unmatched")
            attributes |= {"http.route": route, "http.response.status_code": status}
        if scope["state"].get(ELSEWHERE):
            return
        seconds = time.perf_counter() - started
        metrics: Metrics = scope["app"].state.metrics
        metrics.request(method, route, status, seconds)
        noted = {name: scope["state"][name] for name in _LOGGED if scope["state"].get(name)}
        access(method, route, status, seconds, noted, open=scope["state"].get("open", False))

    async def _answer(self, scope: Scope, receive: Receive, send: Send, identifier: str) -> int:
        """Run the application and always send a response; returns its status, or 0 if the client left before it."""
        begun, left, status = False, False, 0

        async def receive_noting() -> Message:
            nonlocal left
            message = await receive()
            left = left or message["type"] == "http.disconnect"
            return message

        async def send_with_headers(message: Message) -> None:
            nonlocal begun, status
            if message["type"] == "http.response.start":
                begun, status = True, 0 if left else message["status"]
                sent = [(b"x-request-id", identifier.encode()), *message.get("headers", ())]
                message["headers"] = with_security_headers(sent, scope["path"])
            await send(message)

        try:
            await self.app(scope, receive_noting, send_with_headers)
        except asyncio.CancelledError:
            if begun or not scope["app"].state.draining:
                raise
            stopping = Unavailable("the service is stopping; the request did not finish in time")
            await error_response(stopping, identifier)(scope, receive, send_with_headers)
        except Exception as fault:
            error = report_fault(fault, identifier)
            if not begun:
                await error_response(error, identifier)(scope, receive, send_with_headers)
        return status


class CheckedAddress:
    """Refuses addresses that are not UTF-8, and bodies whose length is said in two ways."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            _check_address(scope)
            if has_two_lengths(scope):
                raise AmbiguousLength("a body has Content-Length or Transfer-Encoding, and the latter in HTTP/1.1 only")
        await self.app(scope, receive, send)


def _check_address(scope: Scope) -> None:
    """Refuse percent-encoded bytes that are not UTF-8; the server would replace them silently."""
    raw = bytes(scope.get("raw_path") or b"").partition(b"?")[0]
    for where, part in (("path", raw), ("query", bytes(scope.get("query_string") or b""))):
        try:
            unquote_to_bytes(part).decode("utf-8")
        except UnicodeDecodeError as fault:
            raise InvalidRequest(f"the address's {where} is not UTF-8: {fault.reason}") from fault
