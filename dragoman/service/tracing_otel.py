"""Spans by OpenTelemetry, sent by OTLP over HTTP. Imported only where traces are configured: see ``tracing``."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from importlib.metadata import version
from typing import Any

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import Link, Span, SpanKind, StatusCode, get_current_span, set_span_in_context
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

_PROPAGATOR = TraceContextTextMapPropagator()
_PROPAGATED = ("traceparent", "tracestate")


class Tracer:
    """Makes the spans of one process and sends them to a collector in the background.

    Args:
        endpoint: the collector, such as ``http://localhost:4318``; None: what OpenTelemetry's variables say.
        service: what the process is called in traces, unless ``OTEL_SERVICE_NAME`` says so.
    """

    def __init__(self, endpoint: str | None, service: str) -> None:
        described = {"service.version": version("dragoman")}
        if "OTEL_SERVICE_NAME" not in os.environ:
            described["service.name"] = service
        self._provider = TracerProvider(resource=Resource.create(described), shutdown_on_exit=False)
        exporter = OTLPSpanExporter(endpoint and f"{endpoint.rstrip('/')}/v1/traces")
        self._provider.add_span_processor(BatchSpanProcessor(exporter))
        self._tracer = self._provider.get_tracer("dragoman")

    def span(self, name: str) -> AbstractContextManager[Span]:
        return self._tracer.start_as_current_span(name)

    @contextmanager
    def request(self, headers: Sequence[tuple[bytes, bytes]], told: Mapping[str, Any]) -> Iterator[None]:
        carrier = {name.decode("latin-1"): value.decode("latin-1") for name, value in headers}
        context = _PROPAGATOR.extract({name: carrier[name] for name in _PROPAGATED if name in carrier})
        with self._tracer.start_as_current_span("request", context, SpanKind.SERVER) as span:
            try:
                yield
            finally:
                span.update_name(f"{told.get('http.request.method')} {told.get('http.route')}")
                span.set_attributes(told)
                if told.get("http.response.status_code", 500) >= 500:
                    span.set_status(StatusCode.ERROR)

    def here(self) -> Span | None:
        span = get_current_span()
        return span if span.get_span_context().is_valid else None

    def forward(self, name: str, origins: Sequence[Span | None]) -> AbstractContextManager[object]:
        spans = {origin.get_span_context().span_id: origin for origin in origins if origin is not None}
        if not spans:
            return nullcontext()
        first, *others = spans.values()
        links = [Link(other.get_span_context()) for other in others]
        span = self._tracer.start_as_current_span("forward", set_span_in_context(first), links=links)
        return _named(span, {"dragoman.task": name, "dragoman.items": len(origins)})

    def headers(self) -> dict[str, str]:
        carrier: dict[str, str] = {}
        _PROPAGATOR.inject(carrier)
        return carrier

    def close(self) -> None:
        """Send what is left."""
        self._provider.shutdown()


@contextmanager
def _named(span: AbstractContextManager[Span], attributes: Mapping[str, Any]) -> Iterator[None]:
    with span as opened:
        opened.set_attributes(attributes)
        yield
