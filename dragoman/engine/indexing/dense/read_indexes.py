"""Embeddings that another process makes and stores: they are read, and never made here."""

from __future__ import annotations

import logging
import time
from collections.abc import Collection, Mapping
from concurrent.futures import Executor
from threading import Event, Lock, Thread

from dragoman.engine.core.errors import Conflict, NotFound, Unavailable, classify
from dragoman.engine.indexing.dense.collection import Coverage, DenseCollection
from dragoman.engine.indexing.dense.indexes import DenseIndexes
from dragoman.engine.indexing.sources import CollectionRecord, EmbeddingSource
from dragoman.engine.models.encoding import EncoderInfo
from dragoman.engine.models.models import Models
from dragoman.engine.models.queue.worker import Cancelled
from dragoman.indexes.dense.sharded_index import ShardedDenseIndex

logger = logging.getLogger("dragoman")

_PAUSE_SECONDS = 0.3
"""Between two looks for what was stored meanwhile: making it takes longer."""
_LONGEST_PAUSE_SECONDS = 5.0
"""Between two looks where nothing was stored meanwhile: a document may be one that cannot be embedded."""


class NotReadYet(Conflict):
    """Some documents have no embedding here, though they may have one where these are made."""


class ReadCollection(DenseCollection):
    """The stored embeddings of one collection."""

    as_stored: tuple[object, ...] = ()
    """The encoder, the states and the parts as of when they were read."""
    _looked_at = -1
    """The generation of the last look for what was missing."""
    _pause = _next_look = 0.0

    @property
    def is_due(self) -> bool:
        """Whether to look again for what is missing: ever more rarely while nothing changes."""
        return self._looked_at != self._generation or time.monotonic() >= self._next_look

    def open(self, encoder: EncoderInfo) -> None:
        """Read what is stored.

        Raises:
            NotFound: the collection was deleted.
            Unavailable: it has embeddings of another encoder, or none.
        """
        if self.is_open(encoder):  # nothing is read again, so nor is the mark
            return
        record = self._source.collection(self._id)
        if record.encoder is None or record.encoder != encoder.identity:
            raise Unavailable("the stored embeddings are not those of the encoder")
        self.as_stored = mark_of(record)
        super().open(encoder)

    def read_missing(self) -> None:
        """Take over what is stored by now of documents that have no embedding here.

        Raises:
            NotFound: the collection was deleted.
        """
        self.reconcile()
        with self._lock:
            index, encoder, missing = self._index, self._encoder, list(self._pending)
        if index is None or encoder is None or not missing:
            return
        changed, self._looked_at = self._looked_at != self._generation, self._generation
        size = encoder.codec.size if index.keeps_states and encoder.codec is not None else 0
        for embedded in self._source.embeddings(self._id, index.width, size, missing):
            with self._lock:
                if self._index is not index:
                    return
                current = [document for document in embedded if self._pending.get(document.key) == document.generation]
                index.put(current)
                for document in current:
                    del self._pending[document.key]
                changed = changed or bool(current)
        self._pause = _PAUSE_SECONDS if changed else min(2 * self._pause, _LONGEST_PAUSE_SECONDS)
        self._next_look = time.monotonic() + self._pause

    def _limit_states(self, index: ShardedDenseIndex) -> None:
        """Do nothing: whoever makes the embeddings drops their states."""


class ReadDenseIndexes(DenseIndexes):
    """The stored embeddings of the collections that were asked for, read in the background."""

    def __init__(
        self,
        source: EmbeddingSource,
        models: Models,
        pool: Executor,
        always: bool,
        most_state_bytes: float | None = None,
    ) -> None:
        """As :class:`DenseIndexes`."""
        super().__init__(source, models, pool, always, most_state_bytes)
        self._asking = Event()
        self._closing = Event()
        self._asked: set[int] = set()
        self._asked_lock = Lock()
        self._reader = Thread(target=self._read_asked, name="dragoman-reader", daemon=True)
        self._reader.start()

    def is_complete(self, record: CollectionRecord) -> bool:
        """Whether all documents of the record's generation have their embeddings here; else they are read soon."""
        if not record.documents:
            return True
        if self._models.failure("encoder") is not None:
            return False
        embeddings = self._all.get(record.id)
        if isinstance(embeddings, ReadCollection) and embeddings.opened:
            if embeddings.as_stored == mark_of(record):
                try:
                    embeddings.reconcile(record.generation)
                    if embeddings.complete:
                        return True
                    if not embeddings.is_due:
                        return False
                except NotFound:  # closed meanwhile
                    pass
            else:
                self.forget(record.id)
        if record.encoder is not None:
            with self._asked_lock:
                self._asked.add(record.id)
            self._asking.set()
        return False

    def of(self, collection: int) -> DenseCollection:
        if (embeddings := self._all.get(collection)) is not None:
            return embeddings
        record = self._source.collection(collection)
        embeddings = ReadCollection(self._source, self._feed, record, self._pool, self._most_state_bytes)
        with self._lock:
            return self._all.setdefault(collection, embeddings)

    def catch_up(
        self,
        generations: Mapping[int, int | None],
        encoder: EncoderInfo,
        seconds: float,
        cancelled: Cancelled | None = None,
    ) -> dict[int, Coverage]:
        """The coverage of these collections, which is whole.

        Raises:
            NotReadYet: a document has no embedding here.
        """
        reached: dict[int, Coverage] = {}
        for id, generation in generations.items():
            embeddings = self.of(id)
            if not embeddings.is_open(encoder):
                raise NotReadYet("the embeddings are not read yet")
            embeddings.reconcile(generation)
            reached[id] = embeddings.coverage()
            if reached[id].missing:
                raise NotReadYet("not all embeddings are read yet")
        return reached

    def forget(self, collection: int) -> None:
        """Let go of what was read of a collection."""
        with self._lock:
            self._all.pop(collection, None)

    def keep_only(self, collections: Collection[int]) -> None:
        """Let go of all other collections, which were deleted."""
        for collection in set(self._all) - set(collections):
            self.forget(collection)

    def close(self) -> None:
        """Read no more."""
        self._closing.set()
        self._asking.set()
        self._reader.join()

    def _read_asked(self) -> None:
        while self._asking.wait() and not self._closing.is_set():
            self._asking.clear()
            with self._asked_lock:
                collections, self._asked = self._asked, set()
            for collection in collections:
                try:
                    self._read(collection)
                except Exception as fault:
                    if classify(fault) is None:
                        logger.exception("stored embeddings cannot be read")
            self._closing.wait(_PAUSE_SECONDS)

    def _read(self, collection: int) -> None:
        encoder = self._models.encoder(cancelled=self._closing.is_set)
        embeddings = self.of(collection)
        stored = embeddings.as_stored if isinstance(embeddings, ReadCollection) and embeddings.opened else None
        if stored is not None and stored != mark_of(self._source.collection(collection)):  # changed since asked for
            self.forget(collection)
            embeddings = self.of(collection)
        embeddings.open(encoder)
        if isinstance(embeddings, ReadCollection):
            embeddings.read_missing()


def mark_of(record: CollectionRecord) -> tuple[object, ...]:
    """What makes stored embeddings others when it changes: their encoder, whether they have states, their parts."""
    return record.encoder, record.states, record.late_interaction, record.shards
