"""Streamed request bodies: read whole up to a limit, or passed in parts to a worker thread."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import TypeVar

import anyio
import anyio.from_thread
import anyio.to_thread
from fastapi import Request
from starlette.requests import ClientDisconnect

from dragoman.service.core.errors import MalformedBody, TooLarge, Unavailable, UploadTooSlow
from dragoman.service.core.memory import BodyMemory, BodyShare
from dragoman.service.core.settings import Settings

T = TypeVar("T")

_DRAIN_SECONDS = 5.0


class BodyStream:
    """The parts of a request's body, in order; ``ended`` is true after the last one."""

    def __init__(self, request: Request) -> None:
        settings: Settings = request.app.state.settings
        self._receive = request.receive
        self._wait_limit = settings.upload_idle_seconds
        self._slowest = settings.body_bytes_per_second
        length = request.headers.get("content-length", "")
        self._length = int(length) if length.isdecimal() and length.isascii() and len(length) < 20 else 0
        self._waited = 0.0
        self._received = 0
        self.ended = False

    async def next(self) -> bytes | None:
        """The next part, or None after the last.

        Raises:
            ClientDisconnect: the client disconnected before the end.
            UploadTooSlow: no data arrived for ``upload_idle_seconds``, or fewer than ``body_bytes_per_second`` on
                average after that. Only the time spent waiting here counts.
        """
        if self.ended:
            return None
        left = self._wait_limit + self._received / self._slowest - self._waited
        begun = time.monotonic()
        with anyio.move_on_after(min(self._wait_limit, left)) as waiting:
            message = await self._receive()
        if waiting.cancelled_caught:
            raise UploadTooSlow(self._too_slow(left))
        self._waited += time.monotonic() - begun
        self.ended = not message.get("more_body", False)
        if message["type"] != "http.request":
            raise ClientDisconnect
        part: bytes = message.get("body", b"")
        self._received += len(part)
        return part

    def _too_slow(self, left: float) -> str:
        if left < self._wait_limit:
            return f"the body arrived more slowly than {self._slowest} bytes per second"
        return f"no data arrived for {self._wait_limit:g} seconds"

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
    """The uploads of one application: limits how many run concurrently, and stops them on shutdown."""

    def __init__(self, at_a_time: int) -> None:
        self.limiter = anyio.CapacityLimiter(at_a_time)
        self.stopping = False
        self._waiting: set[anyio.CancelScope] = set()

    def stop(self) -> None:
        """End all uploads now, because the service is stopping."""
        self.stopping = True
        for scope in self._waiting:
            scope.cancel()

    async def next_part(self, body: BodyStream) -> bytes | None:
        """The next part of a body.

        Raises:
            UploadTooSlow: it arrived too slowly.
            Unavailable: the service is stopping.
        """
        if not self.stopping:
            with anyio.CancelScope() as scope:
                self._waiting.add(scope)
                try:
                    return await body.next()
                finally:
                    self._waiting.discard(scope)
        raise Unavailable("the service is stopping")


async def work_on_upload(request: Request, work: Callable[[Iterator[bytes]], T]) -> T:
    """Run ``work`` in a worker thread over the parts of the body as they arrive.

    The iterator raises:
        TooLarge: more than ``upload_bytes`` arrived.
        UploadTooSlow: it arrived too slowly.
        MalformedBody: the client disconnected.
        Unavailable: the service is stopping.

    Raises:
        Unavailable: the process has too little memory for another upload.
    """
    settings: Settings = request.app.state.settings
    uploads: Uploads = request.app.state.uploads
    memory: BodyMemory = request.app.state.memory
    body = BodyStream(request)
    try:
        memory.breaker.check()
        return await anyio.to_thread.run_sync(lambda: work(_parts(body, settings, uploads)), limiter=uploads.limiter)
    except Exception as fault:
        if not uploads.stopping and not isinstance(fault, UploadTooSlow):
            await body.drop(settings.body_bytes)
        raise


def _parts(body: BodyStream, settings: Settings, uploads: Uploads) -> Iterator[bytes]:
    """The non-empty parts of a body, for a worker thread."""
    size = 0
    while True:
        try:
            part = anyio.from_thread.run(uploads.next_part, body)
        except ClientDisconnect as fault:
            raise MalformedBody("the connection was closed before the end of the body") from fault
        if part is None:
            return
        size += len(part)
        if size > settings.upload_bytes:
            raise TooLarge(f"the upload is larger than {settings.upload_bytes} bytes")
        if part:
            yield part
