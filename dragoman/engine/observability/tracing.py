"""OpenTelemetry spans, sent by OTLP over HTTP to the configured collector.

Without a collector the calls are no-ops of OpenTelemetry's API, and its SDK is not imported. The provider is not
registered globally, because FastAPI would then add spans with the unfiltered address.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from importlib.metadata import version
from typing import Any

from opentelemetry.trace import (
    Link,
    NoOpTracer,
    Span,
    SpanKind,
    StatusCode,
    Tracer,
    get_current_span,
    set_span_in_context,
)
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from dragoman.engine.core.errors import InvalidRequest
from dragoman.engine.settings import Settings
from dragoman.installation import command

_ENDPOINTS = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
_PROPAGATOR = TraceContextTextMapPropagator()
_PROPAGATED = (b"traceparent", b"tracestate")

_tracer: Tracer = NoOpTracer()


@contextmanager
def export_spans(settings: Settings, service: str) -> Iterator[None]:
    """Send this process's spans to the configured collector, if there is one, until the block ends.

    ``service`` is the service name in traces, unless ``OTEL_SERVICE_NAME`` is set.

    Raises:
        InvalidRequest: a collector is configured, but the required packages are not installed.
    """
    global _tracer
    if not has_collector(settings):
        yield
        return
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError as fault:
        raise InvalidRequest(
            f"traces are configured, but the required packages are not installed: {command('telemetry')}"
        ) from fault
    attributes = {"service.version": version("dragoman")}
    if "OTEL_SERVICE_NAME" not in os.environ:
        attributes["service.name"] = service
    provider = TracerProvider(resource=Resource.create(attributes), shutdown_on_exit=False)
    exporter = OTLPSpanExporter(settings.log.traces and f"{settings.log.traces.rstrip('/')}/v1/traces")
    provider.add_span_processor(BatchSpanProcessor(exporter))
    _tracer = provider.get_tracer("dragoman")
    try:
        yield
    finally:
        _tracer = NoOpTracer()
        provider.shutdown()


def has_collector(settings: Settings) -> bool:
    """Whether a collector is configured, by a setting or by OpenTelemetry's own variables."""
    if os.environ.get("OTEL_SDK_DISABLED", "").lower() == "true":
        return False
    return settings.log.traces is not None or any(os.environ.get(name) for name in _ENDPOINTS)


def span(name: str) -> AbstractContextManager[Span]:
    """A span around a stage of the request that this thread works for."""
    return _tracer.start_as_current_span(name)


@contextmanager
def request_span(headers: Sequence[tuple[bytes, bytes]], attributes: Mapping[str, Any]) -> Iterator[None]:
    """The span of a whole request, a child of the caller's span if the headers name one (W3C trace context).

    ``attributes`` are read at the end: ``http.request.method``, ``http.route`` and others set until then.
    """
    carrier = {name.decode("latin-1"): header.decode("latin-1") for name, header in headers if name in _PROPAGATED}
    with _tracer.start_as_current_span("request", _PROPAGATOR.extract(carrier), SpanKind.SERVER) as span:
        try:
            yield
        finally:
            if span.is_recording():
                span.update_name(f"{attributes.get('http.request.method')} {attributes.get('http.route')}")
                span.set_attributes(attributes)
                if attributes.get("http.response.status_code", 500) >= 500:
                    span.set_status(StatusCode.ERROR)


def current_span() -> Span | None:
    """The span that this thread works in, for :func:`forward_span`; None without a trace."""
    span = get_current_span()
    return span if span.get_span_context().is_valid else None


def forward_span(name: str, origins: Sequence[Span | None]) -> AbstractContextManager[object]:
    """A span around one forward pass for several requests: a child of the first one's span, linked to the others."""
    spans = {origin.get_span_context().span_id: origin for origin in origins if origin is not None}
    if not spans:
        return nullcontext()
    first, *others = spans.values()
    return _tracer.start_as_current_span(
        "forward",
        set_span_in_context(first),
        links=[Link(other.get_span_context()) for other in others],
        attributes={"dragoman.task": name, "dragoman.items": len(origins)},
    )


def headers() -> dict[str, str]:
    """The headers that make another process's spans children of this thread's span."""
    carrier: dict[str, str] = {}
    _PROPAGATOR.inject(carrier)
    return carrier
