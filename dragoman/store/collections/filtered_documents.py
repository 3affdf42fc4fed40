"""The documents of a collection that a filter leaves: listed, counted, or deleted all at once."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from dragoman.engine.core.errors import classify
from dragoman.engine.indexing.collections import CollectionInfo
from dragoman.engine.indexing.filtering import FilterFields, program_of, read_filter, select_keys
from dragoman.engine.indexing.lucene.collection_index import CollectionIndex
from dragoman.engine.indexing.lucene.indexes import Indexes
from dragoman.engine.indexing.sources import EntitySource
from dragoman.indexes.attributes.filters import Filter
from dragoman.store.database import Store
from dragoman.store.documents.deleting import delete_selected
from dragoman.store.documents.info import Generations, check_generation
from dragoman.store.documents.listing import DocumentList
from dragoman.store.models import Collection

logger = logging.getLogger("dragoman")

_FOLLOW_SECONDS = 2.0
"""How long a deletion, or a change of metadata, waits for the right to write to the index."""


def follow_change(index: CollectionIndex) -> None:
    """Let an index follow the database at once, or later where that takes long or fails."""
    try:
        index.follow(_FOLLOW_SECONDS)
    except Exception as fault:
        if classify(fault) is None:
            raise
        logger.warning("the index of %s follows a change later: %s", index.name, fault)


class FilteredDocuments:
    """Asks the indexes of collections which documents a filter leaves; ``describe`` says what a collection is like."""

    def __init__(
        self, store: Store, indexes: Indexes, names: EntitySource, describe: Callable[[Collection], CollectionInfo]
    ) -> None:
        self._store = store
        self._indexes = indexes
        self._names = names
        self._describe = describe

    def make_list(self, row: Collection, filter: FilterFields | None) -> DocumentList:
        """The documents that a filter leaves, or all, to be read in pages or as lines.

        Raises:
            InvalidRequest, Unavailable: the filter is none, or the index cannot be asked.
        """
        keys = None if filter is None else self._select(row, read_filter(filter))
        return DocumentList(self._store, row, keys, "" if filter is None else json.dumps(filter, sort_keys=True))

    def count(self, row: Collection, filter: FilterFields, expected: Generations = None) -> int:
        """How many documents a filter leaves.

        Raises:
            InvalidRequest, Unavailable: as :meth:`make_list`.
            PreconditionFailed: the collection is of none of the expected generations.
        """
        parsed = read_filter(filter)
        check_generation(expected, row.generation, "collection")
        return len(self._select(row, parsed))

    def delete(self, row: Collection, filter: FilterFields, expected: Generations = None) -> int:
        """Delete what a filter leaves; returns how many documents.

        Raises:
            InvalidRequest, Unavailable, PreconditionFailed: as :meth:`count`.
        """
        parsed, index = read_filter(filter), self._indexes.of(row.id)
        return delete_selected(
            self._store, index, row.id, lambda: select_keys(index, self._program(row, parsed)), expected
        )

    def _select(self, row: Collection, filter: Filter) -> NDArray[np.int64]:
        """The keys of a collection's documents that a filter leaves, as its index has them."""
        index = self._indexes.of(row.id)
        if index.behind:
            follow_change(index)
        return select_keys(index, self._program(row, filter))

    def _program(self, row: Collection, filter: Filter) -> str:
        return program_of(filter, self._describe(row), self._names)
