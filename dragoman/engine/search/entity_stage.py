"""Searches limited to documents that a filter leaves or that hold names, and the names in hits."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from dragoman.deadline import check_each
from dragoman.engine.core.answer import Degraded
from dragoman.engine.core.errors import InvalidRequest
from dragoman.engine.indexing.collections import CollectionInfo
from dragoman.engine.indexing.entity_names import Mention, fold_name
from dragoman.engine.indexing.filtering import program_of, read_filter
from dragoman.engine.indexing.sources import EntityCoverage, EntitySource
from dragoman.engine.search.ranked import Retrieval, list_missing
from dragoman.engine.search.response import Entity
from dragoman.engine.search.room import entity_size
from dragoman.engine.tables.snapshot import Snapshot
from dragoman.indexes.attributes.filters import keys_program
from dragoman.lexicon.query import LEAST_PROBABILITY

STAGE = "entities"

_MOST = 500
"""How many names are listed of one document."""


class EntityStage:
    """Finds the documents that hold names, and the names of documents. Safe from any thread."""

    def __init__(self, entities: EntitySource) -> None:
        self._entities = entities

    def limit(self, retrieval: Retrieval) -> None:
        """Limit a search to the documents that its filter leaves, and that hold the names of its request.

        Raises:
            InvalidRequest: the filter is none; a name has no letter, a named collection has no entities, or none has.
        """
        request, language = retrieval.request, retrieval.query.language
        if request.filter is not None:
            filter = read_filter(request.filter)
            for collection in retrieval.collections:
                retrieval.narrow(collection, program_of(filter, collection, self._entities))
        if request.entities is None:
            return
        for place, name in enumerate(request.entities):
            if not fold_name(name, language):
                raise InvalidRequest(f"entities[{place}]: {name!r} has no letter")
        without = [collection.name for collection in retrieval.collections if not collection.entities]
        if without and (request.collections is not None or len(without) == len(retrieval.collections)):
            raise InvalidRequest(f"entities: collection {without[0]!r} was made without `entities`")
        retrieval.collections = [collection for collection in retrieval.collections if collection.entities]
        for collection in retrieval.collections:
            keys = self._holding(collection, request.entities, language, retrieval.snapshot)
            retrieval.narrow(collection, keys_program(keys))
        for collection in retrieval.collections:
            retrieval.degraded += _missing(collection.name, self._entities.entity_coverage(collection.key))

    def _holding(self, collection: CollectionInfo, names: Iterable[str], language: str, snapshot: Snapshot) -> set[int]:
        views = [snapshot.view(language, target) for target in collection.languages]
        keys_of_names: list[set[int]] = []
        for name in names:
            translations = {
                entry.term
                for view in views
                if view is not None
                for entry in view.surface.translations(fold_name(name, language), least_backward=LEAST_PROBABILITY)
            }
            folded_names = {
                fold_name(name, searched_language) for searched_language in (language, *collection.languages)
            }
            keys_of_names.append(self._entities.holding(collection.key, folded_names, translations))
        return set.intersection(*keys_of_names)

    def add(self, retrieval: Retrieval) -> None:
        """Add the names of documents to their hits, in collections with entities; of long documents the first ones."""
        chosen = [document for document in retrieval.documents if document.collection.entities]
        if not chosen:
            return
        names = self._entities.mentions([document.key for document in chosen])
        for document in check_each(chosen):
            hit, stored = document.hit, document.stored
            hit.entities = None
            generation, mentions = names.get(document.key, (None, []))
            if generation != stored.generation:
                continue
            read = [mention for mention in mentions if mention.field == "title" or mention.end <= len(stored.text)]
            distinct = _distinct(read, {"title": stored.title or "", "text": stored.text})
            hit.entities = retrieval.room.fitting("names", hit.rank, distinct[:_MOST], entity_size)
            if len(read) < len(mentions):
                reason = f"only names in the first {len(stored.text)} characters of document {stored.id!r} are listed"
                retrieval.truncated.append(f"{STAGE}: {reason}")
            if len(distinct) > _MOST:
                retrieval.truncated.append(
                    f"{STAGE}: of document {stored.id!r} {_MOST} of {len(distinct)} names are listed"
                )


def _distinct(mentions: Iterable[Mention], texts: Mapping[str, str]) -> list[Entity]:
    """The distinct names, each where it stands first."""
    distinct: dict[tuple[str, str], Entity] = {}
    for mention in mentions:
        text = texts[mention.field][mention.start : mention.end]
        distinct.setdefault(
            (text, mention.label),
            Entity(
                text=text,
                label=mention.label,
                score=mention.score,
                field=mention.field,
                start=mention.start,
                end=mention.end,
            ),
        )
    return list(distinct.values())


def _missing(name: str, coverage: EntityCoverage) -> list[Degraded]:
    waiting = coverage.total - coverage.tagged - coverage.failed
    reasons = {"have not been read for names yet": waiting, "could not be read for names": coverage.failed}
    return list_missing(STAGE, name, coverage.total, reasons, "not_tagged")
