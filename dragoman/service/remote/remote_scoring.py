"""Scoring by worker processes."""

from __future__ import annotations

from concurrent.futures import Future
from typing import Any

from dragoman.engine.core.errors import Unavailable
from dragoman.engine.models.queue.gathering import gather
from dragoman.engine.models.queue.worker import Cancelled
from dragoman.engine.models.scoring import Pending, ScoreRequest, Scores
from dragoman.engine.models.tasks import Score
from dragoman.ranking.about import RerankerAbout
from dragoman.service.remote.remote_host import RemoteHost

_ABOUT_SECONDS = 60.0
"""How long a worker may take to load its model."""


class RemoteScoring:
    """Scores with the workers of a host. Safe from any thread."""

    def __init__(self, host: RemoteHost) -> None:
        self._host = host
        self._about: RerankerAbout | None = None

    def about(self, cancelled: Cancelled | None = None, seconds: float | None = None) -> RerankerAbout:
        about: RerankerAbout | None = self._host.description("reranker")
        if about is None:
            self._host.admit(Score(), 1)
            about = gather(self._host.load("reranker"), min(_ABOUT_SECONDS, seconds or _ABOUT_SECONDS), cancelled)[0]
            self._about = about
        current: RerankerAbout = self._about or about
        return current

    def name(self) -> str | None:
        about = self._about or self._host.description("reranker")
        return None if about is None else str(about.name)

    def admit(self, documents: int, seconds: float) -> None:
        """Check that a worker gives signs of life; it refuses requests itself when its queue is full."""
        self._host.admit(Score(), documents)

    def begin(self, request: ScoreRequest, seconds: float) -> Pending:
        (answer,) = self._host.ask(Score(), [request], seconds=seconds)
        return Pending([answer], lambda: self._scores(answer, request))

    def ready(self) -> None:
        """Check that a worker is ready.

        Raises:
            Unavailable: none responds, or can score.
        """
        self._host.check_ready()

    def close(self) -> None:
        """Do nothing: the host closes its connections."""

    def _scores(self, answer: Future[Any], request: ScoreRequest) -> Scores:
        scores: Scores = answer.result(0)
        if not isinstance(scores, Scores) or len(scores.values) != len(request.documents):
            raise Unavailable(f"the worker did not return one score for each of {len(request.documents)} documents")
        self._about = scores.about  # a worker that was replaced may hold another model
        return scores
