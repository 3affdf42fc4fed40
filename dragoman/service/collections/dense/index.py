"""The embeddings of one collection, synchronised with the database.

The database is the source of truth. Generations show which documents have no embedding yet. A vector is served only
while its document is unchanged. The file is saved periodically; embeddings lost in a crash are computed again.
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
from sqlalchemy import false, select
from sqlalchemy.orm import Session

from dragoman.engine.core.errors import NotFound, Unavailable
from dragoman.engine.models.encoding import Embedding, EncodedQuery, EncoderInfo, PassageText
from dragoman.indexes.dense.file import DenseHeader, OtherEncoder, read_header
from dragoman.indexes.dense.index import DenseHit, DenseIndex, Embedded
from dragoman.indexes.errors import IndexCorrupt
from dragoman.lexicon.text.passages import Span, passages, sentences
from dragoman.store.database import Store
from dragoman.store.models import Collection, Document

logger = logging.getLogger("dragoman")

_PASSAGES_AT_ONCE = 128
_DOCUMENTS_AT_ONCE = 64
_CHUNK = 1000
_SAVE_SECONDS = 5.0
_SAVE_SHARE = 20.0


@dataclass(frozen=True, slots=True)
class Unembedded:
    """A document to embed; a title, if there is one, is a separate passage (0, 0)."""

    key: int
    generation: int
    spans: list[Span]
    texts: list[PassageText]

    def embedded(self, embeddings: Sequence[Embedding], width: int) -> Embedded:
        """The document with the embeddings of its passages."""
        sentences = [
            (number, span[0] + start, span[0] + end)
            for number, (span, text) in enumerate(zip(self.spans, self.texts, strict=True))
            for start, end in text.sentences
        ]
        vectors = [np.zeros((0, width), np.float32), *(one.vector[None] for one in embeddings)]
        parts = [np.zeros((0, width), np.float32), *(one.sentences for one in embeddings)]
        codes = [one.codes for one in embeddings if one.codes is not None]
        return Embedded(
            self.key,
            self.generation,
            self.spans,
            np.concatenate(vectors),
            sentences,
            np.concatenate(parts),
            [len(own) for own in codes],
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

    def __init__(self, store: Store, path: Path, collection_id: int, uid: str, most_state_bytes: float = 0.0) -> None:
        """The states of subwords are kept while they take ``most_state_bytes``."""
        self.path = path
        self._most_state_bytes = most_state_bytes
        self._store = store
        self._collection_id = collection_id
        self._uid = uid
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

    def reconcile(self, known: int | None = None) -> None:
        """Remove the vectors of changed and deleted documents, and queue the documents that need new ones.

        ``known`` is the collection's generation, if the caller has just read it: it saves reading the database again.

        Raises:
            NotFound: the collection was deleted.
        """
        if known is not None and known == self._generation:
            return
        with self._lock, self._store.read() as session:
            present = session.execute(
                select(Collection.generation, Collection.document_count).where(Collection.id == self._collection_id)
            ).one_or_none()
            if present is None or self._index is None:
                raise NotFound("the collection has been deleted")
            generation, count = present
            if generation == self._generation:
                return
            if self._generation < 0:
                self._compare(session)
            else:
                self._apply_changes(session)
                if self._count() != count:  # the tombstone of a deletion is already purged
                    self._compare(session)
            self._generation = generation

    def take(self) -> list[Unembedded]:
        """The next documents to embed, few enough that a search can wait for them; empty when all are embedded."""
        with self._lock:
            chosen = dict(islice(self._pending.items(), _DOCUMENTS_AT_ONCE))
        if not chosen:
            return []
        found: list[Unembedded] = []
        size = 0
        with self._store.read() as session:
            rows = session.execute(
                select(Document.key, Document.generation, Document.title, Document.text)
                .where(Document.key.in_(list(chosen)), Document.deleted == false())
                .order_by(Document.key)
            ).all()
        current = {key: generation for key, generation, _, _ in rows}
        with self._lock:
            for key, generation in chosen.items():
                if current.get(key) != generation and self._pending.get(key) == generation:
                    del self._pending[key]  # changed since; the next reconcile finds it again
                    self._generation = min(self._generation, generation - 1)
        for key, generation, title, text in rows:
            if generation == chosen[key] and size < _PASSAGES_AT_ONCE:
                found.append(_unembedded(key, generation, title, text))
                size += len(found[-1].spans)
        return found

    def put(self, documents: Sequence[tuple[Unembedded, Sequence[Embedding] | None]]) -> None:
        """Add the embeddings of documents' passages; None for a document that cannot be embedded."""
        with self._lock:
            if self._index is None:
                return
            current = [pair for pair in documents if self._pending.get(pair[0].key) == pair[0].generation]
            width = self._index.width
            self._index.put([one.embedded(found, width) for one, found in current if found is not None])
            for one, found in current:
                del self._pending[one.key]
                if found is None:
                    self._failed[one.key] = one.generation
            self._dirty = True

    def search(self, vector: NDArray[np.float32], k: int, known: int | None = None) -> list[DenseHit]:
        """The ``k`` best documents that are unchanged in the database; ``known`` as for :meth:`reconcile`.

        Raises:
            Unavailable: the embeddings are not open, or were opened with another encoder.
        """
        index = self._searched(vector)
        spare = 0
        while True:
            hits = index.search(vector, k + spare)
            served = self._current(hits, known)
            if len(served) >= k or len(hits) < k + spare:
                return served[:k]
            spare = 2 * spare + len(hits) - len(served)

    def score(self, vector: NDArray[np.float32], keys: Sequence[int], known: int | None = None) -> list[DenseHit]:
        """The documents of these keys that have embeddings and are unchanged in the database; ``known`` as above.

        Raises:
            Unavailable: as :meth:`search`.
        """
        return self._current(self._searched(vector).score(vector, keys), known)

    def maxsim(self, query: EncodedQuery, keys: Sequence[int]) -> NDArray[np.float32] | None:
        """MaxSim (keys, subwords); None if states are not kept.

        Raises:
            Unavailable: as :meth:`search`.
        """
        return self._searched(query.vector).maxsim(query.vector, query.states, keys)

    @property
    def keeps_states(self) -> bool:
        """Whether the states of subwords are kept."""
        with self._lock:
            return self._index is not None and self._index.keeps_states

    def _searched(self, vector: NDArray[np.float32]) -> DenseIndex:
        with self._lock:
            index = self._index
        if index is None or vector.shape != (index.width,):
            raise Unavailable("the embeddings of this collection are not open")
        return index

    def _current(self, hits: Sequence[DenseHit], known: int | None) -> list[DenseHit]:
        if known is not None and known == self._generation:  # nothing has changed since the embeddings were reconciled
            return list(hits)
        current = self._generations([hit.key for hit in hits])
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

    @property
    def dirty(self) -> bool:
        """Whether there are unsaved changes."""
        return self._dirty

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
        """The number of known documents: embedded, failed and pending, which are disjoint."""
        assert self._index is not None
        return self._index.documents + len(self._failed) + len(self._pending)

    def _known(self, key: int) -> int | None:
        """The known generation of a document, whether embedded, pending or failed."""
        assert self._index is not None
        return self._pending.get(key, self._failed.get(key, self._index.generation(key)))

    def _apply_changes(self, session: Session) -> None:
        """Apply the database's changes after the known generation."""
        rows = session.execute(
            select(Document.key, Document.generation, Document.deleted).where(
                Document.collection_id == self._collection_id, Document.generation > self._generation
            )
        ).all()
        changed = {key: generation for key, generation, deleted in rows if deleted or self._known(key) != generation}
        self._forget(changed)
        self._pending.update((key, changed[key]) for key, _, deleted in rows if key in changed and not deleted)

    def _compare(self, session: Session) -> None:
        """Compare all documents with the database."""
        rows = session.execute(
            select(Document.key, Document.generation)
            .where(Document.collection_id == self._collection_id, Document.deleted == false())
            .order_by(Document.generation, Document.key)
        )
        present = {key: generation for key, generation in rows}  # noqa: C416
        assert self._index is not None
        known = {**self._index.generations, **self._failed, **self._pending}
        self._forget([key for key, generation in known.items() if present.get(key) != generation])
        self._pending.update((key, g) for key, g in present.items() if known.get(key) != g)

    def _forget(self, keys: Sequence[int] | dict[int, int]) -> None:
        assert self._index is not None
        for key in keys:
            self._pending.pop(key, None)
            self._failed.pop(key, None)
        if keys:
            self._index.delete(list(keys))
            self._dirty = True

    def _generations(self, keys: Sequence[int]) -> dict[int, int]:
        found: dict[int, int] = {}
        with self._store.read() as session:
            for start in range(0, len(keys), _CHUNK):
                chosen = Document.key.in_(keys[start : start + _CHUNK])
                rows = session.execute(
                    select(Document.key, Document.generation).where(chosen, Document.deleted == false())
                )
                found.update((key, generation) for key, generation in rows)
        return found


def _unembedded(key: int, generation: int, title: str | None, text: str) -> Unembedded:
    spans = passages(text)
    parts = [PassageText(text[start:end], _sentences(text[start:end])) for start, end in spans]
    if title and title.strip():
        return Unembedded(key, generation, [(0, 0), *spans], [PassageText(title.strip(), ()), *parts])
    return Unembedded(key, generation, spans, parts)


def _sentences(passage: str) -> list[Span]:
    """The sentences of a passage; none if it is a single one."""
    found = sentences(passage)
    return found if len(found) > 1 else []
