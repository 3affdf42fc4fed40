"""Shared by the probes and metrics of the service and of a worker."""

from __future__ import annotations

from fastapi import Request
from pydantic import BaseModel

from dragoman.service.core.errors import Unavailable

METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Health(BaseModel):
    status: str


def check_not_stopping(request: Request) -> None:
    """Raise :class:`Unavailable` if the process is shutting down."""
    if request.app.state.draining:
        raise Unavailable("the service is stopping")
