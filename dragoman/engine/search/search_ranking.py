"""The ranking of a search: by translated words (BM25), by sentence embeddings (dense), or by fusing both."""

from __future__ import annotations

import logging

import numpy as np
from numpy.typing import NDArray

from dragoman.deadline import DeadlinePassed, WorkCancelled
from dragoman.engine.core.answer import Degraded
from dragoman.engine.core.errors import ClientDisconnected, ServiceError, Unavailable, classify
from dragoman.engine.core.priority import in_background
from dragoman.engine.core.stages import optional
from dragoman.engine.search.candidates import (
    NO_MEANINGS,
    NO_WORDS,
    Candidates,
    MeaningRanking,
    WordMatches,
    WordRanking,
)
from dragoman.engine.search.dense_stage import STAGE, DenseStage
from dragoman.engine.search.first_stage import STAGE as BM25_STAGE
from dragoman.engine.search.first_stage import FirstStage
from dragoman.engine.search.late import DEPTH as LATE_DEPTH
from dragoman.engine.search.late import reorder
from dragoman.engine.search.ranked import Retrieval, StageScore
from dragoman.engine.search.response import Total
from dragoman.engine.settings import Settings
from dragoman.indexes.fusion import RRF_K, convex, rrf

logger = logging.getLogger("dragoman")

FUSION_DEPTH = 100
"""Documents of each ranking that are fused first; pages further down have those of all that are ranked behind them."""
DEPTH_A_LANGUAGE = 50
"""How many more for each further language that is searched, as a good document may be there in all of them."""
MOST_FUSED = 500
"""The limit of both together."""
MOST_RANKED = 1_000
"""Hits that can be reached, page by page: all pages are of one ranking."""
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

    def rank(self, retrieval: Retrieval, k: int) -> None:
        """Rank the ``k`` best documents by the method of the request.

        Raises:
            ServiceError: they cannot be ranked now.
        """
        method = retrieval.ranked_by = retrieval.request.method or "psq"
        if method == "hybrid":
            with self._dense.encoding_ahead(retrieval):
                self._hybrid(retrieval, k)
        elif method == "dense":
            with retrieval.stage("dense"), self._dense.encoding_ahead(retrieval):
                few = self._dense.count(retrieval) <= MOST_RANKED
                ranked = self._dense.rank(retrieval, k, MOST_RANKED if few else k)
                retrieval.total = _total(ranked, retrieval)
            retrieval.seconds[BM25_STAGE] = retrieval.seconds["dense"]
        else:
            self._first_stage.rank(retrieval, method, k)
        del retrieval.documents[k:]

    def match(self, retrieval: Retrieval) -> None:
        """How the query matches the documents of a retrieval, which are there already, by the method of the request.

        What cannot be looked up now is named in ``degraded``.
        """
        try:
            self._first_stage.find(retrieval, "psq", 1)
        except Unavailable as fault:
            reason = f"no word of the query was looked for: {fault}"
            retrieval.degraded.append(Degraded.of(BM25_STAGE, reason, fault.cause))
        if retrieval.request.method != "hybrid":
            return
        try:
            with optional():
                self._dense.find(retrieval, 1)
        except (ClientDisconnected, DeadlinePassed, WorkCancelled):
            raise
        except Exception as fault:
            retrieval.degraded.append(_without_dense(fault, "what is near to the query is not shown"))
            return
        for document in retrieval.documents:
            document.bm25, document.dense = StageScore(0.0, 0.0), StageScore(0.0, 0.0, 1)
        self.add_passages(retrieval)

    def _hybrid(self, retrieval: Retrieval, k: int) -> None:
        """Both rankings, fused; only one, marked as degraded, if the other is unavailable."""
        further = DEPTH_A_LANGUAGE * max(0, len(retrieval.languages) - 1)
        fused = min(FUSION_DEPTH + further, MOST_FUSED)
        few = self._dense.count(retrieval) <= MOST_RANKED
        depth = fused if k <= fused and not few else MOST_RANKED
        words, links, meanings = self._both_rankings(retrieval, depth, few)
        with retrieval.stage(BM25_STAGE):
            candidates = Candidates.join(retrieval, words, meanings, depth)
            candidates.add_words(retrieval, links)
            if len(words.keys) == depth:  # else all documents that have a word are ranked
                candidates.add_words(retrieval, self._first_stage.match(retrieval, candidates))
            scores = self._fuse(retrieval, candidates, self._weight)
            first = candidates.ranked_within(fused)
            if depth == fused:
                scores[~first] = np.nan  # as on pages further down, where they follow the others
            retrieval.exhausted = retrieval.exhausted and len(words.keys) < depth
            retrieval.total = _total(int((~np.isnan(scores)).sum()), retrieval)
            retrieval.documents = candidates.best(retrieval, scores, max(k, LATE_DEPTH), first)
        retrieval.seconds[BM25_STAGE] += retrieval.seconds["dense"]
        if self._late_weight and retrieval.codec is not None:
            self._reorder(retrieval)

    def _both_rankings(
        self, retrieval: Retrieval, depth: int, few: bool
    ) -> tuple[WordRanking, list[WordMatches], MeaningRanking]:
        """Both rankings, and what links the words of the first one; that is found while the query is encoded."""
        unmatched: ServiceError | None = None
        words, meanings = NO_WORDS, NO_MEANINGS
        links: list[WordMatches] = []
        try:
            words = self._first_stage.find(retrieval, "psq", depth, linked=few)
            with retrieval.stage(BM25_STAGE):
                links = self._first_stage.link(retrieval, words)
        except Unavailable as fault:
            if in_background():
                raise
            unmatched = fault
            retrieval.ranked_by = "dense"
            reason = f"hits are ranked by dense search alone: {fault}"
            retrieval.degraded.append(Degraded.of(BM25_STAGE, reason, fault.cause))
        try:
            with retrieval.stage("dense"), optional():
                meanings = self._dense.find(retrieval, depth, words)
        except (ClientDisconnected, DeadlinePassed, WorkCancelled):
            raise
        except Exception as fault:
            if unmatched is not None:
                raise unmatched from fault
            if in_background() and isinstance(fault, ServiceError):
                raise
            retrieval.ranked_by = "psq"
            retrieval.degraded.append(_without_dense(fault))
        return words, links, meanings

    def add_passages(self, retrieval: Retrieval) -> None:
        """What in the documents is near to the query, if it can be looked up; their order is known already."""
        if retrieval.encoded is None:
            return
        try:
            with optional():
                self._dense.add_passages(retrieval)
        except (ClientDisconnected, DeadlinePassed, WorkCancelled):
            raise
        except Exception as fault:
            if in_background():
                raise
            error = classify(fault) or ServiceError("the passages cannot be looked up")
            reason = f"hits do not show what is near to the query: {error}"
            retrieval.degraded.append(Degraded.of(STAGE, reason, error.cause))

    def _reorder(self, retrieval: Retrieval) -> None:
        """Late interaction, if there is time for it."""
        try:
            with retrieval.stage("late"), optional():
                similarities = self._dense.maxsim(retrieval, LATE_DEPTH)
                if similarities is not None:
                    reorder(retrieval, similarities, self._late_weight)
        except Unavailable as fault:
            reason = f"hits are in the order of their fused scores: {fault}"
            retrieval.degraded.append(Degraded.of("late", reason, fault.cause))


def _total(candidates: int, retrieval: Retrieval) -> Total:
    """How many documents can be found by meaning: all that there are, as far as they are ranked."""
    counted = retrieval.exhausted and candidates <= MOST_RANKED
    return Total(value=candidates, relation="eq") if counted else Total(value=MOST_RANKED, relation="gte")


def _without_dense(fault: Exception, effect: str = "hits are ranked by BM25 alone") -> Degraded:
    if isinstance(fault, ServiceError):
        reason, cause = str(fault), fault.cause
    else:
        logger.error("dense search failed", exc_info=fault)
        reason, cause = "the encoder failed", ServiceError.error_type
    return Degraded.of(STAGE, f"{effect}: {reason}", cause)


def _by_scores(retrieval: Retrieval, candidates: Candidates, weight: float) -> NDArray[np.float64]:
    """The convex combination of the shares of the attainable BM25 scores and the calibrated cosines."""
    untranslated = {
        translated.language for translated in retrieval.translations if translated.foreign and translated.view is None
    }
    most = max(weight, UNTRANSLATED_WEIGHT) if weight else weight
    weights = np.full(len(candidates.keys), weight)
    if untranslated and most != weight:
        weights[[language in untranslated for language in candidates.languages]] = most
    weights[np.isnan(candidates.dense.scores)] = 0.0
    candidates.dense.weights, candidates.bm25.weights = weights, 1 - weights
    return convex(candidates.bm25.shares, candidates.dense.shares, weights)


def _by_ranks(retrieval: Retrieval, candidates: Candidates, weight: float) -> NDArray[np.float64]:
    """Weighted reciprocal rank fusion; NaN for a document that is in neither ranking."""
    stages, weights = (candidates.bm25, candidates.dense), (1 - weight, weight)
    for stage, of_stage in zip(stages, weights, strict=True):
        ranked = ~np.isnan(stage.ranks)
        stage.shares[ranked] = 1 / (RRF_K + stage.ranks[ranked])
        stage.weights[ranked] = of_stage
    scores = rrf([stage.ranks for stage in stages], weights)
    scores[np.isnan(candidates.bm25.ranks) & np.isnan(candidates.dense.ranks)] = np.nan
    return scores
