"""The documents of a collection, page by page and as an export, in the order in which they were first stored."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Text, cast, func, null, select
from sqlalchemy.orm import Session

from dragoman.deadline import check
from dragoman.engine.core.errors import InvalidRequest, NotFound
from dragoman.store.database import Store
from dragoman.store.documents.info import DocumentInfo, document_line, last_change
from dragoman.store.models import Collection, Document

_EXPORTED = 100
"""Documents that an export reads at a time."""
_FETCHED = 20
_KEYS_AT_ONCE = 1000

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

    def __init__(
        self, store: Store, collection: Collection, keys: NDArray[np.int64] | None = None, filter: str = ""
    ) -> None:
        """``keys``, in ascending order, are those of the documents that it has; None: all of the collection.

        Cursors are good for lists of the same ``filter`` alone.
        """
        self._store = store
        self._collection = collection
        self._keys = keys
        self._mark = f"{collection.uid[:8]}.{crc32(filter.encode(errors='surrogatepass')):x}"

    def page(self, limit: int, cursor: str | None = None, *, texts: bool = True) -> DocumentPage:
        """At most ``limit`` documents after a cursor; without ``texts``, theirs are empty.

        Raises:
            InvalidRequest: the cursor is not one of this collection and this filter.
        """
        last = 0 if cursor is None else self._position(cursor)
        documents: list[DocumentInfo] = []
        size = 0
        more = False
        with self._store.read() as session:
            total = self._total(session)
            for row in self._rows(session, last, limit + 1, texts):
                check()
                more = len(documents) == limit or size >= PAGE_CHARS
                if more:
                    break
                documents.append(_info(self._collection.name, row))
                size += len(documents[-1].text) + (row.metadata_chars or 0)
        return DocumentPage(documents, self._cursor(documents[-1].key) if more else None, total)

    def lines(self) -> Iterator[bytes]:
        """All documents as lines that an import takes.

        Raises:
            NotFound: the collection has been deleted meanwhile, so that these are not all.
        """
        last = 0
        while True:
            with self._store.read() as session:
                rows = list(islice(self._rows(session, last, _EXPORTED), _EXPORTED))
                if not rows and session.get(Collection, self._collection.id) is None:
                    raise NotFound("the collection has been deleted meanwhile")
            if not rows:
                return
            for row in rows:
                yield document_line(_info(self._collection.name, row))
            last = rows[-1].key

    def _total(self, session: Session) -> int:
        if self._keys is not None:
            return len(self._keys)
        counted = select(Collection.document_count).where(Collection.id == self._collection.id)
        return session.scalar(counted) or 0

    def _rows(self, session: Session, after: int, most: int, texts: bool = True) -> Iterator[Any]:
        """The documents after a key: at least ``most`` of them, if there are so many."""
        text = Document.text if texts else null().label("text")
        present = (Document.collection_id == self._collection.id, Document.deleted.is_(False))
        statement = select(*_COLUMNS, text).where(*present).order_by(Document.key)
        statement = statement.execution_options(yield_per=_FETCHED)
        if self._keys is None:
            yield from session.execute(statement.where(Document.key > after).limit(most))
            return
        keys = self._keys[np.searchsorted(self._keys, after, side="right") :]
        at_once = min(max(most, _FETCHED), _KEYS_AT_ONCE)
        for start in range(0, len(keys), at_once):
            check()
            chosen = Document.key.in_(keys[start : start + at_once].tolist())
            yield from session.execute(statement.where(chosen))

    def _cursor(self, key: int) -> str:
        return base64.urlsafe_b64encode(f"{self._mark}.{key}".encode()).decode().rstrip("=")

    def _position(self, cursor: str) -> int:
        try:
            text = base64.b64decode(cursor + "=" * (-len(cursor) % 4), b"-_", validate=True).decode("ascii")
        except (ValueError, binascii.Error):
            text = ""
        mark, _, key = text.rpartition(".")
        if mark != self._mark or not key.isdecimal() or len(key) > 18:
            raise InvalidRequest("cursor: is none that a list of this collection with this filter gave")
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
