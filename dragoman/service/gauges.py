"""Gauges of the service, read when Prometheus asks: tables, indexes, and which dependencies are up."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future
from threading import Lock, Thread

from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from dragoman.engine.indexing.lucene.indexes import Indexes
from dragoman.engine.models.scoring import Scoring
from dragoman.engine.observability.metrics import gauge
from dragoman.engine.tables.snapshot import TableRegistry
from dragoman.store.collections.unindexed_documents import counts
from dragoman.store.database import Store

_PROBE_SECONDS = 3.0


class Probe:
    """Runs a check that may hang on a separate thread, one at a time."""

    def __init__(self, check: Callable[[], object], seconds: float = _PROBE_SECONDS) -> None:
        self._check = check
        self._seconds = seconds
        self._lock = Lock()
        self._answer: Future[bool] | None = None

    def up(self) -> bool:
        """Whether the check passes within the timeout."""
        with self._lock:
            if self._answer is None or self._answer.done():
                self._answer = Future()
                Thread(target=self._run, args=(self._answer,), name="dragoman-probe", daemon=True).start()
            answer = self._answer
        try:
            return answer.result(self._seconds)
        except TimeoutError:
            return False

    def _run(self, answer: Future[bool]) -> None:
        try:
            self._check()
        except Exception:
            answer.set_result(False)
        else:
            answer.set_result(True)


class ServiceState(Collector):
    """The tables and indexes of a service, and whether its dependencies are up."""

    def __init__(self, store: Store, tables: TableRegistry, indexes: Indexes, scoring: Scoring) -> None:
        self._store = store
        self._tables = tables
        self._indexes = indexes
        self._database = Probe(store.check)
        self._worker = Probe(scoring.ready)

    def collect(self) -> Iterator[Metric]:
        tables = gauge("table_version_info", "The table versions that searches use.", "table", "version", "kind")
        for version in self._tables.snapshot.versions:
            tables.add_metric([version.name, str(version.version), version.kind], 1)
        collections = gauge("collections", "Collections by index state.", "state")
        for state, count in self._indexes.states().items():
            collections.add_metric([state.value], count)
        unindexed = gauge("documents_unindexed", "Documents that could not be indexed.")
        unserved = gauge("tables_unserved", "Language pairs whose tables cannot be compiled.")
        unserved.add_metric([], len(self._tables.snapshot.unserved))
        database = gauge("database_up", "Whether the database responds.")
        up = self._database.up()
        database.add_metric([], up)
        if up:
            unindexed.add_metric([], sum(counts(self._store).values()))
        worker = gauge("worker_up", "Whether the reranker scores, here or in its worker process.")
        worker.add_metric([], self._worker.up())
        yield from (tables, collections, unindexed, unserved, database, worker)
