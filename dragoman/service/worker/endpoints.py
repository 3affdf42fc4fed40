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
from fastapi.responses import PlainTextResponse, Response, StreamingResponse
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
from dragoman.service.remote.tasks import MESSAGE_BYTES, MESSAGE_TYPE

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


class _Answers(StreamingResponse):
    """The answers of a request; what is left is cancelled with it, also where nobody has read any of them."""

    def __init__(self, begun: Begun) -> None:
        super().__init__(begun.frames(), media_type=MESSAGE_TYPE)
        self._begun = begun

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._begun.cancel()


class WorkerRuntime:
    """The parts of a worker process."""

    def __init__(self, settings: Settings, stored_precision: str | None) -> None:
        self.metrics = Metrics()
        host = ModelHost(settings.replace(worker_url=None), self.metrics, lambda: stored_precision)
        self.models = Models(settings.replace(worker_url=None), self.metrics, host)
        self.scoring = LocalScoring(self.models)
        self.computing = Computing(self.models, self.scoring)
        self.metrics.watch(WorkerState(self.models.workers))


@router.post("/v1/compute", response_class=StreamingResponse)
async def compute(request: Request) -> Response:
    """Compute the items of a request; their results follow as they come. The work ends when the client disconnects."""
    runtime = _runtime(request)
    check_media_type(request, (MESSAGE_TYPE,), f"a message of Dragoman (Content-Type: {MESSAGE_TYPE})")
    memory: BodyMemory = request.app.state.memory
    share = memory.share(None)
    try:
        message = await BodyStream(request).read(MESSAGE_BYTES, share)
        large = len(message) > _READ_AT_ONCE
        asked = await asyncio.to_thread(read_request, message) if large else read_request(message)
    finally:
        share.release()
    if futures := runtime.computing.load(asked):
        await wait_for_futures(futures, request, time.monotonic() + (asked.seconds or _LOAD_SECONDS))
    begun = await runtime.computing.begin(asked)
    return _Answers(begun)


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
