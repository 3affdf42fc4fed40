"""A data directory that is open: its collections and tables, and what searches and reads them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial

from dragoman.engine.checking.checking import Checking
from dragoman.engine.checking.source_phrases import SourcePhrases
from dragoman.engine.checking.translations import CheckedTranslations
from dragoman.engine.core.admission import Limit
from dragoman.engine.core.errors import InvalidRequest, NotInstalled, Unavailable
from dragoman.engine.core.priority import Traffic
from dragoman.engine.indexing.dense.indexes import DenseIndexes
from dragoman.engine.indexing.entities import Entities
from dragoman.engine.indexing.lucene.indexes import Indexes
from dragoman.engine.models.encoding import precision_of
from dragoman.engine.models.loading import has_encoder, has_reranker
from dragoman.engine.models.model_host import ModelHost, StoredPrecision
from dragoman.engine.models.models import Host, Models
from dragoman.engine.models.query_encoding import QueryEncoding
from dragoman.engine.models.scoring import LocalScoring, Scoring
from dragoman.engine.models.text_translation import Translations
from dragoman.engine.observability.metrics import Metrics
from dragoman.engine.qa.question_answering import QuestionAnswering
from dragoman.engine.query import language
from dragoman.engine.read.reading import Reading
from dragoman.engine.rerank.request import RerankRequests
from dragoman.engine.rerank.reranking import Reranking
from dragoman.engine.search.dense_stage import DenseStage
from dragoman.engine.search.entity_stage import EntityStage
from dragoman.engine.search.name_finder import NameFinder
from dragoman.engine.search.rerank_stage import RerankStage
from dragoman.engine.search.service import Search
from dragoman.engine.settings import Settings
from dragoman.engine.suggest.service import Suggest
from dragoman.indexes.analysis.pipeline import analysis
from dragoman.indexes.java import jvm
from dragoman.store.collections.database_source import DatabaseSource
from dragoman.store.collections.service import Collections
from dragoman.store.collections.vector_files import take_over
from dragoman.store.data_dir import DataDirectory
from dragoman.store.database import Store
from dragoman.store.jobs import JobRepository
from dragoman.store.reports.recording import Recording
from dragoman.store.reports.reports import Reports
from dragoman.store.secrets import shared_secret
from dragoman.store.tables.service import Tables


class Library:
    """The parts that a service and an embedded database share. All of them may be used from any thread.

    Args:
        host: makes what has the models; by default this process has them.
        scoring: makes what reranks, with the models of this process or of another one.
        limit: makes the limit of searches that wait for the models.

    Raises:
        ServiceError: Java or Lucene is not installed, the data directory is in use or cannot be written, or the
            database cannot be opened.
    """

    def __init__(
        self,
        settings: Settings,
        host: Callable[[Settings, Metrics, StoredPrecision], Host] = ModelHost,
        scoring: Callable[[Models], Scoring] = LocalScoring,
        limit: Callable[[int, str], Limit] = Limit,
        traffic: Traffic | None = None,
    ) -> None:
        self.settings = settings
        self.metrics = Metrics()
        self.traffic = traffic or Traffic()
        prepare_java(settings.index.jvm_heap)
        with ExitStack() as opened:
            self._directory = DataDirectory(settings.store.data_dir)
            opened.callback(self._directory.close)
            self.store = Store(settings.store.url)
            opened.callback(self.store.close)
            self.store.claim(settings.server.startup_wait_seconds)
            self.source = DatabaseSource(self.store)
            self.indexes = Indexes(
                self.source,
                settings.store.indexes_dir,
                settings.index.index_commit_seconds,
                settings.index.analysis_seconds,
            )
            opened.callback(self.indexes.close)
            precision = partial(_stored_precision, self.source)
            self.models = Models(settings, self.metrics, host(settings, self.metrics, precision))
            opened.callback(self.models.close)
            self.dense = DenseIndexes(
                self.source,
                self.models,
                self.indexes.pool,
                embeds_all(settings),
                settings.index.late_megabytes * 1e6 if settings.search.late_interaction else None,
            )
            opened.callback(self.dense.follower.close)
            self.entities = Entities(self.source, self.models, settings.worker.worker_seconds)
            opened.callback(self.entities.follower.close)
            self.collections = Collections(self.store, self.indexes, settings, self.metrics, self.dense, self.entities)
            self.tables = Tables(
                self.store,
                settings,
                analysis,
                JobRepository(self.store).pinned_by,
                lambda snapshot: language.prepare(snapshot.languages),
            )
            opened.callback(self.tables.close)
            self.translations = Translations(self.models, settings, SourcePhrases(self.tables.registry, analysis).find)
            self.scoring = scoring(self.models)
            opened.callback(self.scoring.close)
            self.reranking = Reranking(self.scoring, analysis)
            self.checking = Checking(self.models, self.tables.registry, analysis, settings)
            self.checked_translations = CheckedTranslations(self.translations, self.checking)
            self.rerank_requests = RerankRequests(self.reranking, self.tables.registry, analysis, settings)
            self.search = Search(
                self.collections,
                self.indexes,
                self.tables.registry,
                analysis,
                settings,
                self.metrics,
                DenseStage(
                    self.dense,
                    self.indexes,
                    self.models,
                    QueryEncoding(self.models, settings),
                    self.collections.languages_by_keys,
                    settings.search.embed_seconds,
                ),
                self.checked_translations,
                RerankStage(self.reranking, settings, self.metrics, has_reranker(settings)),
                self.traffic,
                NameFinder(self.models, settings),
                EntityStage(self.source),
                shared_secret(self.store, "cursors"),
                limit,
            )
            self.reading = Reading(
                self.collections, self.search, self.tables.registry, analysis, settings, self.metrics
            )
            self.recording = Recording(self.store, settings)
            opened.callback(self.recording.close)
            self.reports = Reports(self.store, self.recording)
            self.suggest = Suggest(self.collections, self.tables.registry, analysis, settings)
            self.qa = QuestionAnswering(
                self.models, self.search, settings, self.metrics, self.traffic, self.checked_translations
            )
            self._opened = opened.pop_all()

    def start(self, *, serving: bool = True) -> None:
        """Open all tables and indexes; slow indexes finish in the background.

        With ``serving`` it also embeds and tags documents in the background, and loads the reranker if searches use it
        by default.
        """
        self.tables.start()
        self.indexes.start(self.settings.server.startup_wait_seconds)
        take_over(self.settings.store.dense_dir, self.source)
        if not serving:
            return
        self.recording.start()
        self.dense.start()
        self.entities.start()
        by_default = self.settings.search.rerank == "auto" and not embeds_all(self.settings)
        if by_default and self.settings.worker.worker_url is None and has_reranker(self.settings):
            self.models.load("reranker", background=True)

    def open_restored(self) -> None:
        """Open what a backup has brought: its collections, whose indexes are built, and its tables."""
        for record in self.source.collections():
            if self.indexes.find(record.id) is None:
                self.indexes.add(record.id)
                self.dense.follow(record.id)
                self.entities.follow(record.id)
        self.tables.start()

    def close(self) -> None:
        """Commit and close everything, in the reverse order of opening."""
        self._opened.close()


def embeds_all(settings: Settings) -> bool:
    """Whether all collections get embeddings."""
    return settings.index.embed == "always" and has_encoder(settings)


def _stored_precision(source: DatabaseSource) -> str | None:
    """The precision of most embeddings, by their documents."""
    documents: Counter[str] = Counter()
    for record in source.collections():
        if precision := precision_of(record.encoder):
            documents[precision] += 1 + record.documents
    return max(documents, key=lambda precision: documents[precision], default=None)


def prepare_java(heap: str | None) -> None:
    """Report a missing Java or Lucene now, before anything is created, and not with the first request."""
    try:
        jvm.check_installed()
        if heap is not None:
            jvm.configure(heap)
    except ValueError as fault:
        raise InvalidRequest(str(fault)) from fault
    except jvm.NotInstalled as fault:
        raise NotInstalled(str(fault)) from fault
    except jvm.JvmUnavailable as fault:
        raise Unavailable(str(fault)) from fault
