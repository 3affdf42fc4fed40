"""Search from request to response, with one snapshot of the active tables from first stage to explanation."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

from dragoman.deadline import check_each
from dragoman.engine.checking.translations import CheckedTranslations
from dragoman.engine.core.admission import Limit
from dragoman.engine.core.answer import Degraded
from dragoman.engine.core.errors import Unavailable
from dragoman.engine.core.priority import Traffic
from dragoman.engine.core.stages import optional
from dragoman.engine.core.trec import RunLine
from dragoman.engine.indexing.collections import SearchedCollections
from dragoman.engine.indexing.lucene.indexes import Indexes
from dragoman.engine.models.queue.ahead import QueryAhead
from dragoman.engine.models.queue.worker import Cancelled
from dragoman.engine.observability.metrics import Metrics
from dragoman.engine.observability.tracing import span
from dragoman.engine.query.description import describe, foreign_words, unknown_everywhere
from dragoman.engine.search.beginning import Beginning, cut_words
from dragoman.engine.search.dense_stage import DenseStage
from dragoman.engine.search.entity_stage import EntityStage
from dragoman.engine.search.first_stage import FirstStage
from dragoman.engine.search.listing.lister import Lister
from dragoman.engine.search.listing.options import read_list_options
from dragoman.engine.search.listing.page_ranking import PageRanking
from dragoman.engine.search.name_finder import NameFinder
from dragoman.engine.search.ranked import RankedDocument, Retrieval
from dragoman.engine.search.request import BY_MEANING, Method, SearchQuery
from dragoman.engine.search.rerank_stage import RerankStage
from dragoman.engine.search.response import SearchResponse, Suggestion, Timings
from dragoman.engine.search.room import gloss_size
from dragoman.engine.search.search_ranking import SearchRanking
from dragoman.engine.search.shown.attention import add_attention
from dragoman.engine.search.shown.glosses import Glosses, without_glosses
from dragoman.engine.search.shown.hits import add_hits
from dragoman.engine.search.shown.offsets import count_in_utf16
from dragoman.engine.search.shown.snippet_translations import add_translations, withholds
from dragoman.engine.search.shown.suggestions import other_readings
from dragoman.engine.settings import Settings
from dragoman.engine.tables.snapshot import Snapshot, TableRegistry
from dragoman.lexicon.text.tokens import Analysis

_LONGEST_AHEAD = 200
"""Characters of a query that is encoded with others before its search has its turn."""


class Run(NamedTuple):
    """The lines of a TREC run, best first, the degraded stages, and the method used."""

    lines: list[RunLine]
    degraded: list[Degraded]
    method: Method


class Search:
    """Answers searches. Every method may be called from any thread."""

    def __init__(
        self,
        collections: SearchedCollections,
        indexes: Indexes,
        registry: TableRegistry,
        analysis: Callable[[str], Analysis],
        settings: Settings,
        metrics: Metrics,
        dense: DenseStage,
        translations: CheckedTranslations,
        rerank: RerankStage,
        traffic: Traffic,
        names: NameFinder,
        entities: EntityStage,
        secret: bytes,
        limit: Callable[[int, str], Limit] = Limit,
    ) -> None:
        """``secret`` signs cursors; ``limit`` makes the limit of searches that wait for the models."""
        self._collections = collections
        self._registry = registry
        self._analysis = analysis
        self._metrics = metrics
        self._beginning = Beginning(
            collections, indexes, registry, analysis, settings, dense, rerank, translations, secret, limit
        )
        self._first_stage = FirstStage(indexes, analysis)
        self._ranking = SearchRanking(self._first_stage, dense, settings)
        self._pages = PageRanking(collections, self._ranking, Lister(self._first_stage, indexes), rerank, analysis)
        self._dense = dense
        self._translations = translations
        self._rerank = rerank
        self._traffic = traffic
        self._names = names
        self._entities = entities

    def search(
        self,
        request: SearchQuery,
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
        with self._traffic.live():
            retrieval = self.retrieve(request, cancelled, snapshot)
            suggestions = self._suggestions_in_time(retrieval)
            said = retrieval.translations, retrieval.names, retrieval.truncated, retrieval.wishes
            translation = describe(retrieval.query, *said)
        response = SearchResponse(
            request_id=request_id,
            query=retrieval.understood,
            method=retrieval.request.method or "psq",
            rerank=retrieval.reranked,
            hits=[document.hit for document in retrieval.documents],
            translation=translation,
            total=retrieval.total,
            next=retrieval.next,
            found=retrieval.verdict,
            suggestions=suggestions,
            degraded=retrieval.degraded,
            truncated=retrieval.truncated,
            timings_ms=_timings(retrieval),
        )
        if retrieval.facets:  # none were asked for where there are none
            response.facets = retrieval.facets
        return response

    def retrieve(
        self, request: SearchQuery, cancelled: Cancelled | None = None, snapshot: Snapshot | None = None
    ) -> Retrieval:
        """The documents of :meth:`search`, as they were read and with their hits."""
        with self._traffic.live(), self._beginning.begin(request, cancelled, snapshot) as retrieval:
            self._rank(retrieval, read=True)
            retrieval.truncated[:0] = cut_words(retrieval.query)
            before = len(retrieval.degraded)
            add_hits(retrieval)
            self._metrics.count_degraded(retrieval.degraded[before:])
            self._entities.add(retrieval)
            if retrieval.request.gloss:
                self._gloss(retrieval, retrieval.documents)
            if retrieval.request.attention:
                before = len(retrieval.degraded)
                add_attention(retrieval, self._analysis)
                self._metrics.count_degraded(retrieval.degraded[before:])
            if retrieval.request.translate_snippets:
                self._translate_snippets(retrieval)
            if retrieval.request.offsets == "utf16":
                count_in_utf16(retrieval)
            retrieval.truncated += retrieval.room.messages()
        return retrieval

    def match(
        self,
        request: SearchQuery,
        document: RankedDocument,
        cancelled: Cancelled | None = None,
        snapshot: Snapshot | None = None,
    ) -> Retrieval:
        """A search of the collection of one document, with what matches that document; nothing is ranked.

        Raises:
            ServiceError: the request cannot be understood, as that of :meth:`search`.
        """
        with self._traffic.live(), self._beginning.begin(request, cancelled, snapshot) as retrieval:
            retrieval.truncated[:0] = cut_words(retrieval.query)
            retrieval.documents = [document]
            self._ranking.match(retrieval)
        return retrieval

    def rank(self, request: SearchQuery, cancelled: Cancelled | None = None) -> Retrieval:
        """The documents of :meth:`search`, ranked; only those that were reranked have been read.

        Raises:
            ServiceError: as :meth:`search`.
        """
        with self._traffic.live(), self._beginning.begin(request, cancelled) as retrieval:
            self._rank(retrieval, read=False)
        return retrieval

    def run(self, request: SearchQuery, cancelled: Cancelled | None = None) -> Run:
        """The lines of a TREC run, best first.

        Raises:
            ServiceError: as :meth:`search`.
        """
        retrieval = self.rank(request, cancelled)
        ids = {document.key: document.stored.id for document in retrieval.documents if document.is_read}
        ids |= self._collections.ids_by_keys([document.key for document in retrieval.documents if not document.is_read])
        in_order = bool(read_list_options(request).order)  # a run has falling scores
        lines = [
            RunLine(document.collection.name, ids[document.key], 1 / rank if in_order else document.score)
            for rank, document in enumerate(retrieval.documents, retrieval.offset + 1)
            if document.key in ids
        ]
        cut = [Degraded.of("truncated", reason, "truncated") for reason in retrieval.truncated]
        return Run(lines, [*retrieval.degraded, *cut], retrieval.request.method or "psq")

    def default_method(self, request: SearchQuery) -> Method:
        """The method of a search that names none: hybrid where the embeddings are complete, else psq.

        Raises:
            NotFound: there is no such collection.
        """
        return self._beginning.default_method(request)

    @property
    def snapshot(self) -> Snapshot:
        """The tables that a search uses now."""
        return self._registry.snapshot

    def glosses(self, language: str, snapshot: Snapshot) -> Glosses:
        """The translations of words into a language, by the tables of one snapshot."""
        return Glosses(language, snapshot, self._analysis, self._registry.written)

    def analysis(self, language: str) -> Analysis:
        """The analysis of texts of a language, as searches use it."""
        return self._analysis(language)

    def waits(self, request: SearchQuery) -> bool:
        """Whether a search waits for the models, or may do so."""
        return (
            request.method is None
            or request.method in BY_MEANING
            or request.translate_snippets
            or self._names.is_needed(request)
            or self._rerank.options(request) is not None
        )

    def query_ahead(self, request: SearchQuery) -> QueryAhead | None:
        """What of a search can be encoded before it has its turn; None if that is nothing, or probably not needed."""
        by_meaning = request.method in BY_MEANING or (request.method is None and self._beginning.encodes_by_default)
        if not by_meaning or request.syntax != "text" or len(request.query) > _LONGEST_AHEAD:
            return None
        return self._dense.query_ahead(request.query)

    def _rank(self, retrieval: Retrieval, *, read: bool) -> None:
        """Rank the documents of a page, and read them from the database, once, if ``read`` or if they are reranked."""
        request = retrieval.request
        listed = read_list_options(request)
        self._entities.limit(retrieval)
        if retrieval.languages - {retrieval.query.language} and self._names.is_needed(request):
            with span("names"):
                self._names.find(retrieval)
        self._first_stage.limit(retrieval)
        retrieval.seconds["translate"] = time.perf_counter() - retrieval.started
        self._pages.rank(retrieval, listed, read=read)
        retrieval.check()
        for stage, seconds in retrieval.seconds.items():
            self._metrics.stage(stage, seconds)
        self._metrics.count_degraded(retrieval.degraded)
        words, oov = foreign_words(retrieval.translations), unknown_everywhere(retrieval.translations)
        self._metrics.query(retrieval.query.language, len(words), len(oov))

    def _gloss(self, retrieval: Retrieval, documents: Sequence[RankedDocument]) -> None:
        """Gloss the hits of these documents, as many as there is time for."""
        glosses = self.glosses(retrieval.query.language, retrieval.snapshot)
        try:
            with retrieval.stage("gloss"), optional():
                for document in check_each(documents):
                    document.hit.gloss = retrieval.room.fitting(
                        "glosses", document.hit.rank, glosses.of(document), gloss_size
                    )
        except Unavailable as fault:
            self._late(retrieval, "gloss", "the last hits have no gloss", fault)
        unglossed = without_glosses(retrieval.query.language, retrieval.documents, retrieval.snapshot)
        self._metrics.count_degraded(unglossed)
        retrieval.degraded += unglossed

    def _late(self, retrieval: Retrieval, stage: str, effect: str, fault: Unavailable) -> None:
        late = Degraded.of(stage, f"{effect}: {fault}", fault.cause)
        self._metrics.count_degraded([late])
        retrieval.degraded.append(late)

    def _suggestions_in_time(self, retrieval: Retrieval) -> list[Suggestion]:
        try:
            with optional():
                return self._suggestions(retrieval)
        except Unavailable as fault:
            self._late(retrieval, "suggestions", "the query was not read as one in another language", fault)
            return []

    def _suggestions(self, retrieval: Retrieval) -> list[Suggestion]:
        request, snapshot = retrieval.request, retrieval.available
        if request.method in ("none", "dense") or retrieval.filters or retrieval.collection_rankings:
            return []
        targets = retrieval.languages

        def tables(source: str) -> Snapshot:
            return (
                snapshot if request.tables is None else self._registry.select(snapshot, request.tables, source, targets)
            )

        sources = {source for source in snapshot.languages if any(snapshot.view(source, target) for target in targets)}
        return other_readings(retrieval, sources, tables, self._first_stage)

    def _translate_snippets(self, retrieval: Retrieval) -> None:
        with retrieval.stage("translate_snippets"):
            degraded = add_translations(retrieval, self._translations)
        self._metrics.count_degraded(degraded)
        retrieval.degraded += degraded
        if retrieval.request.gloss:
            return
        withheld = [document for document in retrieval.documents if withholds(document.hit.snippet_translation)]
        if withheld:
            self._gloss(retrieval, withheld)


def _timings(retrieval: Retrieval) -> Timings:
    spent = {"rerank": 0.0} | retrieval.seconds | {"total": time.perf_counter() - retrieval.started}
    return Timings(**{stage: round(1000 * seconds, 3) for stage, seconds in spent.items()})
