"""Search from request to response, with one snapshot of the active tables from first stage to explanation."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from dragoman.deadline import check_each
from dragoman.engine.checking.translations import CheckedTranslations
from dragoman.engine.core.admission import Limit
from dragoman.engine.core.answer import Degraded
from dragoman.engine.core.chosen_fields import check_fields
from dragoman.engine.core.errors import InvalidRequest, TooManyRequests, Unavailable
from dragoman.engine.core.priority import Traffic, in_background
from dragoman.engine.core.stages import optional
from dragoman.engine.core.trec import RunLine
from dragoman.engine.core.turns import caller
from dragoman.engine.indexing.collections import CollectionInfo, SearchedCollections
from dragoman.engine.indexing.lucene.indexes import Indexes
from dragoman.engine.models.queue.worker import Cancelled
from dragoman.engine.observability.metrics import Metrics
from dragoman.engine.observability.tracing import span
from dragoman.engine.query.analysed_text import AnalysedText
from dragoman.engine.query.description import describe, foreign_words, undecided_message, unknown_everywhere
from dragoman.engine.query.exact.wishes import read_wishes
from dragoman.engine.query.language import FALLBACK, Detection, detect
from dragoman.engine.query.readers import readers_of
from dragoman.engine.search.dense_stage import DenseStage
from dragoman.engine.search.entity_stage import EntityStage
from dragoman.engine.search.first_stage import FirstStage
from dragoman.engine.search.listing.lister import Lister
from dragoman.engine.search.listing.options import read_list_options
from dragoman.engine.search.listing.page_ranking import PageRanking
from dragoman.engine.search.listing.pages import Cursors, check_page, check_state, state_of
from dragoman.engine.search.name_finder import NameFinder
from dragoman.engine.search.ranked import Position, RankedDocument, Retrieval
from dragoman.engine.search.request import BY_MEANING, Method, SearchQuery
from dragoman.engine.search.rerank_stage import RerankStage
from dragoman.engine.search.response import SearchResponse, Suggestion, Timings
from dragoman.engine.search.room import Room, gloss_size, longest_snippets
from dragoman.engine.search.search_ranking import SearchRanking
from dragoman.engine.search.shown.attention import add_attention
from dragoman.engine.search.shown.glosses import Glosses, without_glosses
from dragoman.engine.search.shown.hits import add_hits
from dragoman.engine.search.shown.offsets import count_in_utf16
from dragoman.engine.search.shown.snippet_translations import add_translations, withholds
from dragoman.engine.search.suggestions import other_readings
from dragoman.engine.settings import Settings
from dragoman.engine.tables.snapshot import Snapshot, TableRegistry, check_detectable
from dragoman.indexes.analysis.pipeline import LONGEST_WORD
from dragoman.lexicon.text.tokens import Analysis


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
    ) -> None:
        """``secret`` signs cursors."""
        self._collections = collections
        self._registry = registry
        self._analysis = analysis
        self._settings = settings
        self._metrics = metrics
        self._first_stage = FirstStage(indexes, analysis)
        self._ranking = SearchRanking(self._first_stage, dense, settings)
        self._pages = PageRanking(collections, self._ranking, Lister(self._first_stage, indexes), rerank, analysis)
        self._cursors = Cursors(secret)
        self._indexes = indexes
        self._dense = dense
        self._translations = translations
        self._rerank = rerank
        self._traffic = traffic
        self._names = names
        self._entities = entities
        self._waiting = Limit(settings.search.concurrent_model_searches, "searches are waiting for the models")

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
        if retrieval.facets is not None:
            response.facets = retrieval.facets
        return response

    def retrieve(
        self, request: SearchQuery, cancelled: Cancelled | None = None, snapshot: Snapshot | None = None
    ) -> Retrieval:
        """The documents of :meth:`search`, as they were read and with their hits."""
        with self._traffic.live(), self._begin(request, cancelled, snapshot) as retrieval:
            self._rank(retrieval, read=True)
            retrieval.truncated[:0] = _cut_words(retrieval.query)
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
        with self._traffic.live(), self._begin(request, cancelled, snapshot) as retrieval:
            retrieval.truncated[:0] = _cut_words(retrieval.query)
            retrieval.documents = [document]
            self._ranking.match(retrieval)
        return retrieval

    def rank(self, request: SearchQuery, cancelled: Cancelled | None = None) -> Retrieval:
        """The documents of :meth:`search`, ranked; only those that were reranked have been read.

        Raises:
            ServiceError: as :meth:`search`.
        """
        with self._traffic.live(), self._begin(request, cancelled) as retrieval:
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
        return self._default_method(self._collections.chosen(request.collections))

    def _default_method(self, collections: Sequence[CollectionInfo]) -> Method:
        return "hybrid" if self._dense.complete(collections) else "psq"

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

    @contextmanager
    def _begin(
        self, request: SearchQuery, cancelled: Cancelled | None, snapshot: Snapshot | None = None
    ) -> Iterator[Retrieval]:
        """A search whose request is valid, admitted and understood; it counts as one that waits until the block ends.

        Where too many wait for the models, a search by words is not reranked, and one whose request names no method is
        made by psq.
        """
        started = time.perf_counter()
        self._check(request)
        collections = self._collections.chosen(request.collections)
        snapshot = snapshot or self._registry.snapshot
        position: Position | None = None
        asked = request
        state = partial(self._state, collections, snapshot)
        if request.cursor is not None:
            position, of_cursor = self._cursors.read(request, request.cursor)
            check_state(of_cursor, state(position.method))
            unranked = position.rerank_depth == 0
            request = replace(
                request,
                offset=position.offset,
                method=position.method,
                rerank=False if unranked else request.rerank,
            )
        chosen = request.method or self._default_method(collections)
        with ExitStack() as places:
            degraded: list[Degraded] = []
            search = replace(request, method=chosen)
            encodes = chosen in BY_MEANING or request.translate_snippets
            if (encodes or self._rerank.options(search) is not None) and not in_background():
                try:
                    places.enter_context(self._waiting.place(caller()))
                except TooManyRequests as fault:
                    if encodes and (request.method is not None or request.rerank or request.translate_snippets):
                        raise
                    search = replace(search, method="psq" if encodes else chosen, rerank=False)
                    stage, instead = ("dense", "ranked by psq") if encodes else ("rerank", "in first-stage order")
                    degraded.append(Degraded.of(stage, f"hits are {instead}: {fault}", fault.error_type))
            before = state(chosen)
            cursor = partial(self._cursors.write, asked, before)
            retrieval = self._understood(search, collections, cancelled, snapshot, cursor, degraded, started)
            if position is not None:
                retrieval.rerank_depth = position.rerank_depth
                retrieval.check = lambda: check_state(before, state(chosen))
            yield retrieval

    def _state(self, collections: Sequence[CollectionInfo], snapshot: Snapshot, method: Method) -> str:
        """What pages of one list have in common; another one while it is just changing."""
        marks: list[tuple[int | None, ...]] = []
        for collection in collections:
            index = self._indexes.find(collection.key)
            generation, changes = index.searched if index is not None else (-1, 0)
            missing = self._dense.count_missing(collection) if method in BY_MEANING else 0
            marks.append((collection.key, collection.generation, generation, changes if changes % 2 else None, missing))
        return state_of(marks, snapshot)

    def _understood(
        self,
        request: SearchQuery,
        collections: Sequence[CollectionInfo],
        cancelled: Cancelled | None,
        snapshot: Snapshot,
        cursor: Callable[[Position], str],
        degraded: list[Degraded],
        started: float,
    ) -> Retrieval:
        """The query in its language, given or detected, and the tables that are used for it."""
        snapshot = self._registry.include(snapshot, request.tables or ())
        available = snapshot
        languages = {language for collection in collections for language in collection.languages}
        detection = self._language(request, languages, snapshot)
        language = detection.language
        if not detection.decided:
            degraded.append(Degraded.of("detect", undecided_message(language), "undecided"))
        if request.tables is not None:
            snapshot = self._registry.select(snapshot, request.tables, language, languages)
        simple = request.syntax == "simple"
        text, wishes = read_wishes(request.query, request.must, request.must_not, simple=simple)
        query, cut = _shorten(AnalysedText(text, language, self._analysis), self._settings.search.query_words)
        return Retrieval(
            request,
            query,
            snapshot,
            collections,
            Room(self._settings.search.answer_bytes),
            available,
            cancelled,
            detection.probability,
            offset=request.offset,
            cursor=cursor,
            wishes=wishes,
            degraded=degraded,
            truncated=cut,
            started=started,
        )

    def _language(self, request: SearchQuery, languages: Collection[str], snapshot: Snapshot) -> Detection:
        """The query's language: given, or one of the readers', the collections' and the tables' languages."""
        if request.query_language is not None:
            return Detection.of_request(request.query_language)
        check_detectable(snapshot, languages)
        candidates = {FALLBACK, *languages, *snapshot.languages}
        readers = readers_of(request.reader_languages, self._settings.search.readers)
        return detect(request.query, candidates, snapshot.knows, partial(_reach, languages, snapshot), readers)

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
        late = Degraded.of(stage, f"{effect}: {fault}", fault.error_type)
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

    def _check(self, request: SearchQuery) -> None:
        settings = self._settings
        if request.translate_snippets:
            self._translations.translations.check_configured()
        if len(request.query) > settings.search.query_chars:
            raise InvalidRequest(f"query: longer than {settings.search.query_chars} characters")
        check_fields(request.fields or (), "fields")
        if request.top_k > settings.search.top_k_max:
            raise InvalidRequest(f"top_k: must be at most {settings.search.top_k_max}")
        check_page(request)
        longest = longest_snippets(settings.search.answer_bytes, request.top_k)
        if request.snippets.length > longest:
            raise InvalidRequest(f"snippets.length: an answer of {request.top_k} hits has room for {longest} each")
        read_list_options(request)
        if request.rerank and request.rerank.depth > settings.search.rerank_depth_max:
            raise InvalidRequest(f"rerank.depth: must be at most {settings.search.rerank_depth_max}")
        for field, names in (("collections", request.collections), ("tables", request.tables)):
            if len(names or ()) > settings.search.search_names:
                raise InvalidRequest(
                    f"{field}: {len(names or ())} of them; at most {settings.search.search_names} are allowed"
                )


def _shorten(query: AnalysedText, most: int) -> tuple[AnalysedText, list[str]]:
    """The query, or the beginning of one with more words, and the message that says so."""
    tokens = query.tokens
    if len(tokens) <= most:
        return query, []
    shorter = replace(query, text=query.text[: tokens[most - 1].end])
    return shorter, [f"query: only the first {most} of {len(tokens)} words were searched"]


def _cut_words(query: AnalysedText) -> list[str]:
    """Messages for query words that are too long to be indexed whole, and are searched by their beginnings."""
    if len(query.text) <= LONGEST_WORD:
        return []
    return [
        f"query: of the word at character {token.start} only the first {LONGEST_WORD} characters count"
        for token in query.tokens
        if len(token.word) >= LONGEST_WORD and token.end - token.start > LONGEST_WORD
    ]


def _timings(retrieval: Retrieval) -> Timings:
    spent = {"rerank": 0.0} | retrieval.seconds | {"total": time.perf_counter() - retrieval.started}
    return Timings(**{stage: round(1000 * seconds, 3) for stage, seconds in spent.items()})


def _reach(languages: Collection[str], snapshot: Snapshot, source: str) -> float:
    """The share of the searched languages that equal the query's language or have a table for it."""
    reached = [language for language in languages if language == source or snapshot.view(source, language) is not None]
    return len(reached) / max(1, len(languages))
