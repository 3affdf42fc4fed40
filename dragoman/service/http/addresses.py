"""Addresses that are answered as another one: under a prefix, with a slash at the end, and ``HEAD`` as ``GET``."""

from __future__ import annotations

from collections.abc import Sequence

from fastapi import APIRouter
from starlette.responses import Response
from starlette.routing import Match, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

PREFIX = "dragoman.prefix"
"""In the scope of a request: the path before the service's own, as its client sees it; empty without one."""
AS_GET = "dragoman.head"
"""In the scope of a request that is answered as ``GET``: true where it is ``HEAD``."""


class RootPath:
    """Serves the application under a prefix, whether a proxy strips it from addresses or not; inside, none has it.

    The prefix is that of the settings, or where another application mounts this one, that of the mount.
    """

    def __init__(self, app: ASGIApp, prefix: str = "") -> None:
        self.app = app
        self._prefix = prefix

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        mount: str = scope.get("root_path", "")
        inner = {**scope, "root_path": "", PREFIX: mount + self._prefix}
        for prefix in (mount, self._prefix):
            if inner["path"] == prefix != "":
                headers = {"location": f"{inner[PREFIX]}/", "cache-control": "no-store"}
                await Response(status_code=307, headers=headers)(scope, receive, send)
                return
            _strip(inner, prefix)
        await self.app(inner, receive, send)


def _strip(scope: Scope, prefix: str) -> None:
    """Take a prefix from the path, where it begins with it."""
    if not prefix or not scope["path"].startswith(prefix + "/"):
        return
    scope["path"] = scope["path"][len(prefix) :]
    raw = bytes(scope.get("raw_path") or b"")
    if raw.startswith(prefix.encode() + b"/"):
        scope["raw_path"] = raw[len(prefix.encode()) :]


class TrailingSlash:
    """Answers ``/v1/tables/`` as ``/v1/tables``.

    No redirect is sent: clients that follow one leave out the key or the body. Where the rest of an address is an id
    or a term, a slash at its end is part of it.
    """

    def __init__(self, app: ASGIApp, routers: Sequence[APIRouter] = ()) -> None:
        self.app = app
        routes = [route for router in routers for route in router.routes if isinstance(route, Route)]
        self._open_ended = [route for route in routes if route.path.endswith(":whole}")]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and self._slash_ends(scope):
            scope["path"] = scope["path"][:-1]
        await self.app(scope, receive, send)

    def _slash_ends(self, scope: Scope) -> bool:
        """Whether the path ends with a slash that is no part of an id or a term."""
        path: str = scope["path"]
        if not path.endswith("/") or path == scope.get("root_path", "") + "/":
            return False
        for route in self._open_ended:
            match, child_scope = route.matches(scope)
            if match is not Match.NONE and all(child_scope["path_params"].values()):
                return False
        return True


class HeadAsGet:
    """Answers ``HEAD`` with the status and headers of ``GET``, and without a body."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "HEAD":
            await self.app(scope, receive, send)
            return

        async def send_headers(message: Message) -> None:
            await send({**message, "body": b""} if message["type"] == "http.response.body" else message)

        inner = {**scope, "method": "GET", AS_GET: True}
        try:
            await self.app(inner, receive, send_headers)
        finally:
            if "route" in inner:  # which the request is counted and logged under
                scope["route"] = inner["route"]
