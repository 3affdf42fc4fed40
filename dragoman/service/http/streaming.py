"""Streamed request bodies: read whole up to a limit, or passed in parts to a worker thread."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import TypeVar

import anyio
import anyio.from_thread
import anyio.to_thread
from fastapi import Request
from starlette.requests import ClientDisconnect

from dragoman.engine.core.errors import MalformedBody, TooLarge, TooManyRequests, Unavailable, UploadTooSlow
from dragoman.engine.core.memory import BodyMemory, BodyShare
from dragoman.engine.settings import Settings

T = TypeVar("T")

_DRAIN_SECONDS = 5.0
_WORTH_A_TURN = 16 * 1024
_GATHER_SECONDS = 0.25


class BodyStream:
    """The parts of a request's body, in order; ``ended`` is true after the last one."""

    def __init__(self, request: Request) -> None:
        settings: Settings = request.app.state.settings
        self._receive = request.receive
        self._wait_limit = settings.requests.upload_idle_seconds
        self._slowest = settings.requests.body_bytes_per_second
        length = request.headers.get("content-length", "")
        self._length = int(length) if length.isdecimal() and length.isascii() and len(length) < 20 else 0
        self._seconds_left = settings.requests.upload_idle_seconds
        self._arrived_at = time.monotonic()
        self.ended = False
        self._fault: ClientDisconnect | UploadTooSlow | None = None
        self._gathered = bytearray()

    async def next(self) -> bytes | None:
        """The next part, or None after the last.

        Raises:
            ClientDisconnect: the client disconnected before the end.
            UploadTooSlow: the waits here took ``upload_idle_seconds`` more than what arrived makes up for, at
                ``body_bytes_per_second``. A fast part earns no longer pause than that.
        """
        if self.ended:
            return None
        left = self._seconds_left
        begun = time.monotonic()
        try:
            with anyio.move_on_after(left) as waiting:
                message = await self._receive()
        finally:
            self._seconds_left -= time.monotonic() - begun
        if waiting.cancelled_caught:
            raise UploadTooSlow(self._too_slow())
        self.ended = not message.get("more_body", False)
        if message["type"] != "http.request":
            raise ClientDisconnect
        part: bytes = message.get("body", b"")
        self._arrived_at = time.monotonic()
        self._seconds_left = min(self._wait_limit, self._seconds_left + len(part) / self._slowest)
        return part

    def _too_slow(self) -> str:
        idle = time.monotonic() - self._arrived_at
        if idle < 0.9 * self._wait_limit:
            return f"the body arrived more slowly than {self._slowest} bytes per second"
        return f"no data arrived for {idle:.2g} seconds"

    async def next_large(self) -> bytes | None:
        """What arrives until it is worth a thread's turn: some KiB, or all of a short while; None after the last.

        A fault that comes after some data is raised by the next call. After a cancellation, :meth:`take_gathered` has
        what had arrived.
        """
        if self._fault is not None:
            fault, self._fault = self._fault, None
            raise fault
        first = await self.next()
        if first is None:
            return None
        self._gathered = bytearray(first)
        with anyio.move_on_after(_GATHER_SECONDS):
            while len(self._gathered) < _WORTH_A_TURN and not self.ended:
                try:
                    self._gathered += await self.next() or b""
                except (ClientDisconnect, UploadTooSlow) as fault:
                    self._fault = fault
                    break
        return self.take_gathered()

    def take_gathered(self) -> bytes:
        """What has arrived and was not returned."""
        part, self._gathered = bytes(self._gathered), bytearray()
        return part

    async def read(self, limit: int, memory: BodyShare) -> bytearray:
        """The whole body, of at most ``limit`` bytes, each part of it taken from ``memory`` before it is kept.

        Raises:
            TooLarge: it is longer, by Content-Length or as it arrives; the rest has been discarded.
            Unavailable: there is no memory for it; the rest has been discarded.
        """
        body = bytearray()  # parts to be joined would be held twice
        try:
            if self._length > limit:
                raise TooLarge(f"the body is larger than {limit} bytes")
            memory.check(2 * self._length)
            while (part := await self.next()) is not None:
                if len(body) + len(part) > limit:
                    raise TooLarge(f"the body is larger than {limit} bytes")
                memory.take(len(part))
                body += part
        except (TooLarge, Unavailable):
            body.clear()
            memory.release()
            await self.drop(limit)
            raise
        return body

    async def drop(self, limit: int) -> None:
        """Read and discard the rest: at most ``limit`` bytes, for at most a few seconds.

        Without this, a client that reads only after it has sent everything would not see the response.
        """
        dropped = 0
        with anyio.move_on_after(_DRAIN_SECONDS), suppress(ClientDisconnect, UploadTooSlow):
            while dropped < limit and (part := await self.next()) is not None:
                dropped += len(part)


class Uploads:
    """The uploads of one application: how many are open, how many of them work, and their end on shutdown.

    An upload works only while it has something to work on. A slow client's upload keeps its thread, but no place among
    those that work, so that quick ones pass it.
    """

    def __init__(self, at_a_time: int, most_open: int) -> None:
        self._working = anyio.CapacityLimiter(at_a_time)
        self._threads = anyio.CapacityLimiter(most_open)
        self._most_open = most_open
        self._open: Counter[str | None] = Counter()
        self.stopping = False
        self._waiting: set[anyio.CancelScope] = set()

    def stop(self) -> None:
        """End all uploads now, because the service is stopping."""
        self.stopping = True
        for scope in self._waiting:
            scope.cancel()

    async def run(self, key: str | None, body: BodyStream, work: Callable[[Callable[[], bytes | None]], T]) -> T:
        """Run ``work`` on a thread; it is given what returns the body's next part, and None after the last.

        Raises:
            TooManyRequests: as many uploads are open as may be; of one key, half of them.
        """
        most = self._most_open if key is None else max(1, self._most_open // 2)
        if self._open.total() >= self._most_open or self._open[key] >= most:
            raise TooManyRequests(f"{self._open[key]} uploads of this caller are under way; try again in a moment")
        self._open[key] += 1
        place = _Place(self._working)
        try:
            return await anyio.to_thread.run_sync(
                lambda: work(lambda: anyio.from_thread.run(self._next_part, body, place)), limiter=self._threads
            )
        finally:
            place.leave()
            self._open[key] -= 1
            if not self._open[key]:
                del self._open[key]

    async def _next_part(self, body: BodyStream, place: _Place) -> bytes | None:
        """The next part of a body, and a place to work on it.

        Raises:
            UploadTooSlow: it arrived too slowly.
            Unavailable: the service is stopping.
        """
        place.leave()
        if self.stopping:
            raise Unavailable("the service is stopping")
        part: bytes | None = b""
        with anyio.CancelScope() as scope:
            self._waiting.add(scope)
            try:
                part = await body.next_large()
                await place.take()
            finally:
                self._waiting.discard(scope)
        if scope.cancelled_caught and part == b"":
            part = body.take_gathered()
            if not part:
                raise Unavailable("the service is stopping")
        return part


class _Place:
    """A place among the uploads that work, of one upload."""

    def __init__(self, places: anyio.CapacityLimiter) -> None:
        self._places = places
        self._taken = False

    async def take(self) -> None:
        await self._places.acquire_on_behalf_of(self)
        self._taken = True

    def leave(self) -> None:
        if self._taken:
            self._taken = False
            self._places.release_on_behalf_of(self)


async def work_on_upload(request: Request, work: Callable[[Iterator[bytes]], T]) -> T:
    """Run ``work`` in a worker thread over the parts of the body as they arrive.

    The iterator raises:
        TooLarge: more than ``upload_bytes`` arrived.
        UploadTooSlow: it arrived too slowly.
        MalformedBody: the client disconnected.
        Unavailable: the service is stopping.

    Raises:
        TooManyRequests: too many uploads are open.
        Unavailable: the process has too little memory for another upload.
    """
    settings: Settings = request.app.state.settings
    uploads: Uploads = request.app.state.uploads
    memory: BodyMemory = request.app.state.memory
    body = BodyStream(request)
    key = request.scope["state"].get("key_id")
    try:
        memory.breaker.check()
        return await uploads.run(key, body, lambda next_part: work(_parts(next_part, settings.uploads.upload_bytes)))
    except Exception as fault:
        if not uploads.stopping and not isinstance(fault, UploadTooSlow):
            await body.drop(settings.requests.body_bytes)
        raise


def _parts(next_part: Callable[[], bytes | None], most: int) -> Iterator[bytes]:
    """The non-empty parts of a body of at most so many bytes, for a worker thread."""
    size = 0
    while True:
        try:
            part = next_part()
        except ClientDisconnect as fault:
            raise MalformedBody("the connection was closed before the end of the body") from fault
        if part is None:
            return
        size += len(part)
        if size > most:
            raise TooLarge(f"the upload is larger than {most} bytes")
        if part:
            yield part
