"""Reading request bodies: strict JSON within limits, and uploads as a stream that a worker thread pulls."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterator
from contextlib import suppress
from typing import Annotated, Any, TypeVar

import anyio
import anyio.from_thread
import anyio.to_thread
from fastapi import Request, Response
from fastapi.routing import APIRoute
from pydantic import AfterValidator
from starlette.requests import ClientDisconnect

from dragoman.lexicon.languages import check_language
from dragoman.service.errors import MalformedBody, TooLarge, UnsupportedMedia, UploadTooSlow
from dragoman.service.settings import Settings
from dragoman.service.strict_json import check_text, parse

T = TypeVar("T")

CleanText = Annotated[str, AfterValidator(check_text)]
"""Text without NUL and without lone surrogates: what the database and the index can hold."""

LanguageCode = Annotated[str, AfterValidator(check_language)]

_DRAIN_SECONDS = 5.0
_PARSED_AT_ONCE = 256 * 1024


def settings_of(request: Request) -> Settings:
    settings: Settings = request.app.state.settings
    return settings


class StrictRequest(Request):
    """A request whose JSON body is UTF-8, unpacked, within the limits and without NaN or Infinity."""

    async def body(self) -> bytes:
        if not hasattr(self, "_body"):
            check_media_type(self, ("application/json",), "JSON (Content-Type: application/json)")
            if (encoding := self.headers.get("content-encoding", "identity").lower()) != "identity":
                raise UnsupportedMedia(f"a JSON body cannot be sent with Content-Encoding {encoding[:40]!r}")
            self._body = await read_limited(self, settings_of(self).body_bytes)
        return self._body

    async def json(self) -> Any:
        if not hasattr(self, "_json"):
            body, depth = await self.body(), settings_of(self).body_depth
            if len(body) < _PARSED_AT_ONCE:
                self._json = parse(body, depth)
            else:
                self._json = await anyio.to_thread.run_sync(parse, body, depth)
        return self._json


class StrictRoute(APIRoute):
    """A route that reads its JSON body as a :class:`StrictRequest` does."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def handle_strictly(request: Request) -> Response:
            return await handle(StrictRequest(request.scope, request.receive))

        return handle_strictly


def check_media_type(request: Request, allowed: tuple[str, ...], wanted: str) -> None:
    """Raise :class:`UnsupportedMedia` unless the body is of a media type in ``allowed``."""
    sent = request.headers.get("content-type", "").split(";")[0].strip().lower()
    if sent in allowed or ("application/json" in allowed and sent.endswith("+json")):
        return
    raise UnsupportedMedia(f"send the body as {wanted}, not as {sent[:80]!r}" if sent else f"send {wanted}")


def content_gzip(request: Request) -> bool:
    """Whether the body's Content-Encoding is gzip; any other but identity is refused."""
    encoding = request.headers.get("content-encoding", "identity").strip().lower()
    if encoding not in ("identity", "gzip", "x-gzip"):
        raise UnsupportedMedia(f"Content-Encoding {encoding[:40]!r} is not known here: send gzip or plain")
    return encoding != "identity"


async def read_limited(request: Request, limit: int) -> bytes:
    """The whole body; a longer one is refused however its length is announced, or not announced.

    Raises:
        TooLarge: after the rest has been read and dropped for a while, so that a client that sends first
            and reads afterwards gets to see the answer.
    """
    parts: list[bytes] = []
    size = 0
    async for part in request.stream():
        size += len(part)
        if size > limit:
            parts.clear()
            await drain(request, limit)
            raise TooLarge(f"the body is larger than {limit} bytes")
        parts.append(part)
    return b"".join(parts)


async def drain(request: Request, limit: int) -> None:
    """Read and drop what is left of a body: at most ``limit`` bytes, for at most a few seconds."""
    dropped = 0
    with anyio.move_on_after(_DRAIN_SECONDS), suppress(ClientDisconnect):
        while dropped < limit:
            message = await request.receive()
            dropped += len(message.get("body", b""))
            if message["type"] != "http.request" or not message.get("more_body", False):
                return


async def work_on_upload(request: Request, work: Callable[[Iterator[bytes]], T]) -> T:
    """Run ``work`` in a worker thread over the parts of the body as they arrive.

    The iterator raises:
        TooLarge: more than ``upload_bytes`` came.
        UploadTooSlow: nothing came for ``upload_idle_seconds``.
        MalformedBody: the client went away.
    """
    settings = settings_of(request)
    parts = request.stream()
    ended = False

    async def next_part() -> bytes | None:
        nonlocal ended
        with anyio.fail_after(settings.upload_idle_seconds):
            part = await anext(parts, None)
        ended = part is None
        return part

    def pull() -> Iterator[bytes]:
        size = 0
        while (part := _pull_one(next_part, settings)) is not None:
            size += len(part)
            if size > settings.upload_bytes:
                raise TooLarge(f"the upload is larger than {settings.upload_bytes} bytes")
            if part:
                yield part

    limiter: anyio.CapacityLimiter = request.app.state.upload_limiter
    try:
        return await anyio.to_thread.run_sync(lambda: work(pull()), limiter=limiter)
    except Exception:
        if not ended:
            await drain(request, settings.body_bytes)
        raise


def _pull_one(next_part: Callable[[], Coroutine[Any, Any, bytes | None]], settings: Settings) -> bytes | None:
    try:
        return anyio.from_thread.run(next_part)
    except TimeoutError as fault:
        raise UploadTooSlow(f"nothing came for {settings.upload_idle_seconds:g} seconds") from fault
    except ClientDisconnect as fault:
        raise MalformedBody("the connection was closed before the end of the body") from fault
