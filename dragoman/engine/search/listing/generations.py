"""What a search is to see at least: the generations of collections that earlier changes were answered with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dragoman.engine.core.errors import Conflict, InvalidRequest, NotFound, Unavailable
from dragoman.engine.indexing.collections import CollectionInfo, SearchedCollections
from dragoman.engine.indexing.lucene.indexes import Indexes


def check_generations(
    asked: Mapping[str, int],
    searched: Sequence[CollectionInfo],
    collections: SearchedCollections,
    indexes: Indexes,
) -> None:
    """
    Raises:
        InvalidRequest: a collection that is not searched.
        NotFound: there is none of a name.
        Conflict: a collection has not reached the generation ``asked``.
        Unavailable: it has, and its index has not yet.
    """
    present = {collection.key: collection for collection in searched}
    for name, generation in asked.items():
        try:
            (named,) = collections.chosen([name])  # by an alias too
        except NotFound as fault:
            raise NotFound(f"min_generation: there is no collection named {name!r}") from fault
        collection = present.get(named.key)
        if collection is None:
            raise InvalidRequest(f"min_generation.{name}: this collection is not searched")
        if collection.generation < generation:
            raise Conflict(f"min_generation.{name}: the collection is at generation {collection.generation}")
        index = indexes.find(collection.key)
        if index is None or index.searched[0] < generation:
            raise Unavailable(f"min_generation.{name}: the index has not reached this generation yet")
