"""Authentication, authorization by scope, and rate limiting of every request."""

from __future__ import annotations

import time
from collections.abc import Sequence
from itertools import chain

from fastapi import APIRouter
from starlette.types import ASGIApp, Receive, Scope, Send

from dragoman.engine.core.errors import Forbidden, TooManyRequests, Unauthorized
from dragoman.engine.core.key_limits import limited_to
from dragoman.engine.observability.refusals import report_refusal
from dragoman.engine.settings import Settings
from dragoman.service.access.authenticator import Access, Caller
from dragoman.service.access.keys import SCOPES, claimed_id
from dragoman.service.http.bodies import claimed_key, sent_key
from dragoman.service.http.errors import error_response
from dragoman.service.http.same_site import READING, check_same_site
from dragoman.service.http.visitors import Visitors

METRICS = "/metrics"
LIVE = "/healthz"
READY = "/readyz"
ASSETS = "/docs/assets"
OPENAPI = "/openapi.json"
WEB = "/web"

_OPEN = frozenset({"/", LIVE, READY, "/docs", ASSETS, OPENAPI})
_OPEN_FOLDERS = (f"{ASSETS}/", f"{WEB}/")
"""Paths without data: the web page, the documentation and the probes."""
_SEARCH = ("search",)
_READ = ("search", "admin")
_JOBS = ("jobs", "admin")
_ADMIN = ("admin",)

_NEEDED = {
    "/v1/collections": (_READ, _ADMIN),
    "/v1/aliases": (_READ, _ADMIN),
    "/v1/tables": (_READ, _ADMIN),
    "/v1/keys": (_ADMIN, _ADMIN),
    "/v1/audit": (_ADMIN, _ADMIN),
    "/v1/backup": (_ADMIN, _ADMIN),
    "/v1/search": (_SEARCH, _SEARCH),
    "/v1/suggest": (_SEARCH, _SEARCH),
    "/v1/events": (_SEARCH, _SEARCH),
    "/v1/reports": (_ADMIN, _ADMIN),
    "/v1/rerank": (_SEARCH, _SEARCH),
    "/v2/rerank": (_SEARCH, _SEARCH),
    "/rerank": (_SEARCH, _SEARCH),
    "/v1/v1": (_SEARCH, _SEARCH),
    "/v1/v2": (_SEARCH, _SEARCH),
    "/v1/embeddings": (_SEARCH, _SEARCH),
    "/v1/models": (_SEARCH, _SEARCH),
    "/v2/embed": (_SEARCH, _SEARCH),
    "/embed": (_SEARCH, _SEARCH),
    "/info": (_SEARCH, _SEARCH),
    "/v1/translate": (_SEARCH, _SEARCH),
    "/v1/read": (_SEARCH, _SEARCH),
    "/v1/lookup": (_READ, _ADMIN),
    "/v1/qa": (_SEARCH, _SEARCH),
    "/v1/reason": (_SEARCH, _SEARCH),
    "/v1/tag": (_SEARCH, _SEARCH),
    "/v1/jobs": (_JOBS, _JOBS),
    "/retrieval": (_SEARCH, _SEARCH),
    "/integrations": (_SEARCH, _SEARCH),
    "/mcp": (_READ, _READ),  # each tool needs the scope of its endpoint
    METRICS: (SCOPES, SCOPES),
}
"""By path prefix: the scopes that allow reading, and the scopes that allow anything else. One scope is enough."""


_OF_ALL = ("/v1/keys", "/v1/audit", "/v1/backup", "/v1/reports")
"""Paths about all that the service holds, which a limited key may not use."""


def is_open(path: str) -> bool:
    """Whether a path needs no API key."""
    return path in _OPEN or path.startswith(_OPEN_FOLDERS)


def needed_scopes(method: str, path: str) -> tuple[str, ...] | None:
    """The scopes that allow this request, of which one is enough; None for an unknown path."""
    parts = path.split("/", 3)
    scopes = _NEEDED.get("/".join(parts[:3])) or _NEEDED.get("/".join(parts[:2]))
    return None if scopes is None else scopes[method not in READING]


class Authentication:
    """Passes a request to the application if its key allows it. The body is not read before that."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self.app = app
        self._metrics_open = settings.access.metrics_open
        self._allowed_hosts = settings.access.host_names
        self._origins = settings.access.origins
        self._probes = Visitors(settings.access.open_requests_per_second, settings.access.open_burst, "requests")
        self._open = Visitors(settings.access.open_requests_per_second, settings.access.open_burst, "requests")
        self._failed = Visitors(
            settings.access.failed_sign_ins_per_second,
            settings.access.failed_sign_ins_burst,
            "requests without a valid key",
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = scope.get("path", "")
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        scope["state"]["open"] = is_open(path)
        if path == LIVE or (self._metrics_open and path == METRICS):
            await self.app(scope, receive, send)
            return
        if is_open(path):
            (self._probes if path == READY else self._open).check(scope)
            await self.app(scope, receive, send)
            return
        try:
            await self._admit(scope, receive, send)
        except (Unauthorized, Forbidden) as refusal:
            caller = scope["state"].get("key_id") or claimed_id(claimed_key(scope))
            report_refusal(scope, refusal.reason, caller)
            if isinstance(refusal, Unauthorized):
                self._failed.check(scope)
            raise

    async def _admit(self, scope: Scope, receive: Receive, send: Send) -> None:
        access: Access = scope["app"].state.access
        caller = await access.caller(sent_key(scope))
        if caller.key_id is None:  # a page of another site has no key, so only an open service needs this
            check_same_site(scope, self._allowed_hosts, self._origins)
        scope["state"] |= {"caller": caller, "key_id": caller.key_id}
        wait = caller.meter.enter(time.monotonic())
        if wait is not None:
            await self._refuse(wait, scope, receive, send)
            return
        try:
            _check_scope(caller, scope["method"], scope["path"])
            with limited_to(caller.limits):
                await self.app(scope, receive, send)
        finally:
            caller.meter.leave()

    async def _refuse(self, wait: float, scope: Scope, receive: Receive, send: Send) -> None:
        error = TooManyRequests("too many requests from this caller; wait for the time in the Retry-After header", wait)
        scope["state"]["fault"] = type(error)
        await error_response(error, scope["state"]["request_id"])(scope, receive, send)


def check_routes(routers: Sequence[APIRouter]) -> None:
    """Check that every path has its scopes declared.

    Raises:
        LookupError: a router serves a path without declared scopes.
    """
    for route in chain.from_iterable(router.routes for router in routers):
        path = getattr(route, "path", "")
        if not is_open(path) and needed_scopes("POST", path) is None:
            raise LookupError(f"no scopes are declared for {path}")


def _check_scope(caller: Caller, method: str, path: str) -> None:
    """An unknown path passes with any key, and gets 404 later."""
    needed = needed_scopes(method, path)
    if needed is not None and not set(needed) & set(caller.scopes):
        raise Forbidden(f"the API key needs the scope {' or '.join(needed)} for this")
    if caller.limits is not None and (path == METRICS or path.startswith(_OF_ALL)):
        raise Forbidden("the API key is limited to some collections or tables, and this is about all of them")
