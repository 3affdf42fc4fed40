"""The rerank stage of a search: reorders the best hits of the first stage, or keeps their order and says why."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from threading import BoundedSemaphore

import numpy as np

from dragoman.ranking.about import RerankerAbout, interpolated
from dragoman.service.collections.changes import indexed_text
from dragoman.service.collections.service import Collections
from dragoman.service.core.errors import InvalidRequest, ServiceError, TooManyRequests
from dragoman.service.core.priority import in_background, wait_limit
from dragoman.service.core.settings import Settings
from dragoman.service.inference.batching import Cancelled
from dragoman.service.inference.scoring import Scores
from dragoman.service.observability.tracing import span
from dragoman.service.rerank.scoring import Document, Reranking, sigmoid
from dragoman.service.schemas.search import Degraded, RerankOptions, SearchRequest
from dragoman.service.search.ranked import Ranked
from dragoman.service.tables.snapshot import Snapshot

logger = logging.getLogger("dragoman")

STAGE = "rerank"

_ATTAINABLE = ("psq", "smt", "none")
"""Methods whose scores are shares of the highest attainable score; the first-stage weight was fitted to these."""
_DEPTH, _FIRST_DEPTH = 50, 10
"""The greatest depth of searches without a rerank field, and that before any speed is known."""
_WAITING = 24
"""Limit of searches that wait for the reranker, so that others still get a thread."""


class UnknownReranker(InvalidRequest):
    """The request names a reranker that does not exist."""


@dataclass(slots=True)
class Outcome:
    """The ranking after the stage, how it is degraded, which documents were truncated, and how long it took."""

    places: list[Ranked]
    degraded: list[Degraded]
    truncated: list[str]
    seconds: float = 0.0
    result: str = "degraded"
    """``reranked``; ``partial``: some hits could not be scored; ``nothing``: no hits to rerank; ``degraded``."""


class RerankStage:
    """Reranks the hits of searches. Safe from any thread."""

    def __init__(self, reranking: Reranking, collections: Collections, settings: Settings, available: bool) -> None:
        """``available``: there is a reranker for searches that do not set ``rerank``."""
        self._reranking = reranking
        self._collections = collections
        self._settings = settings
        self._available = available
        self._places = BoundedSemaphore(_WAITING)
        self._seconds_a_document: float | None = None
        """Of the last reranks, smoothed; None before the first."""

    def options(self, request: SearchRequest) -> RerankOptions | None:
        """The rerank options of a search; None if it is not reranked."""
        if request.rerank is False:
            return None
        if request.rerank is not None:
            return request.rerank
        usable = self._available and self._settings.rerank == "auto" and request.method in _ATTAINABLE
        return RerankOptions(depth=self._affordable()) if usable else None

    def _affordable(self) -> int:
        """The depth that the latency budget allows, at the speed of the last reranks."""
        if in_background():
            return _DEPTH
        if self._seconds_a_document is None:
            return _FIRST_DEPTH
        budget = self._settings.rerank_budget_ms / 1000
        return max(1, min(_DEPTH, int(budget / self._seconds_a_document)))

    def _note_speed(self, seconds: float, documents: int) -> None:
        known, found = self._seconds_a_document, seconds / documents
        self._seconds_a_document = found if known is None else (known + found) / 2

    def rerank(
        self,
        request: SearchRequest,
        options: RerankOptions,
        language: str,
        places: Sequence[Ranked],
        snapshot: Snapshot,
        cancelled: Cancelled | None,
    ) -> Outcome:
        """Order the best ``options.depth`` places by the scores of the reranker and the first stage combined.

        The others follow in their order. If reranking fails, the order stays and ``degraded`` has the reason;
        background work fails instead.

        Raises:
            InvalidRequest: there is no reranker of the requested name.
            ServiceError: background work cannot be done now.
        """
        started = time.perf_counter()
        outcome = Outcome(list(places), [], [])
        try:
            with span("rerank"), self._place():
                self._rerank(outcome, request, options, language, snapshot, cancelled)
        except UnknownReranker:
            raise
        except ServiceError as fault:
            if in_background():
                raise
            outcome.degraded.append(_degraded(fault))
        except Exception as fault:
            logger.error("reranking failed", exc_info=fault)
            outcome.degraded.append(_degraded(ServiceError("the reranker failed")))
        outcome.seconds = time.perf_counter() - started
        return outcome

    @contextmanager
    def _place(self) -> Iterator[None]:
        if in_background():
            yield
            return
        if not self._places.acquire(blocking=False):
            raise TooManyRequests(f"{_WAITING} searches are waiting for the reranker")
        try:
            yield
        finally:
            self._places.release()

    def _rerank(
        self,
        outcome: Outcome,
        request: SearchRequest,
        options: RerankOptions,
        language: str,
        snapshot: Snapshot,
        cancelled: Cancelled | None,
    ) -> None:
        seconds = wait_limit(self._settings.rerank_seconds)
        until = time.monotonic() + seconds
        about = self._reranking.about(cancelled, seconds)
        _check_name(options, about)
        head, tail = outcome.places[: options.depth], outcome.places[options.depth :]
        documents = self._collections.by_keys([place.key for place in head])
        chosen = [place for place in head if place.key in documents]
        if request.rerank is None:  # the model was not measured within one language
            without = {f"{language}-{language}", *about.not_for}
            if {f"{language}-{documents[one.key].language}" for one in chosen} <= without:
                chosen = []  # mixed with other hits they are reranked too, or they would all follow those
        texts = [
            Document(indexed_text(found.title, found.text), found.language)
            for found in (documents[place.key] for place in chosen)
        ]
        if not texts:
            outcome.result = "nothing"
            return
        seconds = max(0.001, until - time.monotonic())
        started = time.monotonic()
        pending = self._reranking.begin(request.query, language, texts, snapshot, seconds, cancelled)
        found = pending.result(until, cancelled)
        self._note_speed(time.monotonic() - started, len(texts))
        _check_name(options, found.about)
        weight = found.about.first_stage_weight if request.method in _ATTAINABLE else None
        scored = _reordered(chosen, found, weight)
        unscored = len(chosen) - len(scored)
        left = {place.key for place in scored}
        outcome.places = _following(scored, [place for place in [*head, *tail] if place.key not in left])
        ids = self._collections.ids_by_keys([chosen[number].key for number in found.truncated])
        outcome.truncated = [f"rerank: of document {id!r} only the beginning was read" for id in ids.values()]
        if found.query_cut:
            outcome.truncated.append(
                "rerank: only the beginning of the query was read, to leave room for the documents"
            )
        if unscored:
            reason = f"{unscored} of {len(chosen)} hits could not be scored and follow the others"
            outcome.degraded.append(Degraded.of(STAGE, f"{reason}: {next(iter(found.failed.values()))}", "partial"))
        outcome.result = "partial" if unscored else "reranked"


def _check_name(options: RerankOptions, about: RerankerAbout) -> None:
    if options.model is not None and options.model != about.name:
        raise UnknownReranker(f"rerank.model: there is no reranker named {options.model!r}; there is {about.name!r}")


def _reordered(places: Sequence[Ranked], found: Scores, weight: float | None) -> list[Ranked]:
    """The scored places, ordered by the reranker's and the first stage's scores combined; ties keep their order.

    Without a weight (first-stage scores that are not shares) the reranker's scores alone order them.
    """
    scored = [(place, value) for place, value in zip(places, found.values, strict=True) if value is not None]
    together = np.array([value for _, value in scored])
    if weight is not None:
        together = interpolated(together, np.array([place.score for place, _ in scored]), weight)
    made = [
        replace(place, rerank=sigmoid(value), score=sigmoid(score))
        for (place, value), score in zip(scored, together.tolist(), strict=True)
    ]
    return [made[number] for number in np.argsort(-together, kind="stable")]


def _following(scored: list[Ranked], others: Sequence[Ranked]) -> list[Ranked]:
    """The scored places, then the others with their scores scaled to be lower."""
    if not scored or not others:
        return [*scored, *others]
    highest = max(place.score for place in others)
    scale = scored[-1].score / highest if highest > 0 else 0.0
    following = sorted(others, key=lambda place: -place.score)
    return [*scored, *(replace(place, score=min(place.score * scale, scored[-1].score)) for place in following)]


def _degraded(fault: ServiceError) -> Degraded:
    return Degraded.of(STAGE, f"hits are in first-stage order: {fault}", fault.error_type)
