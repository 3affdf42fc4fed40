"""The parts of a running service, created once and then shared: an open data directory, with what serves it."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, cast

from dragoman.engine.models.model_host import ModelHost, StoredPrecision
from dragoman.engine.models.models import Host, Models
from dragoman.engine.models.queue.gathering import gather
from dragoman.engine.models.scoring import LocalScoring, Scoring
from dragoman.engine.observability.gauges import WorkerState
from dragoman.engine.observability.metrics import Metrics
from dragoman.engine.qa.reasoning import Reasoning
from dragoman.engine.settings import Settings
from dragoman.ranking.about import shipped_names
from dragoman.service.access.audit import Audit
from dragoman.service.access.authenticator import Access
from dragoman.service.access.keys import Keys
from dragoman.service.access.shares import ALONE, Shares
from dragoman.service.gauges import ServiceState
from dragoman.service.jobs.line import LineAnswers
from dragoman.service.jobs.service import Jobs
from dragoman.store.library import Library

if TYPE_CHECKING:
    from dragoman.service.remote.remote_host import RemoteHost


_LOAD_SECONDS = 600.0
CHILD_SILENCE_SECONDS = 30.0
"""How long a child may give no sign of life, its start included, before it is killed and started again."""


class Runtime(Library):
    """A library with keys, an audit log, jobs, questions for the LLM, and gauges.

    Raises:
        ServiceError: as :class:`Library`.
    """

    def __init__(self, settings: Settings, shares: Shares = ALONE) -> None:
        """``shares`` makes what it counts with other processes of the same service."""
        super().__init__(settings, _host, scoring_of, shares.limit, shares.traffic())
        self.shares = shares
        if shares.metrics is not None:
            self.metrics.join_processes(shares.metrics)
        with ExitStack() as failing:
            failing.callback(self.close)
            self.keys, self.audit = Keys(self.store), Audit(self.store)
            self.reasoning = Reasoning(self.models, self.search, settings, self.metrics)
            answers = LineAnswers(self.search, self.qa, self.rerank_requests, settings, self.recording)
            self.jobs = Jobs(self.store, self.tables, answers, settings, self.metrics, self.traffic, self.keys.limits)
            self._opened.callback(self.jobs.close)
            self.metrics.watch(WorkerState(self.models.workers))
            if not isinstance(self.models.host, ModelHost):
                self.metrics.join(cast("RemoteHost", self.models.host).metrics)
            self.metrics.watch(ServiceState(self.store, self.tables.registry, self.indexes, self.scoring))
            failing.pop_all()

    def access(self) -> Access:
        """What authenticates callers."""
        return Access(self.keys, self.settings, self.shares)

    def start(self, *, serving: bool = True) -> None:
        """As :meth:`Library.start`; ``serving`` also resumes jobs, and loads a reranker that the settings name.

        Raises:
            Unavailable: that reranker cannot be loaded.
        """
        if serving:
            self._load_named_reranker()
        super().start(serving=serving)
        if serving:
            self.jobs.start()

    def _load_named_reranker(self) -> None:
        """Load a reranker that is not in the package, of which nothing is known before. Workers load their own."""
        place = self.settings.models.reranker
        if place is not None and place not in shipped_names() and not self.settings.worker.worker_urls:
            gather(self.models.load("reranker"), _LOAD_SECONDS, None)


def _host(settings: Settings, metrics: Metrics, stored_precision: StoredPrecision) -> Host:
    """Where the models are: in this process, in a child of it, or in other workers."""
    worker = settings.worker
    if not worker.worker_urls and worker.worker_mode == "thread":
        return ModelHost(settings, metrics, stored_precision)
    from dragoman.service.remote.child_process import ChildProcess
    from dragoman.service.remote.remote_host import RemoteHost

    if not worker.worker_urls:
        child = ChildProcess(settings, stored_precision)
        seconds, silence_seconds = worker.worker_seconds, CHILD_SILENCE_SECONDS
        return RemoteHost(lambda: [child.start()], None, seconds, silence_seconds, child.close, child.kill)
    secret = None if worker.worker_token is None else worker.worker_token.get_secret_value()
    return RemoteHost(lambda: worker.worker_urls, secret, worker.worker_seconds, settings.search.rerank_seconds)


def scoring_of(models: Models) -> Scoring:
    """What reranks with the models, wherever they are."""
    if isinstance(models.host, ModelHost):
        return LocalScoring(models)
    from dragoman.service.remote.remote_scoring import RemoteScoring

    return RemoteScoring(cast("RemoteHost", models.host))
