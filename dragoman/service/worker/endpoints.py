"""``dragoman worker``: a process with the models, which computes what API processes ask for over HTTP.

It needs no database, tables, index or Java, only the models' libraries and FastAPI.
"""

from __future__ import annotations

import asyncio
import hmac
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.metadata import version

import anyio.to_thread
from fastapi import APIRouter, FastAPI, Request
from fastapi.responses import PlainTextResponse, Response
from starlette.routing import Match, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from dragoman.engine.core.errors import ServiceError, Unauthorized
from dragoman.engine.core.limits import GIB
from dragoman.engine.core.memory import BodyMemory, MemoryBreaker
from dragoman.engine.models.loading import has_reranker
from dragoman.engine.models.model_host import ModelHost
from dragoman.engine.models.models import Models
from dragoman.engine.models.scoring import LocalScoring
from dragoman.engine.observability.gauges import WorkerState
from dragoman.engine.observability.metrics import Metrics
from dragoman.engine.observability.refusals import report_refusal
from dragoman.engine.settings import Settings
from dragoman.service.http import errors
from dragoman.service.http.addresses import HeadAsGet
from dragoman.service.http.bodies import StrictRoute, bearer, check_media_type
from dragoman.service.http.middleware import CheckedAddress, RequestContext
from dragoman.service.http.probes import METRICS_TYPE, Health, SharedCheck, check_not_stopping
from dragoman.service.http.streaming import BodyStream
from dragoman.service.http.waiting import wait_for_futures
from dragoman.service.remote.computing import Begun, Computing
from dragoman.service.remote.requests import read_request
from dragoman.service.remote.tasks import MESSAGE_BYTES, MESSAGE_TYPE, Asked

router = APIRouter(route_class=StrictRoute, tags=["worker"])

_OPEN = ("/healthz", "/readyz")
_READ_AT_ONCE = 64 * 1024
"""Messages up to so many bytes are read on the event loop, which is quicker than another thread."""
_LOAD_SECONDS = 600.0
_BODIES_BYTES = 2 * GIB
"""Large enough for any request that an API process accepted within its own limits, with the offsets of its words."""


class WorkerToken:
    """Requires the worker's token, except for the probes."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self.app = app
        self._token = token.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"] not in _OPEN:
            token = bearer(scope) or ""
            if not hmac.compare_digest(token.encode(), self._token):
                reason = "unknown" if token else "missing"
                report_refusal(scope, reason)
                raise Unauthorized("send the worker's token: Authorization: Bearer TOKEN", reason)
        await self.app(scope, receive, send)


class WorkerRuntime:
    """The parts of a worker process."""

    def __init__(self, settings: Settings, stored_precision: str | None) -> None:
        self.metrics = Metrics()
        host = ModelHost(settings.replace(worker_url=None), self.metrics, lambda: stored_precision)
        self.models = Models(settings.replace(worker_url=None), self.metrics, host)
        self.scoring = LocalScoring(self.models)
        self.computing = Computing(self.models, self.scoring)
        self.metrics.watch(WorkerState(self.models.workers))


class Compute:
    """``POST /v1/compute``: computes the items of a request; their results follow as they come.

    It is an application of its own, as FastAPI's way to an endpoint takes longer than a query. The work ends when the
    client disconnects.
    """

    def __init__(self, computing: Computing, memory: BodyMemory) -> None:
        self._computing, self._memory = computing, memory

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        asked = await self._read(Request(scope, receive))
        if futures := self._computing.load(asked):
            until = time.monotonic() + (asked.seconds or _LOAD_SECONDS)
            await wait_for_futures(futures, Request(scope, receive), until)
        begun = await self._computing.begin(asked)
        leaving = asyncio.create_task(_cancel_with_client(begun, receive))
        try:
            await _send_answers(begun, send)
        finally:
            leaving.cancel()
            begun.cancel()

    async def _read(self, request: Request) -> Asked:
        check_media_type(request, (MESSAGE_TYPE,), f"a message of Dragoman (Content-Type: {MESSAGE_TYPE})")
        share = self._memory.share(None)
        try:
            message = await BodyStream(request).read(MESSAGE_BYTES, share)
            large = len(message) > _READ_AT_ONCE
            return await asyncio.to_thread(read_request, message) if large else read_request(message)
        finally:
            share.release()


class _ComputeRoute(Route):
    """The route of :class:`Compute`, which the request is counted and logged under."""

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        match, child_scope = super().matches(scope)
        return match, {**child_scope, "route": self}


async def _cancel_with_client(begun: Begun, receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    begun.cancel()


async def _send_answers(begun: Begun, send: Send) -> None:
    """Send the answers in parts as they come, or, where all come at once, as a body with its length."""
    part = await begun.next()
    headers = [(b"content-type", MESSAGE_TYPE.encode())]
    if begun.ended:
        headers.append((b"content-length", str(len(part)).encode()))
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    while not begun.ended:
        await send({"type": "http.response.body", "body": part, "more_body": True})
        part = await begun.next()
    await send({"type": "http.response.body", "body": part})


@router.get("/healthz")
async def healthz() -> Health:
    """The process is alive."""
    return Health(status="ok")


@router.get("/readyz")
async def readyz(request: Request) -> Health:
    """Ready: the reranker scores a pair or is busy with others. Otherwise 503."""
    check_not_stopping(request)
    checked: SharedCheck = request.app.state.ready
    await checked.check()
    return Health(status="ready")


@router.get("/metrics", response_class=PlainTextResponse)
def metrics(request: Request) -> Response:
    """Counters and timings for Prometheus."""
    return Response(_runtime(request).metrics.expose(), media_type=METRICS_TYPE)


def create_worker_app(settings: Settings, stored_precision: str | None = None, *, loads: bool = True) -> FastAPI:
    """The worker's application; with ``loads`` it loads the reranker while it starts, other models when first needed.

    Raises:
        ServiceError: the reranker cannot be loaded.
    """
    settings = settings.replace(
        bodies_bytes=max(_BODIES_BYTES, settings.requests.bodies_bytes),
        body_bytes=max(MESSAGE_BYTES, settings.requests.body_bytes),
    )
    runtime = WorkerRuntime(settings, stored_precision)
    try:
        if loads and has_reranker(settings):
            runtime.scoring.about()
    except ServiceError:
        runtime.models.close()
        raise

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        app.state.ready = SharedCheck(runtime.scoring.ready)
        try:
            yield
        finally:
            await anyio.to_thread.run_sync(runtime.models.close)
            runtime.computing.close()

    app = FastAPI(
        title="Dragoman worker", version=version("dragoman"), lifespan=lifespan, docs_url=None, redoc_url=None
    )
    app.state.runtime, app.state.metrics = runtime, runtime.metrics
    app.state.settings, app.state.draining = settings, False
    app.state.memory = BodyMemory(settings.requests.bodies_bytes, MemoryBreaker(settings.server.memory_bytes))
    compute = Compute(runtime.computing, app.state.memory)
    app.router.routes.append(_ComputeRoute("/v1/compute", compute, methods=["POST"]))
    app.include_router(router)
    errors.install(app, [router])
    app.add_middleware(HeadAsGet)
    app.add_middleware(CheckedAddress)
    if settings.worker.worker_token is not None:
        app.add_middleware(WorkerToken, token=settings.worker.worker_token.get_secret_value())
    app.add_middleware(RequestContext)
    return app


def _runtime(request: Request) -> WorkerRuntime:
    runtime: WorkerRuntime = request.app.state.runtime
    return runtime
