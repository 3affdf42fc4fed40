"""The list of documents that could not be indexed, in the database."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, and_, delete, false, func, insert, select

from dragoman.deadline import DeadlinePassed, check
from dragoman.engine.indexing.lucene.collection_index import CollectionIndex
from dragoman.engine.indexing.sources import Unindexed, UnindexedList
from dragoman.store.database import Store
from dragoman.store.models import Document, UnindexedDocument, now

_KEYS_AT_ONCE = 500

_CURRENT: ColumnElement[bool] = and_(
    UnindexedDocument.document_key == Document.key,
    UnindexedDocument.generation == Document.generation,
    Document.deleted == false(),
)
"""Joins a document with its entry, if that is of its present generation."""


class UnindexedDocuments(UnindexedList):
    """Those of one collection."""

    def __init__(self, store: Store, collection_id: int) -> None:
        self._store = store
        self._collection_id = collection_id

    def put(self, reasons: Mapping[int, str], indexed: Sequence[int] = ()) -> None:
        gone = [*reasons, *(indexed if indexed and self.count() else ())]
        if not gone:
            return
        with self._store.write() as session:
            for start in range(0, len(gone), _KEYS_AT_ONCE):
                keys = gone[start : start + _KEYS_AT_ONCE]
                session.execute(delete(UnindexedDocument).where(UnindexedDocument.document_key.in_(keys)))
            for key, reason in reasons.items():
                generation = session.scalar(select(Document.generation).where(Document.key == key))
                if generation is not None:
                    row = {"document_key": key, "collection_id": self._collection_id, "generation": generation}
                    session.execute(insert(UnindexedDocument), [{**row, "reason": reason, "at": now()}])

    def count(self) -> int:
        return counts(self._store, self._collection_id).get(self._collection_id, 0)

    def all(self, limit: int) -> list[Unindexed]:
        return self._select(limit, Document.key)

    def tried_before(self, time: datetime) -> Iterator[Unindexed]:
        while entries := self._select(_KEYS_AT_ONCE, UnindexedDocument.at, UnindexedDocument.at < time):
            yield from entries

    def holds(self, entry: Unindexed) -> bool:
        current = self._select(1, Document.key, Document.key == entry.key)
        return [document.generation for document in current] == [entry.generation]

    def _select(self, limit: int, order: Any, *where: ColumnElement[bool]) -> list[Unindexed]:
        statement = (
            select(Document.key, Document.generation, Document.id, UnindexedDocument.reason, UnindexedDocument.at)
            .join(UnindexedDocument, _CURRENT)
            .where(UnindexedDocument.collection_id == self._collection_id, *where)
            .order_by(order, Document.key)
            .limit(limit)
        )
        with self._store.read() as session:
            return [Unindexed(*row) for row in session.execute(statement)]


def counts(store: Store, collection_id: int | None = None) -> dict[int, int]:
    """The number of documents that could not be indexed, by collection; collections without any are left out."""
    statement = (
        select(UnindexedDocument.collection_id, func.count())
        .join(Document, _CURRENT)
        .group_by(UnindexedDocument.collection_id)
    )
    if collection_id is not None:
        statement = statement.where(UnindexedDocument.collection_id == collection_id)
    with store.read() as session:
        return {row[0]: row[1] for row in session.execute(statement)}


def retry_all(index: CollectionIndex) -> tuple[int, int]:
    """Try the documents of a collection again that could not be indexed, those first whose last try is the longest ago.

    Returns how many are indexed now, and how many still are not; a deadline that passes leaves out the last.

    Raises:
        Unavailable: the index is being built or is broken.
    """
    done = 0
    try:
        for entry in index.unindexed.tried_before(now()):
            check()
            done += index.retry(entry)
    except DeadlinePassed:
        pass
    finally:
        if done:
            index.publish()
    return done, index.unindexed.count()
