"""The parts of a running service, created once and then shared: an open data directory, with what serves it."""

from __future__ import annotations

from contextlib import ExitStack
from functools import partial

from dragoman.engine.models.models import Models
from dragoman.engine.models.scoring import LocalScoring, Scoring
from dragoman.engine.observability.gauges import WorkerState
from dragoman.engine.qa.reasoning import Reasoning
from dragoman.engine.settings import Settings
from dragoman.service.access.audit import Audit
from dragoman.service.access.keys import Keys
from dragoman.service.gauges import ServiceState
from dragoman.service.jobs.line import LineAnswers
from dragoman.service.jobs.service import Jobs
from dragoman.store.library import Library


class Runtime(Library):
    """A library with keys, an audit log, jobs, questions for the LLM, and gauges.

    Raises:
        ServiceError: as :class:`Library`.
    """

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings, partial(_scoring, settings))
        with ExitStack() as failing:
            failing.callback(self.close)
            self.keys, self.audit = Keys(self.store), Audit(self.store)
            self.reasoning = Reasoning(self.models, self.search, settings, self.metrics)
            answers = LineAnswers(self.search, self.qa, self.rerank_requests, settings)
            self.jobs = Jobs(self.store, self.tables, answers, settings, self.metrics, self.traffic)
            self._opened.callback(self.jobs.close)
            self.metrics.watch(WorkerState(self.models.workers))
            self.metrics.watch(ServiceState(self.store, self.tables.registry, self.indexes, self.scoring))
            failing.pop_all()

    def start(self, *, serving: bool = True) -> None:
        """As :meth:`Library.start`; ``serving`` also resumes jobs."""
        super().start(serving=serving)
        if serving:
            self.jobs.start()


def _scoring(settings: Settings, models: Models) -> Scoring:
    if settings.worker.worker_url is None:
        return LocalScoring(models)
    from dragoman.service.remote.remote_scoring import RemoteScoring  # imports httpx

    token = settings.worker.worker_token
    secret = None if token is None else token.get_secret_value()
    return RemoteScoring(settings.worker.worker_url, secret, settings.search.rerank_seconds)
