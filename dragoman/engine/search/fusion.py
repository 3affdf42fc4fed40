"""The ranking of a search: by translated words (BM25), by sentence embeddings (dense), or by fusing both."""

from __future__ import annotations

import logging

from dragoman.deadline import DeadlinePassed, WorkCancelled
from dragoman.engine.core.answer import Degraded
from dragoman.engine.core.errors import ClientDisconnected, ServiceError, Unavailable
from dragoman.engine.core.priority import in_background
from dragoman.engine.core.stages import optional
from dragoman.engine.search.bm25 import STAGE as BM25_STAGE
from dragoman.engine.search.bm25 import FirstStage
from dragoman.engine.search.dense import STAGE, DenseStage
from dragoman.engine.search.late import DEPTH as LATE_DEPTH
from dragoman.engine.search.late import reorder
from dragoman.engine.search.ranked import RankedDocument, Retrieval
from dragoman.engine.settings import Settings
from dragoman.indexes.fusion import RRF_K, convex, rrf

logger = logging.getLogger("dragoman")

FUSION_DEPTH = 100
"""Minimum number of documents of each ranking to fuse."""
DEPTH_A_LANGUAGE = 50
"""How many more for each further language that is searched, as a good document may be there in all of them."""
MOST_FUSED = 500
"""The limit of both together."""
UNTRANSLATED_WEIGHT = 0.9
"""The least weight of the cosine in a language that the query cannot be translated into: names alone match there."""


class SearchRanking:
    """Ranks documents by the method of a request. Safe from any thread."""

    def __init__(self, first_stage: FirstStage, dense: DenseStage, settings: Settings) -> None:
        self._first_stage = first_stage
        self._dense = dense
        self._weight = settings.search.hybrid_dense_weight
        self._fuse = _by_ranks if settings.search.hybrid_fusion == "rrf" else _by_scores
        self._late_weight = settings.search.late_weight if settings.search.late_interaction else 0.0

    def rank(self, found: Retrieval, k: int) -> None:
        """Rank the ``k`` best documents by the method of the request.

        Raises:
            ServiceError: they cannot be ranked now.
        """
        method = found.ranked_by = found.request.method or "psq"
        if method == "hybrid":
            self._hybrid(found, k)
        elif method == "dense":
            with found.stage("dense"):
                self._dense.rank(found, k)
            found.seconds[BM25_STAGE] = found.seconds["dense"]
        else:
            self._first_stage.rank(found, method, k)
        del found.documents[k:]

    def _hybrid(self, found: Retrieval, k: int) -> None:
        """Both rankings, fused; only one, marked as degraded, if the other is unavailable."""
        languages = {language for collection in found.collections for language in collection.languages}
        further = DEPTH_A_LANGUAGE * max(0, len(languages) - 1)
        depth = max(k, min(FUSION_DEPTH + further, MOST_FUSED))
        unmatched: ServiceError | None = None
        try:
            self._first_stage.rank(found, "psq", depth)
        except Unavailable as fault:
            if in_background():
                raise
            unmatched = fault
            found.ranked_by = "dense"
            reason = f"hits are ranked by dense search alone: {fault}"
            found.degraded.append(Degraded.of(BM25_STAGE, reason, fault.error_type))
        try:
            with found.stage("dense"), optional():
                self._dense.rank(found, depth)
        except (ClientDisconnected, DeadlinePassed, WorkCancelled):
            raise
        except Exception as fault:
            if unmatched is not None:
                raise unmatched from fault
            if in_background() and isinstance(fault, ServiceError):
                raise
            found.ranked_by = "psq"
            found.degraded.append(_without_dense(fault))
        with found.stage(BM25_STAGE):
            self._first_stage.match(found)
            fused = self._fuse(found, self._weight)
        found.documents = [one for one, _ in fused]
        for one, score in fused:
            one.score = one.first_stage = score
        found.seconds[BM25_STAGE] += found.seconds["dense"]
        if self._late_weight and found.encoded is not None:
            self._reorder(found)

    def _reorder(self, found: Retrieval) -> None:
        """Late interaction, if there is time for it."""
        try:
            with found.stage("late"), optional():
                similarities = self._dense.maxsim(found, LATE_DEPTH)
                if similarities is not None:
                    reorder(found, similarities, self._late_weight)
        except Unavailable as fault:
            reason = f"hits are in the order of their fused scores: {fault}"
            found.degraded.append(Degraded.of("late", reason, fault.error_type))


def _without_dense(fault: Exception) -> Degraded:
    if isinstance(fault, ServiceError):
        reason, cause = str(fault), fault.error_type
    else:
        logger.error("dense search failed", exc_info=fault)
        reason, cause = "the encoder failed", ServiceError.error_type
    return Degraded.of(STAGE, f"hits are ranked by BM25 alone: {reason}", cause)


Fused = list[tuple[RankedDocument, float]]
"""Documents with their fused scores, best first."""


def _by_scores(found: Retrieval, weight: float) -> Fused:
    """The convex combination of the shares of the attainable BM25 scores and the calibrated cosines."""
    untranslated = {one.language for one in found.translations if one.foreign and one.view is None}
    most = max(weight, UNTRANSLATED_WEIGHT) if weight else weight
    shares: dict[RankedDocument, float] = {}
    near: dict[RankedDocument, float] = {}
    weights: dict[RankedDocument, float] = {}
    for one in found.documents:
        if one.dense is not None:
            weights[one] = one.dense.weight = most if one.language in untranslated else weight
            near[one] = one.dense.value
        if one.bm25 is not None:
            one.bm25.weight = 1 - weights.get(one, 0.0)
            shares[one] = one.bm25.value
    return convex(shares, near, weights.__getitem__)


def _by_ranks(found: Retrieval, weight: float) -> Fused:
    """Weighted reciprocal rank fusion."""
    by_words = [(one, one.bm25) for one in found.documents if one.bm25 is not None and one.bm25.rank is not None]
    by_meaning = [(one, one.dense) for one in found.documents if one.dense is not None and one.dense.rank is not None]
    by_meaning.sort(key=lambda pair: pair[1].rank or 0)
    weights = [1 - weight, weight]
    for ranking, own in zip((by_words, by_meaning), weights, strict=True):
        for rank, (_, score) in enumerate(ranking, 1):
            score.value, score.weight = 1 / (RRF_K + rank), own
    return rrf([[one for one, _ in ranking] for ranking in (by_words, by_meaning)], weights=weights)
