"""Scores of documents by the reranker: in this process's worker thread, or in a worker process over HTTP.

Who asks brings texts, the places of their words, and which words translate each other, so that a worker needs
neither tables nor Java.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, wait
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from dragoman.service.core.errors import ClientDisconnected, ServiceError, TooManyRequests, Unavailable
from dragoman.service.inference.batching import Cancelled
from dragoman.service.inference.models import Models, RerankerInfo, Score

if TYPE_CHECKING:
    from dragoman.ranking.about import MartAbout
    from dragoman.ranking.attention import Links

Spans = Sequence[tuple[int, int]]

_POLL_SECONDS = 0.2
_READY_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class Text:
    """A text and where its words begin and end."""

    text: str
    spans: Spans


@dataclass(frozen=True, slots=True)
class ScoreRequest:
    """A query and the documents to score for it, each with its words' links to the query's."""

    query: Text
    documents: Sequence[Text]
    links: Sequence[Links]


def _pair() -> ScoreRequest:
    """A small pair, to see that pairs can be scored."""
    from dragoman.ranking.attention import NO_LINKS

    word = Text("ready", [(0, 5)])
    return ScoreRequest(word, [word], [NO_LINKS])


@dataclass(slots=True)
class Scores:
    """What came of it: a score per document, or None and why; and which were read only up to a limit."""

    about: MartAbout
    """The model that scored, which in a worker may be another than it was."""
    values: list[float | None]
    """Of documents by themselves: :func:`dragoman.ranking.about.standalone`."""
    failed: dict[int, str] = field(default_factory=dict)
    truncated: list[int] = field(default_factory=list)
    tokens: int = 0
    """Subwords that were read."""
    query_cut: bool = False
    """Only the beginning of the query was read, as much as leaves room for a passage beside it."""


@dataclass(frozen=True, slots=True)
class Pending:
    """Scores under way: what to wait for, and what then makes the scores of it.

    ``finish`` raises what all documents failed with: :class:`Unavailable`, or :class:`TooManyRequests` of a worker.
    """

    futures: Sequence[Future[Any]]
    finish: Callable[[], Scores]

    def cancel(self) -> None:
        """Give up what has not begun."""
        for future in self.futures:
            future.cancel()

    def result(self, until: float, cancelled: Cancelled | None = None) -> Scores:
        """The scores, waited for on this thread.

        Raises:
            Unavailable: time is up, or nobody waits any more.
            ServiceError: see ``finish``.
        """
        try:
            waiting = set(self.futures)
            while waiting:
                left = min(_POLL_SECONDS, until - time.monotonic())
                _, waiting = wait(waiting, max(0.0, left))
                if waiting and time.monotonic() >= until:
                    raise Unavailable("the documents were not scored in time")
                if waiting and cancelled is not None and cancelled():
                    raise ClientDisconnected("the client disconnected")
            return self.finish()
        finally:
            self.cancel()


class Scoring(Protocol):
    """What scores documents."""

    def about(self, cancelled: Cancelled | None = None, seconds: float | None = None) -> MartAbout:
        """The model that scores, loaded now where it was not, within so many seconds.

        Raises:
            Unavailable: there is none, or it cannot be reached.
        """

    def admit(self, documents: int) -> None:
        """See that so many documents would be taken now, before they are read.

        Raises:
            TooManyRequests: too much is waiting.
        """

    def begin(self, request: ScoreRequest, seconds: float) -> Pending:
        """Have documents scored within so many seconds.

        Raises:
            TooManyRequests: too much is waiting.
            Unavailable: the model cannot be loaded.
        """

    def ready(self) -> None:
        """Score a pair, where that needs no model to be loaded first, or see that other work gets on.

        Raises:
            Unavailable: it cannot be scored, or the model hangs.
        """

    def close(self) -> None:
        """Let go of connections."""


class LocalScoring:
    """Scores on this process's worker thread."""

    def __init__(self, models: Models) -> None:
        self._models = models

    def about(self, cancelled: Cancelled | None = None, seconds: float | None = None) -> MartAbout:
        return self._models.reranker(cancelled, seconds).about

    def admit(self, documents: int) -> None:
        self._models.worker.admit(Score(), documents)

    def begin(self, request: ScoreRequest, seconds: float) -> Pending:
        info = self._models.reranker()
        rows, scores = _read(info, request)
        costs = [sum(len(row.pair.ids) for row in document) for document in rows]
        scores.tokens = sum(costs)
        shares = info.scorer.shares(rows)
        futures = self._models.worker.submit(Score(), rows, costs=costs)
        return Pending(futures, lambda: _collected(futures, shares, scores))

    def ready(self) -> None:
        if reason := self._models.failure("reranker") or self._models.stuck():
            raise Unavailable(reason)
        if self._models.loaded("reranker") is None:
            return
        try:
            pending = self.begin(_pair(), _READY_SECONDS)
        except TooManyRequests:
            return  # it works, and has much to do
        _, waiting = wait(pending.futures, _READY_SECONDS)
        if waiting:
            pending.cancel()  # it works for others: whether it gets on was asked above
            return
        if failed := pending.finish().failed:
            raise Unavailable(f"the reranker cannot score: {failed[0]}")

    def close(self) -> None:
        """Nothing of its own."""


def _read(info: RerankerInfo, request: ScoreRequest) -> tuple[list[list[Any]], Scores]:
    """The documents' passages as the model reads them, and scores yet to come, which say what is cut."""
    from dragoman.ranking.passages import read, shortened, truncated

    texts = [request.query, *request.documents]
    query, *documents = read(info.scorer.encoder, [one.text for one in texts], [one.spans for one in texts])
    shorter = shortened(info.scorer.encoder, query)
    rows = info.scorer.rows(shorter, documents, request.links)
    cut = [number for number, document in enumerate(documents) if truncated(document)]
    return rows, Scores(info.about, [None] * len(documents), truncated=cut, query_cut=shorter is not query)


def _collected(futures: Sequence[Future[Any]], shares: list[float], found: Scores) -> Scores:
    from dragoman.ranking.about import standalone

    for number, (future, share) in enumerate(zip(futures, shares, strict=True)):
        fault = future.exception()
        if isinstance(fault, ServiceError) and fault.status != 500:
            raise fault
        if fault is None:
            found.values[number] = float(standalone(future.result(), share, found.about.standalone))
        else:
            found.failed[number] = (
                str(fault) if isinstance(fault, ServiceError) else "the model failed on this document"
            )
    return found
