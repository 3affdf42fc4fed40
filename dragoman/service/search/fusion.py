"""The ranking of a search: by translated words (BM25), by sentence embeddings (dense), or by fusing both."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from dragoman.indexes.dense import DenseHit
from dragoman.indexes.fusion import RRF_K, calibrated, convex, rrf
from dragoman.service.collections.service import CollectionInfo
from dragoman.service.core.errors import ServiceError, Unavailable
from dragoman.service.core.priority import in_background
from dragoman.service.core.settings import Settings
from dragoman.service.inference.batching import Cancelled
from dragoman.service.observability.tracing import span
from dragoman.service.query.translation import Translated
from dragoman.service.schemas.search import Degraded, Fusion, Method, RankedBy, SearchRequest
from dragoman.service.search.bm25 import STAGE as BM25_STAGE
from dragoman.service.search.bm25 import FirstStage, FirstStageResult, Part, Place
from dragoman.service.search.dense import STAGE, DenseResult, DenseStage
from dragoman.service.tables.snapshot import Snapshot

logger = logging.getLogger("dragoman")

FUSION_DEPTH = 100
"""Minimum number of documents of each ranking to fuse."""


@dataclass(frozen=True, slots=True)
class Ranked:
    """A document in the final ranking."""

    collection: CollectionInfo
    key: int
    score: float
    first_stage: float
    part: Part | None = None
    """The BM25 ranking that includes it, or None."""
    passage: DenseHit | None = None
    """Its best passage if dense search found it, or None."""
    fusion: Fusion | None = None
    dense: float | None = None
    """The inner product of the vectors of the query and the best passage, or None."""
    rerank: float | None = None
    """The reranker's score, a probability, or None."""


@dataclass(slots=True)
class Answer:
    """The ranking, best first, the translations of the query, and how the ranking is degraded."""

    places: list[Ranked] = field(default_factory=list)
    method: Method = "psq"
    translations: list[Translated] = field(default_factory=list)
    degraded: list[Degraded] = field(default_factory=list)
    truncated: list[str] = field(default_factory=list)
    translate_seconds: float = 0.0
    rank_seconds: float = 0.0
    dense_seconds: float | None = None
    rerank_seconds: float = 0.0
    parts: dict[tuple[int, str], Part] = field(default_factory=dict)

    def part(self, collection: int, language: str) -> Part | None:
        """The BM25 ranking of a collection's language, to find evidence in documents that it ranked too low."""
        return self.parts.get((collection, language))


class SearchRanking:
    """Ranks documents by the method of a request. Safe from any thread."""

    def __init__(self, first_stage: FirstStage, dense: DenseStage, settings: Settings) -> None:
        self._first_stage = first_stage
        self._dense = dense
        self._weight = settings.hybrid_dense_weight
        self._fused = _by_ranks if settings.hybrid_fusion == "rrf" else _by_scores

    def rank(
        self,
        request: SearchRequest,
        language: str,
        snapshot: Snapshot,
        collections: Sequence[CollectionInfo],
        cancelled: Cancelled | None,
    ) -> Answer:
        """The ``request.top_k`` best documents of the collections.

        Raises:
            ServiceError: they cannot be ranked now.
        """
        if request.method == "dense":
            with span("dense"):
                return _of_dense(self._dense.rank(request.query, collections, request.top_k, cancelled))
        if request.method == "hybrid":
            return self._hybrid(request, language, snapshot, collections, cancelled)
        method = request.method or "psq"
        return _of_bm25(
            method, self._first_stage.rank(request.query, language, method, snapshot, collections, request.top_k)
        )

    def _hybrid(
        self,
        request: SearchRequest,
        language: str,
        snapshot: Snapshot,
        collections: Sequence[CollectionInfo],
        cancelled: Cancelled | None,
    ) -> Answer:
        """Both rankings, fused; only one, marked as degraded, if the other is unavailable."""
        depth = max(request.top_k, FUSION_DEPTH)
        started = time.perf_counter()
        unmatched: ServiceError | None = None
        try:
            bm25 = self._first_stage.rank(request.query, language, "psq", snapshot, collections, depth)
        except Unavailable as fault:
            if in_background():
                raise
            unmatched = fault
            reason = f"hits are ranked by dense search alone: {fault}"
            bm25 = FirstStageResult(degraded=[Degraded.of(BM25_STAGE, reason, fault.error_type)])
        try:
            with span("dense"):
                dense = self._dense.rank(request.query, collections, depth, cancelled, _by_collection(bm25.places))
        except Exception as fault:
            if unmatched is not None:
                raise unmatched from fault
            if in_background() and isinstance(fault, ServiceError):
                raise
            dense = DenseResult(degraded=[_without_dense(fault)])
        answer = _hybrid(bm25, dense, self._fused(bm25, dense, self._weight), self._weight, request.top_k)
        answer.translate_seconds = bm25.translate_seconds
        answer.rank_seconds = time.perf_counter() - started - bm25.translate_seconds
        answer.dense_seconds = dense.seconds
        return answer


def _without_dense(fault: Exception) -> Degraded:
    if isinstance(fault, ServiceError):
        reason, cause = str(fault), fault.error_type
    else:
        logger.error("dense search failed", exc_info=fault)
        reason, cause = "the encoder failed", ServiceError.error_type
    return Degraded.of(STAGE, f"hits are ranked by BM25 alone: {reason}", cause)


def _of_bm25(method: Method, result: FirstStageResult) -> Answer:
    places = [
        Ranked(place.part.collection, place.key, place.score, place.first_stage, place.part) for place in result.places
    ]
    return Answer(
        places,
        method,
        result.translations,
        result.degraded,
        translate_seconds=result.translate_seconds,
        rank_seconds=result.rank_seconds,
    )


def _of_dense(result: DenseResult) -> Answer:
    places = [
        Ranked(
            place.collection, place.hit.key, place.hit.score, place.hit.score, passage=place.hit, dense=place.hit.score
        )
        for place in result.places
    ]
    return Answer(places, "dense", degraded=result.degraded, rank_seconds=result.seconds, dense_seconds=result.seconds)


def _by_collection(places: Sequence[Place]) -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for place in places:
        found.setdefault(place.part.collection.key, []).append(place.key)
    return found


@dataclass(frozen=True, slots=True)
class _Fused:
    """Fused scores by document key, best first, and of each ranking the values that were weighted."""

    scores: list[tuple[int, float]]
    shares: Mapping[int, float]
    near: Mapping[int, float]
    alone: float
    """The weight of BM25 for a document without an embedding."""


def _by_scores(bm25: FirstStageResult, dense: DenseResult, weight: float) -> _Fused:
    """The convex combination of the shares of the attainable BM25 scores and the calibrated cosines."""
    floor = dense.unrelated_cosine
    shares = {place.key: place.score for place in bm25.places}
    near = {place.hit.key: calibrated(place.hit.score, floor) for place in (*dense.places, *dense.others)}
    if not near:  # dense search was not possible
        return _Fused(list(shares.items()), shares, near, 1.0)
    return _Fused(convex(shares, near, weight), shares, near, 1.0)


def _by_ranks(bm25: FirstStageResult, dense: DenseResult, weight: float) -> _Fused:
    """Weighted reciprocal rank fusion."""
    rankings = [[place.key for place in bm25.places], [place.hit.key for place in dense.places]]
    shares, near = ({key: 1 / (RRF_K + rank) for rank, key in enumerate(one, 1)} for one in rankings)
    return _Fused(rrf(rankings, weights=[1 - weight, weight]), shares, near, 1 - weight)


def _hybrid(bm25: FirstStageResult, dense: DenseResult, fused: _Fused, weight: float, k: int) -> Answer:
    """The ``k`` best documents; a document's key is unique across all collections."""
    matched = {place.key: (rank, place) for rank, place in enumerate(bm25.places, 1)}
    near = {place.hit.key: (rank, place) for rank, place in enumerate(dense.places, 1)}
    beside = {place.hit.key: (None, place) for place in dense.others}
    answer = Answer(method="hybrid", translations=bm25.translations, degraded=[*bm25.degraded, *dense.degraded])
    for place in bm25.places:
        answer.parts.setdefault((place.part.collection.key, place.part.translated.language), place.part)
    for key, score in fused.scores:
        by_words, by_meaning = matched.get(key), near.get(key, beside.get(key))
        fusion = Fusion(bm25=None, dense=None)
        if by_words and key in fused.shares:
            rank, found = by_words
            own = 1 - weight if key in fused.near else fused.alone
            fusion.bm25 = RankedBy(rank=rank, score=found.first_stage, value=fused.shares[key], weight=own)
        if by_meaning and key in fused.near:
            score_there, value = by_meaning[1].hit.score, fused.near[key]
            fusion.dense = RankedBy(rank=by_meaning[0], score=score_there, value=value, weight=weight)
        part = by_words[1].part if by_words else None
        collection = part.collection if part else near[key][1].collection
        passage = near[key][1].hit if key in near else None
        cosine = by_meaning[1].hit.score if by_meaning else None
        answer.places.append(Ranked(collection, key, score, score, part, passage, fusion, cosine))
        if len(answer.places) == k:
            break
    return answer
