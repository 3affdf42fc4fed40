"""One request and its answer on a connection: the answer goes in parts, and the unread rest of a body is discarded."""

from __future__ import annotations

from typing import Protocol

from starlette.types import Message, Receive, Scope, Send

PART = 64 * 1024
"""Bytes of an answer that are handed to the transport at a time: what a client does not read is not copied there."""
DISCARDED_BYTES = 64 * 1024 * 1024
"""The most that is read of what nobody wants to know."""
_CLOSE = (b"connection", b"close")


class Channel(Protocol):
    """What an exchange needs of its connection."""

    answer_left: int
    """Bytes of the answer that are not handed to the transport yet."""
    written: int
    """Bytes handed to the transport so far."""

    @property
    def gone(self) -> bool:
        """Whether the client has disconnected."""

    def abandon(self) -> None:
        """Send no more of the answer: the client has disconnected, though its protocol may not know it yet."""

    def body_is_left(self) -> bool:
        """Whether so much of the request's body is unread that the connection cannot be used again."""

    def sending(self) -> None:
        """A large answer is being sent."""

    def discarding(self) -> None:
        """The answer is sent, and the rest of the request's body is read for a few seconds more."""


def has_two_lengths(scope: Scope) -> bool:
    """Whether a body has two lengths: a proxy that goes by the other one takes its end for another caller's request."""
    names = {name for name, _ in scope["headers"]}
    return b"transfer-encoding" in names and (b"content-length" in names or scope["http_version"] < "1.1")


class Exchange:
    """Passes messages between an ASGI application and the connection of its request."""

    def __init__(self, channel: Channel, scope: Scope, receive: Receive, send: Send, last: bool = False) -> None:
        """``last``: the connection takes no further request."""
        self._channel = channel
        self._scope = scope
        self._receive = receive
        self._send = send
        self._closes_after = last
        self._discards = False
        self._last: Message | None = None

    async def send(self, message: Message) -> None:
        """Send a message of the application; the last one is held back while the client still sends its body."""
        if message["type"] == "http.response.start":
            self._discards = self._channel.body_is_left()
            if self._discards or self._closes_after:
                headers = [pair for pair in message.get("headers", ()) if pair[0].lower() != b"connection"]
                message = {**message, "headers": [*headers, _CLOSE]}
            await self._send(message)
            return
        body = message.get("body", b"")
        last = not message.get("more_body", False)
        if len(body) > PART and self._scope["method"] != "HEAD":
            body = await self._send_parts(body)
        self._channel.written += len(body)
        if last and self._discards:
            self._last = {"type": "http.response.body", "body": b""}
        await self._send({"type": "http.response.body", "body": body, "more_body": not last or self._discards})

    async def finish(self) -> None:
        """Discard the rest of the body, so that the client gets to reading its answer, and end the response.

        Closing a connection with unread bytes resets it, which can destroy an answer on its way.
        """
        if self._last is None:
            return
        self._channel.discarding()
        discarded = 0
        while discarded < DISCARDED_BYTES:
            message = await self._receive()
            if message["type"] != "http.request":
                break
            discarded += len(message.get("body", b""))
            if not message.get("more_body", False):
                break
        await self._send(self._last)

    async def _send_parts(self, body: bytes) -> bytes:
        """Send all but the last part of a body, each when the client has taken those before; returns the last."""
        whole = memoryview(body)
        self._channel.answer_left = len(body)
        self._channel.sending()
        try:
            start = 0
            while len(body) - start > PART and not self._channel.gone:
                self._channel.written += PART
                self._channel.answer_left -= PART
                await self._send({"type": "http.response.body", "body": whole[start : start + PART], "more_body": True})
                start += PART
            if self._channel.gone:
                self._channel.abandon()
                return b""
            return bytes(whole[start:])
        finally:
            self._channel.answer_left = 0
