"""A search on its way: the query as it is understood, and the documents that one stage after the other ranks."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from dragoman.engine.core.answer import Degraded
from dragoman.engine.core.errors import Unavailable, classify
from dragoman.engine.core.names import without_folders
from dragoman.engine.core.priority import in_background
from dragoman.engine.indexing.collections import CollectionInfo
from dragoman.engine.indexing.stored_text import StoredText
from dragoman.engine.models.encoding import EncodedQuery
from dragoman.engine.models.queue.worker import Cancelled
from dragoman.engine.observability.tracing import span
from dragoman.engine.query.analysed_text import AnalysedText
from dragoman.engine.query.exact.pattern import Wish
from dragoman.engine.query.response import QueryRead
from dragoman.engine.query.translation import QueryName, Translated
from dragoman.engine.search.request import Method, SearchQuery
from dragoman.engine.search.response import FacetCount, Found, Hit, RerankUsed, Total
from dragoman.engine.search.room import Room
from dragoman.engine.tables.snapshot import Snapshot
from dragoman.indexes.bm25 import Parts
from dragoman.indexes.dense.index import DenseHit
from dragoman.indexes.dense.state_codec import StateCodec
from dragoman.indexes.explanation import Statistics
from dragoman.indexes.lucene.queries import PreparedQuery
from dragoman.indexes.shard_group import Unsearched
from dragoman.lexicon.text.tokens import Token
from dragoman.ranking.attention import Direction


@dataclass(frozen=True, slots=True)
class Position:
    """Where a page begins, in a list that nothing has changed since."""

    offset: int
    method: Method
    rerank_depth: int | None
    """How many hits were reranked where the service chose that, 0 for none; None where the request says it."""


@dataclass(frozen=True, slots=True)
class CollectionRanking:
    """The BM25 ranking of one language's documents in one collection."""

    collection: CollectionInfo
    translated: Translated
    query: PreparedQuery
    """The translated query, as indexes take it."""
    attainable: float
    """The maximal attainable score of the query."""
    statistics: Statistics
    numbers: NDArray[np.int64]
    """The same as an index takes them."""
    matching: int
    """All documents that it matches and its filter leaves."""
    linked: tuple[NDArray[np.int64], Parts] | None = None
    """The keys of its documents, and their scores for each group of the query, where these came with the ranking."""


@dataclass(slots=True)
class StageScore:
    """A document's score in one stage; it adds ``weight * share`` to a fused score."""

    score: float
    """BM25 in its part, the inner product of the vectors, or the match of late interaction."""
    share: float
    """What is weighted: from 0 to 1, and comparable across collections and languages."""
    rank: int | None = None
    """None if the stage scored the document, but did not rank it."""
    weight: float | None = None
    """None if the score is not fused."""


@dataclass(slots=True, eq=False)
class RankedDocument:
    """A document that a search found, and what each stage adds to it."""

    collection: CollectionInfo
    key: int
    language: str
    score: float = 0.0
    """What orders the documents after the latest stage."""
    first_stage: float = 0.0
    """Its score before late interaction and reranking."""
    collection_ranking: CollectionRanking | None = None
    """The BM25 ranking whose query it matches, or None."""
    bm25: StageScore | None = None
    dense: StageScore | None = None
    late: StageScore | None = None
    rerank: float | None = None
    """The reranker's score, a probability."""
    ranked: float | None = None
    """The score that ordered the documents before reranking, where that is known."""
    linked: NDArray[np.bool_] | None = None
    """For each group of the translated query (groups,), whether it has a good translation of it; None if not known."""
    passage: DenseHit | None = None
    """Its best passage, if dense search ranked it."""
    stored: StoredText = field(init=False, repr=False)
    """As it was read from the database, once it was."""
    whole: AnalysedText = field(init=False, repr=False)
    """Its title and the text that was read, together, as indexed."""
    words: Sequence[Token] | None = field(default=None, init=False, repr=False)
    """The words of the title and the snippets as they are in ``whole``; None if it was not analysed whole."""
    is_read: bool = False
    """Whether it was read from the database."""
    collapsed: int = 0
    """How many other documents have the same value of the field that hits are collapsed by."""
    relevance: float = 0.0
    """How probably it answers the query."""
    weak: bool = True
    """Whether that is low."""
    hit: Hit = field(init=False, repr=False)
    """What the response says of it, in the end."""


def document_of_words(
    ranking: CollectionRanking, key: int, score: float, share: float, rank: int | None = None
) -> RankedDocument:
    """A document that BM25 found, with its score and the share of the attainable one."""
    document = RankedDocument(ranking.collection, key, ranking.translated.language, share, score, ranking)
    document.bm25 = StageScore(score, share, rank)
    return document


def place_of(document: RankedDocument) -> tuple[int, int]:
    """What the order of documents with equal scores goes by: the keys of collection and document."""
    return document.collection.key, document.key


@dataclass(slots=True)
class Retrieval:
    """One search: each stage takes it and adds to it. ``documents`` are the best first."""

    request: SearchQuery
    query: AnalysedText
    snapshot: Snapshot
    """The tables that are used."""
    collections: Sequence[CollectionInfo]
    room: Room
    """What the answer may hold."""
    available: Snapshot = field(default_factory=Snapshot)
    """The tables for queries in any language, with the versions that the request names."""
    cancelled: Cancelled | None = None
    language_probability: float = 1.0
    """How sure the query's language is."""
    filters: dict[int, str] = field(default_factory=dict)
    """By the key of a collection, the program of the filter that leaves what may be found; without one, that is all."""
    accepted: dict[int, NDArray[np.int64]] = field(default_factory=dict)
    """By the key of a collection, the keys that its filter leaves, where they were asked for."""
    wishes: Sequence[Wish] = ()
    """What documents must hold, and what they must not."""
    names: Sequence[QueryName] = ()
    """The names in the query."""
    translations: list[Translated] = field(default_factory=list)
    collection_rankings: list[CollectionRanking] = field(default_factory=list)
    encoding: Future[EncodedQuery] | None = None
    """The query on its way through the encoder, where that was begun ahead."""
    encoded: EncodedQuery | None = None
    """The query as the encoder has it, if dense search ran."""
    background: Mapping[str, float] = field(default_factory=dict)
    """By language, the inner product of the encoded query with passages that have nothing to do with it."""
    mean_subwords: dict[int, float] = field(default_factory=dict)
    """By the key of a collection, the mean number of its documents' subwords, where that is known."""
    codec: StateCodec | None = None
    """How the states of documents' subwords are coded; None if they are not compared with the query's: a collection
    does not keep them."""
    documents: list[RankedDocument] = field(default_factory=list)
    total: Total = field(default_factory=lambda: Total(value=0, relation="eq"))
    """How many documents there are to be found."""
    facets: dict[str, list[FacetCount]] | None = None
    """How many of these have each value of some fields; None if that was not asked."""
    rerank_depth: int | None = None
    """How many hits are reranked where the service chooses that, as for an earlier page; None: as many as it has time
    for."""
    exhausted: bool = True
    """Whether all documents were ranked, and none left out for being too many."""
    offset: int = 0
    """How many hits come before the page."""
    cursor: Callable[[Position], str] = field(default=lambda position: "", repr=False)
    """Writes the cursor to another page."""
    check: Callable[[], None] = field(default=lambda: None, repr=False)
    """Raises Gone where the page is no longer of the list that its cursor is of."""
    next: str | None = None
    """The cursor to the next page; None if there is none."""
    verdict: Found = "none"
    """What there is for the query, by the relevance of the best documents."""
    reranked: RerankUsed | None = None
    """How the documents were reranked; None if they were not."""
    direction: Direction = "mean"
    """What the weights of links are: as the reranker reads the tables, if it ran."""
    ranked_by: Method | None = None
    """The method that made the scores: of a hybrid search, the other one where one ranking was unavailable."""
    degraded: list[Degraded] = field(default_factory=list)
    truncated: list[str] = field(default_factory=list)
    started: float = field(default_factory=time.perf_counter)
    seconds: dict[str, float] = field(default_factory=dict)
    """How long each stage took."""

    @property
    def languages(self) -> set[str]:
        """The languages of the collections."""
        return {language for collection in self.collections for language in collection.languages}

    @property
    def understood(self) -> QueryRead:
        """The query as it was understood."""
        return QueryRead(
            text=self.request.query,
            language=self.query.language,
            detected=self.request.query_language is None,
            language_probability=round(self.language_probability, 4),
        )

    def narrow(self, collection: CollectionInfo, program: str) -> None:
        """Find only what the program of a filter leaves of a collection, besides what it is limited to already."""
        present = self.filters.get(collection.key)
        self.filters[collection.key] = program if present is None else f"& 2 {present} {program}"

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Measure the block as a stage, or as a part of it."""
        started = time.perf_counter()
        try:
            with span(name):
                yield
        finally:
            self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - started

    def by_collection(self, most: int | None = None) -> dict[int, list[RankedDocument]]:
        """The documents, or the first ones, by the key of their collection."""
        by_collection: dict[int, list[RankedDocument]] = {}
        for document in self.documents[:most]:
            by_collection.setdefault(document.collection.key, []).append(document)
        return by_collection


def list_missing(stage: str, collection: str, total: int, counts: Mapping[str, int], cause: str) -> list[Degraded]:
    """What to say of documents that a stage does not know: ``counts`` by the reason, as the end of a sentence."""
    return [
        Degraded.of(
            stage, f"collection '{collection}': {count} of {total} documents {reason}", cause, collection, count / total
        )
        for reason, count in counts.items()
        if count
    ]


def note_unsearched(
    degraded: list[Degraded], stage: str, collection: CollectionInfo, unsearched: Sequence[Unsearched]
) -> None:
    """Say, once, that parts of an index did not answer.

    Raises:
        Unavailable: in background work, which waits for them.
    """
    if not unsearched:
        return
    fault = unsearched[0].fault
    error = classify(fault) or Unavailable(without_folders(str(fault)))
    share = sum(part.share for part in unsearched)
    reason = f"collection '{collection.name}': about {share:.0%} of its documents were not searched: {error}"
    if in_background():
        raise Unavailable(reason)
    if all(other.reason != reason for other in degraded):
        degraded.append(Degraded.of(stage, reason, error.cause, collection.name, share))
