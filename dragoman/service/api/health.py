"""Liveness and readiness probes, and metrics."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import PlainTextResponse, Response

from dragoman.service.api.dependencies import RuntimeDep
from dragoman.service.core.errors import Unavailable
from dragoman.service.http.bodies import StrictRoute
from dragoman.service.http.probes import METRICS_TYPE, Health, check_not_stopping

router = APIRouter(route_class=StrictRoute, tags=["running"])


@router.get("/healthz")
async def healthz() -> Health:
    """The process is alive."""
    return Health(status="ok")


@router.get("/readyz")
def readyz(request: Request, runtime: RuntimeDep) -> Health:
    """Ready: all indexes are open, the database is writable and the reranker scores. Otherwise 503 with the reason.

    The reason has no names of collections and tables, as no key is needed here.
    """
    check_not_stopping(request)
    if not runtime.store.writable():
        raise Unavailable("the database cannot be written")
    if waiting := runtime.indexes.missing():
        counts = ", ".join(f"{len(names)} {state.value}" for state, names in waiting.items())
        raise Unavailable(f"not all indexes are ready: {counts}; GET /v1/collections names them")
    if unserved := runtime.tables.registry.snapshot.unserved:
        raise Unavailable(f"{len(unserved)} active tables are not served; the log names them, and answers in degraded")
    runtime.scoring.ready()
    return Health(status="ready")


@router.get("/metrics", response_class=PlainTextResponse)
def metrics(runtime: RuntimeDep) -> Response:
    """Counters and timings for Prometheus."""
    return Response(runtime.metrics.expose(), media_type=METRICS_TYPE)
