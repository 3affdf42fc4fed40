"""The first stage: translates a query into every language of the collections, ranks by BM25, and merges."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dragoman.indexes.bm25 import Hit, Ranking
from dragoman.indexes.errors import IndexFault
from dragoman.indexes.explanation import Statistics
from dragoman.indexes.fusion import normalised
from dragoman.indexes.lucene.index import LuceneIndex
from dragoman.lexicon.text.tokens import Analysis
from dragoman.service.collections.lucene_index import IndexState
from dragoman.service.collections.lucene_registry import Indexes
from dragoman.service.collections.service import CollectionInfo
from dragoman.service.core.errors import NotFound, ServiceError, Unavailable, classify
from dragoman.service.core.priority import in_background
from dragoman.service.observability.tracing import span
from dragoman.service.query.translation import QueryName, Translated, translate, without_tables
from dragoman.service.schemas.search import Degraded
from dragoman.service.search.entities import Permitted
from dragoman.service.tables.snapshot import Snapshot

STAGE = "first_stage"

LEAST_LINK = 0.2
"""The least share of a group's attainable score that links a word to a document: about that of a probability of .05."""
_TINY = 1e-9


@dataclass(frozen=True, slots=True)
class Part:
    """The ranking of one language's documents in one collection."""

    collection: CollectionInfo
    translated: Translated
    ranking: Ranking
    statistics: Statistics


class Place(NamedTuple):
    """One entry of the merged ranking: ``score`` is the share of the highest attainable score of its part."""

    part: Part
    key: int
    score: float
    first_stage: float
    """BM25 in its part."""


class Match(NamedTuple):
    """A document that matches, whether it was ranked or not."""

    place: Place
    linked: NDArray[np.bool_]
    """For each group of the translated query (groups,), whether the document has a good translation of it."""


@dataclass(slots=True)
class FirstStageResult:
    """The merged ranking, best first, its parts, and the translations of the query."""

    places: list[Place] = field(default_factory=list)
    parts: list[Part] = field(default_factory=list)
    translations: list[Translated] = field(default_factory=list)
    degraded: list[Degraded] = field(default_factory=list)
    translate_seconds: float = 0.0
    rank_seconds: float = 0.0


class FirstStage:
    """Ranks the documents of several collections for a query. Safe from any thread."""

    def __init__(self, indexes: Indexes, analysis: Callable[[str], Analysis]) -> None:
        self._indexes = indexes
        self._analysis = analysis

    def rank(
        self,
        text: str,
        source: str,
        method: str,
        snapshot: Snapshot,
        collections: Sequence[CollectionInfo],
        k: int,
        names: Sequence[QueryName] = (),
        permitted: Permitted | None = None,
    ) -> FirstStageResult:
        """The ``k`` best documents of all collections for a query in language ``source``, with ``names`` kept whole.

        With ``permitted``, the best of these documents.

        Raises:
            Unavailable: there are collections, but none can be searched now. In background work also: a required
                index is not ready, or a required table is not served.
        """
        started = time.perf_counter()
        with span("translate"):
            translations = {
                language: translate(
                    text,
                    source,
                    language,
                    method,
                    snapshot,
                    self._analysis,
                    partial(self._sounding, collections, language),
                    partial(self._holds, collections, language),
                    names,
                )
                for language in sorted({language for one in collections for language in one.languages})
            }
        translated = time.perf_counter()
        result = FirstStageResult(translations=list(translations.values()))
        result.degraded.extend(without_tables(source, result.translations, snapshot))
        with span("first_stage"):
            result.parts = self._parts(collections, translations, k, result.degraded, permitted)
            scores = {id(part): dict(part.ranking.hits) for part in result.parts}
            result.places = [
                Place(part, key, share, scores[id(part)][key])
                for part, key, share in normalised([(part, part.ranking) for part in result.parts], k)
            ]
        result.translate_seconds = translated - started
        result.rank_seconds = time.perf_counter() - translated
        return result

    def matches(
        self, parts: Sequence[Part], keys: Mapping[int, Sequence[int]], degraded: list[Degraded]
    ) -> dict[int, Match]:
        """Those of the documents that match a query in one of its ``parts``, by key; ``keys`` are by collection.

        What cannot be compared now is added to ``degraded``.

        Raises:
            Unavailable: in background work, an index is not ready.
        """
        found: dict[int, Match] = {}
        faults: dict[int, Degraded] = {}
        for part in parts:
            chosen, query = keys.get(part.collection.key, ()), part.translated.query
            if not chosen:
                continue
            try:
                with self._indexes.use(part.collection.key) as index:
                    scores, attainable = index.parts(query, part.translated.language, chosen, part.translated.bm25)
            except (NotFound, Unavailable, IndexFault) as fault:
                if in_background() and not isinstance(fault, NotFound):
                    raise
                known = classify(fault) or Unavailable(str(fault))
                reason = f"collection '{part.collection.name}': hits of dense search have no words compared: {known}"
                faults[part.collection.key] = Degraded.of(STAGE, reason, known.error_type)
                continue
            weights = np.array([group.weight for group in query.groups])
            totals, linked = (scores @ weights).tolist(), scores >= LEAST_LINK * np.maximum(attainable, _TINY)
            for row in np.flatnonzero(scores.any(1)).tolist():
                share = totals[row] / part.ranking.attainable
                found[chosen[row]] = Match(Place(part, chosen[row], share, totals[row]), linked[row])
        degraded.extend(faults.values())
        return found

    def _parts(
        self,
        collections: Sequence[CollectionInfo],
        translations: Mapping[str, Translated],
        k: int,
        degraded: list[Degraded],
        permitted: Permitted | None,
    ) -> list[Part]:
        parts: list[Part] = []
        faults: list[ServiceError] = []
        for collection in collections:
            try:
                own = None if permitted is None else permitted.get(collection.key, ())
                parts.extend(self._ranked(collection, [translations[one] for one in collection.languages], k, own))
            except (NotFound, Unavailable, IndexFault) as fault:
                if in_background() and not isinstance(fault, NotFound):
                    raise
                known = classify(fault) or Unavailable(str(fault))
                faults.append(known)
                reason = f"collection '{collection.name}' was not searched: {known}"
                degraded.append(Degraded.of(STAGE, reason, known.error_type))
                continue
            if collection.index_state == IndexState.STALE:
                reason = f"collection '{collection.name}': the index is stale: the latest changes could not be indexed"
                if in_background():
                    raise Unavailable(reason)
                degraded.append(Degraded.of(STAGE, reason, "stale_index"))
        if faults and len(faults) == len(collections):
            raise faults[0]
        return parts

    def _ranked(
        self, collection: CollectionInfo, translations: Sequence[Translated], k: int, permitted: Sequence[int] | None
    ) -> list[Part]:
        parts = []
        with self._indexes.use(collection.key) as index:
            for translated in translations:
                query, language = translated.query, translated.language
                ranking, statistics = index.explained(query, language, k, translated.bm25)
                if permitted is not None and ranking.hits:
                    ranking = replace(ranking, hits=_best(index, translated, permitted, k))
                if ranking.hits:
                    parts.append(Part(collection, translated, ranking, statistics))
        return parts

    def _sounding(self, collections: Sequence[CollectionInfo], language: str, term: str) -> list[tuple[str, float]]:
        """The index terms of all collections that sound like ``term``."""
        found: dict[str, float] = {}
        for collection in collections:
            if language in collection.languages:
                with suppress(NotFound, Unavailable, IndexFault), self._indexes.use(collection.key) as index:
                    found.update(index.sounding(language, term))
        return sorted(found.items(), key=lambda item: (-item[1], item[0]))

    def _holds(self, collections: Sequence[CollectionInfo], language: str, term: str) -> bool:
        """Whether a collection has an index term of ``language``."""
        for collection in collections:
            if language in collection.languages:
                with suppress(NotFound, Unavailable, IndexFault), self._indexes.use(collection.key) as index:
                    if index.document_frequency(language, term):
                        return True
        return False


def _best(index: LuceneIndex, translated: Translated, keys: Sequence[int], k: int) -> list[Hit]:
    """The ``k`` best of these documents, the first of equal ones by key."""
    if not keys:
        return []
    scores, _ = index.parts(translated.query, translated.language, keys, translated.bm25)
    totals = scores @ np.array([group.weight for group in translated.query.groups])
    found = sorted((-total, key) for total, key in zip(totals.tolist(), keys, strict=True) if total > 0)
    return [Hit(key, -total) for total, key in found[:k]]
