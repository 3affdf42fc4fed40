"""Filters of requests, and the documents of collections that they leave."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from dragoman.engine.core.errors import InvalidRequest
from dragoman.engine.indexing.collections import CollectionInfo
from dragoman.engine.indexing.entity_names import fold_name
from dragoman.engine.indexing.sources import EntitySource
from dragoman.indexes.attributes.filters import Filter, FilterFault, parse_filter

FilterFields = Mapping[str, Any]
"""A filter as callers write it, in MongoDB's form."""


def read_filter(filter: FilterFields, path: str = "filter") -> Filter:
    """
    Raises:
        InvalidRequest: it is none; the message begins with the path of what is wrong.
    """
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
        raise InvalidRequest(f"filter: entities: collection {collection.name!r} was made without `entities`")

    def named(names: Collection[str]) -> Collection[int]:
        languages = {collection.language, *collection.languages}
        folded = {fold_name(name, language) for name in names for language in languages}
        return entities.holding(collection.key, (), folded) if names else entities.with_names(collection.key)

    return filter.program(named)
