"""Traces from real processes, sent to a small collector in this one."""

from __future__ import annotations

import gzip
import signal
import subprocess
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import httpx
import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from tests.support.searching import ndjson
from tests.support.serving import Server, environment, server
from tests.support.standing_in import STANDING_IN
from tests.support.worker_process import Worker

pytestmark = pytest.mark.slow

TRACE = "0af7651916cd43dd8448eb211c80319c"
CALLER = "b7ad6b7169203331"


class Collector:
    """Takes spans by OTLP over HTTP; ``spans`` has them with the name of their service."""

    def __init__(self) -> None:
        self.spans: list[tuple[str, Span]] = []
        collector = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                if self.headers.get("content-encoding") == "gzip":
                    body = gzip.decompress(body)
                assert self.path == "/v1/traces"
                collector.take(ExportTraceServiceRequest.FromString(body))
                self.send_response(200)
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, *_: object) -> None: ...

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        Thread(target=self.server.serve_forever, daemon=True).start()

    def take(self, request: ExportTraceServiceRequest) -> None:
        for resource in request.resource_spans:
            names = [one.value.string_value for one in resource.resource.attributes if one.key == "service.name"]
            self.spans += [(names[0], span) for scope in resource.scope_spans for span in scope.spans]

    def of(self, trace: str) -> dict[str, tuple[str, Span]]:
        """The spans of one trace by service and name."""
        return {f"{name} {span.name}": (name, span) for name, span in self.spans if span.trace_id.hex() == trace}


@pytest.fixture
def collector() -> Iterator[Collector]:
    made = Collector()
    yield made
    made.server.shutdown()
    made.server.server_close()


def use(running: Server) -> httpx.Response:
    """A reranked search, by a caller with a trace of its own."""
    client = running.client
    client.put("/v1/tables/t?source=en&target=de&activate=true", content=b"volcano\tVulkan\t1\t1\n").raise_for_status()
    client.post("/v1/collections", json={"name": "c", "language": "de"}).raise_for_status()
    sent = {"content": ndjson([{"id": "1", "text": "Vulkan"}]), "headers": {"content-type": "application/x-ndjson"}}
    client.post("/v1/collections/c/documents", **sent).raise_for_status()
    asked = {"query": "volcano canaryquery", "query_language": "en", "rerank": {}}
    return client.post("/v1/search", json=asked, headers={"traceparent": f"00-{TRACE}-{CALLER}-01"})


def test_a_request_and_its_stages_are_spans_below_the_callers(tmp_path: Path, collector: Collector) -> None:
    with server(tmp_path, STANDING_IN, traces=collector.url, rerank_seconds=60) as running:
        answer = use(running)
        assert answer.json()["degraded"] == []
        assert running.stop() == 0  # what is left is sent at the end
    spans = collector.of(TRACE)
    assert set(spans) == {
        f"dragoman {name}" for name in ("POST /v1/search", "translate", "first_stage", "rerank", "forward")
    }
    root = spans["dragoman POST /v1/search"][1]
    assert root.parent_span_id.hex() == CALLER
    assert root.kind == Span.SPAN_KIND_SERVER
    told = {one.key: one.value.string_value or one.value.int_value for one in root.attributes}
    assert told == {
        "http.request.method": "POST",
        "http.route": "/v1/search",
        "http.response.status_code": 200,
        "dragoman.request_id": answer.headers["x-request-id"],
    }
    for name in ("translate", "first_stage", "rerank"):
        assert spans[f"dragoman {name}"][1].parent_span_id == root.span_id
    assert spans["dragoman forward"][1].parent_span_id == spans["dragoman rerank"][1].span_id
    assert not any("canaryquery" in str(span) for _, span in collector.spans)
    assert {"dragoman PUT /v1/tables/{name}"} <= {f"{name} {span.name}" for name, span in collector.spans}


def test_a_trace_goes_on_in_the_worker_process(
    tmp_path: Path, collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker = Worker(traces=collector.url)
    worker.start()
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url)
    monkeypatch.setenv("OTEL_SERVICE_NAME", "my-search")
    with server(tmp_path, STANDING_IN, worker_url=worker.url, rerank_seconds=60) as running:
        assert use(running).json()["degraded"] == []
        assert running.stop() == 0
    worker.tell(signal.SIGTERM)
    assert worker.process is not None
    assert worker.process.wait(60) == 0
    spans = collector.of(TRACE)
    remote = spans["dragoman-worker POST /v1/compute"][1]
    assert remote.parent_span_id == spans["my-search rerank"][1].span_id
    assert spans["dragoman-worker forward"][1].parent_span_id == remote.span_id


def test_a_collector_that_is_not_there_harms_nothing(tmp_path: Path) -> None:
    with server(tmp_path, STANDING_IN, traces="http://127.0.0.1:9") as running:
        assert use(running).status_code == 200
        assert running.stop() == 0


def test_the_sdk_is_not_imported_where_no_collector_is_configured(tmp_path: Path) -> None:
    program = (
        "import sys\n"
        "from dragoman.service import server\n"
        "from dragoman.service.runtime import Runtime\n"
        "from dragoman.engine.settings import Settings\n"
        "from dragoman.engine.observability.tracing import export_spans\n"
        "settings = Settings.load()\n"
        "with export_spans(settings, 'dragoman'):\n"
        "    Runtime(settings).close()\n"
        "unwanted = ('opentelemetry.sdk', 'opentelemetry.exporter', 'google.')\n"
        "print([name for name in sys.modules if name.startswith(unwanted)])\n"
    )
    kept = {name: value for name, value in environment(data_dir=tmp_path).items() if not name.startswith("OTEL_")}
    ended = subprocess.run([sys.executable, "-c", program], env=kept, capture_output=True, text=True, timeout=120)
    assert ended.stdout == "[]\n", ended.stderr
