"""Filters of requests, and the documents of collections that they leave."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dragoman.engine.core.errors import InvalidRequest, Unavailable, classify
from dragoman.engine.core.json import check_value
from dragoman.engine.core.names import without_folders
from dragoman.engine.indexing.collections import CollectionInfo
from dragoman.engine.indexing.entity_names import fold_name
from dragoman.engine.indexing.lucene.collection_index import CollectionIndex
from dragoman.engine.indexing.sources import EntitySource
from dragoman.indexes.attributes.filters import Filter, FilterFault, parse_filter
from dragoman.indexes.lucene.searched_index import FAULTS, Filtered

FilterFields = Mapping[str, Any]
"""A filter as callers write it, in MongoDB's form."""


def read_filter(filter: FilterFields, path: str = "filter") -> Filter:
    """
    Raises:
        InvalidRequest: it is none; the message begins with the path of what is wrong.
    """
    try:
        check_value(filter)
    except (TypeError, ValueError, RecursionError) as fault:
        raise InvalidRequest(f"{path}: {fault}") from fault
    try:
        return parse_filter(filter, path)
    except FilterFault as fault:
        raise InvalidRequest(str(fault)) from fault


def program_of(filter: Filter, collection: CollectionInfo, entities: EntitySource) -> str:
    """A filter as the index of one collection takes it.

    Raises:
        InvalidRequest: it asks for names, and the collection was made without `entities`.
    """
    if filter.names and not collection.entities:
        raise InvalidRequest(f"filter.entities: collection {collection.name!r} was made without `entities`")

    def find_named(names: Collection[str]) -> Collection[int]:
        languages = {collection.language, *collection.languages}
        folded = {fold_name(name, language) for name in names for language in languages}
        return entities.holding(collection.key, (), folded) if names else entities.with_names(collection.key)

    return filter.program(find_named)


def ask_index(index: CollectionIndex, program: str) -> Filtered:
    """The documents that a filter's program leaves.

    Raises:
        NotFound, Unavailable: the index cannot be asked now, or has no fields of metadata yet.
    """
    try:
        with index.use(filtered=True) as opened:
            return opened.select_keys(program)
    except FAULTS as fault:
        raise classify(fault) or Unavailable(without_folders(str(fault))) from fault


def select_keys(index: CollectionIndex, program: str) -> NDArray[np.int64]:
    """The keys of all documents that a filter's program leaves, in ascending order.

    Raises:
        NotFound, Unavailable: as :func:`ask_index`; or a part of the index does not answer, so that some would lack.
    """
    filtered = ask_index(index, program)
    if filtered.unsearched:
        fault = filtered.unsearched[0].fault
        reason = classify(fault) or without_folders(str(fault))
        raise Unavailable(f"a part of the index of collection {index.name!r} does not answer: {reason}")
    return filtered.keys
