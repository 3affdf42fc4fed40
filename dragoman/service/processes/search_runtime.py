"""The parts of a search process: what searches, and sees that it sees what the service's own process does."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from threading import Event, Thread
from typing import Any, Literal

from dragoman.engine.checking.checking import Checking
from dragoman.engine.checking.source_phrases import SourcePhrases
from dragoman.engine.checking.translations import CheckedTranslations
from dragoman.engine.core.errors import (
    ClientDisconnected,
    Conflict,
    InternalError,
    NotFound,
    OutOfTime,
    TooManyRequests,
    Unavailable,
    classify,
)
from dragoman.engine.core.key_limits import table_limits
from dragoman.engine.indexing.dense.read_indexes import ReadDenseIndexes
from dragoman.engine.indexing.entities import Entities
from dragoman.engine.indexing.lucene.read_indexes import ReadIndexes
from dragoman.engine.indexing.sources import CollectionRecord
from dragoman.engine.models.loading import has_reranker
from dragoman.engine.models.models import Models
from dragoman.engine.models.query_encoding import QueryEncoding
from dragoman.engine.models.queue.ahead import QueryAhead
from dragoman.engine.models.queue.worker import Cancelled
from dragoman.engine.models.text_translation import Translations
from dragoman.engine.observability.metrics import Metrics
from dragoman.engine.query import language
from dragoman.engine.rerank.reranking import Reranking
from dragoman.engine.search.dense_stage import DenseStage
from dragoman.engine.search.entity_stage import EntityStage
from dragoman.engine.search.name_finder import NameFinder
from dragoman.engine.search.request import BY_MEANING, SearchQuery
from dragoman.engine.search.rerank_stage import RerankStage
from dragoman.engine.search.response import SearchResponse
from dragoman.engine.search.service import Run, Search
from dragoman.engine.settings import Settings
from dragoman.indexes.analysis.pipeline import analysis
from dragoman.service.access.authenticator import Access
from dragoman.service.access.keys import Keys
from dragoman.service.access.shares import Shares
from dragoman.service.processes.fresh_access import FreshAccess
from dragoman.service.remote.remote_host import RemoteHost
from dragoman.service.runtime import CHILD_SILENCE_SECONDS, scoring_of
from dragoman.store.collections.database_source import DatabaseSource
from dragoman.store.collections.service import Collections
from dragoman.store.database import Store
from dragoman.store.library import embeds_all, prepare_java
from dragoman.store.recent import Recent
from dragoman.store.secrets import read_secret
from dragoman.store.tables.read_tables import ReadTables

logger = logging.getLogger("dragoman")

_TIDY_SECONDS = 30.0
_FAULT = 500
"""From this status on, an error is the service's own fault."""
_NOT_THERE = frozenset(
    {Unavailable.error_type, NotFound.error_type, InternalError.error_type, Conflict.error_type, "not_embedded"}
)
"""Causes of a degraded answer that may hold for this process alone; a lack of time does not."""


class AnsweredElsewhere(Conflict):
    """The service's own process answers this search: it may see more than this one, or decides what to do."""

    def __init__(self, message: str, reason: str) -> None:
        """``reason``: a short one, by which it is counted."""
        super().__init__(message)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class WorkerPlace:
    """Where the models are."""

    addresses: Sequence[str]
    token: str | None
    child: bool
    """Whether it is a child of the service's own process, which starts it again where it ends."""


class NotRecorded:
    """What records searches where none are to be."""

    mode: Literal["off"] = "off"


class SearchRuntime:
    """Searches, by what another process writes. It writes nothing itself.

    Raises:
        ServiceError: Java or Lucene is not installed, or the database cannot be read.
    """

    def __init__(self, settings: Settings, shares: Shares, place: WorkerPlace) -> None:
        self.settings = settings
        self.shares = shares
        self.metrics = Metrics()
        self.recording = NotRecorded()
        prepare_java(settings.index.jvm_heap)
        with ExitStack() as opened:
            self._store = Store(settings.store.url, reading=True)
            opened.callback(self._store.close)
            self._store.check_schema()
            self.keys = Keys(self._store)
            source = DatabaseSource(self._store)
            self._source = source
            self._indexes = ReadIndexes(source, settings.store.indexes_dir)
            opened.callback(self._indexes.close)
            self.models = Models(settings, self.metrics, _host(settings, place))
            opened.callback(self.models.close)
            late = settings.index.late_megabytes * 1e6 if settings.search.late_interaction else None
            self._dense = ReadDenseIndexes(source, self.models, self._indexes.pool, embeds_all(settings), late)
            opened.callback(self._dense.close)
            self._tables = ReadTables(
                self._store, settings, analysis, lambda snapshot: language.prepare(snapshot.languages)
            )
            self.search = CheckedSearch(
                self._make_search(), self._tables, self._indexes, self._dense, self._store, self.metrics
            )
            self._closing = Event()
            opened.callback(self._closing.set)
            self._opened = opened.pop_all()

    def _make_search(self) -> tuple[Search, Collections, RerankStage]:
        settings, registry = self.settings, self._tables.registry
        entities = Entities(self._source, self.models, settings.worker.worker_seconds)
        collections = Collections(self._store, self._indexes, settings, self.metrics, self._dense, entities)
        translations = Translations(self.models, settings, SourcePhrases(registry, analysis).find)
        checking = Checking(self.models, registry, analysis, settings)
        rerank = RerankStage(
            Reranking(scoring_of(self.models), analysis), settings, self.metrics, has_reranker(settings)
        )
        search = Search(
            collections,
            self._indexes,
            registry,
            analysis,
            settings,
            self.metrics,
            DenseStage(
                self._dense,
                self._indexes,
                self.models,
                QueryEncoding(self.models, settings),
                collections.languages_by_keys,
                settings.search.embed_seconds,
            ),
            CheckedTranslations(translations, checking),
            rerank,
            self.shares.traffic(),
            NameFinder(self.models, settings),
            EntityStage(self._source),
            read_secret(self._store, "cursors"),
            self.shares.limit,
        )
        return search, collections, rerank

    def access(self) -> Access:
        """What authenticates callers."""
        return FreshAccess(self.keys, self.settings, self.shares, self._store.commits)

    def start(self, *, serving: bool = True) -> None:
        """Open all that there is, and forget in the background what was deleted."""
        for record in self._source.collections():
            with _tried_again(f"the index of {record.name}"):
                self._indexes.is_current(record)
        with _tried_again("the tables"):
            self._tables.is_current()
        Thread(target=self._tidy, name="dragoman-tidy", daemon=True).start()

    def close(self) -> None:
        """Close everything."""
        self._opened.close()

    def _tidy(self) -> None:
        while not self._closing.wait(_TIDY_SECONDS):
            try:
                collections = [record.id for record in self._source.collections()]
                self._indexes.keep_only(collections)
                self._dense.keep_only(collections)
            except Exception as fault:
                logger.warning("what was deleted is not forgotten now: %s", classify(fault) or fault)


class CheckedSearch:
    """As :class:`Search`, for searches whose answer is the same here as from the service's own process.

    Every method raises :class:`AnsweredElsewhere` for others, and for those that fail for another reason than
    a limit or a deadline.
    """

    _encodes_ahead = True

    def __init__(
        self,
        parts: tuple[Search, Collections, RerankStage],
        tables: ReadTables,
        indexes: ReadIndexes,
        dense: ReadDenseIndexes,
        store: Store,
        metrics: Metrics,
    ) -> None:
        self._metrics = metrics
        self._search, self._collections, self._rerank = parts
        self._tables, self._indexes, self._dense = tables, indexes, dense
        source = DatabaseSource(store)
        self._records: Recent[None, dict[int, CollectionRecord]] = Recent(store.commits, 1)
        self._read_records = lambda keys: {None: {record.id: record for record in source.collections()}}

    def search(self, request: SearchQuery, request_id: str, cancelled: Cancelled | None = None) -> SearchResponse:
        """As :meth:`Search.search`."""
        with _elsewhere_on_fault(self._metrics):
            self._check(request)
            results = self._search.search(request, request_id, cancelled)
            _check_degraded(results.degraded)
            return results

    def run(self, request: SearchQuery, cancelled: Cancelled | None = None) -> Run:
        """As :meth:`Search.run`."""
        with _elsewhere_on_fault(self._metrics):
            self._check(request)
            run = self._search.run(request, cancelled)
            _check_degraded(run.degraded)
            return run

    def waits(self, request: SearchQuery) -> bool:
        """As :meth:`Search.waits`."""
        return self._search.waits(request)

    def query_ahead(self, request: SearchQuery) -> QueryAhead | None:
        """As :meth:`Search.query_ahead`; None where the last search could not be answered here."""
        return self._search.query_ahead(request) if self._encodes_ahead else None

    def _check(self, request: SearchQuery) -> None:
        """
        Raises:
            AnsweredElsewhere: this process lacks something, or the search is reranked to the depth that the other one
                has measured.
        """
        if table_limits() is not None:
            raise AnsweredElsewhere(
                "the key is limited to some tables, whose views are compiled elsewhere", "tables_limited"
            )
        collections = self._collections.chosen(request.collections)
        records = self._records.get([None], self._read_records)[None]
        chosen = [records.get(collection.key) for collection in collections]
        present = [record for record in chosen if record is not None and self._indexes.is_current(record)]
        if len(present) < len(collections):
            self._encodes_ahead = False
            raise AnsweredElsewhere("an index is not read yet", "not_read")
        if not self._tables.is_current():
            raise AnsweredElsewhere("the tables are not read yet", "not_read")
        self._check_meaning(request, present)

    def _check_meaning(self, request: SearchQuery, records: Sequence[CollectionRecord]) -> None:
        method = request.method
        if method is None or method in BY_MEANING:
            complete = not [record for record in records if not self._dense.is_complete(record)]
            self._encodes_ahead = complete
            unembedded = any(record.encoder is None and record.documents for record in records)
            if not complete and (method is not None or not unembedded):
                raise AnsweredElsewhere("the embeddings are not read yet", "not_read")
            if not complete:
                method = "psq"
        automatic = self._rerank.options(replace(request, method=method)) if request.rerank is None else None
        if automatic is not None:
            raise AnsweredElsewhere("how many hits are reranked is measured elsewhere", "reranked")


@contextmanager
def _elsewhere_on_fault(metrics: Metrics) -> Iterator[None]:
    """Whatever fails here is tried once more by the service's own process, which says what is wrong.

    But not what a limit refuses, as those hold over all processes, and nothing whose time is over.
    """
    try:
        yield
    except AnsweredElsewhere as fault:
        metrics.forwarded_search(fault.reason)
        raise
    except Exception as fault:
        error = classify(fault)
        if isinstance(error, ClientDisconnected | TooManyRequests | OutOfTime):
            raise
        if error is None:
            logger.exception("a search has failed, and is answered elsewhere")
        elif error.status >= _FAULT:
            logger.warning("a search has failed, and is answered elsewhere: %s: %s", error.error_type, fault)
        metrics.forwarded_search("failed")
        raise AnsweredElsewhere(str(fault), "failed") from None


@contextmanager
def _tried_again(what: str) -> Iterator[None]:
    """Log a fault of what the first search tries again."""
    try:
        yield
    except Exception as fault:
        if (error := classify(fault)) is None:
            logger.exception("%s cannot be opened yet", what)
        else:
            logger.warning("%s cannot be opened yet: %s", what, error)


def _check_degraded(degraded: Sequence[Any]) -> None:
    """
    Raises:
        AnsweredElsewhere: something was not there, which may be there for the service's own process.
    """
    if any(note.cause in _NOT_THERE for note in degraded):
        raise AnsweredElsewhere("a stage did less than requested", "degraded")


def _host(settings: Settings, place: WorkerPlace) -> RemoteHost:
    seconds = settings.worker.worker_seconds
    if place.child:
        return RemoteHost(lambda: place.addresses, None, seconds, CHILD_SILENCE_SECONDS, lambda: None)
    return RemoteHost(lambda: place.addresses, place.token, seconds, settings.search.rerank_seconds)
