"""The embeddings of one collection, kept in step with its documents.

What is stored of documents is the truth. Generations show which documents have no embedding yet. A vector is served
only while its document is unchanged. The file is saved periodically; embeddings lost in a crash are computed again.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from threading import RLock

import numpy as np
from numpy.typing import NDArray

from dragoman.engine.core.errors import NotFound, Unavailable
from dragoman.engine.indexing.feed import Feed
from dragoman.engine.indexing.sources import CollectionRecord, SourceDocument, Version
from dragoman.engine.models.encoding import Embedding, EncodedQuery, EncoderInfo, PassageText
from dragoman.indexes.dense.file import DenseHeader, OtherEncoder, read_header
from dragoman.indexes.dense.index import DenseHit, DenseIndex, Embedded
from dragoman.indexes.errors import IndexCorrupt
from dragoman.lexicon.text.passages import Span, passages, sentences

logger = logging.getLogger("dragoman")

_PASSAGES_AT_ONCE = 128
_DOCUMENTS_AT_ONCE = 64
_SAVE_SECONDS = 5.0
_SAVE_SHARE = 20.0


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
            np.concatenate(parts),
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

    def __init__(self, feed: Feed, path: Path, record: CollectionRecord, most_state_bytes: float = 0.0) -> None:
        """The states of subwords are kept while they take ``most_state_bytes``."""
        self.path = path
        self._most_state_bytes = most_state_bytes
        self._feed = feed
        self._id = record.id
        self._uid = record.uid
        self._saving = RLock()
        """Held while the file is read, written or removed. Acquire it before ``_lock``, which is only held briefly."""
        self._lock = RLock()
        self._encoder: EncoderInfo | None = None
        self._index: DenseIndex | None = None
        self._pending: dict[int, int] = {}
        self._failed: dict[int, int] = {}
        self._generation = -1
        self._dirty = False
        self._deleted = False
        self._saved = 0.0
        self._save_cost = 0.0

    def open(self, encoder: EncoderInfo) -> None:
        """Read the file; start empty if it is missing, damaged or from another encoder.

        Raises:
            NotFound: the collection was deleted.
        """
        with self._lock:
            if self._is_open(encoder):
                return
        with self._saving:
            with self._lock:
                if self._is_open(encoder):
                    return
            loaded, made_by = self._load(encoder)
            with self._lock:
                self._encoder = encoder
                self._index = loaded or DenseIndex(encoder.width, encoder.codec, self._most_state_bytes)
                self._pending, self._failed, self._generation = {}, {}, -1
                self._dirty = self._dirty or made_by != encoder.identity
            if loaded is None:
                self.save(force=True)  # the file marks the collection as having embeddings

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
        documents = [document for document in self._feed.source.documents(list(chosen)) if not document.deleted]
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
        """Add the embeddings of documents' passages; None for a document that cannot be embedded."""
        with self._lock:
            if self._index is None:
                return
            current = [pair for pair in documents if self._pending.get(pair[0].key) == pair[0].generation]
            width = self._index.width
            self._index.put(
                [document.with_embeddings(vectors, width) for document, vectors in current if vectors is not None]
            )
            for document, vectors in current:
                del self._pending[document.key]
                if vectors is None:
                    self._failed[document.key] = document.generation
            self._dirty = True

    def search(self, vector: NDArray[np.float32], k: int, generation: int | None = None) -> list[DenseHit]:
        """The ``k`` best documents that are unchanged in the database; ``generation`` as for :meth:`reconcile`.

        Raises:
            Unavailable: the embeddings are not open, or were opened with another encoder.
        """
        index = self._open_index(vector)
        spare = 0
        while True:
            hits = index.search(vector, k + spare)
            served = self._current(hits, generation)
            if len(served) >= k or len(hits) < k + spare:
                return served[:k]
            spare = 2 * spare + len(hits) - len(served)

    def score(self, vector: NDArray[np.float32], keys: Sequence[int], generation: int | None = None) -> list[DenseHit]:
        """The documents of these keys that have embeddings and are unchanged in the database; ``generation`` as above.

        Raises:
            Unavailable: as :meth:`search`.
        """
        return self._current(self._open_index(vector).score(vector, keys), generation)

    def maxsim(self, query: EncodedQuery, keys: Sequence[int]) -> NDArray[np.float32] | None:
        """MaxSim (keys, subwords); None if states are not kept.

        Raises:
            Unavailable: as :meth:`search`.
        """
        return self._open_index(query.vector).maxsim(query.vector, query.states, keys)

    @property
    def keeps_states(self) -> bool:
        """Whether the states of subwords are kept."""
        with self._lock:
            return self._index is not None and self._index.keeps_states

    def _open_index(self, vector: NDArray[np.float32]) -> DenseIndex:
        with self._lock:
            index = self._index
        if index is None or vector.shape != (index.width,):
            raise Unavailable("the embeddings of this collection are not open")
        return index

    def _current(self, hits: Sequence[DenseHit], generation: int | None) -> list[DenseHit]:
        if generation is not None and generation == self._generation:  # nothing has changed since the last reconcile
            return list(hits)
        current = self._feed.source.generations([hit.key for hit in hits])
        return [hit for hit in hits if current.get(hit.key) == hit.generation]

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
        """Whether the file was read or begun."""
        return self._index is not None

    @property
    def complete(self) -> bool:
        """Whether no document is left to embed, as of the last :meth:`reconcile`."""
        with self._lock:
            return self._index is not None and not self._pending

    def save(self, force: bool = False) -> None:
        """Write the file if something has changed; without ``force`` the interval depends on the cost of saving.

        If the file cannot be written, for example on a full disk, searches continue and saving is retried.
        """
        with self._saving:
            with self._lock:
                index, encoder = self._index, self._encoder
                pause = max(_SAVE_SECONDS, _SAVE_SHARE * self._save_cost)
                due = force or time.monotonic() - self._saved >= pause
                if index is None or encoder is None or not self._dirty or not due:
                    return
                self._dirty = False
                generation = -1 if self._pending or self._failed else self._generation
            started = time.monotonic()
            try:
                self.path.parent.mkdir(parents=True, exist_ok=True)
                index.save(self.path, DenseHeader(self._uid, encoder.identity, encoder.width, generation))
            except OSError as fault:
                logger.warning("the embeddings of collection %s cannot be saved: %s", self._uid, fault)
                self._dirty = True
            self._saved = time.monotonic()
            self._save_cost = self._saved - started

    def drop(self) -> None:
        """Remove all embeddings and the file."""
        with self._saving, self._lock:
            self._index, self._encoder = None, None
            self._pending, self._failed, self._generation = {}, {}, -1
            self._dirty = False
            self.path.unlink(missing_ok=True)

    def destroy(self) -> None:
        """Remove the embeddings of a deleted collection."""
        with self._saving, self._lock:
            self._deleted = True
            self.drop()

    def _load(self, encoder: EncoderInfo) -> tuple[DenseIndex | None, str | None]:
        """The index, and the identity that the file has for its encoder."""
        try:
            made_by = read_header(self.path).encoder
            identity = made_by if encoder.recognises(made_by) else encoder.identity
            index, _ = DenseIndex.load(self.path, self._uid, identity, encoder.codec, self._most_state_bytes)
            return index, made_by
        except FileNotFoundError:
            return None, None
        except (IndexCorrupt, OtherEncoder) as fault:
            logger.warning("the embeddings of collection %s are rebuilt: %s", self._uid, fault)
            return None, None

    def _is_open(self, encoder: EncoderInfo) -> bool:
        if self._deleted:
            raise NotFound("the collection has been deleted")
        return self._index is not None and self._encoder == encoder

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
            self._dirty = True


def _sentences(passage: str) -> list[Span]:
    """The sentences of a passage; none if it is a single one."""
    spans = sentences(passage)
    return spans if len(spans) > 1 else []
