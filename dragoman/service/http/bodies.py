"""Reading request bodies: strict JSON within limits, and uploads as a stream that a worker thread pulls."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

import anyio
import anyio.to_thread
from fastapi import Request, Response
from fastapi.routing import APIRoute
from starlette.convertors import Convertor, register_url_convertor
from starlette.types import Scope

from dragoman.service.core.errors import UnsupportedMedia
from dragoman.service.core.json import parse
from dragoman.service.core.settings import Settings
from dragoman.service.http.streaming import BodyStream

_PARSED_AT_ONCE = 256 * 1024


def settings_of(request: Request) -> Settings:
    settings: Settings = request.app.state.settings
    return settings


class WholePath(Convertor[str]):
    """The rest of a path, whatever characters it is made of, line ends included: ``{id:whole}``."""

    regex = "(?s:.*)"

    def convert(self, value: str) -> str:
        return value

    def to_string(self, value: str) -> str:
        return value


register_url_convertor("whole", WholePath())


class StrictRequest(Request):
    """A request whose JSON body is UTF-8, unpacked, within the limits and without NaN or Infinity."""

    async def body(self) -> bytes:
        if not hasattr(self, "_body"):
            check_media_type(self, ("application/json",), "JSON (Content-Type: application/json)")
            if (encoding := self.headers.get("content-encoding", "identity").lower()) != "identity":
                raise UnsupportedMedia(f"a JSON body cannot be sent with Content-Encoding {encoding[:40]!r}")
            self._body = await BodyStream(self).read(settings_of(self).body_bytes)
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


def bearer(scope: Scope) -> str | None:
    """The key that a request carries; None without an Authorization, and empty with one that is no Bearer's."""
    given = [value for name, value in scope["headers"] if name == b"authorization"]
    if not given:
        return None
    scheme, _, key = given[0].decode("latin-1").strip().partition(" ")
    return key.strip() if len(given) == 1 and scheme.lower() == "bearer" else ""
