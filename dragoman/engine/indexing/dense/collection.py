"""The embeddings of one collection, kept in step with its documents.

What is stored of documents is the truth. Generations show which documents have no embedding yet. A vector is served
only while its document is unchanged. Each embedding is stored as soon as it is made, and read again after a restart.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from itertools import islice
from threading import RLock

import numpy as np
from numpy.typing import NDArray

from dragoman.engine.core.errors import NotFound, Unavailable
from dragoman.engine.indexing.feed import Feed
from dragoman.engine.indexing.sources import CollectionRecord, EmbeddingSource, SourceDocument, Version
from dragoman.engine.models.encoding import Embedding, EncoderInfo, PassageText
from dragoman.indexes.dense.index import NONE, Embedded, Nearest
from dragoman.indexes.dense.parts import to_8_bits
from dragoman.indexes.dense.sharded_index import CodesOfShards, DenseHits, PassageHits, ShardedDenseIndex, join
from dragoman.lexicon.text.passages import Span, passages, sentences

logger = logging.getLogger("dragoman")

_PASSAGES_AT_ONCE = 128
_DOCUMENTS_AT_ONCE = 64
_COPIED_AT_ONCE = 500


@dataclass(frozen=True, slots=True)
class Unembedded:
    """A document to embed; a title, if there is one, is a separate passage (0, 0)."""

    key: int
    generation: int
    spans: list[Span]
    texts: list[PassageText]

    @classmethod
    def of(cls, document: SourceDocument) -> Unembedded:
        """The passages of a document."""
        spans = passages(document.text)
        parts = [document.text[start:end] for start, end in spans]
        texts = [PassageText(part, _sentences(part)) for part in parts]
        if document.title and document.title.strip():
            spans, texts = [(0, 0), *spans], [PassageText(document.title.strip(), ()), *texts]
        return cls(document.key, document.generation, spans, texts)

    def with_embeddings(self, embeddings: Sequence[Embedding], width: int) -> Embedded:
        """The document with the embeddings of its passages."""
        sentences = [
            (passage, span[0] + start, span[0] + end)
            for passage, (span, text) in enumerate(zip(self.spans, self.texts, strict=True))
            for start, end in text.sentences
        ]
        vectors = [np.zeros((0, width), np.float32), *(embedding.vector[None] for embedding in embeddings)]
        parts = [np.zeros((0, width), np.float32), *(embedding.sentences for embedding in embeddings)]
        codes = [embedding.codes for embedding in embeddings if embedding.codes is not None]
        return Embedded(
            self.key,
            self.generation,
            self.spans,
            np.concatenate(vectors),
            sentences,
            to_8_bits(np.concatenate(parts)),
            [len(subwords) for subwords in codes],
            np.concatenate(codes) if codes else None,
        )


@dataclass(frozen=True, slots=True)
class Coverage:
    """The number of documents without an embedding, of those that cannot be embedded, and of all documents."""

    missing: int
    failed: int
    total: int
    states: bool = False
    """Whether the states of subwords are kept, for late interaction."""


class DenseCollection:
    """One collection's embeddings; all methods may be called from any thread."""

    def __init__(
        self,
        source: EmbeddingSource,
        feed: Feed,
        record: CollectionRecord,
        pool: Executor,
        most_state_bytes: float | None = None,
    ) -> None:
        """``pool`` searches several parts; ``most_state_bytes``, as for :class:`DenseIndexes`, counts unless the
        collection says whether states are kept.
        """
        self._most_state_bytes = most_state_bytes
        self._source = source
        self._feed = feed
        self._id = record.id
        self._pool = pool
        self._opening = RLock()
        """Held while embeddings are read or removed. Acquire it before ``_lock``, which is only held briefly."""
        self._lock = RLock()
        self._encoder: EncoderInfo | None = None
        self._index: ShardedDenseIndex | None = None
        self._pending: dict[int, int] = {}
        self._failed: dict[int, int] = {}
        self._generation = -1
        self._deleted = False

    def open(self, encoder: EncoderInfo) -> None:
        """Read what is stored; start empty if there is nothing, or if it is of another encoder or precision.

        Raises:
            NotFound: the collection was deleted.
        """
        if self.is_open(encoder):
            return
        with self._opening:
            if self.is_open(encoder):
                return
            record = self._source.collection(self._id)
            if record.encoder is None or not encoder.recognises(record.encoder):
                if record.encoder is not None:
                    logger.warning("the embeddings of collection %s are made anew by another encoder", record.uid)
                self._source.begin_embeddings(self._id, encoder.identity)
                record = replace(record, states=True)
            elif record.encoder != encoder.identity:
                self._source.rename_encoder(self._id, encoder.identity)
            codec = encoder.codec if self._keeps_states(record) else None
            index = ShardedDenseIndex(record.shards, self._pool, encoder.width, codec)
            for embedded in self._source.embeddings(self._id, index.width, 0 if codec is None else codec.size):
                index.put(self._feed.select(embedded))
            self._limit_states(index)
            with self._lock:
                self._encoder, self._index = encoder, index
                self._pending, self._failed, self._generation = {}, {}, -1

    def _keeps_states(self, record: CollectionRecord) -> bool:
        if self._most_state_bytes is None:
            return False
        return record.states if record.late_interaction is None else record.late_interaction

    def reconcile(self, generation: int | None = None) -> None:
        """Remove the vectors of changed and deleted documents, and queue the documents that need new ones.

        ``generation`` is the collection's, if the caller has just read it: it saves reading the database again.

        Raises:
            NotFound: the collection was deleted.
        """
        if generation is not None and generation == self._generation:
            return
        with self._lock:
            if self._index is None:
                raise NotFound("the collection has been deleted")
            versions = self._feed.versions(self._id, self._generation)
            if versions.generation == self._generation:
                return
            if self._generation >= 0:
                self._apply_changes(versions.changes)
                if self._count() != versions.documents:  # the tombstone of a deletion is already purged, perhaps
                    versions = self._feed.versions(self._id, -1)
                    self._compare(versions.changes)
            else:
                self._compare(versions.changes)
            self._generation = versions.generation

    def take(self) -> list[Unembedded]:
        """The next documents to embed, few enough that a search can wait for them; empty when all are embedded."""
        with self._lock:
            chosen = dict(islice(self._pending.items(), _DOCUMENTS_AT_ONCE))
        if not chosen:
            return []
        documents = [document for document in self._source.documents(list(chosen)) if not document.deleted]
        current = {document.key: document.generation for document in documents}
        with self._lock:
            for key, generation in chosen.items():
                if current.get(key) != generation and self._pending.get(key) == generation:
                    del self._pending[key]  # changed since; the next reconcile finds it again
                    self._generation = min(self._generation, generation - 1)
        taken: list[Unembedded] = []
        size = 0
        for document in documents:
            if document.generation == chosen[document.key] and size < _PASSAGES_AT_ONCE:
                taken.append(Unembedded.of(document))
                size += len(taken[-1].spans)
        return taken

    def put(self, documents: Sequence[tuple[Unembedded, Sequence[Embedding] | None]]) -> None:
        """Store the embeddings of documents' passages; None for a document that cannot be embedded.

        Raises:
            Unavailable: another encoder makes the collection's embeddings by now.
        """
        with self._lock:
            index, encoder = self._index, self._encoder
            if index is None or encoder is None:
                return
            current = [pair for pair in documents if self._pending.get(pair[0].key) == pair[0].generation]
        embedded = [
            document.with_embeddings(embeddings, index.width)
            for document, embeddings in current
            if embeddings is not None
        ]
        stored = self._source.put_embeddings(self._id, encoder.identity, embedded) if embedded else set()
        with self._lock:
            if self._index is not index:
                return
            current = [pair for pair in current if self._pending.get(pair[0].key) == pair[0].generation]
            still = {document.key for document, _ in current}
            index.put([document for document in embedded if document.key in stored & still])
            for document, embeddings in current:
                if embeddings is None:
                    self._failed[document.key] = document.generation
                elif document.key not in stored:  # changed since; the next reconcile finds it again
                    self._generation = min(self._generation, document.generation - 1)
                del self._pending[document.key]
        self._limit_states(index)

    def _limit_states(self, index: ShardedDenseIndex) -> None:
        """Once all states of the collection take more than they may, it has none any more."""
        most = self._most_state_bytes
        if most is None or not index.keeps_states or index.state_bytes <= most:
            return
        if self._source.collection(self._id).late_interaction is None:
            logger.warning("states of subwords take more than %.0f bytes and are dropped", most)
            self._source.drop_states(self._id)
            index.drop_states()

    def reshape(self) -> None:
        """Spread the vectors over as many parts as the collection is to have.

        Raises:
            NotFound: the collection was deleted.
        """
        with self._opening:
            record = self._source.collection(self._id)
            with self._lock:
                index, encoder = self._index, self._encoder
            if index is None or encoder is None or index.shards == record.shards:
                return
            codec = encoder.codec if index.keeps_states else None
            reshaped = ShardedDenseIndex(record.shards, self._pool, index.width, codec)
            _bring_up(reshaped, index)  # while the present one is searched and changed
            with self._lock:
                _bring_up(reshaped, index)
                self._index = reshaped

    def search(
        self,
        vector: NDArray[np.float32],
        k: int,
        generation: int | None = None,
        others: NDArray[np.int64] = NONE.keys,
        accepted: NDArray[np.int64] | None = None,
    ) -> DenseHits:
        """The ``k`` best documents that are unchanged in the database, and those with the keys ``others``.

        ``generation`` as for :meth:`reconcile`; ``accepted`` as for :meth:`DenseIndex.nearest`.

        Raises:
            Unavailable: the embeddings are not open, or were opened with another encoder.
        """
        index = self._open_index(vector)
        spare = 0
        while True:
            answer = index.search(vector, k + spare, others, accepted)
            best, more = self._current(answer.best, generation), self._current(answer.others, generation)
            if len(best.keys) <= k and len(answer.best.keys) < k + spare:
                return DenseHits(best, more, answer.unsearched)
            if len(best.keys) >= k or len(answer.best.keys) < k + spare:
                first = np.arange(len(best.keys)) < k
                return DenseHits(
                    best.at(first), join([best.at(~first & np.isin(best.keys, others)), more]), answer.unsearched
                )
            spare = 2 * spare + len(answer.best.keys) - len(best.keys)

    def passages(self, vector: NDArray[np.float32], keys: Sequence[int]) -> PassageHits:
        """The best passages of documents that have embeddings, as they were embedded.

        Raises:
            Unavailable: as :meth:`search`.
        """
        return self._open_index(vector).score(vector, keys)

    def state_codes(self, vector: NDArray[np.float32], keys: Sequence[int]) -> CodesOfShards | None:
        """The coded states of documents' subwords, and the parts that did not answer; None if states are not kept.

        Raises:
            Unavailable: as :meth:`search`.
        """
        return self._open_index(vector).state_codes(vector, keys)

    @property
    def keeps_states(self) -> bool:
        """Whether the states of subwords are kept."""
        with self._lock:
            return self._index is not None and self._index.keeps_states

    @property
    def mean_subwords(self) -> float | None:
        """The mean number of a document's subwords; None where their states are not kept."""
        with self._lock:
            return None if self._index is None else self._index.mean_subwords

    def _open_index(self, vector: NDArray[np.float32]) -> ShardedDenseIndex:
        with self._lock:
            index = self._index
        if index is None or vector.shape != (index.width,):
            raise Unavailable("the embeddings of this collection are not open")
        return index

    def _current(self, nearest: Nearest, generation: int | None) -> Nearest:
        if generation is not None and generation == self._generation:  # nothing has changed since the last reconcile
            return nearest
        current = self._source.generations(nearest.keys.tolist())
        generations = np.array([current.get(key, -1) for key in nearest.keys.tolist()], np.int64)
        return nearest.at(generations == nearest.generations)

    def coverage(self) -> Coverage:
        """The coverage of the embeddings as of the last :meth:`reconcile`.

        Raises:
            NotFound: the collection was deleted.
        """
        with self._lock:
            if self._index is None:
                raise NotFound("the collection has been deleted")
            missing = len(self._pending) + len(self._failed)
            return Coverage(missing, len(self._failed), self._count(), self._index.keeps_states)

    @property
    def opened(self) -> bool:
        """Whether what is stored was read."""
        return self._index is not None

    @property
    def complete(self) -> bool:
        """Whether no document is left to embed, as of the last :meth:`reconcile`."""
        with self._lock:
            return self._index is not None and not self._pending

    def drop(self) -> None:
        """Remove all embeddings.

        Raises:
            OSError, ServiceError: the database cannot be written.
        """
        with self._opening:
            self._source.drop_embeddings(self._id)
            self._close()

    def destroy(self) -> None:
        """The collection was deleted, and its embeddings with it."""
        with self._opening:
            self._deleted = True
            self._close()

    def _close(self) -> None:
        with self._lock:
            self._index, self._encoder = None, None
            self._pending, self._failed, self._generation = {}, {}, -1

    def is_open(self, encoder: EncoderInfo) -> bool:
        """Whether the embeddings of this encoder were read.

        Raises:
            NotFound: the collection was deleted.
        """
        with self._lock:
            if self._deleted:
                raise NotFound("the collection has been deleted")
            return self._encoder is not None and self._encoder.identity == encoder.identity

    def _count(self) -> int:
        """The number of documents here: embedded, failed and pending, which are disjoint."""
        assert self._index is not None
        return self._index.documents + len(self._failed) + len(self._pending)

    def _generation_of(self, key: int) -> int | None:
        """The generation of a document that is embedded, pending or failed."""
        assert self._index is not None
        return self._pending.get(key, self._failed.get(key, self._index.generation(key)))

    def _apply_changes(self, changes: Sequence[Version]) -> None:
        """Apply changes since the last time."""
        changes = [
            change for change in changes if change.deleted or self._generation_of(change.key) != change.generation
        ]
        self._forget([change.key for change in changes])
        self._pending.update((change.key, change.generation) for change in changes if not change.deleted)

    def _compare(self, versions: Sequence[Version]) -> None:
        """Compare the documents here with all of the collection."""
        assert self._index is not None
        current = {version.key: version.generation for version in versions}
        here = {**self._index.generations, **self._failed, **self._pending}
        self._forget([key for key, generation in here.items() if current.get(key) != generation])
        self._pending.update((key, generation) for key, generation in current.items() if here.get(key) != generation)

    def _forget(self, keys: Sequence[int]) -> None:
        assert self._index is not None
        for key in keys:
            self._pending.pop(key, None)
            self._failed.pop(key, None)
        if keys:
            self._index.delete(keys)


def _bring_up(copy: ShardedDenseIndex, index: ShardedDenseIndex) -> None:
    """Give a copy what it lacks of an index, some documents at a time."""
    if copy.keeps_states and not index.keeps_states:
        copy.drop_states()
    here, there = index.generations, copy.generations
    copy.delete([key for key in there if key not in here])
    lacking = [key for key, generation in here.items() if there.get(key) != generation]
    for start in range(0, len(lacking), _COPIED_AT_ONCE):
        copy.put(index.get(lacking[start : start + _COPIED_AT_ONCE]))


def _sentences(passage: str) -> list[Span]:
    """The sentences of a passage; none if it is a single one."""
    spans = sentences(passage)
    return spans if len(spans) > 1 else []
