"""Traces, where they are configured; where not, OpenTelemetry's SDK is not imported and spans cost nothing.

The request's span is made here and not by FastAPI, whose own has the address as it was sent, and so what was asked.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

from dragoman.service.errors import InvalidRequest
from dragoman.service.settings import Settings

if TYPE_CHECKING:
    from dragoman.service.tracing_otel import Tracer

_ENDPOINTS = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")

_tracer: Tracer | None = None


@contextmanager
def traced(settings: Settings, service: str) -> Iterator[None]:
    """Send this process's spans to the collector that is configured, if one is, until the block ends.

    Raises:
        InvalidRequest: one is configured, and the packages for it are not installed.
    """
    global _tracer
    if not configured(settings):
        yield
        return
    try:
        from dragoman.service.tracing_otel import Tracer
    except ImportError as fault:
        raise InvalidRequest(
            "traces are configured, and the packages for them are not installed: pip install 'dragoman[telemetry]'"
        ) from fault
    _tracer = Tracer(settings.traces, service)
    try:
        yield
    finally:
        tracer, _tracer = _tracer, None
        tracer.close()


def configured(settings: Settings) -> bool:
    """Whether there is a collector to send spans to: by a setting, or by OpenTelemetry's own variables."""
    if os.environ.get("OTEL_SDK_DISABLED", "").lower() == "true":
        return False
    return settings.traces is not None or any(os.environ.get(name) for name in _ENDPOINTS)


def span(name: str) -> AbstractContextManager[object]:
    """A span around a stage of the request that this thread works for."""
    return nullcontext() if _tracer is None else _tracer.span(name)


@contextmanager
def request_span(headers: Sequence[tuple[bytes, bytes]], told: Mapping[str, Any]) -> Iterator[None]:
    """The span of a whole request, below that of the caller where its headers name one (W3C trace context).

    ``told`` is read at the end: ``http.request.method``, ``http.route`` and what else is known by then.
    """
    if _tracer is None:
        yield
        return
    with _tracer.request(headers, told):
        yield


def here() -> Any:
    """What :func:`forward_span` needs to know of the request that this thread works for; None without traces."""
    return None if _tracer is None else _tracer.here()


def forward_span(name: str, origins: Sequence[Any]) -> AbstractContextManager[object]:
    """A span around one forward pass for several requests: below that of the first, linked with the others'."""
    return nullcontext() if _tracer is None else _tracer.forward(name, origins)


def headers() -> dict[str, str]:
    """What to send along to another process, so that its spans come below this thread's."""
    return {} if _tracer is None else _tracer.headers()
