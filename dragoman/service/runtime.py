"""What a running service holds: data directory, database, indexes, tables and models; made once, then shared."""

from __future__ import annotations

from contextlib import ExitStack
from threading import BoundedSemaphore

from dragoman.indexes import jvm
from dragoman.indexes.analysis import analysis
from dragoman.service.audit import Audit
from dragoman.service.background import Traffic
from dragoman.service.collections import Collections
from dragoman.service.data_dir import DataDirectory
from dragoman.service.dense_registry import DenseIndexes
from dragoman.service.dense_stage import DenseStage
from dragoman.service.errors import InvalidRequest, Unavailable
from dragoman.service.indexes_registry import Indexes
from dragoman.service.jobs import Jobs
from dragoman.service.keys import Keys
from dragoman.service.metrics import Metrics
from dragoman.service.metrics_state import ServiceState, WorkerState
from dragoman.service.models import Load, Models, has_reranker
from dragoman.service.remote_scoring import RemoteScoring
from dragoman.service.rerank_stage import RerankStage
from dragoman.service.reranking import Reranking
from dragoman.service.scoring import LocalScoring, Scoring
from dragoman.service.search import Search
from dragoman.service.settings import Settings
from dragoman.service.store import Store
from dragoman.service.tables import Tables
from dragoman.service.translation import Translations

_RERANKS = 128


class Runtime:
    """The parts of the service that live as long as it does. All of it may be used from any thread.

    Raises:
        ServiceError: the data directory is taken or cannot be written, or the database cannot be opened.
    """

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.metrics = Metrics()
        self.traffic = Traffic()
        _configure_java(settings.jvm_heap)
        with ExitStack() as opened:
            self._directory = DataDirectory(settings.data_dir)
            opened.callback(self._directory.close)
            self.store = Store(settings.url)
            opened.callback(self.store.close)
            self.store.claim(settings.startup_wait_seconds)
            self.keys, self.audit = Keys(self.store), Audit(self.store)
            self.indexes = Indexes(self.store, settings.indexes_dir, settings.index_commit_seconds)
            opened.callback(self.indexes.close)
            self.models = Models(settings, self.metrics)
            opened.callback(self.models.close)
            self.dense = DenseIndexes(self.store, settings.dense_dir, self.models, settings.embed == "always")
            opened.callback(self.dense.close)
            self.translations = Translations(self.models, settings)
            self.collections = Collections(self.store, self.indexes, settings, self.metrics, self.dense)
            self.tables = Tables(self.store, settings, analysis, lambda id: self.jobs.pinned_by(id))
            opened.callback(self.tables.close)
            self.scoring = _scoring(settings, self.models)
            opened.callback(self.scoring.close)
            self.reranking = Reranking(self.scoring, analysis)
            self.reranks = BoundedSemaphore(_RERANKS)
            """Rerank requests whose texts are being read at a time; others are refused."""
            self.search = Search(
                self.collections,
                self.indexes,
                self.tables.registry,
                analysis,
                settings,
                self.metrics,
                DenseStage(self.dense, self.models, settings.embed_seconds),
                self.translations,
                RerankStage(self.reranking, self.collections, settings, has_reranker(settings)),
                self.traffic,
            )
            self.jobs = Jobs(self)
            opened.callback(self.jobs.close)
            self.metrics.watch(WorkerState(self.models))
            self.metrics.watch(ServiceState(self))
            self._opened = opened.pop_all()

    def start(self, *, serving: bool = True) -> None:
        """Open all tables and indexes; indexes that take long are finished in the background.

        One that is ``serving`` also goes on with jobs, and loads the reranker before the first search asks for it.
        """
        self.tables.start()
        self.indexes.start(self.settings.startup_wait_seconds)
        self.dense.start()
        if not serving:
            return
        if self.settings.rerank == "measured" and self.settings.worker_url is None and has_reranker(self.settings):
            self.models.worker.submit(Load("reranker"), ["reranker"], background=True)
        self.jobs.start()

    def close(self) -> None:
        """Commit and close everything, in the reverse order of opening."""
        self._opened.close()


def _scoring(settings: Settings, models: Models) -> Scoring:
    if settings.worker_url is None:
        return LocalScoring(models)
    token = settings.worker_token
    return RemoteScoring(settings.worker_url, None if token is None else token.get_secret_value())


def _configure_java(heap: str | None) -> None:
    if heap is None:
        return
    try:
        jvm.configure(heap)
    except ValueError as fault:
        raise InvalidRequest(str(fault)) from fault
    except jvm.JvmUnavailable as fault:
        raise Unavailable(str(fault)) from fault
