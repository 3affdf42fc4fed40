"""The ranking of a search: by translated words (BM25), by sentence embeddings (dense), or by fusing both."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from dragoman.indexes.fusion import RRF_K, calibrated, convex, rrf
from dragoman.service.collections.service import CollectionInfo
from dragoman.service.core.errors import ServiceError, Unavailable
from dragoman.service.core.priority import in_background
from dragoman.service.core.settings import Settings
from dragoman.service.inference.batching import Cancelled
from dragoman.service.inference.encoding import EncodedQuery
from dragoman.service.observability.tracing import span
from dragoman.service.query.translation import QueryName, Translated
from dragoman.service.schemas.search import Degraded, Fusion, Method, RankedBy, SearchRequest
from dragoman.service.search.bm25 import STAGE as BM25_STAGE
from dragoman.service.search.bm25 import FirstStage, FirstStageResult, Match, Part, Place
from dragoman.service.search.dense import STAGE, DensePlace, DenseResult, DenseStage
from dragoman.service.search.entities import Permitted
from dragoman.service.search.late import DEPTH as LATE_DEPTH
from dragoman.service.search.late import reordered
from dragoman.service.search.ranked import Ranked
from dragoman.service.tables.snapshot import Snapshot

logger = logging.getLogger("dragoman")

FUSION_DEPTH = 100
"""Minimum number of documents of each ranking to fuse."""
DEPTH_A_LANGUAGE = 50
"""How many more for each further language that is searched, as a good document may be there in all of them."""
MOST_FUSED = 500
"""The limit of both together."""
UNTRANSLATED_WEIGHT = 0.9
"""The least weight of the cosine in a language that the query cannot be translated into: names alone match there."""


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
    late_seconds: float | None = None
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
        self._late_weight = settings.late_weight if settings.late_interaction else 0.0

    def rank(
        self,
        request: SearchRequest,
        language: str,
        snapshot: Snapshot,
        collections: Sequence[CollectionInfo],
        cancelled: Cancelled | None,
        names: Sequence[QueryName] = (),
        permitted: Permitted | None = None,
    ) -> Answer:
        """The ``request.top_k`` best documents of the collections, or of the ``permitted`` ones.

        ``names`` are those of the query.

        Raises:
            ServiceError: they cannot be ranked now.
        """
        if request.method == "dense":
            with span("dense"):
                found = self._dense.rank(request.query, collections, request.top_k, cancelled, permitted=permitted)
            return _of_dense(found)
        if request.method == "hybrid":
            return self._hybrid(request, language, snapshot, collections, cancelled, names, permitted)
        method = request.method or "psq"
        k = request.top_k
        return _of_bm25(
            method,
            self._first_stage.rank(request.query, language, method, snapshot, collections, k, names, permitted),
        )

    def _hybrid(
        self,
        request: SearchRequest,
        language: str,
        snapshot: Snapshot,
        collections: Sequence[CollectionInfo],
        cancelled: Cancelled | None,
        names: Sequence[QueryName],
        permitted: Permitted | None,
    ) -> Answer:
        """Both rankings, fused; only one, marked as degraded, if the other is unavailable."""
        languages = {language for collection in collections for language in collection.languages}
        further = DEPTH_A_LANGUAGE * max(0, len(languages) - 1)
        depth = max(request.top_k, min(FUSION_DEPTH + further, MOST_FUSED))
        started = time.perf_counter()
        unmatched: ServiceError | None = None
        try:
            bm25 = self._first_stage.rank(
                request.query, language, "psq", snapshot, collections, depth, names, permitted
            )
        except Unavailable as fault:
            if in_background():
                raise
            unmatched = fault
            reason = f"hits are ranked by dense search alone: {fault}"
            bm25 = FirstStageResult(degraded=[Degraded.of(BM25_STAGE, reason, fault.error_type)])
        try:
            with span("dense"):
                others = _by_collection(bm25.places)
                dense = self._dense.rank(request.query, collections, depth, cancelled, others, permitted)
        except Exception as fault:
            if unmatched is not None:
                raise unmatched from fault
            if in_background() and isinstance(fault, ServiceError):
                raise
            dense = DenseResult(degraded=[_without_dense(fault)])
        keys = _by_collection([*bm25.places, *dense.places, *dense.others])
        matches = self._first_stage.matches(bm25.parts, keys, bm25.degraded)
        fused = self._fused(bm25, dense, matches, self._weight)
        answer = _hybrid(bm25, dense, fused, matches, request.explain)
        answer.translate_seconds = bm25.translate_seconds
        answer.rank_seconds = time.perf_counter() - started - bm25.translate_seconds
        answer.dense_seconds = dense.seconds
        if self._late_weight and dense.query is not None and dense.states:
            begun = time.perf_counter()
            with span("late"):
                answer.places = self._with_late(answer.places, dense.query, matches)
            answer.late_seconds = time.perf_counter() - begun
        answer.places = answer.places[: request.top_k]
        return answer

    def _with_late(self, places: list[Ranked], query: EncodedQuery, matches: Mapping[int, Match]) -> list[Ranked]:
        keys: dict[int, list[int]] = {}
        for place in places[:LATE_DEPTH]:
            keys.setdefault(place.collection.key, []).append(place.key)
        similarities = self._dense.maxsim(query, keys)
        return places if similarities is None else reordered(places, query, similarities, matches, self._late_weight)


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
            place.collection, place.hit.key, place.similarity, place.hit.score, passage=place.hit, dense=place.hit.score
        )
        for place in result.places
    ]
    return Answer(places, "dense", degraded=result.degraded, rank_seconds=result.seconds, dense_seconds=result.seconds)


def _by_collection(places: Sequence[Place | DensePlace]) -> dict[int, list[int]]:
    """The distinct keys of documents by collection."""
    found: dict[int, dict[int, None]] = {}
    for place in places:
        collection, key = (
            (place.part.collection, place.key) if isinstance(place, Place) else (place.collection, place.hit.key)
        )
        found.setdefault(collection.key, {})[key] = None
    return {collection: list(keys) for collection, keys in found.items()}


@dataclass(frozen=True, slots=True)
class _Fused:
    """Fused scores by document key, best first, and of each ranking the values that were weighted."""

    scores: list[tuple[int, float]]
    shares: Mapping[int, float]
    near: Mapping[int, float]
    weights: Mapping[int, float]
    """Of ``near``, by key."""
    alone: float
    """The weight of BM25 for a document without an embedding."""


def _by_scores(bm25: FirstStageResult, dense: DenseResult, matches: Mapping[int, Match], weight: float) -> _Fused:
    """The convex combination of the shares of the attainable BM25 scores and the calibrated cosines."""
    floor = dense.unrelated_cosine
    shares = {place.key: place.score for place in bm25.places}
    shares |= {key: match.place.score for key, match in matches.items() if key not in shares}
    untranslated = {one.language for one in bm25.translations if one.foreign and one.view is None}
    own = {one.hit.key: one for one in (*dense.places, *dense.others)}
    near = {key: calibrated(place.similarity, floor) for key, place in own.items()}
    weights = {
        key: max(weight, UNTRANSLATED_WEIGHT) if weight and place.language in untranslated else weight
        for key, place in own.items()
    }
    return _Fused(convex(shares, near, weights.__getitem__), shares, near, weights, 1.0)


def _by_ranks(bm25: FirstStageResult, dense: DenseResult, matches: Mapping[int, Match], weight: float) -> _Fused:
    """Weighted reciprocal rank fusion."""
    rankings = [[place.key for place in bm25.places], [place.hit.key for place in dense.places]]
    shares, near = ({key: 1 / (RRF_K + rank) for rank, key in enumerate(one, 1)} for one in rankings)
    weights = dict.fromkeys(near, weight)
    return _Fused(rrf(rankings, weights=[1 - weight, weight]), shares, near, weights, 1 - weight)


def _hybrid(
    bm25: FirstStageResult, dense: DenseResult, fused: _Fused, matches: Mapping[int, Match], explained: bool
) -> Answer:
    """All fused documents, with their parts if ``explained``; a document's key is unique across all collections."""
    matched: dict[int, tuple[int | None, Place]] = {key: (None, match.place) for key, match in matches.items()}
    matched |= {place.key: (rank, place) for rank, place in enumerate(bm25.places, 1)}
    near = {place.hit.key: (rank, place) for rank, place in enumerate(dense.places, 1)}
    beside = {place.hit.key: (None, place) for place in dense.others}
    answer = Answer(method="hybrid", translations=bm25.translations, degraded=[*bm25.degraded, *dense.degraded])
    answer.parts = {(part.collection.key, part.translated.language): part for part in bm25.parts}
    for key, score in fused.scores:
        by_words, by_meaning = matched.get(key), near.get(key, beside.get(key))
        fusion = _parts(key, by_words, by_meaning, fused) if explained else None
        part = by_words[1].part if by_words else None
        found_in = by_words[1].part if by_words else by_meaning[1] if by_meaning else None
        assert found_in is not None  # every fused document is of one ranking at least
        passage = near[key][1].hit if key in near else None
        cosine = by_meaning[1].hit.score if by_meaning else None
        answer.places.append(Ranked(found_in.collection, key, score, score, part, passage, fusion, cosine))
    return answer


def _parts(
    key: int, by_words: tuple[int | None, Place] | None, by_meaning: tuple[int | None, DensePlace] | None, fused: _Fused
) -> Fusion:
    """A document's rank, score, value and weight in each ranking."""
    fusion = Fusion(bm25=None, dense=None)
    if by_words and key in fused.shares:
        rank, found = by_words
        own = 1 - fused.weights[key] if key in fused.near else fused.alone
        fusion.bm25 = RankedBy(rank=rank, score=found.first_stage, value=fused.shares[key], weight=own)
    if by_meaning and key in fused.near:
        rank, place = by_meaning
        fusion.dense = RankedBy(rank=rank, score=place.hit.score, value=fused.near[key], weight=fused.weights[key])
    return fusion
