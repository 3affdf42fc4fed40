"""A search from the request to the answer: one snapshot of the active tables from first stage to explanation."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple

from dragoman.indexes.analysis import LONGEST_WORD
from dragoman.lexicon.text import Analysis
from dragoman.service.collections import CollectionInfo, Collections
from dragoman.service.detection import FALLBACK, detect
from dragoman.service.errors import InvalidRequest, NotFound
from dragoman.service.first_stage import FirstStage, FirstStageResult, Place
from dragoman.service.indexes_registry import Indexes
from dragoman.service.metrics import Metrics
from dragoman.service.schemas.search import Degraded, Hit, QueryRead, SearchRequest, SearchResponse, Timings
from dragoman.service.search_hits import Found, HitBuilder
from dragoman.service.search_translation import described
from dragoman.service.settings import Settings
from dragoman.service.tables_registry import Snapshot, TableRegistry

AVAILABLE = ("psq", "smt", "none")
"""The methods that this version can search with."""


class RunLine(NamedTuple):
    """A document of a TREC run."""

    collection: str
    id: str
    score: float


class Search:
    """Answers searches. Every method may be called from any thread."""

    def __init__(
        self,
        collections: Collections,
        indexes: Indexes,
        registry: TableRegistry,
        analysis: Callable[[str], Analysis],
        settings: Settings,
        metrics: Metrics,
    ) -> None:
        self._collections = collections
        self._registry = registry
        self._analysis = analysis
        self._settings = settings
        self._metrics = metrics
        self._first_stage = FirstStage(indexes, analysis)

    def search(self, request: SearchRequest, request_id: str) -> SearchResponse:
        """The best documents for a query, with the evidence for each.

        Raises:
            InvalidRequest: naming the field that is not allowed.
            NotFound: there is no such collection or table.
            Unavailable: none of the collections can be searched now.
        """
        started = time.perf_counter()
        query, result = self._rank(request)
        hits = self._hits(request, result.places)
        translation = described(request.query, result.translations)
        total = time.perf_counter() - started
        return SearchResponse(
            request_id=request_id,
            query=query,
            hits=hits,
            translation=translation,
            degraded=result.degraded,
            truncated=_cut_words(request.query, self._analysis(query.language)),
            timings_ms=Timings(
                translate=_milliseconds(result.translate_seconds),
                first_stage=_milliseconds(result.rank_seconds),
                rerank=0.0,
                total=_milliseconds(total),
            ),
        )

    def run(self, request: SearchRequest) -> list[RunLine]:
        """The best documents, best first, as a TREC run has them.

        Raises:
            ServiceError: as :meth:`search`.
        """
        _, result = self._rank(request)
        ids = self._collections.ids_by_keys([place.key for place in result.places])
        return [
            RunLine(place.part.collection.name, ids[place.key], place.score)
            for place in result.places
            if place.key in ids
        ]

    def _rank(self, request: SearchRequest) -> tuple[QueryRead, FirstStageResult]:
        self._check(request)
        started = time.perf_counter()
        snapshot = self._registry.snapshot
        _check_tables(request, snapshot)
        collections = self._chosen(request)
        languages = {language for collection in collections for language in collection.languages}
        query, degraded = self._understood(request, snapshot, languages)
        if request.tables is not None:
            snapshot = self._registry.select(snapshot, request.tables, query.language, languages)
        prepared = time.perf_counter()
        result = self._first_stage.rank(
            request.query, query.language, request.method, snapshot, collections, request.top_k
        )
        result.translate_seconds += prepared - started
        result.degraded[:0] = degraded
        if request.rerank:
            reason = "reranking is not available in this version: hits are in first-stage order"
            result.degraded.append(Degraded(stage="rerank", reason=reason))
        self._metrics.stage("translate", result.translate_seconds)
        self._metrics.stage("first_stage", result.rank_seconds)
        return query, result

    def _check(self, request: SearchRequest) -> None:
        settings = self._settings
        if len(request.query) > settings.query_chars:
            raise InvalidRequest(f"query: longer than {settings.query_chars} characters")
        if request.top_k > settings.top_k_max:
            raise InvalidRequest(f"top_k: must be at most {settings.top_k_max}")
        if request.method not in AVAILABLE:
            raise InvalidRequest(
                f"method: {request.method!r} is not available in this version; choose one of {', '.join(AVAILABLE)}"
            )

    def _chosen(self, request: SearchRequest) -> list[CollectionInfo]:
        known = {collection.name: collection for collection in self._collections.all()}
        if request.collections is None:
            return list(known.values())
        for place, name in enumerate(request.collections):
            if name not in known:
                raise NotFound(f"collections[{place}]: there is no collection named {name!r}")
        return [known[name] for name in dict.fromkeys(request.collections)]

    def _understood(
        self, request: SearchRequest, snapshot: Snapshot, languages: Collection[str]
    ) -> tuple[QueryRead, list[Degraded]]:
        if request.query_language is not None:
            return QueryRead(text=request.query, language=request.query_language, detected=False), []
        candidates = {FALLBACK, *languages, *snapshot.languages}
        found = detect(request.query, candidates, snapshot.knows)
        degraded = []
        if not found.decided:
            reason = f"nothing in the query tells its language: it was taken as {found.language}"
            degraded.append(Degraded(stage="detect", reason=reason))
        return QueryRead(text=request.query, language=found.language, detected=True), degraded

    def _hits(self, request: SearchRequest, places: Sequence[Place]) -> list[Hit]:
        documents = self._collections.by_keys([place.key for place in places])
        builders: dict[int, HitBuilder] = {}
        hits: list[Hit] = []
        for place in places:
            document = documents.get(place.key)
            if document is None:
                continue
            part = place.part
            builder = builders.get(id(part))
            if builder is None:
                builder = builders[id(part)] = HitBuilder(
                    request.query,
                    part.collection.name,
                    part.translated,
                    part.statistics,
                    self._analysis(part.translated.language),
                    request.explain,
                )
            hits.append(builder.hit(Found(len(hits) + 1, place.score, place.first_stage), document))
        return hits


def _check_tables(request: SearchRequest, snapshot: Snapshot) -> None:
    for place, name in enumerate(request.tables or ()):
        if name not in snapshot.names:
            raise NotFound(f"tables[{place}]: there is no active table named {name!r}")


def _cut_words(text: str, analysis: Analysis) -> list[str]:
    """The words of a query that are too long to be indexed whole, and so are searched by their beginnings."""
    if len(text) <= LONGEST_WORD:
        return []
    return [
        f"query: of the word at character {token.start} only the first {LONGEST_WORD} characters count"
        for token in analysis.tokens(text)
        if len(token.word) >= LONGEST_WORD and token.end - token.start > LONGEST_WORD
    ]


def _milliseconds(seconds: float) -> float:
    return round(seconds * 1000, 3)
