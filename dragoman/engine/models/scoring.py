"""Scores documents with the reranker: on this process's worker thread, or in a worker process over HTTP.

A request has the texts, the offsets of their words, and which words translate each other. So a worker needs neither
tables nor Java.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, wait
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from dragoman.engine.core.errors import ClientDisconnected, ServiceError, TooManyRequests, Unavailable
from dragoman.engine.core.turns import waiting_for_models
from dragoman.engine.models.loading import RerankerInfo
from dragoman.engine.models.models import Models, Score
from dragoman.engine.models.queue.worker import Cancelled

if TYPE_CHECKING:
    from dragoman.ranking.about import RerankerAbout
    from dragoman.ranking.attention import Links

Spans = Sequence[tuple[int, int]]

_POLL_SECONDS = 0.2
_BEGUN_POLL_SECONDS = 0.01
"""How often it is asked whether documents are being computed, where they have a time for that."""
_READY_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class SpannedText:
    """A text and the (start, end) offsets of its words."""

    text: str
    spans: Spans


@dataclass(frozen=True, slots=True)
class ScoreRequest:
    """A query and the documents to score for it, each with the links between its words and the query's."""

    query: SpannedText
    documents: Sequence[SpannedText]
    links: Sequence[Links]


def _pair() -> ScoreRequest:
    """A small pair for the readiness check."""
    from dragoman.ranking.attention import NO_LINKS

    word = SpannedText("ready", [(0, 5)])
    return ScoreRequest(word, [word], [NO_LINKS])


@dataclass(slots=True)
class Scores:
    """The result: a score per document, or None and the reason; and which documents were truncated."""

    about: RerankerAbout
    """The model that scored; a worker's model may have changed since the request."""
    values: list[float | None]
    """Standalone scores of the documents: :func:`dragoman.ranking.about.standalone`."""
    failed: dict[int, str] = field(default_factory=dict)
    truncated: list[int] = field(default_factory=list)
    tokens: int = 0
    """Subwords that were read."""
    query_cut: bool = False
    """Whether only the beginning of the query was read, to leave room for a passage."""


@dataclass(frozen=True, slots=True)
class Pending:
    """Scores that are being computed: the futures to wait for, and the function that then collects the scores.

    ``finish`` raises an error that affects all documents: :class:`Unavailable`, or a worker's
    :class:`TooManyRequests`.
    """

    futures: Sequence[Future[Any]]
    finish: Callable[[], Scores]

    def cancel(self) -> None:
        """Cancel the items that have not started."""
        for future in self.futures:
            future.cancel()

    def result(self, until: float, cancelled: Cancelled | None = None, computing: float = math.inf) -> Scores:
        """Wait for the scores on this thread, for ``computing`` seconds from when the first is computed.

        Raises:
            Unavailable: the deadline has passed, or the client disconnected.
            ServiceError: see ``finish``.
        """
        try:
            with waiting_for_models():
                self._wait(until, cancelled, computing)
            return self.finish()
        finally:
            self.cancel()

    def _wait(self, until: float, cancelled: Cancelled | None, computing: float) -> None:
        waiting = set(self.futures)
        limit = until if computing == math.inf else None
        while waiting:
            if limit is None and any(future.running() or future.done() for future in self.futures):
                limit = min(until, time.monotonic() + computing)
            poll, latest = (_BEGUN_POLL_SECONDS, until) if limit is None else (_POLL_SECONDS, limit)
            _, waiting = wait(waiting, max(0.0, min(poll, latest - time.monotonic())))
            if waiting and time.monotonic() >= latest:
                raise Unavailable("the documents were not scored in time")
            if waiting and cancelled is not None and cancelled():
                raise ClientDisconnected("the client disconnected")


class Scoring(Protocol):
    """Scores documents."""

    def about(self, cancelled: Cancelled | None = None, seconds: float | None = None) -> RerankerAbout:
        """The model that scores, loaded now if necessary; waits at most ``seconds``.

        Raises:
            Unavailable: there is none, or it cannot be reached.
        """

    def name(self) -> str | None:
        """The name of the model that scores, as far as it is known now: nothing is loaded, and no worker is asked."""

    def admit(self, documents: int, seconds: float) -> None:
        """Check that this many documents would be accepted now, before they are read.

        Raises:
            TooManyRequests: the queue is full.
            Unavailable: the model has made no progress for as long as the request can wait, which is ``seconds``.
        """

    def begin(self, request: ScoreRequest, seconds: float) -> Pending:
        """Start scoring documents, with a timeout in seconds.

        Raises:
            TooManyRequests: the queue is full.
            Unavailable: the model cannot be loaded.
        """

    def ready(self) -> None:
        """Check readiness by scoring a pair, if the model is loaded, or by checking that other work makes progress.

        Raises:
            Unavailable: the pair cannot be scored, or the model hangs.
        """

    def close(self) -> None:
        """Close all connections."""


class LocalScoring:
    """Scores on this process's worker thread."""

    def __init__(self, models: Models) -> None:
        self._models = models

    def about(self, cancelled: Cancelled | None = None, seconds: float | None = None) -> RerankerAbout:
        return self._models.reranker(cancelled, seconds).about

    def name(self) -> str | None:
        return self._models.reranker_name()

    def admit(self, documents: int, seconds: float) -> None:
        if reason := self._models.stuck(seconds):
            raise Unavailable(reason)
        self._models.worker.admit(Score(), documents)

    def begin(self, request: ScoreRequest, seconds: float) -> Pending:
        info = self._models.reranker()
        rows, scores = _prepare_rows(info, request)
        costs = [sum(len(row.pair.ids) for row in document) for document in rows]
        scores.tokens = sum(costs)
        shares = info.scorer.shares(rows)
        futures = self._models.worker.submit(Score(), rows, costs=costs)
        return Pending(futures, lambda: _collect_scores(futures, shares, scores))

    def ready(self) -> None:
        if reason := self._models.failure("reranker") or self._models.stuck() or self._models.loading_hangs():
            raise Unavailable(reason)
        if self._models.description("reranker") is None:
            return
        try:
            pending = self.begin(_pair(), _READY_SECONDS)
        except TooManyRequests:
            return  # it works, with a full queue
        _, waiting = wait(pending.futures, _READY_SECONDS)
        if waiting:
            pending.cancel()  # it is busy; `stuck` above has checked that it makes progress
            return
        if failed := pending.finish().failed:
            raise Unavailable(f"the reranker cannot score: {failed[0]}")

    def close(self) -> None:
        """Do nothing: there are no connections."""


def _prepare_rows(info: RerankerInfo, request: ScoreRequest) -> tuple[list[list[Any]], Scores]:
    """The documents' passages as the model reads them, and scores without values that list the truncated texts."""
    from dragoman.ranking.passages import tokenize_texts

    texts = [request.query, *request.documents]
    query, *documents = tokenize_texts(
        info.scorer.encoder, [text.text for text in texts], [text.spans for text in texts]
    )
    part = info.scorer.read_part(query, documents)
    rows = info.scorer.rows(part.query, documents, request.links)
    scores = Scores(info.about, [None] * len(documents), truncated=part.truncated, query_cut=part.query_cut)
    return rows, scores


def _collect_scores(futures: Sequence[Future[Any]], shares: list[float], scores: Scores) -> Scores:
    from dragoman.ranking.about import standalone

    for index, (future, share) in enumerate(zip(futures, shares, strict=True)):
        fault = future.exception()
        if isinstance(fault, ServiceError) and fault.status != 500:
            raise fault
        if fault is None:
            scores.values[index] = float(standalone(future.result(), share, scores.about.standalone))
        else:
            scores.failed[index] = (
                str(fault) if isinstance(fault, ServiceError) else "the model failed on this document"
            )
    return scores
