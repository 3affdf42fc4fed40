"""The parts of an answer: a client that leaves between two of them is no fault."""

from __future__ import annotations

import asyncio

import h11
from hypothesis import given
from hypothesis import strategies as st
from starlette.types import Message

from dragoman.service.http.connections.exchange import PART, Exchange


class Channel:
    """A connection that closes after so many parts; its protocol is told later, as asyncio does."""

    def __init__(self, closes_after: int) -> None:
        self.answer_left = self.written = 0
        self.sent = bytearray()
        self.abandoned = False
        self.ended = False
        self._parts_left = closes_after
        self._h11 = h11.Connection(h11.SERVER)
        self._h11.receive_data(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        self._h11.next_event()

    @property
    def gone(self) -> bool:
        return self._parts_left <= 0

    def abandon(self) -> None:
        self.abandoned = True

    def body_is_left(self) -> bool:
        return False

    def sending(self) -> None:
        pass

    def discarding(self) -> None:
        pass

    async def receive(self) -> Message:
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        if self.abandoned:
            return
        if message["type"] == "http.response.start":
            self._h11.send(h11.Response(status_code=200, headers=message["headers"]))
            return
        self.sent += self._h11.send(h11.Data(message["body"])) or b""
        self._parts_left -= 1
        if not message["more_body"]:
            self._h11.send(h11.EndOfMessage())  # raises where it is less than was declared
            self.ended = True


@given(length=st.integers(0, 5 * PART), closes_after=st.integers(0, 7))
def test_an_answer_is_whole_or_given_up(length: int, closes_after: int) -> None:
    channel = Channel(closes_after)
    body = bytes(number % 251 for number in range(length))
    exchange = Exchange(channel, {"type": "http", "method": "GET"}, channel.receive, channel.send)

    async def answer() -> None:
        length_said = [(b"content-length", str(length).encode())]
        await exchange.send({"type": "http.response.start", "status": 200, "headers": length_said})
        await exchange.send({"type": "http.response.body", "body": body})
        await exchange.finish()

    asyncio.run(answer())
    assert channel.ended is not channel.abandoned
    assert channel.sent == body if channel.ended else body.startswith(channel.sent)
    assert channel.answer_left == 0
