"""Reading request bodies: strict JSON within limits, and uploads as a stream that a worker thread pulls."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from functools import cache
from typing import Any, cast

import anyio
import anyio.to_thread
from fastapi import Request, Response
from fastapi._compat import ModelField
from fastapi.routing import APIRoute
from starlette.convertors import Convertor, register_url_convertor
from starlette.types import Scope

from dragoman.engine.core.errors import InvalidRequest, ServiceError, Unauthorized, UnsupportedMedia, classify
from dragoman.engine.core.json import count_values_at_most, memory_of, parse
from dragoman.engine.core.memory import BodyMemory
from dragoman.engine.settings import Settings
from dragoman.files.streams import StreamFault, unpack
from dragoman.service.http.streaming import BodyStream
from dragoman.store.validation import describe

NDJSON_TYPES = (
    "application/x-ndjson",
    "application/ndjson",
    "application/jsonl",
    "application/x-jsonlines",
    "application/json-lines",
    "application/gzip",
    "application/x-gzip",
    "application/octet-stream",
)
"""Media types in which lines of JSON are sent."""

_READ_AT_ONCE = 64 * 1024
_VALUES_AT_ONCE = 500
"""Bodies below so many bytes, and values, are read on the event loop, which is quicker than another thread."""


def settings_of(request: Request) -> Settings:
    settings: Settings = request.app.state.settings
    return settings


class WholePath(Convertor[str]):
    """The rest of a path, whatever characters it is made of, line ends included: ``{id:whole}``."""

    regex = "(?s:.*)"

    def convert(self, path: str) -> str:
        return path

    def to_string(self, path: str) -> str:
        return path


register_url_convertor("whole", WholePath())


class StrictRequest(Request):
    """A request whose JSON body, plain or gzip, is UTF-8 within the limits, has no NaN, and is a valid ``field``.

    A large one is read and validated on a thread, so that the event loop goes on meanwhile.
    """

    def __init__(self, request: Request, field: ModelField | None) -> None:
        super().__init__(request.scope, request.receive)
        self._field = field
        memory: BodyMemory = request.app.state.memory
        self.memory = memory.share(request.scope.get("state", {}).get("key_id"))

    async def body(self) -> bytes:
        if not hasattr(self, "_body"):
            check_media_type(self, ("application/json",), "JSON (Content-Type: application/json)")
            packed = content_gzip(self)
            body = await BodyStream(self).read(settings_of(self).requests.body_bytes, self.memory)
            if packed:
                body = await anyio.to_thread.run_sync(self._unpack, body, limiter=_reading())
            self._body = cast("bytes", body)
        return self._body

    def _unpack(self, packed: bytearray) -> bytearray:
        """A gzip body unpacked, of at most ``body_bytes``, each part of it taken from the memory before it is kept.

        Raises:
            ServiceError: it is larger, or no whole gzip.
        """
        body = bytearray()
        try:
            for part in unpack([bytes(packed)], limit=settings_of(self).requests.body_bytes, gzip=True):
                self.memory.take(len(part))
                body += part
        except StreamFault as fault:
            raise classify(fault) or fault from fault
        return body

    async def json(self) -> Any:
        """The body as the endpoint takes it, which FastAPI then leaves as it is."""
        if not hasattr(self, "_json"):
            body = await self.body()
            if len(body) < _READ_AT_ONCE and count_values_at_most(body, _VALUES_AT_ONCE) < _VALUES_AT_ONCE:
                self._json = self._validate(body)
                return self._json
            read = await anyio.to_thread.run_sync(self._validate_or_return_fault, body, limiter=_reading())
            if isinstance(read, ServiceError):
                raise read
            self._json = read
        return self._json

    def release(self) -> None:
        """Let the body go, also where a fault's traceback still names it."""
        if isinstance(body := getattr(self, "_body", None), bytearray):
            body.clear()
        self._json = None
        self.memory.release()

    def _validate_or_return_fault(self, body: bytes) -> Any:
        """The body as the endpoint takes it, or the fault: one that is raised would hold the body by its traceback."""
        try:
            self.memory.take(memory_of(body, settings_of(self).requests.body_values))
            return self._validate(body)
        except ServiceError as fault:
            fault.__cause__ = fault.__context__ = None
            return fault.with_traceback(None)

    def _validate(self, body: bytes) -> Any:
        """
        Raises:
            ServiceError: the body is not what the endpoint takes.
        """
        settings = settings_of(self)
        content = parse(body, settings.requests.body_depth, settings.requests.body_values)
        if self._field is None:
            return content
        valid, errors = self._field.validate(content, loc=("body",))
        if errors:
            raise InvalidRequest(describe(errors))
        return valid


class StrictRoute(APIRoute):
    """A route that reads its JSON body as a :class:`StrictRequest` does."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()
        field = self.body_field

        async def handle_strictly(request: Request) -> Response:
            strict = StrictRequest(request, field)
            try:
                return await handle(strict)
            finally:
                strict.release()

        return handle_strictly


@cache
def _reading() -> anyio.CapacityLimiter:
    """Limits the threads that read bodies: more would contend for Python's interpreter lock."""
    return anyio.CapacityLimiter(2)


def check_media_type(request: Request, allowed: tuple[str, ...], expected: str) -> None:
    """Raise :class:`UnsupportedMedia` unless the body is of a media type in ``allowed``."""
    sent = request.headers.get("content-type", "").split(";")[0].strip().lower()
    if sent in allowed or ("application/json" in allowed and sent.endswith("+json")):
        return
    raise UnsupportedMedia(f"send the body as {expected}, not as {sent[:80]!r}" if sent else f"send {expected}")


def content_gzip(request: Request) -> bool:
    """Whether the body's Content-Encoding is gzip; any other but identity is refused."""
    encoding = request.headers.get("content-encoding", "identity").strip().lower()
    if encoding not in ("identity", "gzip", "x-gzip"):
        raise UnsupportedMedia(f"Content-Encoding {encoding[:40]!r} is not known here: send gzip or plain")
    return encoding != "identity"


def sent_key(scope: Scope) -> str | None:
    """The API key of a request, of its Authorization or its X-API-Key; None without one.

    Where a proxy asks for a password, Authorization is of another scheme, and X-API-Key alone has the key.

    Raises:
        Unauthorized: there are two different ones.
    """
    key, others = bearer(scope), _api_keys(scope)
    if not others:
        return key
    if len(others) > 1 or (key and key not in others):
        raise Unauthorized("Authorization and X-API-Key name different API keys: send one of them", "malformed")
    return others.pop()


def claimed_key(scope: Scope) -> str | None:
    """What a refused request may have meant as its key."""
    return bearer(scope) or next(iter(_api_keys(scope)), None)


def _api_keys(scope: Scope) -> set[str]:
    headers: list[tuple[bytes, bytes]] = scope["headers"]
    return {sent.decode("latin-1").strip() for name, sent in headers if name == b"x-api-key"}


def bearer(scope: Scope) -> str | None:
    """The key that a request carries; None without an Authorization, and empty with one that is no Bearer's."""
    authorizations = [header for name, header in scope["headers"] if name == b"authorization"]
    if not authorizations:
        return None
    scheme, _, key = authorizations[0].decode("latin-1").strip().partition(" ")
    return key.strip() if len(authorizations) == 1 and scheme.lower() == "bearer" else ""
