"""Search from request to response, with one snapshot of the active tables from first stage to explanation."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from threading import BoundedSemaphore
from typing import NamedTuple

from dragoman.indexes.analysis.pipeline import LONGEST_WORD
from dragoman.lexicon.text.tokens import Analysis
from dragoman.service.collections.lucene_registry import Indexes
from dragoman.service.collections.service import CollectionInfo, Collections
from dragoman.service.core.errors import InvalidRequest, NotFound, TooManyRequests
from dragoman.service.core.priority import Traffic, in_background
from dragoman.service.core.settings import Settings
from dragoman.service.core.trec import RunLine
from dragoman.service.inference.batching import Cancelled
from dragoman.service.inference.text_translation import Translations
from dragoman.service.observability.metrics import Metrics
from dragoman.service.observability.tracing import span
from dragoman.service.query.language import FALLBACK, detect
from dragoman.service.query.translation import QueryName, described, foreign_words, undecided, unknown_everywhere
from dragoman.service.schemas.search import (
    Degraded,
    Hit,
    Method,
    QueryRead,
    SearchRequest,
    SearchResponse,
    Suggestion,
    Timings,
)
from dragoman.service.search.bm25 import FirstStage
from dragoman.service.search.dense import DenseStage
from dragoman.service.search.entities import EntityStage
from dragoman.service.search.fusion import Answer, SearchRanking
from dragoman.service.search.gloss import Glosses
from dragoman.service.search.hits import hits_of
from dragoman.service.search.names import NameFinder
from dragoman.service.search.rerank import RerankStage
from dragoman.service.search.suggestions import other_readings
from dragoman.service.tables.service import check_active, check_detectable
from dragoman.service.tables.snapshot import Snapshot, TableRegistry

MODEL_METHODS = ("dense", "hybrid")
"""The methods that need the sentence encoder."""

_WAITING = 32


class Run(NamedTuple):
    """The lines of a TREC run, best first, the degraded stages, and the method used."""

    lines: list[RunLine]
    degraded: list[Degraded]
    method: Method


class Ranking(NamedTuple):
    """The query as understood, the snapshot with the tables that were used, the names in the query, and the ranking."""

    query: QueryRead
    snapshot: Snapshot
    names: list[QueryName]
    answer: Answer


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
        dense: DenseStage,
        translations: Translations,
        rerank: RerankStage,
        traffic: Traffic,
        names: NameFinder,
        entities: EntityStage,
    ) -> None:
        self._collections = collections
        self._registry = registry
        self._analysis = analysis
        self._settings = settings
        self._metrics = metrics
        self._first_stage = FirstStage(indexes, analysis)
        self._ranking = SearchRanking(self._first_stage, dense, settings)
        self._dense = dense
        self._translations = translations
        self._rerank = rerank
        self._traffic = traffic
        self._names = names
        self._entities = entities
        self._places = BoundedSemaphore(_WAITING)

    def search(
        self,
        request: SearchRequest,
        request_id: str,
        cancelled: Cancelled | None = None,
        snapshot: Snapshot | None = None,
    ) -> SearchResponse:
        """The best documents for a query, with evidence; uses the tables of ``snapshot``, or of the current one.

        Raises:
            InvalidRequest: a field is not allowed; the message names it.
            NotFound: there is no such collection or table.
            TooManyRequests: the queue for the models is full.
            Unavailable: none of the collections can be searched now, dense search is not possible, or snippets are to
                be translated and there is no translator.
        """
        with self._traffic.live(), self._admitted(self._with_method(request), request.method) as (admitted, degraded):
            response = self._search(admitted, request_id, cancelled, snapshot)
        response.degraded[:0] = degraded
        return response

    def default_method(self, request: SearchRequest) -> Method:
        """The method of a search that names none: hybrid where the embeddings are complete, else psq.

        Raises:
            NotFound: there is no such collection.
        """
        return "hybrid" if self._dense.complete(self._chosen(request)) else "psq"

    @property
    def snapshot(self) -> Snapshot:
        """The tables that a search uses now."""
        return self._registry.snapshot

    def glosses(self, language: str, snapshot: Snapshot) -> Glosses:
        """The translations of words into a language, by the tables of one snapshot."""
        return Glosses(language, snapshot, self._analysis)

    def waits(self, request: SearchRequest) -> bool:
        """Whether a search waits for the models, or may do so."""
        return (
            request.method is None
            or request.method in MODEL_METHODS
            or request.translate_snippets
            or self._names.wanted(request)
            or self._rerank.options(request) is not None
        )

    def _search(
        self, request: SearchRequest, request_id: str, cancelled: Cancelled | None, snapshot: Snapshot | None
    ) -> SearchResponse:
        started = time.perf_counter()
        snapshot = snapshot or self._registry.snapshot
        query, used, names, answer = self._rank(request, cancelled, snapshot)
        documents = self._collections.by_keys([place.key for place in answer.places])
        hits = hits_of(request, answer, documents, self._analysis)
        self._entities.add(hits, [place.collection for place in answer.places], documents.values())
        timings = Timings(
            translate=_milliseconds(answer.translate_seconds),
            first_stage=_milliseconds(answer.rank_seconds),
            rerank=_milliseconds(answer.rerank_seconds),
            total=0.0,
        )
        if answer.dense_seconds is not None:
            timings.dense = _milliseconds(answer.dense_seconds)
        if answer.late_seconds is not None:
            timings.late = _milliseconds(answer.late_seconds)
        if request.gloss:
            timings.gloss = self._add_glosses(hits, query.language, used)
        if request.translate_snippets:
            begun = time.perf_counter()
            with span("translate_snippets"):
                untranslated = self._translate_snippets(hits, query.language, cancelled)
            self._metrics.degraded(untranslated)
            answer.degraded.extend(untranslated)
            timings.translate_snippets = _milliseconds(time.perf_counter() - begun)
        response = SearchResponse(
            request_id=request_id,
            query=query,
            method=answer.method,
            hits=hits,
            translation=described(request.query, self._analysis(query.language), answer.translations, names),
            suggestions=self._suggestions(request, query.language, answer, snapshot),
            degraded=answer.degraded,
            truncated=[*_cut_words(request.query, self._analysis(query.language)), *answer.truncated],
            timings_ms=timings,
        )
        timings.total = _milliseconds(time.perf_counter() - started)
        return response

    def _add_glosses(self, hits: Sequence[Hit], language: str, snapshot: Snapshot) -> float:
        begun = time.perf_counter()
        glosses = self.glosses(language, snapshot)
        with span("gloss"):
            for hit in hits:
                hit.gloss = glosses.of(hit)
        return _milliseconds(time.perf_counter() - begun)

    def _suggestions(
        self, request: SearchRequest, language: str, answer: Answer, snapshot: Snapshot
    ) -> list[Suggestion]:
        if request.method in ("none", "dense") or request.entities:
            return []
        if answer.parts or any(place.part for place in answer.places):
            return []
        collections = self._chosen(request)
        targets = {one for collection in collections for one in collection.languages}

        def tables(source: str) -> Snapshot:
            return (
                snapshot if request.tables is None else self._registry.select(snapshot, request.tables, source, targets)
            )

        sources = {one for one in snapshot.languages if any(snapshot.view(one, target) for target in targets)}
        return other_readings(request.query, language, sources, tables, self._first_stage, collections)

    def _translate_snippets(self, hits: Sequence[Hit], language: str, cancelled: Cancelled | None) -> list[Degraded]:
        snippets = [(hit.language, hit.snippet) for hit in hits]
        translated, degraded = self._translations.snippets(snippets, language, cancelled)
        for hit, text in zip(hits, translated, strict=True):
            hit.snippet_translation = text
        return degraded

    @contextmanager
    def _admitted(self, request: SearchRequest, named: Method | None) -> Iterator[tuple[SearchRequest, list[Degraded]]]:
        """Limit the searches that wait for the models, so that others still get a thread.

        Above the limit, a search whose request ``named`` no method is made by psq without reranking.
        """
        if in_background() or (request.method not in MODEL_METHODS and not request.translate_snippets):
            yield request, []
            return
        if not self._places.acquire(blocking=False):
            reason = f"{_WAITING} searches are waiting for the models"
            if named is not None or request.rerank or request.translate_snippets:
                raise TooManyRequests(f"{reason}; try again in a moment")
            degraded = [Degraded.of("dense", f"hits are ranked by psq: {reason}", TooManyRequests.error_type)]
            self._metrics.degraded(degraded)
            yield request.model_copy(update={"method": "psq", "rerank": False}), degraded
            return
        try:
            yield request, []
        finally:
            self._places.release()

    def run(self, request: SearchRequest, cancelled: Cancelled | None = None) -> Run:
        """The lines of a TREC run, best first.

        Raises:
            ServiceError: as :meth:`search`.
        """
        with self._traffic.live(), self._admitted(self._with_method(request), request.method) as (admitted, degraded):
            answer = self._rank(admitted, cancelled, None).answer
        ids = self._collections.ids_by_keys([place.key for place in answer.places])
        lines = [
            RunLine(place.collection.name, ids[place.key], place.score) for place in answer.places if place.key in ids
        ]
        cut = [Degraded.of("truncated", reason, "truncated") for reason in answer.truncated]
        return Run(lines, [*degraded, *answer.degraded, *cut], answer.method)

    def _rank(self, request: SearchRequest, cancelled: Cancelled | None, snapshot: Snapshot | None) -> Ranking:
        started = time.perf_counter()
        snapshot = snapshot or self._registry.snapshot
        check_active(request.tables or (), snapshot)
        collections = self._chosen(request)
        languages = {language for collection in collections for language in collection.languages}
        query, degraded = self._understood(request, snapshot, languages)
        if request.tables is not None:
            snapshot = self._registry.select(snapshot, request.tables, query.language, languages)
        limited = self._entities.limited(request, query.language, snapshot, collections)
        degraded += limited.degraded
        names: list[QueryName] = []
        if languages - {query.language} and self._names.wanted(request):
            with span("names"):
                names, faults = self._names.find(request.query, cancelled)
            degraded += faults
        prepared = time.perf_counter()
        rerank = self._rerank.options(request)
        wanted = request if rerank is None else request.model_copy(update={"top_k": max(request.top_k, rerank.depth)})
        answer = self._ranking.rank(
            wanted, query.language, snapshot, limited.collections, cancelled, names, limited.permitted
        )
        answer.translate_seconds += prepared - started
        answer.degraded[:0] = degraded
        if rerank is not None:
            outcome = self._rerank.rerank(request, rerank, query.language, answer.places, snapshot, cancelled)
            answer.places, answer.rerank_seconds = outcome.places[: request.top_k], outcome.seconds
            answer.degraded += outcome.degraded
            answer.truncated += outcome.truncated
            self._metrics.stage("rerank", outcome.seconds)
            self._metrics.rerank(outcome.result)
        self._metrics.stage("translate", answer.translate_seconds)
        self._metrics.stage("first_stage", answer.rank_seconds)
        if answer.dense_seconds is not None:
            self._metrics.stage("dense", answer.dense_seconds)
        if answer.late_seconds is not None:
            self._metrics.stage("late", answer.late_seconds)
        self._metrics.degraded(answer.degraded)
        words, oov = foreign_words(answer.translations), unknown_everywhere(answer.translations)
        self._metrics.query(query.language, len(words), len(oov))
        return Ranking(query, snapshot, names, answer)

    def _with_method(self, request: SearchRequest) -> SearchRequest:
        """The valid request with a method."""
        self._check(request)
        if request.method is not None:
            return request
        return request.model_copy(update={"method": self.default_method(request)})

    def _check(self, request: SearchRequest) -> None:
        settings = self._settings
        if request.translate_snippets:
            self._translations.check_configured()
        if len(request.query) > settings.query_chars:
            raise InvalidRequest(f"query: longer than {settings.query_chars} characters")
        if request.top_k > settings.top_k_max:
            raise InvalidRequest(f"top_k: must be at most {settings.top_k_max}")
        if request.rerank and request.rerank.depth > settings.rerank_depth_max:
            raise InvalidRequest(f"rerank.depth: must be at most {settings.rerank_depth_max}")
        for field, names in (("collections", request.collections), ("tables", request.tables)):
            if len(names or ()) > settings.search_names:
                raise InvalidRequest(
                    f"{field}: {len(names or ())} of them; at most {settings.search_names} are allowed"
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
        check_detectable(snapshot, languages)
        candidates = {FALLBACK, *languages, *snapshot.languages}
        found = detect(request.query, candidates, snapshot.knows, partial(_reach, languages, snapshot))
        degraded = []
        if not found.decided:
            degraded.append(Degraded.of("detect", undecided(found.language), "undecided"))
        return QueryRead(text=request.query, language=found.language, detected=True), degraded


def _cut_words(text: str, analysis: Analysis) -> list[str]:
    """Messages for query words that are too long to be indexed whole, and are searched by their beginnings."""
    if len(text) <= LONGEST_WORD:
        return []
    return [
        f"query: of the word at character {token.start} only the first {LONGEST_WORD} characters count"
        for token in analysis.tokens(text)
        if len(token.word) >= LONGEST_WORD and token.end - token.start > LONGEST_WORD
    ]


def _milliseconds(seconds: float) -> float:
    return round(seconds * 1000, 3)


def _reach(languages: Collection[str], snapshot: Snapshot, source: str) -> float:
    """The share of the searched languages that equal the query's language or have a table for it."""
    reached = [one for one in languages if one == source or snapshot.view(source, one) is not None]
    return len(reached) / max(1, len(languages))
