"""The embeddings of all collections, and how they follow the documents.

A collection gets embeddings with its first dense search, or always if so configured. From then on they follow every
import and deletion, even after a restart: the file on disk marks the collection as having embeddings.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Future, wait
from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import Any

from dragoman.engine.core.errors import ClientDisconnected, NotFound, NotInstalled, TooManyRequests, Unavailable
from dragoman.engine.indexing.dense.collection import Coverage, DenseCollection, Unembedded
from dragoman.engine.indexing.feed import Feed, KeyFilter
from dragoman.engine.indexing.follower import FollowedIndex, Follower
from dragoman.engine.indexing.sources import CollectionRecord, DocumentSource
from dragoman.engine.models.encoding import Embedding, EncoderInfo
from dragoman.engine.models.models import Embed, Models
from dragoman.engine.models.worker import Cancelled
from dragoman.indexes.dense.file import DenseHeader, read_header
from dragoman.indexes.errors import IndexCorrupt

logger = logging.getLogger("dragoman")

_SUFFIX = ".safetensors"
_POLL_SECONDS = 0.2
_TRIMMED_AFTER = 100
"""Documents embedded after which freed memory is returned to the system."""
_SAVE_SECONDS = 2.0
"""How often it is asked whether a file is to be saved."""


class DenseIndexes(FollowedIndex):
    """The embeddings of every collection that has them. Every method may be called from any thread.

    Args:
        always: embed all collections, not only those that had a dense search.
        most_state_bytes: size up to which the states of a collection's subwords are kept, if it does not say itself;
            None to keep none at all.
        keys: embed only documents of these keys.
    """

    def __init__(
        self,
        source: DocumentSource,
        directory: Path,
        models: Models,
        always: bool,
        most_state_bytes: float | None = None,
        keys: KeyFilter | None = None,
    ) -> None:
        self._feed = Feed(source, keys)
        self._directory = directory
        self._models = models
        self._always = always
        self._most_state_bytes = most_state_bytes
        self._lock = Lock()
        self._all: dict[int, DenseCollection] = {}
        self._embedded = 0
        """Documents embedded since memory was last returned to the system."""
        self.follower = Follower(self, "embedded", save_seconds=_SAVE_SECONDS)

    def start(self, *, embed: bool = True) -> None:
        """Remove the files of deleted collections.

        With ``embed``, what is missing is embedded in the background, and so are later changes; without it, as in a
        command that ends soon, the next server does that.
        """
        records = self._feed.source.collections()
        names = {f"{record.uid}{_SUFFIX}" for record in records}
        if self._directory.is_dir():
            for path in self._directory.iterdir():
                if path.name not in names:
                    path.unlink(missing_ok=True)
        if embed:
            self.follower.start(
                record.id
                for record in records
                if self._always or (self._path(record.uid).exists() and self._header_in_step(record) is None)
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
        opened: dict[int, DenseCollection] = {}
        for id, generation in generations.items():
            with suppress(NotFound):
                collection = self.of(id)
                collection.open(encoder)
                collection.reconcile(generation)
                opened[id] = collection
        if missing := [id for id, collection in opened.items() if not collection.complete]:
            self.follower.wait(missing, seconds, cancelled)
        reached = {}
        for id, collection in opened.items():
            with suppress(NotFound):
                reached[id] = collection.coverage()
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
        record = self._feed.source.collection(collection)
        header = self._header_in_step(record)  # without the encoder, which need not be loaded
        return None if header is None else Coverage(0, 0, record.documents, header.states)

    def is_embedded(self, collection: int) -> bool:
        """Whether a collection has embeddings, or is to have them.

        Raises:
            NotFound: there is no such collection.
        """
        return self._path(self._feed.source.collection(collection).uid).exists() or self._always

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
        embeddings = self.of(collection)
        present = embeddings.path.exists()
        embeddings.drop()
        if present:
            self.embed(collection, progress)

    def open_present(self, collections: Sequence[int]) -> None:
        """Read embeddings that are on disk and of this encoder, for a command without a server; none are computed.

        Raises:
            Unavailable: the encoder cannot be loaded.
        """
        for collection in collections:
            with suppress(NotFound, FileNotFoundError, IndexCorrupt):
                header = read_header(self.of(collection).path)
                encoder = self._models.encoder()
                if encoder.recognises(header.encoder):
                    self.of(collection).open(encoder)

    def of(self, collection: int) -> DenseCollection:
        """The embeddings of a collection, which may have to be opened.

        Raises:
            NotFound: there is no such collection.
        """
        if (embeddings := self._all.get(collection)) is not None:
            return embeddings
        record = self._feed.source.collection(collection)
        most = self._most_state_bytes
        if most is not None and record.late_interaction is not None:
            most = math.inf if record.late_interaction else 0.0
        with self._lock:
            return self._all.setdefault(
                collection, DenseCollection(self._feed, self._path(record.uid), record, most or 0.0)
            )

    def open(self, collection: int) -> None:
        """Load the encoder, and the embeddings of a collection that are on disk.

        Raises:
            Unavailable: the encoder cannot be loaded now, or what it needs is not installed yet.
        """
        try:
            encoder = self._models.encoder(cancelled=lambda: self.follower.closing)
        except NotInstalled as fault:
            raise Unavailable(str(fault)) from fault
        self.of(collection).open(encoder)

    def apply(self, collection: int) -> bool:
        """Embed some documents; returns whether all are embedded now."""
        embeddings = self.of(collection)
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

    def save(self, *, force: bool = False) -> Collection[int]:
        """Write the files that have changed and are due, or all that have changed with ``force``; none lags."""
        with self._lock:
            opened = list(self._all.values())
        for embeddings in opened:
            embeddings.save(force)
        return ()

    def drop(self, collection: int, uid: str) -> None:
        """Remove the embeddings of a deleted collection."""
        with self._lock:
            embeddings = self._all.pop(collection, None)
        if embeddings is not None:
            embeddings.destroy()
        else:
            self._path(uid).unlink(missing_ok=True)

    def _path(self, uid: str) -> Path:
        return self._directory / f"{uid}{_SUFFIX}"

    def _header_in_step(self, record: CollectionRecord) -> DenseHeader | None:
        """The header of the file, if it says that it is complete, and of the encoder, as far as that is known yet."""
        try:
            header = read_header(self._path(record.uid))
        except (FileNotFoundError, IndexCorrupt):
            return None
        if not self._models.may_be_of_encoder(header.encoder):
            return None
        return header if header.generation == record.generation else None

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
