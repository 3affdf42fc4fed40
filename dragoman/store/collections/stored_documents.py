"""Collections and their documents in the database: their changes, their versions, their texts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from sqlalchemy import Text, and_, bindparam, case, cast, delete, false, func, select, true, tuple_
from sqlalchemy.orm import InstrumentedAttribute, Session

from dragoman.deadline import check
from dragoman.engine.core.errors import NotFound
from dragoman.engine.indexing.sources import (
    CollectionRecord,
    CollectionSource,
    DocumentSource,
    SourceDocument,
    TextSource,
    Version,
    Versions,
)
from dragoman.engine.indexing.stored_text import BEGINNING, METADATA, StoredText
from dragoman.store.database import Store
from dragoman.store.models import Collection, Document
from dragoman.store.recent import Recent

BATCH = 500
BATCH_CHARS = 4_000_000
"""Maximum documents and characters of text in a batch of changes."""

_FETCH_SIZE = 20
_KEYS_AT_ONCE = 1000
_TEXTS_AT_ONCE = 100
_KEPT = 1_000_000
"""Characters of documents that are kept: a document is a hit of many searches."""
_OBJECT = 500
"""Characters for which a document counts whatever it has."""

_RECORD: Any = select(
    Collection.id,
    Collection.uid,
    Collection.name,
    Collection.generation,
    Collection.document_count,
    Collection.late_interaction,
    Collection.entities,
    Collection.shards,
    Collection.encoder,
    Collection.states,
)
DOCUMENT = select(
    Document.key,
    Document.generation,
    Document.language,
    Document.title,
    Document.text,
    Document.deleted,
    Document.id,
    Document.metadata_,
)
"""The columns of a :class:`SourceDocument`."""
_VERSION = select(Document.key, Document.generation, Document.deleted)
_ORDER = (Document.generation, Document.key)
_METADATA_ORDER = (Document.metadata_generation, Document.key)

_METADATA_JSON = cast(Document.metadata_, Text)
_BEGINNINGS: Any = select(
    Document.key,
    Document.id,
    Document.language,
    Document.title,
    Document.generation,
    func.substr(Document.text, 1, BEGINNING + 1),
    case((func.length(_METADATA_JSON) <= METADATA, _METADATA_JSON)),
    func.length(_METADATA_JSON),
).where(Document.key.in_(bindparam("keys", expanding=True)), Document.deleted == false())


class StoredCollections(CollectionSource):
    """The collections of a database."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def collections(self) -> list[CollectionRecord]:
        with self._store.read() as session:
            return [CollectionRecord(*row) for row in session.execute(_RECORD)]

    def collection(self, collection: int) -> CollectionRecord:
        with self._store.read() as session:
            return _record(session, collection)


class StoredDocuments(StoredCollections, DocumentSource, TextSource):
    """The documents of a database."""

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self._texts: Recent[int, StoredText] = Recent(
            store.commits,
            _KEPT,
            lambda text: _OBJECT + len(text.id) + len(text.title or "") + len(text.text) + len(text.metadata),
        )

    def changes(self, collection: int, after: int) -> Iterator[Sequence[SourceDocument]]:
        """Documents written or deleted after a generation, in batches of :data:`BATCH` or :data:`BATCH_CHARS`."""
        yield from self._batches(_after(DOCUMENT, collection, after), _ORDER, after)
        if after >= 0:
            same = DOCUMENT.where(
                Document.collection_id == collection,
                Document.generation <= after,
                Document.metadata_generation.is_not(None),  # or SQLite reads all documents, and not the index of these
            )
            yield from self._batches(same, _METADATA_ORDER, after)

    def _batches(self, statement: Any, order: tuple[Any, Any], after: int) -> Iterator[Sequence[SourceDocument]]:
        last = (after, 2**62)
        statement = statement.add_columns(order[0].label("changed")).order_by(*order).limit(BATCH)
        while True:
            documents: list[SourceDocument] = []
            size = 0
            with self._store.read() as session:
                rows = statement.where(tuple_(*order) > last).execution_options(yield_per=_FETCH_SIZE)
                for row in session.execute(rows):
                    documents.append(SourceDocument(*row[:-1]))
                    last = (row.changed, row.key)
                    size += len(row.text)
                    if size >= BATCH_CHARS:
                        break
            if not documents:
                return
            yield documents

    def versions(self, collection: int, after: int) -> Versions:
        with self._store.read() as session:
            record = _record(session, collection)
            statement = _after(_VERSION, collection, after).where(Document.generation > after).order_by(*_ORDER)
            rows = session.execute(statement) if record.generation != after else ()
            return Versions(record.generation, record.documents, [Version(*row) for row in rows])

    def documents(self, keys: Sequence[int]) -> list[SourceDocument]:
        with self._store.read() as session:
            rows = session.execute(DOCUMENT.where(Document.key.in_(keys)).order_by(Document.key))
            return [SourceDocument(*row) for row in rows]

    def generations(self, keys: Sequence[int]) -> dict[int, int]:
        generations: dict[int, int] = {}
        with self._store.read() as session:
            for start in range(0, len(keys), _KEYS_AT_ONCE):
                chosen = Document.key.in_(keys[start : start + _KEYS_AT_ONCE])
                rows = session.execute(_VERSION.where(chosen, Document.deleted == false()))
                generations.update((row.key, row.generation) for row in rows)
        return generations

    def purge(self, collection: int, generation: int) -> None:
        with self._store.write() as session:
            session.execute(
                delete(Document).where(
                    Document.collection_id == collection,
                    Document.deleted == true(),
                    Document.generation <= generation,
                )
            )

    def texts(self, keys: Sequence[int]) -> dict[int, StoredText]:
        """Documents by their keys, each with the beginning of its text; deleted ones are left out."""
        return self._texts.get(keys, self._read_texts)

    def ids(self, keys: Sequence[int]) -> dict[int, str]:
        """The ids of documents by their keys; deleted ones are left out."""
        return self._read_column(Document.id, keys)

    def languages(self, keys: Sequence[int]) -> dict[int, str]:
        """The languages of documents by their keys; deleted ones are left out."""
        return self._read_column(Document.language, keys)

    def _read_column(self, column: InstrumentedAttribute[str], keys: Sequence[int]) -> dict[int, str]:
        texts: dict[int, str] = {}
        with self._store.read() as session:
            for start in range(0, len(keys), _KEYS_AT_ONCE):
                chosen = and_(Document.key.in_(keys[start : start + _KEYS_AT_ONCE]), Document.deleted == false())
                texts.update((key, text) for key, text in session.execute(select(Document.key, column).where(chosen)))
        return texts

    def _read_texts(self, keys: Sequence[int]) -> dict[int, StoredText]:
        texts: dict[int, StoredText] = {}
        for start in range(0, len(keys), _TEXTS_AT_ONCE):
            check()
            rows = self._store.rows(_BEGINNINGS, {"keys": keys[start : start + _TEXTS_AT_ONCE]})
            for key, id, language, title, generation, text, metadata, chars in rows:
                complete = len(text) <= BEGINNING
                stored = key, id, language, title, generation, text[:BEGINNING], complete, self
                texts[key] = StoredText(*stored, metadata or "", chars or 0)
        return texts

    def text_length(self, key: int, generation: int) -> int:
        return self._of_text(func.length(Document.text), key, generation) or 0

    def text_part(self, key: int, generation: int, start: int, end: int) -> str:
        return self._of_text(func.substr(Document.text, start + 1, end - start), key, generation) or ""

    def _of_text(self, column: Any, key: int, generation: int) -> Any:
        statement = select(column).where(
            Document.key == key, Document.generation == generation, Document.deleted == false()
        )
        with self._store.read() as session:
            return session.scalar(statement)


def _record(session: Session, collection: int) -> CollectionRecord:
    row = session.execute(_RECORD.where(Collection.id == collection)).one_or_none()
    if row is None:
        raise NotFound("the collection has been deleted")
    return CollectionRecord(*row)


def _after(statement: Any, collection: int, after: int) -> Any:
    """Limit a statement to a collection; an empty index, which is at -1, has nothing to remove."""
    statement = statement.where(Document.collection_id == collection)
    return statement.where(Document.deleted == false()) if after < 0 else statement
