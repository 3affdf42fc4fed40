"""The embeddings of all collections, and how they follow the documents.

A collection gets embeddings with its first dense search, or always if so configured. From then on they follow every
import and deletion, even after a restart: the collection is stored as one that has embeddings.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor, Future, wait
from contextlib import suppress
from threading import Lock
from typing import Any, NamedTuple

from dragoman.engine.core.errors import ClientDisconnected, NotFound, NotInstalled, TooManyRequests, Unavailable
from dragoman.engine.indexing.dense.collection import Coverage, DenseCollection, Unembedded
from dragoman.engine.indexing.feed import Feed, KeyFilter
from dragoman.engine.indexing.follower import FollowedIndex, Follower
from dragoman.engine.indexing.sources import CollectionRecord, EmbeddingSource
from dragoman.engine.models.encoding import Embedding, EncoderInfo
from dragoman.engine.models.models import Embed, Models
from dragoman.engine.models.queue.worker import Cancelled

logger = logging.getLogger("dragoman")

_POLL_SECONDS = 0.2
_TRIMMED_AFTER = 100
"""Documents embedded after which freed memory is returned to the system."""


class _Stored(NamedTuple):
    """Whether a generation of a collection had all its embeddings, of an encoder, and whether these had states."""

    generation: int
    encoder: str
    complete: bool
    states: bool


class DenseIndexes(FollowedIndex):
    """The embeddings of every collection that has them. Every method may be called from any thread.

    Args:
        always: embed all collections, not only those that had a dense search.
        pool: searches the parts of a collection.
        most_state_bytes: size up to which the states of a collection's subwords are kept, if it does not say itself;
            None to keep none at all.
        keys: embed only documents of these keys.
    """

    def __init__(
        self,
        source: EmbeddingSource,
        models: Models,
        pool: Executor,
        always: bool,
        most_state_bytes: float | None = None,
        keys: KeyFilter | None = None,
    ) -> None:
        self._source = source
        self._feed = Feed(source, keys)
        self._pool = pool
        self._models = models
        self._always = always
        self._most_state_bytes = most_state_bytes
        self._lock = Lock()
        self._all: dict[int, DenseCollection] = {}
        self._embedded = 0
        """Documents embedded since memory was last returned to the system."""
        self._in_step: dict[int, _Stored] = {}
        """What is stored of collections that are not open."""
        self._followed_for: str | None = None
        """The encoder for which collections of other encoders are followed."""
        self.follower = Follower(self, "embedded")

    def start(self) -> None:
        """Embed in the background what is missing, and later changes.

        A command that ends soon does without it: the next server does that.
        """
        self.follower.start(
            record.id
            for record in self._source.collections()
            if self._always or (record.encoder is not None and not self._is_in_step(record))
        )

    def follow(self, collection: int) -> None:
        """A collection's documents have changed; embed them in the background if it has embeddings."""
        if not self.follower.following:
            return
        with suppress(NotFound):
            if collection in self._all or self.is_embedded(collection):
                self.follower.follow(collection)

    def catch_up(
        self,
        generations: Mapping[int, int | None],
        encoder: EncoderInfo,
        seconds: float,
        cancelled: Cancelled | None = None,
    ) -> dict[int, Coverage]:
        """Embed the missing documents of these collections for at most ``seconds``; returns the coverage reached.

        ``generations`` has the generation of each collection by its id, None if the caller has not just read it.
        A collection that was deleted meanwhile is left out.

        Raises:
            ClientDisconnected: ``cancelled()``.
        """
        self._follow_outdated(encoder)
        collections: dict[int, DenseCollection] = {}
        missing = []
        for id, generation in generations.items():
            with suppress(NotFound):
                collection = self.of(id)
                is_open = collection.is_open(encoder)
                if is_open:
                    collection.reconcile(generation)
                if not (is_open and collection.complete):
                    missing.append(id)
                collections[id] = collection
        if missing:
            self.follower.wait(missing, seconds, cancelled)  # which opens them as well
        reached = {}
        for id, collection in collections.items():
            with suppress(NotFound):
                reached[id] = collection.coverage() if collection.opened else self._unread(id)
        return reached

    def coverage(self, collection: int, generation: int | None = None) -> Coverage | None:
        """The coverage of a collection's embeddings; None if it has none, or if what is missing is not known yet.

        ``generation`` is the collection's, if the caller has just read it.

        Raises:
            NotFound: there is no such collection.
        """
        embeddings = self._all.get(collection)
        if embeddings is not None and embeddings.opened:
            embeddings.reconcile(generation)
            return embeddings.coverage()
        record = self._source.collection(collection)
        if not self._is_in_step(record):  # without the encoder, which need not be loaded
            return None
        states = self._most_state_bytes is not None and self._in_step[collection].states
        return Coverage(0, 0, record.documents, states)

    def is_embedded(self, collection: int) -> bool:
        """Whether a collection has embeddings, or is to have them.

        Raises:
            NotFound: there is no such collection.
        """
        return self._source.collection(collection).encoder is not None or self._always

    def embed(self, collection: int, progress: Callable[[int], None] | None = None) -> Coverage:
        """Embed the documents of a collection that have no embedding; returns the coverage reached.

        Args:
            progress: called with the number of documents that have one.

        Raises:
            NotFound: there is no such collection.
            Unavailable: the encoder cannot be loaded.
        """
        embeddings = self.of(collection)

        def report() -> None:
            coverage = embeddings.coverage()
            if progress is not None:
                progress(coverage.total - coverage.missing)

        self.follower.run(collection, report)
        return embeddings.coverage()

    def rebuild(self, collection: int, progress: Callable[[int], None] | None = None) -> None:
        """Compute a collection's embeddings again, if it has any.

        Raises:
            NotFound: there is no such collection.
            Unavailable: the encoder cannot be loaded; the embeddings are removed nevertheless.
        """
        present = self._source.collection(collection).encoder is not None
        self.of(collection).drop()
        if present:
            self.embed(collection, progress)

    def open_present(self, collections: Sequence[int]) -> None:
        """Read embeddings that are stored and of this encoder, for a command without a server; none are computed.

        Raises:
            Unavailable: the encoder cannot be loaded.
        """
        for collection in collections:
            with suppress(NotFound):
                made_by = self._source.collection(collection).encoder
                if made_by is not None and (encoder := self._models.encoder()).recognises(made_by):
                    self.of(collection).open(encoder)

    def of(self, collection: int) -> DenseCollection:
        """The embeddings of a collection, which may have to be opened.

        Raises:
            NotFound: there is no such collection.
        """
        if (embeddings := self._all.get(collection)) is not None:
            return embeddings
        record = self._source.collection(collection)
        embeddings = DenseCollection(self._source, self._feed, record, self._pool, self._most_state_bytes)
        with self._lock:
            return self._all.setdefault(collection, embeddings)

    def open(self, collection: int) -> None:
        """Load the encoder, and the embeddings of a collection that are stored.

        Raises:
            Unavailable: the encoder cannot be loaded now, or what it needs is not installed yet.
        """
        try:
            encoder = self._models.encoder(cancelled=lambda: self.follower.closing)
        except NotInstalled as fault:
            raise Unavailable(str(fault)) from fault
        self._follow_outdated(encoder)
        self._in_step.pop(collection, None)
        self.of(collection).open(encoder)

    def apply(self, collection: int) -> bool:
        """Embed some documents; returns whether all are embedded now."""
        embeddings = self.of(collection)
        embeddings.reshape()
        if embeddings.complete:
            embeddings.reconcile()
        if documents := embeddings.take():
            self._embed(embeddings, documents)
        if not embeddings.complete:
            return False
        embeddings.reconcile()
        if embeddings.complete and self._embedded > _TRIMMED_AFTER:
            self._embedded = 0
            self._models.trim()
        return embeddings.complete

    def drop(self, collection: int, uid: str) -> None:
        """Forget a deleted collection."""
        with self._lock:
            embeddings = self._all.pop(collection, None)
        if embeddings is not None:
            embeddings.destroy()

    def _is_in_step(self, record: CollectionRecord) -> bool:
        """Whether all documents have embeddings, of this encoder as far as that is known yet."""
        if record.encoder is None or not self._models.may_be_of_encoder(record.encoder):
            return False
        stored = self._in_step.get(record.id)
        if stored is None or (stored.generation, stored.encoder) != (record.generation, record.encoder):
            documents, states = self._source.embedded_documents(record.id)
            stored = _Stored(record.generation, record.encoder, documents == record.documents, states)
            self._in_step[record.id] = stored
        return stored.complete

    def _unread(self, collection: int) -> Coverage:
        """The coverage of a collection whose embeddings are being read."""
        documents = self._source.collection(collection).documents
        return Coverage(documents, 0, documents)

    def _follow_outdated(self, encoder: EncoderInfo) -> None:
        """Once an encoder is loaded, make anew what others made, also where nobody searches."""
        if self._followed_for == encoder.identity:
            return
        self._followed_for = encoder.identity
        for record in self._source.collections():
            if record.encoder is not None and not encoder.recognises(record.encoder):
                self.follow(record.id)

    def _embed(self, embeddings: DenseCollection, documents: Sequence[Unembedded]) -> None:
        texts = [text for document in documents for text in document.texts]
        futures = self._models.worker.submit(Embed(embeddings.keeps_states), texts, background=True)
        try:
            results = iter([self._result(future) for future in futures])
        finally:
            for future in futures:
                future.cancel()
        embeddings.put(
            [(document, _whole(document, [next(results) for _ in document.texts])) for document in documents]
        )
        self._embedded += len(documents)

    def _result(self, future: Future[Any]) -> Embedding | Exception:
        while not wait([future], _POLL_SECONDS).done:  # asked again after the wait, it may be done by then
            if self.follower.closing:
                raise ClientDisconnected("the service is stopping")
        try:
            embedding: Embedding = future.result()
        except (Unavailable, TooManyRequests):
            raise
        except Exception as fault:
            return fault
        return embedding


def _whole(document: Unembedded, embeddings: Sequence[Embedding | Exception]) -> list[Embedding] | None:
    """The embeddings of a document's passages, or None if one of them failed."""
    whole = []
    for embedding in embeddings:
        if isinstance(embedding, Exception):
            logger.warning("document with key %s cannot be embedded: %s", document.key, embedding)
            return None
        whole.append(embedding)
    return whole
