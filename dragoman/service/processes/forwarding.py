"""Passes a request on to the service's own process, part by part as it comes, and the answer back.

Each has a connection of its own to a socket in a folder that nobody else can enter. It begins with a line of JSON that
says who the client is; then comes the request, as the client sent it but for what is about its connection.
"""

from __future__ import annotations

import asyncio
import json
import socket
from contextlib import suppress
from typing import Any

import h11
from starlette.types import Message, Receive, Scope, Send

from dragoman.engine.core.errors import Unavailable
from dragoman.service.http.plain import send_error
from dragoman.service.http.request_id import request_identifier

_PART = 64 * 1024
_HEAD_BYTES = 1024 * 1024
_OF_CONNECTION = frozenset({b"connection", b"keep-alive", b"proxy-connection", b"upgrade"})
_NOT_PASSED_BACK = frozenset({b"transfer-encoding", b"date", b"keep-alive"})
"""The server here frames and dates answers itself."""
_CONNECT_SECONDS = 5.0
_AGAIN_SECONDS = 0.01


class Forwarding:
    """An ASGI application that answers by another process."""

    def __init__(self, path: str) -> None:
        """``path`` is that of its socket."""
        self._path = path

    async def __call__(
        self, scope: Scope, receive: Receive, send: Send, begun: bytes = b"", ended: bool = False
    ) -> None:
        """Pass a request on; ``begun`` is what was received of its body, all of it if it has ``ended``."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.setblocking(False)
            try:
                await _connect(connection, self._path)
            except OSError:
                await _fail(scope, send)
                return
            exchange = _Exchange(scope, connection)
            sending = asyncio.create_task(exchange.send(receive, begun, ended))
            try:
                await exchange.answer(send)
            finally:
                sending.cancel()
                with suppress(asyncio.CancelledError, Exception):
                    await sending


class _Exchange:
    """One request and its answer on a connection."""

    def __init__(self, scope: Scope, connection: socket.socket) -> None:
        self._scope = scope
        self._connection, self._loop = connection, asyncio.get_running_loop()
        self._headers = [(name, text) for name, text in scope["headers"] if name not in _OF_CONNECTION]
        names = {name for name, _ in self._headers}
        self._chunked = b"transfer-encoding" in names
        self._has_body = self._chunked or b"content-length" in names
        self._body_due = asyncio.Event()
        """Set once the body is to be sent."""
        if scope["http_version"] != "1.1" or (b"expect", b"100-continue") not in (
            (name, text.lower()) for name, text in self._headers
        ):
            self._body_due.set()
        self._left = False
        """Whether the client has disconnected."""

    async def send(self, receive: Receive, begun: bytes, ended: bool) -> None:
        """Send the request, then wait for the client to leave."""
        try:
            await self._write(_introduction(self._scope) + _head(self._scope, self._headers))
            if self._has_body:
                await self._write(self._part(begun))
                await self._body_due.wait()
                while not ended:
                    message = await self._receive(receive)
                    await self._write(self._part(message.get("body", b"")))
                    ended = not message.get("more_body", False)
                if self._chunked:
                    await self._write(b"0\r\n\r\n")
        except ConnectionError:  # it reads no more, and has answered
            pass
        while True:
            await self._receive(receive)

    async def answer(self, send: Send) -> None:
        """Pass the answer back.

        Raises:
            ConnectionError: it ended before its end.
        """
        parser = h11.Connection(h11.CLIENT, max_incomplete_event_size=_HEAD_BYTES)
        method = self._scope["method"]
        parser.send(h11.Request(method=method, target="/", headers=[("Host", "service")]))  # whose answer is to come
        parser.send(h11.EndOfMessage())
        begun = False
        try:
            async for event in self._events(parser):
                if isinstance(event, h11.InformationalResponse):
                    self._body_due.set()
                elif isinstance(event, h11.Response):
                    begun = True
                    await send(_start(event))
                elif isinstance(event, h11.Data):
                    await send({"type": "http.response.body", "body": bytes(event.data), "more_body": True})
        except (OSError, h11.RemoteProtocolError) as fault:
            if self._left:  # nobody reads it
                return
            if begun:
                raise ConnectionError("the answer is not whole") from fault
            await _fail(self._scope, send)
            return
        await send({"type": "http.response.body", "body": b""})

    async def _events(self, parser: h11.Connection) -> Any:
        while True:
            event = parser.next_event()
            if isinstance(event, h11.EndOfMessage):
                return
            if event is h11.NEED_DATA:
                received = await self._loop.sock_recv(self._connection, _PART)
                if not received and parser.their_state is not h11.SEND_BODY:
                    raise ConnectionError("there is no answer")
                parser.receive_data(received)
            else:
                yield event

    async def _receive(self, receive: Receive) -> Message:
        message = await receive()
        if message["type"] == "http.disconnect":
            self._left = True
            with suppress(OSError):
                self._connection.shutdown(socket.SHUT_RDWR)
            raise asyncio.CancelledError
        return message

    def _part(self, part: bytes) -> bytes:
        return b"%x\r\n%b\r\n" % (len(part), part) if part and self._chunked else part

    async def _write(self, content: bytes) -> None:
        if content:
            await self._loop.sock_sendall(self._connection, content)


async def _connect(connection: socket.socket, path: str) -> None:
    """Connect, and wait for a place in the listener's queue: a full one refuses at once, and no event tells its end."""
    loop = asyncio.get_running_loop()
    until = loop.time() + _CONNECT_SECONDS
    while True:
        try:
            connection.connect(path)
            return
        except BlockingIOError:
            if loop.time() > until:
                raise
        await asyncio.sleep(_AGAIN_SECONDS)


def _introduction(scope: Scope) -> bytes:
    """Who the client is, which the process that listens here believes."""
    return json.dumps({"client": scope.get("client"), "server": scope.get("server")}).encode() + b"\n"


def _head(scope: Scope, headers: list[tuple[bytes, bytes]]) -> bytes:
    query = scope.get("query_string") or b""
    target = bytes(scope["raw_path"]) + (b"?" + query if query else b"")
    lines = [b"%b %b HTTP/%b" % (scope["method"].encode(), target, scope["http_version"].encode())]
    lines += [b"%b: %b" % header for header in headers]
    return b"\r\n".join([*lines, b"", b""])


def _start(event: h11.Response) -> Message:
    headers = [
        (bytes(name), bytes(text))
        for name, text in event.headers
        if name not in _NOT_PASSED_BACK and (name != b"connection" or text.lower() == b"close")
    ]
    return {"type": "http.response.start", "status": event.status_code, "headers": headers}


async def _fail(scope: Scope, send: Send) -> None:
    await send_error(send, Unavailable("the service is stopping or starting"), request_identifier(scope))
