"""The collections as searches see them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from dragoman.engine.indexing.stored_text import StoredText


@dataclass(frozen=True, slots=True)
class CollectionInfo:
    """The state of a collection at one moment; ``index_generation`` is -1 before the index is open."""

    key: int
    name: str
    language: str
    description: str | None
    documents: int
    generation: int
    index_state: str
    index_generation: int
    languages: tuple[str, ...]
    entities: bool
    """Whether names are found in its documents."""
    shards: int
    """How many parts the index is to have."""
    index_shards: int
    """How many it has; 0 before it is open."""
    created_at: datetime


class SearchedCollections(Protocol):
    """What searches ask of whoever stores the collections."""

    def chosen(self, names: Sequence[str] | None) -> list[CollectionInfo]:
        """The collections of these names, in their order; all for None.

        Raises:
            NotFound: there is none of a name.
        """

    def by_keys(self, keys: Sequence[int]) -> dict[int, StoredText]:
        """Documents by their keys, each with the beginning of its text; deleted ones are left out."""

    def ids_by_keys(self, keys: Sequence[int]) -> dict[int, str]:
        """The ids of documents by their keys; deleted ones are left out."""

    def languages_by_keys(self, keys: Sequence[int]) -> dict[int, str]:
        """The languages of documents by their keys; deleted ones are left out."""
