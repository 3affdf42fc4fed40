"""``dragoman worker``: a process with the reranker that scores requests of API processes over HTTP.

It needs no database, tables, index or Java, only the models' libraries and FastAPI.
"""

from __future__ import annotations

import asyncio
import hmac
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext
from importlib.metadata import version

import anyio.to_thread
from fastapi import APIRouter, FastAPI, Request
from fastapi.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from dragoman.engine.core.errors import ServiceError, Unauthorized
from dragoman.engine.core.limits import GIB, MIB
from dragoman.engine.core.memory import BodyMemory, MemoryBreaker
from dragoman.engine.core.priority import background
from dragoman.engine.models.models import Models
from dragoman.engine.models.scoring import LocalScoring, Pending
from dragoman.engine.observability.gauges import WorkerState
from dragoman.engine.observability.metrics import Metrics
from dragoman.engine.observability.refusals import report_refusal
from dragoman.engine.settings import Settings
from dragoman.service.http import errors
from dragoman.service.http.addresses import HeadAsGet
from dragoman.service.http.bodies import StrictRoute, bearer
from dragoman.service.http.middleware import CheckedAddress, RequestContext
from dragoman.service.http.probes import METRICS_TYPE, Health, SharedCheck, check_not_stopping
from dragoman.service.http.waiting import wait_for_futures
from dragoman.service.remote.wire import ModelBody, ScoreBody, ScoresBody

router = APIRouter(route_class=StrictRoute, tags=["worker"])

_OPEN = ("/healthz", "/readyz")
_BODY_BYTES = 384 * MIB
_BODY_VALUES = 50_000_000
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

    def __init__(self, settings: Settings) -> None:
        self.metrics = Metrics()
        self.models = Models(settings.replace(worker_url=None), self.metrics)
        self.scoring = LocalScoring(self.models)
        self.metrics.watch(WorkerState(self.models.workers))


@router.get("/v1/model")
def model(request: Request) -> ModelBody:
    """The model that scores here."""
    return ModelBody.of(_runtime(request).scoring.about())


@router.post("/v1/score")
async def score(body: ScoreBody, request: Request) -> ScoresBody:
    """Score documents for a query; the work is cancelled when the client disconnects."""
    until = time.monotonic() + body.seconds
    pending = await asyncio.to_thread(_begin, _runtime(request), body)
    try:
        await wait_for_futures(pending.futures, request, until, all_of=True)
        return ScoresBody.of(pending.finish())
    finally:
        pending.cancel()


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


def create_worker_app(settings: Settings) -> FastAPI:
    """The worker's application; it loads its model while it starts.

    Raises:
        ServiceError: the model cannot be loaded.
    """
    limits = {"body_bytes": _BODY_BYTES, "body_values": _BODY_VALUES, "bodies_bytes": _BODIES_BYTES}
    settings = settings.replace(
        **{name: max(least, getattr(settings.requests, name)) for name, least in limits.items()}
    )
    runtime = WorkerRuntime(settings)
    try:
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


def _begin(runtime: WorkerRuntime, body: ScoreBody) -> Pending:
    with background(body.seconds) if body.background else nullcontext():
        runtime.scoring.admit(len(body.documents), body.seconds)
        return runtime.scoring.begin(body.request(), body.seconds)


def _runtime(request: Request) -> WorkerRuntime:
    runtime: WorkerRuntime = request.app.state.runtime
    return runtime
