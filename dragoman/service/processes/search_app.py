"""The application of a search process: it answers searches, and passes everything else on."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, cast

from fastapi import FastAPI
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dragoman.engine.core.errors import OutOfTime, TooManyRequests
from dragoman.engine.settings import Settings
from dragoman.service.app import create_app
from dragoman.service.http.middleware import ELSEWHERE
from dragoman.service.processes.forwarding import Forwarding
from dragoman.service.processes.fresh_access import RequestMeter
from dragoman.service.processes.ledger import Ledger
from dragoman.service.processes.search_processes import SearchFolder
from dragoman.service.processes.search_runtime import SearchRuntime, WorkerPlace
from dragoman.service.runtime import Runtime

_SEARCH = "/v1/search"
_LONGEST = 64 * 1024
"""Bytes of a search that is answered here."""
_ARRIVED_SECONDS = 1.0
"""How soon such a body has to be here."""
_OK = 200
_AS_BAD_ELSEWHERE = (TooManyRequests, OutOfTime)
"""Faults of a search that only make more work elsewhere: limits hold over all processes, and its time is over.

Who is refused without a caller is so by the service's own process, which notes it."""


def make_search_app(settings: Settings, greeting: Mapping[str, Any], folder: Path) -> SearchApp:
    """The application of the search process that was greeted so; see :class:`SearchProcesses`."""
    shared = SearchFolder(folder)
    ledger, shares = shared.open_shares(greeting["place"], greeting["processes"])
    workers = WorkerPlace(greeting["workers"], greeting["token"], not settings.worker.worker_urls)
    runtime = SearchRuntime(settings, shares, workers)
    app = create_app(settings, cast(Runtime, runtime))
    app.openapi()  # builds its routes; see :func:`dragoman.service.server.make_app`
    recorded = settings.reports.record_searches != "off"  # by the process that writes
    paths = () if recorded else (_SEARCH, settings.server.root_path + _SEARCH)
    return SearchApp(app, Forwarding(str(shared.socket)), paths, ledger)


class SearchApp:
    """Answers a search where nobody could do so better, which is decided before any of the answer is sent."""

    def __init__(self, app: FastAPI, forwarding: Forwarding, paths: Collection[str], ledger: Ledger) -> None:
        """``paths`` are those of searches that may be answered here; ``ledger`` has what all processes count."""
        self.ledger = ledger
        self._app: ASGIApp = app
        self._forwarding = forwarding
        self._paths = frozenset(paths)
        self.state, self.router = app.state, app.router

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
        elif scope["method"] != "POST" or scope["path"] not in self._paths or not _is_short(scope):
            await self._forwarding(scope, receive, send)
        else:
            body = _Body(receive)
            answered = await body.read() and await self._answer(scope, body, send)
            if not answered and not body.left:
                await self._forwarding(scope, receive, send, bytes(body.content), body.ended)

    async def _answer(self, scope: Scope, body: _Body, send: Send) -> bool:
        """Answer a search; returns whether that was done."""
        state: dict[str, Any] = dict(scope.get("state", {}))
        state[ELSEWHERE] = False

        async def send_success(message: Message) -> None:
            if message["type"] == "http.response.start" and message["status"] != _OK:
                as_bad = issubclass(state.get("fault", Exception), _AS_BAD_ELSEWHERE)
                state[ELSEWHERE] = not (as_bad and "caller" in state)
            if not state[ELSEWHERE]:
                await send(message)

        await self._app({**scope, "state": state}, body.receive, send_success)
        if state[ELSEWHERE] and (caller := state.get("caller")) is not None and isinstance(caller.meter, RequestMeter):
            caller.meter.give_back()
        return not state[ELSEWHERE]


class _Body:
    """The body of a request, which is read before it is known who answers."""

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._passed = False
        self.content = bytearray()
        self.ended = False
        self.left = False
        """Whether the client has disconnected."""

    async def read(self) -> bool:
        """Read it; returns whether it arrived in time."""
        try:
            async with asyncio.timeout(_ARRIVED_SECONDS):
                while not self.ended and not self.left:
                    message = await self._receive()
                    self.left = message["type"] == "http.disconnect"
                    self.content += message.get("body", b"")
                    self.ended = not message.get("more_body", False)
        except TimeoutError:
            return False
        return not self.left

    async def receive(self) -> Message:
        """The whole body, then what comes after it."""
        if not self._passed:
            self._passed = True
            return {"type": "http.request", "body": bytes(self.content), "more_body": False}
        message = await self._receive()
        self.left = self.left or message["type"] == "http.disconnect"
        return message


def _is_short(scope: Scope) -> bool:
    """Whether a request has a short body whose length it says, and nothing about its transfer."""
    headers = dict(scope["headers"])
    length = headers.get(b"content-length", b"")
    unusual = b"transfer-encoding" in headers or b"expect" in headers or b"content-encoding" in headers
    return not unusual and length.isdigit() and len(length) < 6 and int(length) <= _LONGEST
