"""The documents of a collection, page by page and as an export, in the order in which they were first stored."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Text, cast, func, null, select

from dragoman.deadline import check
from dragoman.engine.core.errors import InvalidRequest, NotFound
from dragoman.store.database import Store
from dragoman.store.documents.info import DocumentInfo, document_line, last_change
from dragoman.store.models import Collection, Document

_EXPORTED = 100
"""Documents that an export reads at a time."""

PAGE_CHARS = 4_000_000
"""A page ends before its limit where texts and metadata of its documents have so many characters."""

_COLUMNS = (
    Document.key,
    Document.id,
    Document.language,
    Document.title,
    Document.metadata_.label("metadata"),
    Document.generation,
    Document.metadata_generation,
    func.length(cast(Document.metadata_, Text)).label("metadata_chars"),
)


@dataclass(frozen=True, slots=True)
class DocumentPage:
    """Some documents of a collection, where the next ones begin (None: there are none), and how many there are."""

    documents: list[DocumentInfo]
    next: str | None
    total: int


class DocumentList:
    """The documents of one collection.

    What is changed meanwhile is given as it was or as it is; no document is left out or given twice.
    """

    def __init__(self, store: Store, collection: Collection) -> None:
        self._store = store
        self._collection = collection

    def page(self, limit: int, cursor: str | None = None, *, texts: bool = True) -> DocumentPage:
        """At most ``limit`` documents after a cursor; without ``texts``, theirs are empty.

        Raises:
            InvalidRequest: the cursor is not one of this collection.
        """
        last = 0 if cursor is None else self._position(cursor)
        documents: list[DocumentInfo] = []
        size = 0
        more = False
        with self._store.read() as session:
            total = session.scalar(select(Collection.document_count).where(Collection.id == self._collection.id))
            for row in session.execute(self._after(last, texts).limit(limit + 1).execution_options(yield_per=20)):
                check()
                more = len(documents) == limit or size >= PAGE_CHARS
                if more:
                    break
                documents.append(_info(self._collection.name, row))
                size += len(documents[-1].text) + (row.metadata_chars or 0)
        return DocumentPage(documents, self._cursor(documents[-1].key) if more else None, total or 0)

    def lines(self) -> Iterator[bytes]:
        """All documents as lines that an import takes.

        Raises:
            NotFound: the collection has been deleted meanwhile, so that these are not all.
        """
        last = 0
        while True:
            with self._store.read() as session:
                rows = session.execute(self._after(last).limit(_EXPORTED)).all()
                if not rows and session.get(Collection, self._collection.id) is None:
                    raise NotFound("the collection has been deleted meanwhile")
            if not rows:
                return
            for row in rows:
                yield document_line(_info(self._collection.name, row))
            last = rows[-1].key

    def _after(self, key: int, texts: bool = True) -> Any:
        text = Document.text if texts else null().label("text")
        return (
            select(*_COLUMNS, text)
            .where(Document.collection_id == self._collection.id, Document.key > key, Document.deleted.is_(False))
            .order_by(Document.key)
        )

    def _cursor(self, key: int) -> str:
        return base64.urlsafe_b64encode(f"{self._collection.uid[:8]}.{key}".encode()).decode().rstrip("=")

    def _position(self, cursor: str) -> int:
        try:
            text = base64.b64decode(cursor + "=" * (-len(cursor) % 4), b"-_", validate=True).decode("ascii")
        except (ValueError, binascii.Error):
            text = ""
        collection, _, key = text.partition(".")
        if collection != self._collection.uid[:8] or not key.isdecimal() or len(key) > 18:
            raise InvalidRequest("cursor: is none that a list of this collection gave")
        return int(key)


def _info(collection: str, row: Any) -> DocumentInfo:
    return DocumentInfo(
        row.key,
        collection,
        row.id,
        row.language,
        row.title,
        row.text or "",
        row.metadata,
        last_change(row.generation, row.metadata_generation),
    )
