"""Documents that cannot be indexed: told from the others of their batch, kept in a list, tried again on request."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, and_, delete, false, func, insert, select

from dragoman.deadline import DeadlinePassed, WorkCancelled, deadline, remaining
from dragoman.engine.core.errors import classify
from dragoman.indexes.documents import IndexedDocument, IndexRow, analyse_documents, batches
from dragoman.indexes.errors import TooManyWords
from dragoman.indexes.java.jvm import JavaError, JvmUnavailable
from dragoman.lexicon.text.tokens import Analysis
from dragoman.store.database import Store
from dragoman.store.models import Document, UnindexedDocument, now

logger = logging.getLogger("dragoman")

_REASON_CHARS = 500
_KEYS_AT_ONCE = 500
_OUT_OF_MEMORY = "java.lang.OutOfMemoryError"
_SYSTEM = (MemoryError, JvmUnavailable, WorkCancelled)
"""Faults that are not the document's."""


@dataclass(frozen=True, slots=True)
class Unindexed:
    """A document that could not be indexed, and why."""

    key: int
    generation: int
    id: str
    reason: str
    at: datetime
    """When it was last tried."""


def isolated(
    documents: Sequence[IndexedDocument],
    analysis: Callable[[str], Analysis],
    seconds: float,
    cancelled: Callable[[], bool],
) -> tuple[list[IndexRow], dict[int, str]]:
    """The analysed documents, and for each that cannot be analysed within ``seconds`` its key and the reason.

    Documents are analysed together; a batch that fails is halved until the one document is found.

    Raises:
        WorkCancelled: ``cancelled`` says so.
    """
    rows: list[IndexRow] = []
    faults: dict[int, str] = {}
    pending = list(batches(documents))[::-1]
    while pending:
        batch = pending.pop()
        try:
            with deadline(seconds, cancelled):
                analyses = {language: analysis(language) for language in {document.language for document in batch}}
                rows.extend(analyse_documents(batch, analyses))
        except _SYSTEM:
            raise
        except Exception as fault:
            if isinstance(fault, DeadlinePassed) and not remaining(1.0):
                raise  # it is the whole work that took too long
            if len(batch) > 1:
                middle = len(batch) // 2
                pending += [batch[middle:], batch[:middle]]
                continue
            faults[batch[0].key] = reason_of(fault, seconds)
    return rows, faults


def written(write: Callable[[Sequence[IndexRow]], None], rows: Sequence[IndexRow]) -> dict[int, str]:
    """Write documents to an index; returns the reason for each that it refuses, by key."""
    try:
        write(rows)
    except JavaError as fault:
        if classify(fault) is not None or fault.classname == _OUT_OF_MEMORY:
            raise  # a full disk, too many open files, no memory: not the document's fault, whose words are bounded
        if len(rows) == 1:
            logger.error("a document cannot be written to its index", exc_info=fault)
            return {rows[0].key: f"the index refuses it ({fault.classname})"[:_REASON_CHARS]}
        middle = len(rows) // 2
        return {**written(write, rows[:middle]), **written(write, rows[middle:])}
    return {}


def reason_of(fault: Exception, seconds: float) -> str:
    """Why a document cannot be indexed, in words for its owner."""
    if isinstance(fault, DeadlinePassed):
        return f"its analysis takes longer than {seconds:g} seconds"
    if isinstance(fault, TooManyWords):
        return str(fault)
    logger.error("a document cannot be analysed", exc_info=fault)
    return f"its text cannot be analysed ({type(fault).__name__})"[:_REASON_CHARS]


class UnindexedList:
    """The documents of one collection that could not be indexed."""

    def __init__(self, store: Store, collection_id: int) -> None:
        self._store = store
        self._collection_id = collection_id

    def put(self, reasons: Mapping[int, str], indexed: Sequence[int] = ()) -> None:
        """Add documents by key, each with its reason, and take out those that are ``indexed`` now."""
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
        """How many there are."""
        return counts(self._store, self._collection_id).get(self._collection_id, 0)

    def all(self, limit: int) -> list[Unindexed]:
        """At most ``limit`` of them, by key."""
        return self._selected(limit, Document.key)

    def tried_before(self, time: datetime) -> Iterator[Unindexed]:
        """Those last tried before ``time``, the longest ago first; whoever takes one tries it."""
        while entries := self._selected(_KEYS_AT_ONCE, UnindexedDocument.at, UnindexedDocument.at < time):
            yield from entries

    def holds(self, entry: Unindexed) -> bool:
        """Whether it is still in the list: neither deleted, changed nor indexed meanwhile."""
        current = self._selected(1, Document.key, Document.key == entry.key)
        return [document.generation for document in current] == [entry.generation]

    def _selected(self, limit: int, order: Any, *where: ColumnElement[bool]) -> list[Unindexed]:
        statement = (
            select(Document.key, Document.generation, Document.id, UnindexedDocument.reason, UnindexedDocument.at)
            .join(UnindexedDocument, _CURRENT)
            .where(UnindexedDocument.collection_id == self._collection_id, *where)
            .order_by(order, Document.key)
            .limit(limit)
        )
        with self._store.read() as session:
            return [Unindexed(*row) for row in session.execute(statement)]


_CURRENT: ColumnElement[bool] = and_(
    UnindexedDocument.document_key == Document.key,
    UnindexedDocument.generation == Document.generation,
    Document.deleted == false(),
)
"""Joins a document with its entry, if that is of its present generation."""


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
