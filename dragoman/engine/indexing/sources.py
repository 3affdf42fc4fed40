"""What the indexes of collections ask of whoever stores the documents; :mod:`.sql` answers from the database."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from dragoman.engine.indexing.entity_names import Mention
from dragoman.indexes.dense.index import Embedded


@dataclass(frozen=True, slots=True)
class CollectionRecord:
    """A collection as it is stored: its number of ``documents``, the ``generation`` of its last change, its flags."""

    id: int
    uid: str
    name: str
    generation: int
    documents: int
    late_interaction: bool | None
    """Whether states of subwords are kept; None: up to the size that the settings have."""
    entities: bool
    """Whether names are found in its documents."""
    shards: int = 1
    """How many parts the index is to have."""
    encoder: str | None = None
    """The identity of the encoder that made its embeddings; None: it has none."""
    states: bool = True
    """Whether its embeddings have the states of subwords."""


@dataclass(frozen=True, slots=True)
class SourceDocument:
    """A document as it is stored; one that is ``deleted`` has no text."""

    key: int
    generation: int
    language: str
    title: str | None
    text: str
    deleted: bool = False
    id: str = ""
    metadata: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Version:
    """The generation in which a document was last written or deleted."""

    key: int
    generation: int
    deleted: bool = False


@dataclass(frozen=True, slots=True)
class Versions:
    """Versions of documents, of one consistent state of their collection."""

    generation: int
    documents: int | None
    """How many documents the collection has; None where the versions are of some keys only."""
    changes: Sequence[Version]


@dataclass(frozen=True, slots=True)
class Unindexed:
    """A document that could not be indexed, and why."""

    key: int
    generation: int
    id: str
    reason: str
    at: datetime
    """When it was last tried."""


@dataclass(frozen=True, slots=True)
class EntityCoverage:
    """How many documents were read for names, how many could not be, and how many there are."""

    tagged: int
    failed: int
    total: int


class CollectionSource(Protocol):
    """The collections."""

    def collections(self) -> list[CollectionRecord]:
        """All of them."""

    def collection(self, collection: int) -> CollectionRecord:
        """A collection by its id.

        Raises:
            NotFound: it has been deleted.
        """


class DocumentSource(CollectionSource, Protocol):
    """The documents of collections, which indexes follow."""

    def changes(self, collection: int, after: int) -> Iterator[Sequence[SourceDocument]]:
        """Documents written or deleted after a generation, in batches: those whose metadata alone changed come last.

        From the beginning (-1) deleted ones are left out, because an empty index has nothing to remove.
        """

    def versions(self, collection: int, after: int) -> Versions:
        """As :meth:`changes`, without texts and at once.

        Raises:
            NotFound: the collection has been deleted.
        """

    def documents(self, keys: Sequence[int]) -> list[SourceDocument]:
        """Documents by key, as they are now, in the order of their keys."""

    def generations(self, keys: Sequence[int]) -> dict[int, int]:
        """The generations of documents by key; deleted ones are left out."""

    def purge(self, collection: int, generation: int) -> None:
        """Forget the documents that were deleted up to ``generation``: no index has them any more."""


class UnindexedList(Protocol):
    """The documents of one collection that could not be indexed."""

    def put(self, reasons: Mapping[int, str], indexed: Sequence[int] = ()) -> None:
        """Add documents by key, each with its reason, and take out those that are ``indexed`` now."""

    def count(self) -> int:
        """How many there are."""

    def all(self, limit: int) -> list[Unindexed]:
        """At most ``limit`` of them, by key."""

    def tried_before(self, time: datetime) -> Iterator[Unindexed]:
        """Those last tried before ``time``, the longest ago first; whoever takes one tries it."""

    def holds(self, entry: Unindexed) -> bool:
        """Whether it is still in the list: neither deleted, changed nor indexed meanwhile."""


class IndexSource(DocumentSource, Protocol):
    """Documents, and the list of those that could not be indexed."""

    def unindexed_list(self, collection: int) -> UnindexedList:
        """The documents of a collection that could not be indexed."""


class EmbeddingSource(DocumentSource, Protocol):
    """Documents, and their embeddings, which are made once: by whoever follows the documents' keys."""

    def begin_embeddings(self, collection: int, encoder: str) -> None:
        """From now on a collection has the embeddings of this encoder, with states; others go.

        Raises:
            NotFound: the collection has been deleted.
        """

    def rename_encoder(self, collection: int, encoder: str) -> None:
        """Note that what made a collection's embeddings has another identity now."""

    def drop_states(self, collection: int) -> None:
        """A collection's embeddings are without the states of subwords from now on."""

    def drop_embeddings(self, collection: int) -> None:
        """A collection has no embeddings any more."""

    def put_embeddings(self, collection: int, encoder: str, embedded: Sequence[Embedded]) -> set[int]:
        """Store embeddings; returns the keys of those whose documents have not changed meanwhile.

        Raises:
            NotFound: the collection has been deleted.
            Unavailable: its embeddings are those of another encoder by now.
        """

    def embeddings(
        self, collection: int, width: int, state_size: int, keys: Sequence[int] | None = None
    ) -> Iterator[list[Embedded]]:
        """The stored embeddings of unchanged documents, in batches; those made meanwhile may be left out.

        With ``keys`` only those of these documents.

        States have ``state_size`` bytes each; with 0 they are left out. Embeddings that lack states then, or are
        damaged, are left out.
        """

    def embedded_documents(self, collection: int) -> tuple[int, bool]:
        """How many documents have an embedding as they are now, and whether any embedding has states."""


class EntitySource(CollectionSource, Protocol):
    """The names in documents."""

    def untagged_documents(self, collection: int, last: int, limit: int) -> list[SourceDocument]:
        """Documents of keys after ``last`` that have not been read for names as they are now, by key."""

    def put_mentions(
        self, collection: int, documents: Sequence[SourceDocument], mentions: Sequence[Sequence[Mention] | None]
    ) -> None:
        """Store the names of documents, None for one that cannot be read, where it has not changed meanwhile."""

    def entity_coverage(self, collection: int) -> EntityCoverage:
        """How many of a collection's documents were read for names."""

    def mentions(self, keys: Sequence[int]) -> dict[int, tuple[int, list[Mention]]]:
        """The generations and names of documents by key; documents that have not been read are left out."""

    def holding(self, collection: int, names: Collection[str], translations: Collection[str]) -> set[int]:
        """The keys of a collection's documents that hold one of the folded forms of a name, or a translation of it."""

    def with_names(self, collection: int) -> set[int]:
        """The keys of a collection's documents that hold any name."""


class TextSource(Protocol):
    """Parts of long texts, of one generation of a document."""

    def text_length(self, key: int, generation: int) -> int:
        """How long the text is, in code points; 0 if the document has changed."""

    def text_part(self, key: int, generation: int, start: int, end: int) -> str:
        """The text from ``start`` to ``end``, in code points; empty if the document has changed."""
