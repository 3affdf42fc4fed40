"""Liveness and readiness probes, and metrics."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import PlainTextResponse, Response

from dragoman.service.api.dependencies import RuntimeDep
from dragoman.service.core.errors import Unavailable
from dragoman.service.http.bodies import StrictRoute
from dragoman.service.http.probes import METRICS_TYPE, Health, check_not_stopping

router = APIRouter(route_class=StrictRoute, tags=["running"])

_NAMED = 10


@router.get("/healthz")
async def healthz() -> Health:
    """The process is alive."""
    return Health(status="ok")


@router.get("/readyz")
def readyz(request: Request, runtime: RuntimeDep) -> Health:
    """Ready: all indexes are open, the database is writable and the reranker scores. Otherwise 503 with the reason."""
    check_not_stopping(request)
    if not runtime.store.writable():
        raise Unavailable("the database cannot be written")
    if waiting := runtime.indexes.missing():
        warnings = (f"{len(names)} {state.value} ({_some(names)})" for state, names in waiting.items())
        raise Unavailable("not all indexes are ready: " + ", ".join(warnings))
    if unserved := runtime.tables.registry.snapshot.unserved:
        raise Unavailable("not all tables are served: " + "; ".join(map(str, unserved.values())))
    runtime.scoring.ready()
    return Health(status="ready")


def _some(names: list[str]) -> str:
    return ", ".join([*sorted(names)[:_NAMED], *(["..."] if len(names) > _NAMED else [])])


@router.get("/metrics", response_class=PlainTextResponse)
def metrics(runtime: RuntimeDep) -> Response:
    """Counters and timings for Prometheus."""
    return Response(runtime.metrics.expose(), media_type=METRICS_TYPE)
