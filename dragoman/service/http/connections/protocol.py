"""uvicorn's HTTP protocol with a timer in every state, and one error body for what cannot be parsed.

A connection expects a request (its head has ``request_head_seconds`` from its first byte, the next one may take
``KEEP_ALIVE_SECONDS`` to begin), or works on one, or discards the rest of a body that was not read, or of what is no
proper request. While it works, the application bounds the time: `streaming` that of the body, `threads` that of the
work. What is to be sent has a timer of its own at any time.
"""

from __future__ import annotations

import asyncio
import math
import socket
import time
from functools import partial
from typing import Any, cast
from uuid import uuid4

import h11
from starlette.types import Receive, Scope, Send
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.h11_impl import H11Protocol

from dragoman.engine.core.errors import MalformedBody, Unavailable
from dragoman.service.http.connections.exchange import DISCARDED_BYTES, PART, Exchange, has_two_lengths
from dragoman.service.http.connections.table import Connections
from dragoman.service.http.plain import raw_error, send_error
from dragoman.service.http.request_id import request_identifier

KEEP_ALIVE_SECONDS = 75
"""How long an idle connection is kept for a next request. Clients and proxies drop theirs earlier (httpx after 5
seconds, most proxies after 60), so that none sends a request while the server closes."""
_DISCARD_SECONDS = 5.0
_SMALL_BODY = 64 * 1024
"""The unread rest of a body that is declared to be no longer is awaited, and the connection is used again."""
_READ_BYTES = 64 * 1024
_FEW_LINES = 64
"""Data of no more lines is parsed at once. More of them may be as many chunks: one takes as long as 64 KiB would."""
_PIECE_BYTES = 2 * 1024
_PARSING_SECONDS = 0.002
"""How long a connection parses such data before others have their turns."""
_SWEEP_SECONDS = 2.0
_PROBES = ("/healthz", "/readyz")


class _Flow(FlowControl):
    """Flow control whose reading can be held up."""

    held = False

    def resume_reading(self) -> None:
        if not self.held:
            super().resume_reading()


class Connection(H11Protocol):
    """A connection of one client; it stands in a table with all others."""

    flow: _Flow

    def __init__(self, connections: Connections, **uvicorn: Any) -> None:
        super().__init__(**uvicorn)
        self._table = connections
        self._application = self.app
        self.app = self._answer
        self.expected_by = math.inf
        self.answer_left = 0
        self.written = 0
        self._begun = True
        """Whether some of a request's head has arrived; the first one's is expected at once."""
        self._unparsed = b""
        self._awaits_turn = False
        self._within_limit = True
        self._discarding = False
        self._ending = False
        """Whether nothing more is parsed or sent: the client is to close the connection."""
        self._discarded = 0
        self._seconds_left = connections.limits.send_seconds
        self._seen_at, self._seen_taken = self.loop.time(), 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.flow = _Flow(transport)
        transport.max_size = _READ_BYTES  # type: ignore[attr-defined]
        connected = transport.get_extra_info("socket")
        if connected is not None and connected.family != socket.AF_UNIX:  # else the kernel takes megabytes unsent
            connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, PART)
        self._within_limit = self._table.enter(self)
        self._expect(self._table.limits.head_seconds)
        if self._table.full:
            transport.write(raw_error(Unavailable("too many connections"), uuid4().hex))
            transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        self._table.leave(self)
        super().connection_lost(exc)

    def data_received(self, received: bytes) -> None:
        if self._ending:
            self._discarded += len(received)
            if self._discarded > DISCARDED_BYTES:
                self.drop()
            return
        if not self._begun:
            self._begun = True
            self._expect(self._table.limits.head_seconds)
        if self._unparsed:
            self._unparsed += received
        elif received.count(b"\n") <= _FEW_LINES:
            self._parse_piece(received)
        elif self._table.parsing.free() or self._body_has_length:
            self._parse(received)
        else:
            self._hold_up(received)
            self._await_turn()

    def _parse(self, received: bytes) -> None:
        """Parse what has arrived, piece by piece, until others have their turns or a request is to be answered."""
        seconds = 0.0
        while received and seconds < _PARSING_SECONDS and not (self._answer_first or self.gone):
            seconds += self._parse_piece(received[:_PIECE_BYTES])
            received = received[_PIECE_BYTES:]
        if seconds >= _PARSING_SECONDS:
            self._table.parsing.charge(seconds)
        if received:
            self._hold_up(received)
            if not self._answer_first:
                self._await_turn()

    def _parse_piece(self, piece: bytes) -> float:
        """Have h11 read what has arrived; returns the seconds that it took.

        What a client sends after a request whose answer is the connection's last is not read: it was told so.
        """
        if self.conn.their_state is h11.MUST_CLOSE:
            self._hold_up(b"")
            return 0.0
        discarding = self.conn.our_state is h11.DONE
        started = time.thread_time()
        super().data_received(piece)
        seconds = time.thread_time() - started
        if self._under_way:
            self._work()
        elif discarding and self.conn.our_state is h11.IDLE:
            self._expect_next()
        return seconds

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self._under_way:
            self._work()
        elif self.conn.their_state is h11.SEND_BODY:
            self._expect(_DISCARD_SECONDS)
        else:
            self._expect_next()
        if self._unparsed:
            self._await_turn()

    def send_400_response(self, msg: str) -> None:
        """Answer what is no HTTP, unless an answer has begun, and have the client close the connection.

        What the client still sends is read for a few seconds, and discarded: closing a connection with unread bytes
        resets it, which can destroy an answer on its way (RFC 9112, 9.6).
        """
        if self.gone:
            return
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            self.transport.write(raw_error(MalformedBody("this is no valid HTTP request"), uuid4().hex))
        self.abandon()
        self._ending, self._discarding, self._unparsed = True, True, b""
        self.loop.call_later(_DISCARD_SECONDS, self.drop)  # also where a stop no longer looks at timers
        self.flow.held = False
        try:
            self.transport.write_eof()
        except OSError:  # the client has reset it, which shows where one reads, and reading was paused
            self.transport.abort()
        else:
            self.flow.resume_reading()

    def shutdown(self) -> None:
        if self._ending:
            self.transport.close()
        elif not self.transport.is_closing():
            super().shutdown()

    def _should_upgrade(self) -> bool:
        """No other protocol is spoken here: such requests are answered as if they asked for none."""
        return False

    @property
    def gone(self) -> bool:
        return self._ending or self.transport.is_closing()

    def abandon(self) -> None:
        if self.cycle is not None:
            self.cycle.disconnected = True
            self.cycle.waiting_for_100_continue = False  # it would be written
            self.cycle.message_event.set()

    def body_is_left(self) -> bool:
        if self._unparsed and self.conn.their_state is h11.SEND_BODY:
            self._parse(self._take_unparsed())  # the rest may be here, and wait for its turn
        if self.conn.their_state is not h11.SEND_BODY:
            return False
        lengths = dict(self.headers)
        declared = b"" if b"transfer-encoding" in lengths else lengths.get(b"content-length", b"")
        small = declared.isdigit() and len(declared) < 9 and int(declared) <= _SMALL_BODY
        return not small or self.conn.they_are_waiting_for_100_continue

    def unsent(self) -> int:
        return self.answer_left + self.transport.get_write_buffer_size()

    def seconds_left(self, now: float) -> float:
        waiting = self.transport.get_write_buffer_size()
        taken = self.written - waiting
        longest = self._table.limits.send_seconds
        if waiting == 0:
            self._seconds_left = longest
        else:
            gained = max(0, taken - self._seen_taken) / self._table.limits.slowest
            since = min(now - self._seen_at, _SWEEP_SECONDS)  # longer: the loop was held up, and not the client
            self._seconds_left = min(longest, self._seconds_left + gained - since)
        self._seen_at, self._seen_taken = now, taken
        return self._seconds_left

    def drop(self) -> None:
        self.expected_by = math.inf
        if self.transport.get_write_buffer_size():
            self.transport.abort()
        else:
            self.transport.close()

    def sending(self) -> None:
        self._table.limit_unsent(self.loop.time())

    def discarding(self) -> None:
        self._discarding = True
        self._expect(_DISCARD_SECONDS)

    @property
    def _under_way(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete and not self._discarding

    @property
    def _answer_first(self) -> bool:
        """Whether a whole request is here and not answered: h11 would gather what follows, and parse it all at once."""
        return self.conn.their_state is h11.DONE and self._under_way

    @property
    def _body_has_length(self) -> bool:
        """Whether what comes next is of a body without chunks, which takes no parsing."""
        return self.conn.their_state is h11.SEND_BODY and all(name != b"transfer-encoding" for name, _ in self.headers)

    def _expect(self, seconds: float) -> None:
        self.expected_by = self.loop.time() + seconds
        self._table.wait(self)

    def _expect_next(self) -> None:
        self._begun = bool(self.conn.trailing_data[0] or self._unparsed)
        self._expect(self._table.limits.head_seconds if self._begun else KEEP_ALIVE_SECONDS)

    def _work(self) -> None:
        if self.expected_by < math.inf:
            self.expected_by = math.inf
            self._table.work(self)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._ending:
            return  # its body is no proper one, and came with it
        exchange = Exchange(self, scope, receive, send, last=not self._within_limit or has_two_lengths(scope))
        if self._within_limit or scope["path"].removesuffix("/") in _PROBES:
            await self._application(scope, receive, exchange.send)
        else:
            await send_error(exchange.send, Unavailable("too many connections"), request_identifier(scope))
        await exchange.finish()

    def _hold_up(self, unparsed: bytes) -> None:
        """Read and parse no more for now."""
        if not self.gone:
            self._unparsed = unparsed
            self.flow.held = True
            self.flow.pause_reading()

    def _await_turn(self) -> None:
        if not self._awaits_turn:
            self._awaits_turn = True
            self._table.parsing.wait(self._read_on)

    def _read_on(self) -> None:
        self._awaits_turn = False
        unparsed = self._take_unparsed()
        self.flow.held = False
        if not self.gone:
            self.flow.resume_reading()
            self._parse(unparsed)

    def _take_unparsed(self) -> bytes:
        unparsed, self._unparsed = self._unparsed, b""
        return unparsed


def protocol(connections: Connections) -> type[asyncio.Protocol]:
    """uvicorn's ``http``: what makes the protocol of each connection."""
    return cast(type[asyncio.Protocol], partial(Connection, connections))
