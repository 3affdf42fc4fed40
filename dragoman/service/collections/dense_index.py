"""The embeddings of one collection, kept in step with the database.

The database is the truth. What of it has no embedding yet is found out by its generations, and a vector is
served only while the document that it was made of is as it was then. The file is saved now and then; whatever
it lacks after a crash is computed again.
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

from dragoman.indexes.dense import DenseHeader, DenseHit, DenseIndex, Embedded, OtherEncoder
from dragoman.indexes.errors import IndexCorrupt
from dragoman.indexes.passages import Span, passages
from dragoman.service.core.errors import NotFound, Unavailable
from dragoman.service.inference.models import EncoderInfo
from dragoman.service.storage.database import Store
from dragoman.service.storage.models import Collection, Document

logger = logging.getLogger("dragoman")

_PASSAGES_AT_ONCE = 128
_DOCUMENTS_AT_ONCE = 64
_CHUNK = 1000
_SAVE_SECONDS = 5.0
_SAVE_SHARE = 20.0


@dataclass(frozen=True, slots=True)
class Unembedded:
    """A document to be embedded: a title, where there is one, is a passage (0, 0) of its own."""

    key: int
    generation: int
    spans: list[Span]
    texts: list[str]


@dataclass(frozen=True, slots=True)
class Coverage:
    """How many documents have no embedding, how many of these never will, and how many documents there are."""

    missing: int
    failed: int
    total: int


class DenseCollection:
    """One collection's embeddings; all methods may be called from any thread."""

    def __init__(self, store: Store, path: Path, collection_id: int, uid: str) -> None:
        self.path = path
        self._store = store
        self._collection_id = collection_id
        self._uid = uid
        self._saving = RLock()
        """Held while the file is written or removed; taken before the other one, which is never held for long."""
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
        """Read the file, or begin anew where there is none, or where it is damaged or of another encoder.

        Raises:
            NotFound: the collection was deleted.
        """
        with self._lock:
            if self._is_open(encoder):
                return
        with self._saving, self._lock:
            if self._is_open(encoder):
                return
            self._encoder = encoder
            self._index = self._present(encoder)
            self._pending, self._failed, self._generation = {}, {}, -1
            if self._index is None:
                self._index = DenseIndex(encoder.width)
                self._dirty = True
                self.save(force=True)  # says that this collection has embeddings

    def reconcile(self) -> None:
        """Forget the vectors of documents that have changed or gone, and note which ones need new ones.

        Raises:
            NotFound: the collection was deleted.
        """
        with self._lock, self._store.read() as session:
            present = session.execute(
                select(Collection.generation, Collection.document_count).where(Collection.id == self._collection_id)
            ).one_or_none()
            if present is None:
                raise NotFound("the collection has been deleted")
            generation, count = present
            if generation == self._generation:
                return
            if self._generation < 0:
                self._compare(session)
            else:
                self._follow(session)
                if self._count() != count:  # a deletion whose tombstone is gone already
                    self._compare(session)
            self._generation = generation

    def take(self) -> list[Unembedded]:
        """The next documents to embed, few enough for a search to wait for; none when all are embedded."""
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
                    del self._pending[key]  # changed since: reconciling will find it again
                    self._generation = min(self._generation, generation - 1)
        for key, generation, title, text in rows:
            if generation == chosen[key] and size < _PASSAGES_AT_ONCE:
                found.append(_unembedded(key, generation, title, text))
                size += len(found[-1].spans)
        return found

    def put(self, documents: Sequence[tuple[Unembedded, NDArray[np.float32] | None]]) -> None:
        """Take the vectors of documents; None for one that cannot be embedded."""
        with self._lock:
            if self._index is None:
                return
            current = [pair for pair in documents if self._pending.get(pair[0].key) == pair[0].generation]
            self._index.put([Embedded(one.key, one.generation, one.spans, v) for one, v in current if v is not None])
            for one, vectors in current:
                del self._pending[one.key]
                if vectors is None:
                    self._failed[one.key] = one.generation
            self._dirty = True

    def search(self, vector: NDArray[np.float32], k: int) -> list[DenseHit]:
        """The ``k`` best documents, each as it is in the database now.

        Raises:
            Unavailable: it is not open, or was opened with another encoder.
        """
        with self._lock:
            index = self._index
        if index is None or vector.shape != (index.width,):
            raise Unavailable("the embeddings of this collection are not open")
        spare = 0
        while True:
            hits = index.search(vector, k + spare)
            current = self._generations([hit.key for hit in hits])
            served = [hit for hit in hits if current.get(hit.key) == hit.generation]
            if len(served) >= k or len(hits) < k + spare:
                return served[:k]
            spare = 2 * spare + len(hits) - len(served)

    def coverage(self) -> Coverage:
        """How complete the embeddings are, as of the last :meth:`reconcile`."""
        with self._lock:
            return Coverage(len(self._pending) + len(self._failed), len(self._failed), self._count())

    @property
    def complete(self) -> bool:
        """Nothing is left to embed, as of the last :meth:`reconcile`."""
        with self._lock:
            return self._index is not None and not self._pending

    def save(self, force: bool = False) -> None:
        """Write the file where something has changed; without ``force`` not too often, by what it costs.

        Where it cannot be written, as on a full disk, searches go on, and saving is tried again.
        """
        with self._saving:
            with self._lock:
                index, encoder = self._index, self._encoder
                pause = max(_SAVE_SECONDS, _SAVE_SHARE * self._save_cost)
                due = force or time.monotonic() - self._saved >= pause
                if index is None or encoder is None or not self._dirty or not due:
                    return
                self._dirty = False
                generation = -1 if self._pending else self._generation
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
        """Something is not yet saved."""
        return self._dirty

    def drop(self) -> None:
        """Forget all embeddings and remove the file."""
        with self._saving, self._lock:
            self._index, self._encoder = None, None
            self._pending, self._failed, self._generation = {}, {}, -1
            self._dirty = False
            self.path.unlink(missing_ok=True)

    def destroy(self) -> None:
        """Forget the embeddings of a collection that is deleted."""
        with self._saving, self._lock:
            self._deleted = True
            self.drop()

    def _present(self, encoder: EncoderInfo) -> DenseIndex | None:
        try:
            return DenseIndex.load(self.path, self._uid, encoder.identity)[0]
        except FileNotFoundError:
            return None
        except (IndexCorrupt, OtherEncoder) as fault:
            logger.warning("the embeddings of collection %s are made anew: %s", self._uid, fault)
            return None

    def _is_open(self, encoder: EncoderInfo) -> bool:
        if self._deleted:
            raise NotFound("the collection has been deleted")
        return self._index is not None and self._encoder == encoder

    def _count(self) -> int:
        """How many documents are known; none is in two of the three places."""
        assert self._index is not None
        return self._index.documents + len(self._failed) + len(self._pending)

    def _known(self, key: int) -> int | None:
        """The generation of the document that is embedded, to be embedded, or could not be."""
        assert self._index is not None
        return self._pending.get(key, self._failed.get(key, self._index.generation(key)))

    def _follow(self, session: Session) -> None:
        """Take in what the database has changed after the generation that is known."""
        rows = session.execute(
            select(Document.key, Document.generation, Document.deleted).where(
                Document.collection_id == self._collection_id, Document.generation > self._generation
            )
        ).all()
        changed = {key: generation for key, generation, deleted in rows if deleted or self._known(key) != generation}
        self._forget(changed)
        self._pending.update((key, changed[key]) for key, _, deleted in rows if key in changed and not deleted)

    def _compare(self, session: Session) -> None:
        """Compare every document with the database's."""
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
    texts = [text[start:end] for start, end in spans]
    if title and title.strip():
        return Unembedded(key, generation, [(0, 0), *spans], [title.strip(), *texts])
    return Unembedded(key, generation, spans, texts)
