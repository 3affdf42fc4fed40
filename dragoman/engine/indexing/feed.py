"""The change feed of collections, from where their documents are stored to their indexes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Protocol, TypeVar

from dragoman.engine.indexing.sources import DocumentSource, SourceDocument, Versions
from dragoman.indexes.attributes.values import encode_attributes
from dragoman.indexes.documents import IndexedDocument

KeyFilter = Callable[[int], bool]


class _Keyed(Protocol):
    @property
    def key(self) -> int: ...


T = TypeVar("T", bound=_Keyed)


class Feed:
    """The changes of collections, of all documents or of those whose keys a filter has."""

    def __init__(self, source: DocumentSource, keys: KeyFilter | None = None) -> None:
        self.source = source
        self._keys = keys

    def select(self, documents: Iterable[T]) -> list[T]:
        """Those of the documents that this feed has."""
        return [document for document in documents if self._keys is None or self._keys(document.key)]

    def replay(
        self,
        collection: int,
        after: int,
        apply: Callable[[Sequence[SourceDocument]], None],
        progress: Callable[[int], None] | None = None,
    ) -> int:
        """Apply all changes after a generation; returns the generation up to which they are applied.

        ``progress`` is called with the number of documents applied so far.

        Raises:
            NotFound: the collection has been deleted.
        """
        generation = self.source.collection(collection).generation
        done = 0
        for documents in self.source.changes(collection, after):
            if selected := self.select(documents):
                apply(selected)
                done += len(selected)
                if progress is not None:
                    progress(done)
        return generation

    def purge(self, collection: int, generation: int) -> None:
        """Forget the documents that were deleted up to ``generation``, unless others follow other keys."""
        if self._keys is None:
            self.source.purge(collection, generation)

    def versions(self, collection: int, after: int) -> Versions:
        """The versions of documents written or deleted after a generation.

        Raises:
            NotFound: the collection has been deleted.
        """
        versions = self.source.versions(collection, after)
        if self._keys is None:
            return versions
        return replace(versions, documents=None, changes=self.select(versions.changes))


def indexed_text(title: str | None, text: str) -> str:
    """The indexed text of a document: its title, if it has one, and its text; no sequence of words goes over both."""
    return f"{title}\n\n{text}" if title else text


def indexed_documents(documents: Sequence[SourceDocument]) -> list[IndexedDocument]:
    """The documents to index, of all changes."""
    return [
        IndexedDocument(
            document.key,
            document.language,
            indexed_text(document.title, document.text),
            encode_attributes(document.id, document.language, document.title, document.metadata),
        )
        for document in documents
        if not document.deleted
    ]
