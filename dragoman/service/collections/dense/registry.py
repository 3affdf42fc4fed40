"""The embeddings of all collections, and the background thread that computes them.

A collection gets embeddings with its first dense search, or always if so configured. From then on they follow every
import and deletion, even after a restart: the file on disk marks the collection as having embeddings.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, wait
from contextlib import suppress
from pathlib import Path
from threading import Condition, Thread
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import select

from dragoman.engine.core.errors import ClientDisconnected, NotFound, ServiceError, TooManyRequests, Unavailable
from dragoman.engine.core.turns import waiting_for_models
from dragoman.engine.models.encoding import Embedding, EncodedQuery, EncoderInfo
from dragoman.engine.models.models import Embed, Models
from dragoman.engine.models.worker import Cancelled
from dragoman.indexes.dense.file import DenseHeader, read_header
from dragoman.indexes.dense.index import DenseHit
from dragoman.indexes.errors import IndexCorrupt
from dragoman.service.collections.changes import database_generation
from dragoman.service.collections.dense.index import Coverage, DenseCollection, Unembedded
from dragoman.store.database import Store
from dragoman.store.models import Collection

logger = logging.getLogger("dragoman")

_SUFFIX = ".safetensors"
_POLL_SECONDS = 0.2
_TRIMMED_AFTER = 100
"""Documents embedded after which freed memory is returned to the system."""
_SAVE_ROUND_SECONDS = 2.0


class _Closing(Exception):
    """The service is stopping."""


class DenseIndexes:
    """The embeddings of every collection that has them. Every method may be called from any thread.

    Args:
        always: embed all collections, not only those that had a dense search.
        most_state_bytes: size up to which the states of a collection's subwords are kept, if it does not say itself;
            None to keep none at all.
    """

    def __init__(
        self, store: Store, directory: Path, models: Models, always: bool, most_state_bytes: float | None = None
    ) -> None:
        self._store = store
        self._directory = directory
        self._models = models
        self._always = always
        self._most_state_bytes = most_state_bytes
        self._changed = Condition()
        self._all: dict[int, DenseCollection] = {}
        self._queue: dict[int, int] = {}
        """Collections with documents to embed, and the number of searches that wait for each."""
        self._changed_again: set[int] = set()
        """Collections that changed while they were being embedded."""
        self._closing = False
        self._follows = False
        """Whether imports and deletions are followed in the background."""
        self._embedded = 0
        """Documents embedded since memory was last returned to the system."""
        self._thread: Thread | None = None

    def start(self, *, embed: bool = True) -> None:
        """Remove the files of deleted collections.

        With ``embed``, what is missing is embedded in the background, and so are later changes; without it, as in a
        command that ends soon, the next server does that.
        """
        self._follows = embed
        with self._store.read() as session:
            known = {uid: id for id, uid in session.execute(select(Collection.id, Collection.uid))}
        if self._directory.is_dir():
            for path in self._directory.iterdir():
                if path.name.removesuffix(_SUFFIX) not in known or path.suffix != _SUFFIX:
                    path.unlink(missing_ok=True)
        for uid, id in known.items():
            if embed and self._wanted(id, uid) and (self._always or self._up_to_date(id, uid) is None):
                self.changed(id)

    def changed(self, collection_id: int) -> None:
        """A collection's documents have changed; embed them in the background if it has embeddings."""
        if not self._follows:
            return
        with suppress(NotFound):
            if collection_id in self._all or self._wanted(collection_id, self._uid(collection_id)):
                self._enqueue(self._of(collection_id), collection_id, waiting=0)

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
        until = time.monotonic() + seconds
        for id, generation in generations.items():
            with suppress(NotFound):
                collection = self._of(id)
                collection.open(encoder)
                collection.reconcile(generation)
                opened[id] = collection
        missing = {id: one for id, one in opened.items() if not one.complete}
        for id, collection in missing.items():
            self._enqueue(collection, id, waiting=1)
        if missing:
            self._await(missing, until, cancelled)
        reached = {}
        for id, collection in opened.items():
            with suppress(NotFound):
                reached[id] = collection.coverage()
        return reached

    def _await(self, missing: Mapping[int, DenseCollection], until: float, cancelled: Cancelled | None) -> None:
        """Wait until all documents of these collections, which were enqueued by a caller who waits, are embedded."""
        with waiting_for_models(), self._changed:
            try:
                while not self._closing and any(id in self._queue for id in missing):
                    if cancelled is not None and cancelled():
                        raise ClientDisconnected("the client disconnected")
                    if (left := until - time.monotonic()) <= 0:
                        break
                    self._changed.wait(min(left, _POLL_SECONDS))
            finally:
                for id in missing:
                    if self._queue.get(id):
                        self._queue[id] -= 1

    def search(
        self, collection_id: int, vector: NDArray[np.float32], k: int, known: int | None = None
    ) -> list[DenseHit]:
        """The ``k`` best documents of a collection that are unchanged in the database.

        ``known`` is the collection's generation, if the caller has just read it.

        Raises:
            NotFound: there is no such collection.
            Unavailable: its embeddings are not open.
        """
        return self._of(collection_id).search(vector, k, known)

    def score(
        self, collection_id: int, vector: NDArray[np.float32], keys: Sequence[int], known: int | None = None
    ) -> list[DenseHit]:
        """The documents of these keys that have embeddings and are unchanged in the database; ``known`` as above.

        Raises:
            NotFound: there is no such collection.
            Unavailable: its embeddings are not open.
        """
        return self._of(collection_id).score(vector, keys, known)

    def maxsim(self, collection_id: int, query: EncodedQuery, keys: Sequence[int]) -> NDArray[np.float32] | None:
        """MaxSim (keys, subwords) of documents; None if the collection does not keep the states of subwords.

        Raises:
            NotFound: there is no such collection.
            Unavailable: its embeddings are not open.
        """
        return self._of(collection_id).maxsim(query, keys)

    def coverage(self, collection_id: int, known: int | None = None) -> Coverage | None:
        """The coverage of a collection's embeddings; None if it has none, or if what is missing is not known yet.

        ``known`` is the collection's generation, if the caller has just read it.

        Raises:
            NotFound: there is no such collection.
        """
        with self._changed:
            collection = self._all.get(collection_id)
        if collection is None or not collection.opened:
            return self._coverage_on_disk(collection_id)
        collection.reconcile(known)
        return collection.coverage()

    def _coverage_on_disk(self, collection_id: int) -> Coverage | None:
        """The coverage of embeddings that are complete on disk and not open, without the encoder that they are of."""
        with self._store.read() as session:
            row = session.execute(
                select(Collection.uid, Collection.document_count).where(Collection.id == collection_id)
            ).one_or_none()
        if row is None:
            raise NotFound("the collection has been deleted")
        header = self._up_to_date(collection_id, row.uid)
        return None if header is None else Coverage(0, 0, row.document_count, header.states)

    def wanted(self, collection_id: int) -> bool:
        """Whether a collection has embeddings, or is to have them.

        Raises:
            NotFound: there is no such collection.
        """
        return self._wanted(collection_id, self._uid(collection_id))

    def embed(self, collection_id: int, progress: Callable[[int], None] | None = None) -> Coverage:
        """Embed the documents of a collection that have no embedding; returns the coverage reached.

        Args:
            progress: called with the number of documents that have one.

        Raises:
            NotFound: there is no such collection.
            Unavailable: the encoder cannot be loaded.
        """
        collection = self._of(collection_id)
        collection.open(self._models.encoder())
        collection.reconcile()
        while documents := collection.take():
            self._embed(collection, documents)
            collection.save()
            if progress is not None:
                coverage = collection.coverage()
                progress(coverage.total - coverage.missing)
        collection.save(force=True)
        return collection.coverage()

    def rebuild(self, collection_id: int, progress: Callable[[int], None] | None = None) -> None:
        """Compute a collection's embeddings again, if it has any.

        Raises:
            NotFound: there is no such collection.
            Unavailable: the encoder cannot be loaded; the embeddings are removed nevertheless.
        """
        collection = self._of(collection_id)
        present = collection.path.exists()
        collection.drop()
        if present:
            self.embed(collection_id, progress)

    def open_present(self, collection_ids: Sequence[int]) -> None:
        """Read embeddings that are on disk and of this encoder, for a command without a server; none are computed.

        Raises:
            Unavailable: the encoder cannot be loaded.
        """
        for id in collection_ids:
            with suppress(NotFound, FileNotFoundError, IndexCorrupt):
                header = read_header(self._of(id).path)
                encoder = self._models.encoder()
                if encoder.recognises(header.encoder):
                    self._of(id).open(encoder)

    def has(self, collection_id: int) -> bool:
        """Whether a collection has embeddings."""
        return self._of(collection_id).path.exists()

    def remove(self, collection_id: int, uid: str) -> None:
        """Remove the embeddings of a deleted collection."""
        with self._changed:
            collection = self._all.pop(collection_id, None)
            self._queue.pop(collection_id, None)
            self._changed.notify_all()
        if collection is not None:
            collection.destroy()
        else:
            self._path(uid).unlink(missing_ok=True)

    def close(self) -> None:
        """Stop embedding, and save."""
        with self._changed:
            self._closing = True
            self._changed.notify_all()
        if self._thread is not None:
            self._thread.join()
        for collection in list(self._all.values()):
            collection.save(force=True)

    def _path(self, uid: str) -> Path:
        return self._directory / f"{uid}{_SUFFIX}"

    def _wanted(self, collection_id: int, uid: str) -> bool:
        return self._always or self._path(uid).exists()

    def _up_to_date(self, collection_id: int, uid: str) -> DenseHeader | None:
        """The header of the file, if it says that it is complete, and of the encoder, as far as that is known yet."""
        try:
            header = read_header(self._path(uid))
        except (FileNotFoundError, IndexCorrupt):
            return None
        if not self._models.may_be_of_encoder(header.encoder):
            return None
        return header if header.generation == database_generation(self._store, collection_id) else None

    def _uid(self, collection_id: int) -> str:
        with self._store.read() as session:
            uid = session.scalar(select(Collection.uid).where(Collection.id == collection_id))
        if uid is None:
            raise NotFound("the collection has been deleted")
        return uid

    def _of(self, collection_id: int) -> DenseCollection:
        with self._changed:
            if (found := self._all.get(collection_id)) is not None:
                return found
        with self._store.read() as session:
            row = session.execute(
                select(Collection.uid, Collection.late_interaction).where(Collection.id == collection_id)
            ).one_or_none()
        if row is None:
            raise NotFound("the collection has been deleted")
        most = self._most_state_bytes
        if most is not None and row.late_interaction is not None:
            most = math.inf if row.late_interaction else 0.0
        with self._changed:
            made = DenseCollection(self._store, self._path(row.uid), collection_id, row.uid, most or 0.0)
            return self._all.setdefault(collection_id, made)

    def _enqueue(self, collection: DenseCollection, collection_id: int, waiting: int) -> None:
        with self._changed:
            if self._closing:
                return
            self._queue[collection_id] = self._queue.get(collection_id, 0) + waiting
            self._changed_again.add(collection_id)
            if self._thread is None:
                self._thread = Thread(target=self._work, name="dragoman-embedder", daemon=True)
                self._thread.start()
            self._changed.notify_all()

    def _work(self) -> None:
        while (id := self._next()) is not None:
            try:
                finished = self._step(id)
            except (_Closing, ClientDisconnected):  # the service is the client of the models
                return
            except NotFound:
                finished = True
            except Exception as fault:
                if not isinstance(fault, ServiceError):
                    logger.exception("a collection could not be embedded")
                else:
                    logger.warning("a collection could not be embedded: %s", fault)
                finished = True  # the next search or import tries again
            with self._changed:
                waiting = self._queue.pop(id, None)
                if waiting is not None and (id in self._changed_again or not finished):
                    self._queue[id] = waiting  # at the end: round-robin over collections
                done = not self._queue
                self._changed.notify_all()
            if done and self._embedded > _TRIMMED_AFTER:
                self._embedded = 0
                self._models.trim()

    def _next(self) -> int | None:
        """The next collection to embed, first those that searches wait for; None when closing."""
        while True:
            with self._changed:
                if self._closing:
                    return None
                if self._queue:
                    awaited = (id for id, waiting in self._queue.items() if waiting)
                    chosen = next(awaited, next(iter(self._queue)))
                    self._changed_again.discard(chosen)
                    return chosen
                dirty = [collection for collection in self._all.values() if collection.dirty]
                if not dirty:
                    self._changed.wait()
                    continue
                self._changed.wait(_SAVE_ROUND_SECONDS)
                if self._queue or self._closing:
                    continue
            for collection in dirty:
                collection.save()

    def _step(self, collection_id: int) -> bool:
        """Embed some documents; returns whether all are embedded now."""
        collection = self._of(collection_id)
        collection.open(self._models.encoder(cancelled=lambda: self._closing))
        if collection.complete:
            collection.reconcile()
        if documents := collection.take():
            self._embed(collection, documents)
            collection.save()
        if not collection.complete:
            return False
        collection.reconcile()
        return collection.complete

    def _embed(self, collection: DenseCollection, documents: Sequence[Unembedded]) -> None:
        texts = [text for document in documents for text in document.texts]
        futures = self._models.worker.submit(Embed(collection.keeps_states), texts, background=True)
        try:
            results = [self._result(future) for future in futures]
        finally:
            for future in futures:
                future.cancel()
        embedded = []
        start = 0
        for document in documents:
            own = results[start : start + len(document.texts)]
            start += len(own)
            embedded.append((document, _whole(document, own)))
        collection.put(embedded)
        self._embedded += len(embedded)

    def _result(self, future: Future[Any]) -> Embedding | Exception:
        while not self._closing:
            if not wait([future], _POLL_SECONDS).done:  # asked again after the wait, it may be done by then
                continue
            try:
                embedding: Embedding = future.result()
            except (Unavailable, TooManyRequests):
                raise
            except Exception as fault:
                return fault
            return embedding
        raise _Closing


def _whole(document: Unembedded, found: Sequence[Embedding | Exception]) -> list[Embedding] | None:
    """The embeddings of a document's passages, or None if one of them failed."""
    whole = []
    for one in found:
        if isinstance(one, Exception):
            logger.warning("document with key %s cannot be embedded: %s", document.key, one)
            return None
        whole.append(one)
    return whole
