"""Searches limited to documents that hold names, and the names in hits."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from dragoman.lexicon.query import LEAST_PROBABILITY
from dragoman.service.collections.entities import Entities, EntityCoverage
from dragoman.service.collections.entity_names import folded
from dragoman.service.collections.service import CollectionInfo, DocumentInfo
from dragoman.service.core.errors import InvalidRequest
from dragoman.service.schemas.search import Degraded, Entity, Hit, SearchRequest
from dragoman.service.tables.snapshot import Snapshot

STAGE = "entities"

Permitted = Mapping[int, Sequence[int]]
"""The keys of the documents that a search may find, by the key of their collection."""


class Limited(NamedTuple):
    """The collections that a search is limited to, their permitted documents (None for all), and what is missing."""

    collections: list[CollectionInfo]
    permitted: Permitted | None
    degraded: list[Degraded]


class EntityStage:
    """Finds the documents that hold names, and the names of documents. Safe from any thread."""

    def __init__(self, entities: Entities) -> None:
        self._entities = entities

    def limited(
        self, request: SearchRequest, language: str, snapshot: Snapshot, collections: Sequence[CollectionInfo]
    ) -> Limited:
        """The documents that a search for a query in ``language`` may find.

        Raises:
            InvalidRequest: a name has no letter, a named collection has no entities, or none has.
        """
        if request.entities is None:
            return Limited(list(collections), None, [])
        for place, name in enumerate(request.entities):
            if not folded(name, language):
                raise InvalidRequest(f"entities[{place}]: {name!r} has no letter")
        without = [one.name for one in collections if not one.entities]
        if without and (request.collections is not None or len(without) == len(collections)):
            raise InvalidRequest(f"entities: collection {without[0]!r} was made without `entities`")
        chosen = [one for one in collections if one.entities]
        permitted = {one.key: sorted(self._holding(one, request.entities, language, snapshot)) for one in chosen}
        degraded = [fault for one in chosen for fault in _missing(one.name, self._entities.coverage(one.key))]
        return Limited(chosen, permitted, degraded)

    def _holding(self, collection: CollectionInfo, names: Iterable[str], language: str, snapshot: Snapshot) -> set[int]:
        views = [snapshot.view(language, target) for target in collection.languages]
        found: list[set[int]] = []
        for name in names:
            translations = {
                entry.term
                for view in views
                if view is not None
                for entry in view.surface.translations(folded(name, language), least_backward=LEAST_PROBABILITY)
            }
            own = {folded(name, one) for one in (language, *collection.languages)}
            found.append(self._entities.holding(collection.key, own, translations))
        return set.intersection(*found)

    def add(
        self, hits: Sequence[Hit], collections: Sequence[CollectionInfo], documents: Iterable[DocumentInfo]
    ) -> None:
        """Add the names of their documents to the hits in collections with entities."""
        keys = {one.name: one.key for one in collections if one.entities}
        chosen = {(one.collection, one.id): one for one in documents if one.collection in keys.values()}
        found = self._entities.of([one.key for one in chosen.values()])
        for hit in hits:
            if hit.collection not in keys:
                continue
            hit.entities = None
            document = chosen[keys[hit.collection], hit.id]
            generation, mentions = found.get(document.key, (None, []))
            if generation != document.generation:
                continue
            texts = {"title": document.title or "", "text": document.text}
            distinct: dict[tuple[str, str], Entity] = {}
            for one in mentions:
                text = texts[one.field][one.start : one.end]
                distinct.setdefault(
                    (text, one.label),
                    Entity(text=text, label=one.label, score=one.score, field=one.field, start=one.start, end=one.end),
                )
            hit.entities = list(distinct.values())


def _missing(name: str, coverage: EntityCoverage) -> list[Degraded]:
    waiting = coverage.total - coverage.tagged - coverage.failed
    missing = []
    if waiting:
        missing.append(f"{waiting} of {coverage.total} documents have not been read for names yet")
    if coverage.failed:
        missing.append(f"{coverage.failed} of {coverage.total} documents could not be read for names")
    return [Degraded.of(STAGE, f"collection '{name}': {reason}", "not_tagged") for reason in missing]
