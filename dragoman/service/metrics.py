"""What Prometheus reads at /metrics."""

from __future__ import annotations

from collections import Counter as Counts
from collections.abc import Iterable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

_METHODS = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}
_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.02, 0.03, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300)


class Metrics:
    """The counters of one service; each has its own registry, so that several can live in one process."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._requests = Counter(
            "dragoman_requests", "Requests answered.", ["method", "route", "status"], registry=self.registry
        )
        self._latency = Histogram(
            "dragoman_request_seconds",
            "Time to answer a request.",
            ["method", "route"],
            buckets=_SECONDS,
            registry=self.registry,
        )
        self._stages = Histogram(
            "dragoman_stage_seconds",
            "Time spent in a stage: translate, first_stage, store, index and so on.",
            ["stage"],
            buckets=_SECONDS,
            registry=self.registry,
        )
        self._documents = Counter(
            "dragoman_documents",
            "Documents stored, deleted or rejected.",
            ["outcome"],
            registry=self.registry,
        )
        self._batches = Histogram(
            "dragoman_batch_texts",
            "Texts in one forward pass of a model.",
            buckets=(1, 2, 4, 8, 16, 32, 64, 128),
            registry=self.registry,
        )
        self._collections = Gauge(
            "dragoman_collections", "Collections by index state.", ["state"], registry=self.registry
        )

        self._jobs = Gauge("dragoman_jobs", "Unfinished jobs by status.", ["status"], registry=self.registry)
        self._job_lines = Counter(
            "dragoman_job_lines", "Lines of jobs that are done.", ["outcome"], registry=self.registry
        )

    def jobs(self, statuses: Iterable[str]) -> None:
        """Record how many unfinished jobs there are of each status."""
        self._jobs.clear()
        for status, count in Counts(statuses).items():
            self._jobs.labels(status).set(count)

    def job_lines(self, completed: int, failed: int) -> None:
        """Record lines of jobs that are done."""
        self._job_lines.labels("completed").inc(completed)
        self._job_lines.labels("failed").inc(failed)

    def request(self, method: str, route: str, status: int, seconds: float) -> None:
        method = method if method in _METHODS else "other"
        self._requests.labels(method, route, str(status)).inc()
        self._latency.labels(method, route).observe(seconds)

    def stage(self, name: str, seconds: float) -> None:
        """Record the time that one stage of a request took."""
        self._stages.labels(name).observe(seconds)

    def batch(self, texts: int, seconds: float) -> None:
        """Record one forward pass."""
        self._batches.observe(texts)
        self.stage("forward", seconds)

    def documents(self, outcome: str, count: int) -> None:
        self._documents.labels(outcome).inc(count)

    def indexes(self, states: dict[str, int]) -> None:
        """Record how many collections have an index in each state."""
        self._collections.clear()
        for state, count in states.items():
            self._collections.labels(state).set(count)

    def expose(self) -> bytes:
        return generate_latest(self.registry)
