"""What Prometheus reads at /metrics as it is at that moment: queues, tables, indexes, and what is up."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future
from threading import Lock, Thread
from typing import TYPE_CHECKING

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from dragoman.service.metrics import task_name
from dragoman.service.models import Models

if TYPE_CHECKING:
    from dragoman.service.runtime import Runtime

_PROBE_SECONDS = 3.0


class Probe:
    """A check that may hang: it is made on a thread of its own, one at a time."""

    def __init__(self, check: Callable[[], object], seconds: float = _PROBE_SECONDS) -> None:
        self._check = check
        self._seconds = seconds
        self._lock = Lock()
        self._answer: Future[bool] | None = None

    def up(self) -> bool:
        """Whether the check passes, within the time for it."""
        with self._lock:
            if self._answer is None or self._answer.done():
                self._answer = Future()
                Thread(target=self._ask, args=(self._answer,), name="dragoman-probe", daemon=True).start()
            answer = self._answer
        try:
            return answer.result(self._seconds)
        except TimeoutError:
            return False

    def _ask(self, answer: Future[bool]) -> None:
        try:
            self._check()
        except Exception:
            answer.set_result(False)
        else:
            answer.set_result(True)


class WorkerState(Collector):
    """The queue of the worker thread of this process."""

    def __init__(self, models: Models) -> None:
        self._models = models

    def collect(self) -> Iterator[Metric]:
        items = _gauge("worker_waiting_items", "Texts that wait for the models.", "task")
        cost = _gauge("worker_waiting_cost", "Subwords (score) or characters (else) that wait.", "task")
        waiting: dict[str, tuple[int, int]] = {}
        for task, (many, much) in self._models.worker.waiting().items():
            before = waiting.get(task_name(task), (0, 0))
            waiting[task_name(task)] = (before[0] + many, before[1] + much)
        for name, (many, much) in waiting.items():
            items.add_metric([name], many)
            cost.add_metric([name], much)
        busy = _gauge("worker_busy_seconds", "How long the forward pass under way has taken.", "task")
        if (computing := self._models.worker.computing()) is not None:
            busy.add_metric([task_name(computing[0])], computing[1])
        yield from (items, cost, busy)


class ServiceState(Collector):
    """The tables and indexes of a service, and whether what it needs is up."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._database = Probe(runtime.store.check)
        self._worker = Probe(runtime.scoring.ready)

    def collect(self) -> Iterator[Metric]:
        tables = _gauge("table_version_info", "The table versions that searches use.", "table", "version", "kind")
        for one in self._runtime.tables.registry.snapshot.versions:
            tables.add_metric([one.name, str(one.version), one.kind], 1)
        collections = _gauge("collections", "Collections by index state.", "state")
        for state, count in self._runtime.indexes.states().items():
            collections.add_metric([state.value], count)
        unserved = _gauge("tables_unserved", "Pairs of languages whose tables cannot be compiled.")
        unserved.add_metric([], len(self._runtime.tables.registry.snapshot.unserved))
        database = _gauge("database_up", "Whether the database answers.")
        database.add_metric([], self._database.up())
        worker = _gauge("worker_up", "Whether the reranker scores, here or in its worker process.")
        worker.add_metric([], self._worker.up())
        yield from (tables, collections, unserved, database, worker)


def _gauge(name: str, help: str, *labels: str) -> GaugeMetricFamily:
    return GaugeMetricFamily(f"dragoman_{name}", help, labels=labels)
