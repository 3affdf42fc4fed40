"""The names in the documents of collections that ask for them: found in the background, kept in the database."""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import astuple, dataclass
from threading import Condition, Thread
from typing import Any

from sqlalchemy import and_, delete, false, func, insert, or_, select, true

from dragoman.engine.core.errors import ClientDisconnected, NotInstalled, ServiceError, TooManyRequests, Unavailable
from dragoman.engine.models.gathering import gather
from dragoman.engine.models.models import Models
from dragoman.engine.models.tagging import Tagging
from dragoman.service.collections.entity_names import Mention, MentionField, forms, sounds_like, sounds_of
from dragoman.store.database import Store
from dragoman.store.models import Collection as CollectionRow
from dragoman.store.models import Document, DocumentEntities, EntityName

logger = logging.getLogger("dragoman")

_DOCUMENTS_AT_ONCE = 16
_CHUNK = 1000
_RETRY_SECONDS = 5.0
"""How long a collection that could not be read waits; twice as long after each further failure."""
_MOST_RETRY_SECONDS = 300.0
_ATTEMPTS = 3
"""How often a document may take longer than it may, before it counts as failed: the worker may have been busy."""

_TAGGED = and_(DocumentEntities.document_key == Document.key, DocumentEntities.generation == Document.generation)
"""Joins a document with its names, if they are of its present generation."""


@dataclass(frozen=True, slots=True, eq=False)
class Untagged:
    """A document to read for names."""

    key: int
    generation: int
    language: str
    fields: dict[MentionField, str]


@dataclass(frozen=True, slots=True)
class EntityCoverage:
    """How many documents were read for names, how many could not be, and how many there are."""

    tagged: int
    failed: int
    total: int


class _Late(Exception):
    """A document takes longer than it may."""


class _Closing(Exception):
    """The service is stopping."""


class Entities:
    """The names in documents. Every method may be called from any thread."""

    def __init__(self, store: Store, models: Models, seconds: float) -> None:
        """A document is read for names within ``seconds``, or tried again later."""
        self._store = store
        self._models = models
        self._seconds = seconds
        self._changed = Condition()
        self._queue: dict[int, float] = {}
        """When each collection is to be read, by the monotonic clock."""
        self._pauses: dict[int, float] = {}
        """Of collections that could not be read since they last changed, how long each has waited the last time."""
        self._late: Counter[tuple[int, int]] = Counter()
        """How often a generation of a document took longer than it may."""
        self._closing = False
        self._follows = False
        self._thread: Thread | None = None

    def start(self, *, tag: bool = True) -> None:
        """With ``tag``, read the documents that have not been read yet in the background, and those imported later."""
        self._follows = tag
        with self._store.read() as session:
            wanted = session.scalars(select(CollectionRow.id).where(CollectionRow.entities == true())).all()
        for id in wanted:
            self._enqueue(id)

    def changed(self, collection_id: int) -> None:
        """A collection's documents have changed."""
        with self._store.read() as session:
            wanted = session.scalar(select(CollectionRow.entities).where(CollectionRow.id == collection_id))
        if wanted:
            self._enqueue(collection_id)

    def close(self) -> None:
        """Stop reading documents; the next start goes on."""
        with self._changed:
            self._closing = True
            self._changed.notify_all()
        if self._thread is not None:
            self._thread.join()

    def coverage(self, collection_id: int) -> EntityCoverage:
        """How many of a collection's documents were read for names."""
        with self._store.read() as session:
            total, tagged, failed = session.execute(
                select(
                    func.count(),
                    func.count(DocumentEntities.document_key),
                    func.count().filter(DocumentEntities.failed == true()),
                )
                .select_from(Document)
                .outerjoin(DocumentEntities, _TAGGED)
                .where(Document.collection_id == collection_id, Document.deleted == false())
            ).one()
        return EntityCoverage(tagged - failed, failed, total)

    def of(self, keys: Sequence[int]) -> dict[int, tuple[int, list[Mention]]]:
        """The generations and names of documents by key; documents that have not been read are left out."""
        found: dict[int, tuple[int, list[Mention]]] = {}
        with self._store.read() as session:
            for start in range(0, len(keys), _CHUNK):
                rows = session.execute(
                    select(DocumentEntities.document_key, DocumentEntities.generation, DocumentEntities.mentions).where(
                        DocumentEntities.document_key.in_(keys[start : start + _CHUNK]),
                        DocumentEntities.failed == false(),
                    )
                )
                found.update((key, (generation, [Mention(*one) for one in own])) for key, generation, own in rows)
        return found

    def holding(self, collection_id: int, names: Collection[str], translations: Collection[str]) -> set[int]:
        """The keys of a collection's documents that hold one of the folded forms of a name, or a translation of it."""
        sounds = {sound for name in names for sound in sounds_of(name)}
        exact = {*names, *translations}
        alike = or_(EntityName.name.in_(exact), EntityName.sound.in_(sounds))
        with self._store.read() as session:
            known = session.scalars(
                select(EntityName.name).where(EntityName.collection_id == collection_id, alike).distinct()
            )
            same = [form for form in known if form in exact or any(sounds_like(form, name) for name in names)]
            found: set[int] = set()
            for start in range(0, len(same), _CHUNK):
                found.update(
                    session.scalars(
                        select(Document.key)
                        .join(DocumentEntities, _TAGGED)
                        .join(EntityName, EntityName.document_key == Document.key)
                        .where(
                            EntityName.collection_id == collection_id,
                            EntityName.name.in_(same[start : start + _CHUNK]),
                            Document.deleted == false(),
                        )
                        .distinct()
                    )
                )
        return found

    def _enqueue(self, collection_id: int) -> None:
        with self._changed:
            if self._closing or not self._follows:
                return
            self._queue[collection_id] = 0.0
            self._pauses.pop(collection_id, None)
            if self._thread is None:
                self._thread = Thread(target=self._work, name="dragoman-entities", daemon=True)
                self._thread.start()
            self._changed.notify_all()

    def _work(self) -> None:
        while (id := self._take()) is not None:
            try:
                self._read(id)
            except _Closing:
                return
            except NotInstalled as fault:  # nothing but a restart changes that
                logger.warning("no documents are read for names until the service starts again: %s", fault)
                with self._changed:
                    self._follows = False
                    self._queue.clear()
                return
            except Exception as fault:
                if isinstance(fault, ServiceError):
                    logger.warning("documents of a collection are not read for names now: %s", fault)
                else:
                    logger.exception("documents could not be read for names")
                self._postpone(id)
            else:
                with self._changed:
                    self._pauses.pop(id, None)

    def _take(self) -> int | None:
        """The next collection to read, once its time has come; None when closing."""
        with self._changed:
            while not self._closing:
                id, due = min(self._queue.items(), key=lambda entry: entry[1], default=(None, None))
                left = None if due is None else due - time.monotonic()
                if id is not None and left is not None and left <= 0:
                    del self._queue[id]
                    return id
                self._changed.wait(left)
        return None

    def _postpone(self, collection_id: int) -> None:
        """Try a collection again later, or at once if it has changed meanwhile; others need not wait for it."""
        with self._changed:
            pause = min(2 * self._pauses.get(collection_id, _RETRY_SECONDS / 2), _MOST_RETRY_SECONDS)
            self._pauses[collection_id] = pause
            self._queue.setdefault(collection_id, time.monotonic() + pause)

    def _read(self, collection_id: int) -> None:
        """Read all documents of a collection that have not been read.

        Raises:
            Unavailable: some took longer than they may; the others are read.
        """
        last = late = 0
        while documents := self._next(collection_id, last):
            last = documents[-1].key
            self._load_tagger()
            read: dict[Untagged, list[Mention] | None] = {}
            for document in documents:
                try:
                    read[document] = self._mentions(document)
                except _Late:
                    late += 1
            self._keep(collection_id, list(read), list(read.values()))
        if late:
            raise Unavailable(f"{late} documents took longer than {self._seconds:g} seconds each")

    def _load_tagger(self) -> None:
        """Load it before the time of a document begins."""
        try:
            self._models.tagger("ner", lambda: self._closing)
        except ClientDisconnected:
            raise _Closing from None

    def _next(self, collection_id: int, last: int) -> list[Untagged]:
        statement = (
            select(Document.key, Document.generation, Document.language, Document.title, Document.text)
            .outerjoin(DocumentEntities, _TAGGED)
            .where(
                Document.collection_id == collection_id,
                Document.deleted == false(),
                Document.key > last,
                DocumentEntities.document_key.is_(None),
            )
            .order_by(Document.key)
            .limit(_DOCUMENTS_AT_ONCE)
        )
        with self._store.read() as session:
            rows = session.execute(statement).all()
        return [
            Untagged(key, made, language, {"title": title or "", "text": text})
            for key, made, language, title, text in rows
        ]

    def _mentions(self, document: Untagged) -> list[Mention] | None:
        """The names in a document, None if the tagger cannot read it.

        Raises:
            TooManyRequests, Unavailable: it cannot be read now.
            _Late: it takes longer than it may, which has not happened often yet.
        """
        started, place = time.monotonic(), (document.key, document.generation)
        try:
            underway = Tagging(self._models.worker, "ner", list(document.fields.values()), background=True)
            gather(underway.futures, self._seconds, lambda: self._closing)
        except ClientDisconnected:
            raise _Closing from None
        except (TooManyRequests, Unavailable) as fault:
            if self._closing:
                raise _Closing from None
            if time.monotonic() - started < self._seconds:
                raise
            self._late[place] += 1
            if self._late[place] < _ATTEMPTS:
                raise _Late from None
            self._unreadable(document, fault)
            return None
        except Exception as fault:
            self._unreadable(document, fault)
            return None
        self._late.pop(place, None)
        return [
            Mention(name, tag.start, tag.end, tag.label, round(tag.score, 4))
            for name, tags in zip(document.fields, underway.results(), strict=True)
            for tag in tags
        ]

    def _unreadable(self, document: Untagged, fault: Exception) -> None:
        self._late.pop((document.key, document.generation), None)
        logger.warning("document with key %s cannot be read for names: %s", document.key, fault)

    def _keep(
        self, collection_id: int, documents: Sequence[Untagged], found: Sequence[Sequence[Mention] | None]
    ) -> None:
        """Store the names of documents that have not changed meanwhile."""
        keys = [one.key for one in documents]
        rows: list[dict[str, Any]] = []
        names: list[dict[str, Any]] = []
        with self._store.write() as session:
            session.execute(select(CollectionRow.id).where(CollectionRow.id == collection_id).with_for_update())
            present = select(Document.key, Document.generation).where(
                Document.key.in_(keys), Document.deleted == false()
            )
            current = {row.key: row.generation for row in session.execute(present)}
            for document, mentions in zip(documents, found, strict=True):
                if current.get(document.key) != document.generation:
                    continue
                own = mentions or ()
                rows.append(
                    {
                        "document_key": document.key,
                        "generation": document.generation,
                        "failed": mentions is None,
                        "mentions": [astuple(one) for one in own],
                    }
                )
                texts = [(document.fields[one.field][one.start : one.end], one.label) for one in own]
                names += [
                    {
                        "document_key": document.key,
                        "position": number,
                        "collection_id": collection_id,
                        "name": form,
                        "sound": sound,
                    }
                    for number, (form, sound) in enumerate(forms(texts, document.language))
                ]
            session.execute(delete(DocumentEntities).where(DocumentEntities.document_key.in_(keys)))
            if rows:
                session.execute(insert(DocumentEntities), rows)
            if names:
                session.execute(insert(EntityName), names)
