"""A change of some fields of one document."""

from __future__ import annotations

from sqlalchemy.orm import Session
from sqlalchemy.orm.attributes import flag_modified

from dragoman.deadline import check
from dragoman.engine.core.errors import InvalidRequest, NotFound
from dragoman.engine.indexing.feed import indexed_text
from dragoman.engine.indexing.lucene.collection_index import CollectionIndex
from dragoman.indexes.attributes.values import encode_attributes
from dragoman.indexes.documents import IndexedDocument, IndexRow
from dragoman.lexicon.text.beginnings import title_key
from dragoman.store.database import Store
from dragoman.store.documents.info import (
    DocumentInfo,
    Generations,
    check_generation,
    document_info,
    document_line,
    find_document,
)
from dragoman.store.documents.patch import DocumentPatch
from dragoman.store.models import Collection, Document


class _Changed(Exception):
    """The document was changed by another request after it had been read."""


class DocumentChange:
    """Changes one document of one collection."""

    def __init__(self, store: Store, index: CollectionIndex, collection: Collection, line_bytes: int) -> None:
        """A document takes at most ``line_bytes`` as a line of an import."""
        self._store = store
        self._index = index
        self._collection = collection
        self._line_bytes = line_bytes

    def run(self, id: str, patch: DocumentPatch, expected: Generations = None) -> tuple[DocumentInfo, bool]:
        """The changed document, and whether more than its metadata was changed; what is as it was is not written.

        A change of metadata alone leaves embeddings as they are, and the index follows it.

        Raises:
            NotFound: there is no such document.
            PreconditionFailed: it is of none of the expected generations.
            InvalidRequest, TooLarge: it may not be what the patch makes of it.
            Unavailable: its text is changed, and the index is being built or broken.
        """
        while True:
            check()
            with self._store.read() as session:
                row = find_document(session, self._collection.id, self._collection.name, id)
                present = self._info(row)
            check_generation(expected, present.generation, "document")
            changed = patch.apply(present, self._line_bytes)
            if document_line(changed) == document_line(present):  # not by ==, for which 1 is true
                return present, False
            rewritten = _content(changed) != _content(present)
            try:
                if rewritten:
                    return self._rewrite(present, changed), True
                with self._store.write() as session:
                    row, generation = self._take(session, present)
                    _set_metadata(row, changed)
                    row.metadata_generation = generation
                    return self._info(row), False
            except _Changed:
                continue

    def _info(self, row: Document) -> DocumentInfo:
        return document_info(row, self._collection.name)

    def _rewrite(self, present: DocumentInfo, changed: DocumentInfo) -> DocumentInfo:
        analysed = self._analyse(changed)
        with self._index.writing():
            with self._store.write() as session:
                row, generation = self._take(session, present)
                row.title, row.text, row.language = changed.title, changed.text, changed.language
                row.title_key = title_key(changed.title, changed.language)
                row.generation = generation
                _set_metadata(row, changed)
                changed = self._info(row)
            self._index.apply([analysed], generation)
            self._index.refresh()
        return changed

    def _analyse(self, document: DocumentInfo) -> IndexRow:
        text = indexed_text(document.title, document.text)
        attributes = encode_attributes(document.id, document.language, document.title, document.metadata)
        rows, faults = self._index.analyse([IndexedDocument(document.key, document.language, text, attributes)])
        if faults:
            raise InvalidRequest(f"text: {faults[document.key]}")
        return rows[0]

    def _take(self, session: Session, present: DocumentInfo) -> tuple[Document, int]:
        """The row of a document, and the generation that its change makes.

        Raises:
            _Changed: it is not as it was read.
            NotFound: the collection was deleted meanwhile.
        """
        collection = session.get(Collection, self._collection.id, with_for_update=True)
        if collection is None:
            raise NotFound("the collection has been deleted meanwhile")
        row = session.get(Document, present.key)
        if row is None or row.deleted or self._info(row).generation != present.generation:
            raise _Changed
        collection.generation += 1
        return row, collection.generation


def _set_metadata(row: Document, changed: DocumentInfo) -> None:
    row.metadata_ = changed.metadata
    flag_modified(row, "metadata_")  # SQLAlchemy leaves out what is equal, as true is to 1


def _content(document: DocumentInfo) -> tuple[str, str | None, str]:
    """What indexes and embeddings are made from."""
    return document.language, document.title, document.text
