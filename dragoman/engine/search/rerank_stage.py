"""The rerank stage of a search: reorders the best hits of the first stage, or keeps their order and says why."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from dragoman.deadline import DeadlinePassed, WorkCancelled
from dragoman.engine.core.answer import Degraded
from dragoman.engine.core.errors import ClientDisconnected, InvalidRequest, ServiceError, TooManyRequests, Unavailable
from dragoman.engine.core.priority import in_background, wait_limit
from dragoman.engine.core.stages import optional
from dragoman.engine.models.scoring import Scores
from dragoman.engine.observability.metrics import Metrics
from dragoman.engine.rerank.rerank_depth import SAMPLE_CHARS, RerankDepth
from dragoman.engine.rerank.reranking import Reranking
from dragoman.engine.search.ranked import RankedDocument, Retrieval
from dragoman.engine.search.request import BY_WORDS, RerankOptions, SearchQuery
from dragoman.engine.search.response import RerankUsed
from dragoman.engine.settings import Settings
from dragoman.ranking.about import Floats, RerankerAbout, interpolate, sigmoid

logger = logging.getLogger("dragoman")

STAGE = "rerank"

Joining = Callable[[Floats, Floats], Floats]
"""The final logits of documents, of their standalone scores and those of the first stage."""


class UnknownReranker(InvalidRequest):
    """The request names a reranker that does not exist."""


class RerankStage:
    """Reranks the hits of searches. Safe from any thread."""

    def __init__(self, reranking: Reranking, settings: Settings, metrics: Metrics, available: bool) -> None:
        """``available``: there is a reranker for searches that do not set ``rerank``."""
        self._reranking = reranking
        self._settings = settings
        self._metrics = metrics
        self._available = available
        self._budget = settings.search.rerank_budget_ms / 1000
        self._depth = RerankDepth(reranking, self._budget)

    def options(self, request: SearchQuery) -> RerankOptions | None:
        """The rerank options of a search; None if it is not reranked.

        The depth of one that does not say is the most, until it is measured: when hits are first reranked so.
        """
        if request.rerank is False:
            return None
        if request.rerank is not None:
            return request.rerank
        usable = self._available and self._settings.search.rerank == "auto" and request.method in BY_WORDS
        return RerankOptions(depth=self._depth.most) if usable else None

    def rerank(self, retrieval: Retrieval, options: RerankOptions) -> None:
        """Order the best ``options.depth`` documents by the scores of the reranker and the first stage combined.

        The others follow in their order. If reranking fails, the order stays and ``degraded`` has the reason;
        background work fails instead.

        Raises:
            InvalidRequest: there is no reranker of the requested name.
            ServiceError: background work cannot be done now.
        """
        result = "degraded"
        try:
            with retrieval.stage(STAGE), optional():
                result = self._rerank(retrieval, options)
        except (UnknownReranker, ClientDisconnected, DeadlinePassed, WorkCancelled):
            raise
        except ServiceError as fault:
            if in_background():
                raise
            retrieval.degraded.append(_degradation(fault))
        except Exception as fault:
            logger.error("reranking failed", exc_info=fault)
            retrieval.degraded.append(_degradation(ServiceError("the reranker failed")))
        self._metrics.rerank(result)

    def _rerank(self, retrieval: Retrieval, options: RerankOptions) -> str:
        """``reranked``; ``partial``: some documents could not be scored; or ``nothing``: there are none to rerank."""
        seconds = wait_limit(self._settings.search.rerank_seconds)
        until = time.monotonic() + seconds
        chosen = retrieval.documents[: options.depth]
        if not chosen:  # the model, which takes seconds to load, is loaded only where nothing else knows its name
            if options.model is not None:
                _check_name(options, self._reranking.name() or self._about(retrieval, options, seconds).name)
            return "nothing"
        about = self._about(retrieval, options, seconds)
        automatic = retrieval.request.rerank is None
        if automatic:  # the model was not measured within one language
            language = retrieval.query.language
            without = {f"{language}-{language}", *about.not_for}
            if {f"{language}-{document.language}" for document in chosen} <= without:
                chosen = []  # mixed with other hits they are reranked too, or they would all follow those
        if not chosen:
            return "nothing"
        if automatic:
            depth = retrieval.rerank_depth or self._depth.measure(
                retrieval.cancelled, max(0.001, until - time.monotonic())
            )
            retrieval.rerank_depth = depth
            chosen = _choose(retrieval.documents, depth)
        started = time.monotonic()
        seconds = max(0.001, until - started)
        pending = self._reranking.begin(
            retrieval.query, [document.whole for document in chosen], retrieval.snapshot, seconds, retrieval.cancelled
        )
        limited = automatic and not in_background()
        computing = max(0.0, self._budget - (time.monotonic() - started)) if limited else math.inf
        scores = pending.result(until, retrieval.cancelled, computing)
        _check_name(options, scores.about.name)
        retrieval.direction = scores.about.direction
        retrieval.reranked = RerankUsed(depth=len(chosen) if automatic else options.depth, model=scores.about.name)
        _reorder(retrieval, chosen, scores, self._joining(retrieval, scores.about))
        beginnings = {index for index, document in enumerate(chosen) if not document.stored.complete}
        cut = [chosen[index].stored.id for index in sorted(beginnings.union(scores.truncated))]
        retrieval.truncated += [f"rerank: of document {id!r} only the beginning was read" for id in cut]
        if scores.query_cut:
            retrieval.truncated.append(
                "rerank: only the beginning of the query was read, to leave room for the documents"
            )
        unscored = scores.values.count(None)
        if unscored:
            reason = f"{unscored} of {len(chosen)} hits could not be scored and follow the others"
            retrieval.degraded.append(Degraded.of(STAGE, f"{reason}: {next(iter(scores.failed.values()))}", "partial"))
        return "partial" if unscored else "reranked"

    def _about(self, retrieval: Retrieval, options: RerankOptions, seconds: float) -> RerankerAbout:
        """The model that scores, of the requested name.

        Raises:
            UnknownReranker: it has another name, also where it cannot be loaded in time.
            ServiceError: it cannot be loaded.
        """
        try:
            about = self._reranking.about(retrieval.cancelled, seconds)
        except (TooManyRequests, Unavailable):
            if (name := self._reranking.name()) is not None:
                _check_name(options, name)
            raise
        _check_name(options, about.name)
        return about

    def _joining(self, retrieval: Retrieval, about: RerankerAbout) -> Joining | None:
        """How the first stage's scores join the reranker's; None where nothing was fitted to such scores."""
        if retrieval.request.method == "hybrid" and self._settings.search.hybrid_fusion != "convex":
            return None
        if retrieval.ranked_by in BY_WORDS:
            return partial(interpolate, weight=about.first_stage_weight)
        return about.hybrid.logits if retrieval.ranked_by == "hybrid" and about.hybrid is not None else None


def _choose(documents: Sequence[RankedDocument], depth: int) -> list[RankedDocument]:
    """The first documents, at most ``depth``, and no more text than so many of the sample; at least one."""
    room = depth * SAMPLE_CHARS
    chosen: list[RankedDocument] = []
    for document in documents[:depth]:
        room -= len(document.whole.text)
        if chosen and room < 0:
            break
        chosen.append(document)
    return chosen


def _check_name(options: RerankOptions, name: str) -> None:
    if options.model is not None and options.model != name:
        raise UnknownReranker(f"rerank.model: there is no reranker named {options.model!r}; there is {name!r}")


def _reorder(retrieval: Retrieval, chosen: Sequence[RankedDocument], scores: Scores, joining: Joining | None) -> None:
    """Order the scored documents by the reranker's and the first stage's scores combined; ties keep their order.

    Without ``joining`` the reranker's scores alone order them. The others follow, with their scores scaled to be lower.
    """
    scored = [(document, score) for document, score in zip(chosen, scores.values, strict=True) if score is not None]
    if not scored:
        return
    together = np.array([score for _, score in scored])
    if joining is not None:
        together = joining(together, np.array([document.score for document, _ in scored]))
    for (document, score), joined in zip(scored, together.tolist(), strict=True):
        document.rerank, document.score = sigmoid(score), sigmoid(joined)
    ordered = [scored[index][0] for index in np.argsort(-together, kind="stable")]
    others = [document for document in retrieval.documents if document.rerank is None]
    least, highest = ordered[-1].score, max((document.score for document in others), default=0.0)
    scale = least / highest if highest > 0 else 0.0
    for document in others:
        document.score = min(document.score * scale, least)
    retrieval.documents = [*ordered, *others]


def _degradation(fault: ServiceError) -> Degraded:
    return Degraded.of(STAGE, f"hits are in first-stage order: {fault}", fault.cause)
