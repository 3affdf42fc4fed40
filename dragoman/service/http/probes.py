"""What the probes and the metrics of the service and of a worker have in common."""

from __future__ import annotations

from fastapi import Request
from pydantic import BaseModel

from dragoman.service.core.errors import Unavailable

METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Health(BaseModel):
    status: str


def check_not_stopping(request: Request) -> None:
    """Raise :class:`Unavailable` from the moment on that the process was told to stop."""
    if request.app.state.draining:
        raise Unavailable("the service is stopping")
