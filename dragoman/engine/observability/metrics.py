"""Counters and histograms for Prometheus. Gauges, read on each scrape, are in `gauges`, here and in the service."""

from __future__ import annotations

from collections import Counter as Counts
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Protocol

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.registry import Collector
from prometheus_client.samples import Sample

from dragoman.engine.observability.logs import known_method

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.02, 0.03, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300)
_TEXTS = (1, 2, 4, 8, 16, 32, 64, 128, 256)
_COSTS = (16, 64, 256, 1_024, 4_096, 16_384, 65_536)

_OF_WORKERS = ("dragoman_batch_", "dragoman_worker_", "dragoman_stage_seconds")
_OF_SEARCHES = tuple(
    f"dragoman_{name}"
    for name in (
        "requests",
        "request_seconds",
        "stage_seconds",
        "degraded",
        "query_words",
        "oov_words",
        "reranks",
        "forwarded_searches",
    )
)
"""What search processes count; what they forward is counted where it is answered."""
_REFUSALS = ("missing", "malformed", "unknown", "revoked", "expired", "scope", "site")


class Degraded(Protocol):
    """A stage of a search that did less than requested, and the kind of reason."""

    @property
    def stage(self) -> str: ...

    @property
    def cause(self) -> str: ...


class Metrics:
    """The counters of one service, in their own registry, so that one process can hold several services.

    No label value comes from a request's text. Values are routes, languages and constants of this program.
    """

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._joined: Callable[[], str] = str
        self._processes: Path | None = None
        ProcessCollector(registry=self.registry)
        self._requests = self._counter("requests", "Requests answered.", "method", "route", "status")
        self._latency = self._histogram("request_seconds", "Time to answer a request.", _SECONDS, "method", "route")
        self._stages = self._histogram(
            "stage_seconds", "Time spent in a stage: translate, first_stage, store, index and so on.", _SECONDS, "stage"
        )
        self._refused_callers = self._counter(
            "refused_callers", "Requests refused for their key, scope or site, by reason.", "reason"
        )
        for reason in _REFUSALS:  # shown from the start, so that the first of a kind is seen as an increase
            self._refused_callers.labels(reason)
        self._documents = self._counter("documents", "Documents stored, deleted or rejected.", "outcome")
        self._degraded = self._counter(
            "degraded", "Stages of searches that did less than requested.", "stage", "reason"
        )
        self._forwarded = self._counter(
            "forwarded_searches", "Searches that search processes left to the service's own, by reason.", "reason"
        )
        self._query_words = self._counter("query_words", "Words and phrases of queries to translate.", "language")
        self._oov = self._counter("oov_words", "Words and phrases to translate that no active table has.", "language")
        self._reranks = self._counter("reranks", "Rankings to rerank, by outcome.", "outcome")
        self._batch_texts = self._histogram("batch_texts", "Texts in one forward pass of a model.", _TEXTS, "task")
        self._batch_cost = self._histogram(
            "batch_cost", "Subwords (score) or characters (other tasks) in one forward pass.", _COSTS, "task"
        )
        self._batch_seconds = self._histogram("batch_seconds", "Time of one forward pass.", _SECONDS, "task")
        self._refused = self._counter("worker_refused", "Texts refused because the queue was full.", "task")
        self._dropped = self._counter("worker_dropped", "Texts dropped because their request was cancelled.", "task")

        self._jobs = Gauge("dragoman_jobs", "Unfinished jobs by status.", ["status"], registry=self.registry)
        self._job_lines = self._counter("job_lines", "Finished lines of jobs.", "outcome")

    def _counter(self, name: str, help: str, *labels: str) -> Counter:
        return Counter(f"dragoman_{name}", help, labels, registry=self.registry)

    def _histogram(self, name: str, help: str, buckets: Iterable[float], *labels: str) -> Histogram:
        return Histogram(f"dragoman_{name}", help, labels, buckets=tuple(buckets), registry=self.registry)

    def watch(self, collector: Collector) -> None:
        """Expose the metrics of a collector too."""
        self.registry.register(collector)

    def jobs(self, statuses: Iterable[str]) -> None:
        """Record the number of unfinished jobs by status."""
        self._jobs.clear()
        for status, count in Counts(statuses).items():
            self._jobs.labels(status).set(count)

    def job_lines(self, completed: int, failed: int) -> None:
        """Record finished lines of jobs."""
        self._job_lines.labels("completed").inc(completed)
        self._job_lines.labels("failed").inc(failed)

    def request(self, method: str, route: str, status: int, seconds: float) -> None:
        method = known_method(method)
        self._requests.labels(method, route, str(status)).inc()
        self._latency.labels(method, route).observe(seconds)

    def refused_caller(self, reason: str) -> None:
        """Record a request that was refused for its key, scope or site; ``reason`` is a constant of this program."""
        self._refused_callers.labels(reason).inc()

    def stage(self, name: str, seconds: float) -> None:
        """Record the time that one stage of a request took."""
        self._stages.labels(name).observe(seconds)

    def count_degraded(self, stages: Iterable[Degraded]) -> None:
        """Record the degraded stages of a search, by stage and kind of reason."""
        for stage in stages:
            self._degraded.labels(stage.stage, stage.cause).inc()

    def forwarded_search(self, reason: str) -> None:
        """Record a search that another process answers; ``reason`` is a constant of this program."""
        self._forwarded.labels(reason).inc()

    def query(self, language: str, words: int, oov: int) -> None:
        """Record how many words of a query had to be translated, and how many of them no table has."""
        self._query_words.labels(language).inc(words)
        self._oov.labels(language).inc(oov)

    def rerank(self, outcome: str) -> None:
        """Record the outcome of a ranking to rerank."""
        self._reranks.labels(outcome).inc()

    def documents(self, outcome: str, count: int) -> None:
        self._documents.labels(outcome).inc(count)

    def batch(self, task: Any, items: int, cost: int, seconds: float) -> None:
        """Record one forward pass."""
        name = task_name(task)
        self._batch_texts.labels(name).observe(items)
        self._batch_cost.labels(name).observe(cost)
        self._batch_seconds.labels(name).observe(seconds)
        self.stage("forward", seconds)

    def count_refused(self, task: Any, items: int) -> None:
        """Record items refused because the worker's queue was full."""
        self._refused.labels(task_name(task)).inc(items)

    def count_dropped(self, task: Any, items: int) -> None:
        """Record items that were cancelled in the queue."""
        self._dropped.labels(task_name(task)).inc(items)

    def join(self, expose: Callable[[], str]) -> None:
        """Show what a worker process exposes of its batches, queues and stages among these, as of a thread."""
        self._joined = expose

    def join_processes(self, folder: Path) -> None:
        """Add what search processes count, in files of this folder, also those that have ended."""
        self._processes = folder

    def expose(self) -> bytes:
        """All of them, for Prometheus."""
        families = {family.name: family for family in self.registry.collect()}
        if self._processes is not None:
            for family in _read_counts(self._processes):
                if family.name in families and family.name.startswith(_OF_SEARCHES):
                    families[family.name].samples = _add(families[family.name].samples, family.samples)
        for family in text_string_to_metric_families(self._joined()):
            if family.name.startswith(_OF_WORKERS):
                families.setdefault(family.name, family)
                if families[family.name] is not family:
                    families[family.name].samples += family.samples
        return generate_latest(_Collected(families.values()))


def _read_counts(folder: Path) -> Iterable[Metric]:
    """What is in the files of a folder, of all processes together."""
    collector: Any = MultiProcessCollector
    families: Iterable[Metric] = collector(CollectorRegistry(), str(folder)).collect()
    return families


def _add(samples: Iterable[Sample], more: Iterable[Sample]) -> list[Sample]:
    """The sums of samples of one name and labels."""
    sums = {(sample.name, frozenset(sample.labels.items())): sample for sample in samples}
    for sample in more:
        key = sample.name, frozenset(sample.labels.items())
        before = sums.get(key)
        sums[key] = sample if before is None else before._replace(value=before.value + sample.value)
    return list(sums.values())


class _Collected(CollectorRegistry):
    """Families that have been collected."""

    def __init__(self, families: Iterable[Metric]) -> None:
        super().__init__()
        self._families = families

    def collect(self) -> Iterable[Metric]:
        return self._families


def task_name(task: Any) -> str:
    """The name of a worker's task without its languages or model: encode, translate, score, read, load."""
    return type(task).__name__.removesuffix("Task").lower()


def gauge(name: str, help: str, *labels: str) -> GaugeMetricFamily:
    """A gauge of this product, without values yet."""
    return GaugeMetricFamily(f"dragoman_{name}", help, labels=labels)
