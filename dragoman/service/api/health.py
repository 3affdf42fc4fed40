"""Liveness and readiness probes, and metrics."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import PlainTextResponse, Response

from dragoman.engine.core.errors import Unavailable
from dragoman.service.dependencies import RuntimeDep
from dragoman.service.http.bodies import StrictRoute
from dragoman.service.http.probes import METRICS_TYPE, Health, SharedCheck, check_not_stopping
from dragoman.service.runtime import Runtime

router = APIRouter(route_class=StrictRoute, tags=["running"])


@router.get("/healthz")
async def healthz() -> Health:
    """The process is alive."""
    return Health(status="ok")


@router.get("/readyz")
async def readyz(request: Request, runtime: RuntimeDep) -> Health:
    """Ready: all indexes are open, the database is writable and the reranker scores. Otherwise 503 with the reason.

    The reason has no names of collections and tables, as no key is needed here.
    """
    check_not_stopping(request)
    if waiting := runtime.indexes.missing():
        counts = ", ".join(f"{len(names)} {state.value}" for state, names in waiting.items())
        raise Unavailable(f"not all indexes are ready: {counts}; GET /v1/collections names them")
    if unserved := runtime.tables.registry.snapshot.unserved:
        raise Unavailable(f"{len(unserved)} active tables are not served; the log names them, and answers in degraded")
    checked: SharedCheck = request.app.state.ready
    await checked.check()
    return Health(status="ready")


def check_dependencies(runtime: Runtime) -> None:
    """Check the database and the reranker, which takes a moment and a little computing.

    Raises:
        Unavailable: one of them does not work.
    """
    if not runtime.store.writable():
        raise Unavailable("the database cannot be written")
    runtime.scoring.ready()


@router.get("/metrics", response_class=PlainTextResponse)
def metrics(runtime: RuntimeDep) -> Response:
    """Counters and timings for Prometheus."""
    return Response(runtime.metrics.expose(), media_type=METRICS_TYPE)
