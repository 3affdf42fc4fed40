"""How a search begins: its request is checked and admitted, and its query understood."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial

from dragoman.engine.checking.translations import CheckedTranslations
from dragoman.engine.core.admission import Limit
from dragoman.engine.core.answer import Degraded
from dragoman.engine.core.chosen_fields import check_fields
from dragoman.engine.core.errors import InvalidRequest, TooManyRequests
from dragoman.engine.core.priority import in_background
from dragoman.engine.core.turns import caller
from dragoman.engine.indexing.collections import CollectionInfo, SearchedCollections
from dragoman.engine.indexing.lucene.indexes import Indexes
from dragoman.engine.models.queue.worker import Cancelled
from dragoman.engine.query.analysed_text import AnalysedText
from dragoman.engine.query.description import undecided_message
from dragoman.engine.query.exact.wishes import read_wishes
from dragoman.engine.query.language import FALLBACK, Detection, detect
from dragoman.engine.query.readers import readers_of
from dragoman.engine.search.dense_stage import DenseStage
from dragoman.engine.search.listing.generations import check_generations
from dragoman.engine.search.listing.options import read_list_options
from dragoman.engine.search.listing.pages import Cursors, check_page, check_state, state_of
from dragoman.engine.search.ranked import Position, Retrieval
from dragoman.engine.search.request import BY_MEANING, Method, SearchQuery
from dragoman.engine.search.rerank_stage import RerankStage
from dragoman.engine.search.room import Room, longest_snippets
from dragoman.engine.settings import Settings
from dragoman.engine.tables.snapshot import Snapshot, TableRegistry, check_detectable
from dragoman.indexes.analysis.pipeline import LONGEST_WORD
from dragoman.lexicon.text.tokens import Analysis


class Beginning:
    """Begins searches. Every method may be called from any thread."""

    def __init__(
        self,
        collections: SearchedCollections,
        indexes: Indexes,
        registry: TableRegistry,
        analysis: Callable[[str], Analysis],
        settings: Settings,
        dense: DenseStage,
        rerank: RerankStage,
        translations: CheckedTranslations,
        secret: bytes,
        limit: Callable[[int, str], Limit],
    ) -> None:
        """As those of :class:`~dragoman.engine.search.service.Search`."""
        self._collections = collections
        self._indexes = indexes
        self._registry = registry
        self._analysis = analysis
        self._settings = settings
        self._dense = dense
        self._rerank = rerank
        self._translations = translations
        self._cursors = Cursors(secret)
        self._waiting = limit(settings.search.concurrent_model_searches, "searches are waiting for the models")
        self.encodes_by_default = False
        """Whether the last search without a method was one by meaning."""

    def default_method(self, request: SearchQuery) -> Method:
        """As :meth:`~dragoman.engine.search.service.Search.default_method`."""
        return self._default_method(self._collections.chosen(request.collections))

    @contextmanager
    def begin(
        self, request: SearchQuery, cancelled: Cancelled | None, snapshot: Snapshot | None = None
    ) -> Iterator[Retrieval]:
        """A search whose request is valid, admitted and understood; it counts as one that waits until the block ends.

        Where too many wait for the models, a search by words is not reranked, and one whose request names no method is
        made by psq.
        """
        started = time.perf_counter()
        self._check(request)
        collections = self._collections.chosen(request.collections)
        check_generations(request.min_generation or {}, collections, self._collections, self._indexes)
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
                    degraded.append(Degraded.of(stage, f"hits are {instead}: {fault}", fault.cause))
            before = state(chosen)
            cursor = partial(self._cursors.write, asked, before)
            retrieval = self._understood(search, collections, cancelled, snapshot, cursor, degraded, started)
            if position is not None:
                retrieval.rerank_depth = position.rerank_depth
                retrieval.check = lambda: check_state(before, state(chosen))
            yield retrieval

    def _default_method(self, collections: Sequence[CollectionInfo]) -> Method:
        self.encodes_by_default = self._dense.complete(collections)
        return "hybrid" if self.encodes_by_default else "psq"

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


def cut_words(query: AnalysedText) -> list[str]:
    """Messages for query words that are too long to be indexed whole, and are searched by their beginnings."""
    if len(query.text) <= LONGEST_WORD:
        return []
    return [
        f"query: of the word at character {token.start} only the first {LONGEST_WORD} characters count"
        for token in query.tokens
        if len(token.word) >= LONGEST_WORD and token.end - token.start > LONGEST_WORD
    ]


def _reach(languages: Collection[str], snapshot: Snapshot, source: str) -> float:
    """The share of the searched languages that equal the query's language or have a table for it."""
    reached = [language for language in languages if language == source or snapshot.translates(source, language)]
    return len(reached) / max(1, len(languages))
