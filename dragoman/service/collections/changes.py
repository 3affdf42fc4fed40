"""The change feed from the database to the indexes: the changes of a collection after a generation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sqlalchemy import delete, false, select, true, tuple_

from dragoman.engine.core.errors import NotFound
from dragoman.indexes.documents import IndexedDocument
from dragoman.store.database import Store
from dragoman.store.models import Collection, Document

BATCH = 500
BATCH_CHARS = 4_000_000
"""Maximum documents and characters of text in a batch."""

_FETCH_SIZE = 20


@dataclass(frozen=True, slots=True)
class Change:
    """A document to index, or to remove from the index if ``text`` is None."""

    key: int
    language: str
    text: str | None


def indexed_text(title: str | None, text: str) -> str:
    """The indexed text of a document: its title, if it has one, and its text; no sequence of words goes over both."""
    return f"{title}\n\n{text}" if title else text


def database_generation(store: Store, collection_id: int) -> int:
    """The current generation of a collection.

    Raises:
        NotFound: the collection has been deleted.
    """
    with store.read() as session:
        generation = session.scalar(select(Collection.generation).where(Collection.id == collection_id))
    if generation is None:
        raise NotFound("the collection has been deleted")
    return generation


def changes_after(store: Store, collection_id: int, generation: int) -> Iterator[Sequence[Change]]:
    """Documents written or deleted after ``generation``, in chronological order, in batches.

    From the beginning (-1) tombstones are left out, because an empty index has nothing to remove.
    """
    last = (generation, 2**62)
    place = tuple_(Document.generation, Document.key)
    statement = select(Document).where(Document.collection_id == collection_id).order_by(*place.clauses).limit(BATCH)
    if generation < 0:
        statement = statement.where(Document.deleted == false())
    while True:
        changes: list[Change] = []
        size = 0
        with store.read() as session:
            rows = statement.where(place > last).execution_options(yield_per=_FETCH_SIZE)
            for row in session.scalars(rows):
                last = (row.generation, row.key)
                changes.append(_change(row))
                size += len(row.text)
                if size >= BATCH_CHARS:
                    break
        if not changes:
            return
        yield changes


def changes_of(store: Store, keys: Sequence[int]) -> list[Change]:
    """Documents by key, as they are now."""
    with store.read() as session:
        rows = session.scalars(select(Document).where(Document.key.in_(keys)).order_by(Document.key))
        return [_change(row) for row in rows]


def indexed_documents(changes: Sequence[Change]) -> list[IndexedDocument]:
    """The documents to index, of all changes."""
    return [IndexedDocument(change.key, change.language, change.text) for change in changes if change.text is not None]


def purge_tombstones(store: Store, collection_id: int, generation: int) -> None:
    """Remove the rows of documents deleted up to ``generation``."""
    with store.write() as session:
        session.execute(
            delete(Document).where(
                Document.collection_id == collection_id,
                Document.deleted == true(),
                Document.generation <= generation,
            )
        )


def _change(row: Document) -> Change:
    text = None if row.deleted else indexed_text(row.title, row.text)
    return Change(row.key, row.language, text)
