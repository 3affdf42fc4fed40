"""Searches limited to documents that hold names, and the names in hits."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from dragoman.deadline import checked
from dragoman.lexicon.query import LEAST_PROBABILITY
from dragoman.service.collections.entity_names import Mention, folded
from dragoman.service.collections.service import CollectionInfo
from dragoman.service.collections.sources import EntityCoverage, EntitySource
from dragoman.service.core.errors import InvalidRequest
from dragoman.service.schemas.search import Degraded, Entity
from dragoman.service.search.ranked import Retrieval
from dragoman.service.search.room import entity_size
from dragoman.service.tables.snapshot import Snapshot

STAGE = "entities"

_MOST = 500
"""How many names are listed of one document."""


class EntityStage:
    """Finds the documents that hold names, and the names of documents. Safe from any thread."""

    def __init__(self, entities: EntitySource) -> None:
        self._entities = entities

    def limit(self, found: Retrieval) -> None:
        """Limit a search to the documents that hold the names of its request.

        Raises:
            InvalidRequest: a name has no letter, a named collection has no entities, or none has.
        """
        request, language = found.request, found.query.language
        if request.entities is None:
            return
        for place, name in enumerate(request.entities):
            if not folded(name, language):
                raise InvalidRequest(f"entities[{place}]: {name!r} has no letter")
        without = [one.name for one in found.collections if not one.entities]
        if without and (request.collections is not None or len(without) == len(found.collections)):
            raise InvalidRequest(f"entities: collection {without[0]!r} was made without `entities`")
        found.collections = [one for one in found.collections if one.entities]
        found.permitted = {
            one.key: sorted(self._holding(one, request.entities, language, found.snapshot)) for one in found.collections
        }
        for one in found.collections:
            found.degraded += _missing(one.name, self._entities.entity_coverage(one.key))

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

    def add(self, found: Retrieval) -> None:
        """Add the names of documents to their hits, in collections with entities; of long documents the first ones."""
        chosen = [one for one in found.documents if one.collection.entities]
        names = self._entities.mentions([one.key for one in chosen])
        for document in checked(chosen):
            hit, stored = document.hit, document.stored
            hit.entities = None
            generation, mentions = names.get(document.key, (None, []))
            if generation != stored.generation:
                continue
            read = [one for one in mentions if one.field == "title" or one.end <= len(stored.text)]
            distinct = _distinct(read, {"title": stored.title or "", "text": stored.text})
            hit.entities = found.room.fitting("names", hit.rank, distinct[:_MOST], entity_size)
            if len(read) < len(mentions):
                reason = f"only names in the first {len(stored.text)} characters of document {stored.id!r} are listed"
                found.truncated.append(f"{STAGE}: {reason}")
            if len(distinct) > _MOST:
                found.truncated.append(
                    f"{STAGE}: of document {stored.id!r} {_MOST} of {len(distinct)} names are listed"
                )


def _distinct(mentions: Iterable[Mention], texts: Mapping[str, str]) -> list[Entity]:
    """The distinct names, each where it stands first."""
    distinct: dict[tuple[str, str], Entity] = {}
    for one in mentions:
        text = texts[one.field][one.start : one.end]
        distinct.setdefault(
            (text, one.label),
            Entity(text=text, label=one.label, score=one.score, field=one.field, start=one.start, end=one.end),
        )
    return list(distinct.values())


def _missing(name: str, coverage: EntityCoverage) -> list[Degraded]:
    waiting = coverage.total - coverage.tagged - coverage.failed
    missing = []
    if waiting:
        missing.append(f"{waiting} of {coverage.total} documents have not been read for names yet")
    if coverage.failed:
        missing.append(f"{coverage.failed} of {coverage.total} documents could not be read for names")
    return [Degraded.of(STAGE, f"collection '{name}': {reason}", "not_tagged") for reason in missing]
