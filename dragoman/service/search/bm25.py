"""The first stage: translates a query into every language of the collections, ranks by BM25, and merges."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial

import numpy as np

from dragoman.deadline import checked
from dragoman.indexes.bm25 import Hit
from dragoman.indexes.errors import IndexFault
from dragoman.indexes.fusion import normalised
from dragoman.indexes.lucene.index import LuceneIndex
from dragoman.lexicon.text.tokens import Analysis
from dragoman.service.collections.builds import IndexState
from dragoman.service.collections.lucene.registry import Indexes
from dragoman.service.collections.service import CollectionInfo
from dragoman.service.core.errors import NotFound, ServiceError, Unavailable, classify
from dragoman.service.core.names import without_folders
from dragoman.service.core.priority import in_background
from dragoman.service.query.sounds import Sounds
from dragoman.service.query.translation import Translated, translate, without_tables
from dragoman.service.schemas.search import Degraded
from dragoman.service.search.ranked import Part, RankedDocument, Retrieval, StageScore

STAGE = "first_stage"
_STALE = "it lacks the latest changes, or it is of an earlier version and being built anew"

LEAST_LINK = 0.2
"""The least share of a group's attainable score that links a word to a document: about that of a probability of .05."""
_TINY = 1e-9


class FirstStage:
    """Ranks the documents of several collections for a query. Safe from any thread."""

    def __init__(self, indexes: Indexes, analysis: Callable[[str], Analysis]) -> None:
        self._indexes = indexes
        self._analysis = analysis

    def rank(self, found: Retrieval, method: str, k: int) -> None:
        """Rank the ``k`` best documents of all collections, with the names of the query kept whole.

        Raises:
            Unavailable: there are collections, but none can be searched now. In background work also: a required
                index is not ready, or a required table is not served.
        """
        with found.stage("translate"):
            languages = sorted({language for one in found.collections for language in one.languages})
            sounds = {one: Sounds(one, partial(self._sounding, found.collections, one)) for one in languages}
            translations = {one: self._translated(found, method, one, sounds[one]) for one in languages}
        for one in sounds.values():
            found.truncated += one.truncated
            found.degraded += one.degraded
        degraded = without_tables(found.query.language, translations.values(), found.snapshot)
        with found.stage(STAGE):
            parts = self._parts(found, translations, k, degraded)
            scores = [dict(part.ranking.hits) for part in parts]
            merged = normalised([(number, part.ranking) for number, part in enumerate(parts)], k)
            found.documents = [
                _document(parts[number], key, StageScore(scores[number][key], share, rank))
                for rank, (number, key, share) in enumerate(merged, 1)
            ]
        found.translations, found.parts = list(translations.values()), parts
        found.degraded += degraded

    def match(self, found: Retrieval) -> None:
        """Compare all documents with the words of the query, those that BM25 did not rank as well.

        What cannot be compared now is added to ``degraded``.

        Raises:
            Unavailable: in background work, an index is not ready.
        """
        by_collection = found.by_collection()
        faults: dict[int, Degraded] = {}
        for part in found.parts:
            documents, query = by_collection.get(part.collection.key, ()), part.translated.query
            if not documents:
                continue
            try:
                with self._indexes.of(part.collection.key).use() as index:
                    keys = [one.key for one in documents]
                    scores, attainable = index.parts(query, part.translated.language, keys, part.translated.bm25)
            except (NotFound, Unavailable, IndexFault) as fault:
                if in_background() and not isinstance(fault, NotFound):
                    raise
                known = classify(fault) or Unavailable(without_folders(str(fault)))
                reason = f"collection '{part.collection.name}': hits of dense search have no words compared: {known}"
                faults[part.collection.key] = Degraded.of(STAGE, reason, known.error_type)
                continue
            weights = np.array([group.weight for group in query.groups])
            totals, linked = (scores @ weights).tolist(), scores >= LEAST_LINK * np.maximum(attainable, _TINY)
            for row in np.flatnonzero(scores.any(1)).tolist():
                one = documents[row]
                one.linked = linked[row]
                if one.bm25 is None:
                    one.part, one.bm25 = part, StageScore(totals[row], totals[row] / part.ranking.attainable)
        found.degraded.extend(faults.values())

    def _translated(self, found: Retrieval, method: str, language: str, sounds: Sounds) -> Translated:
        return translate(
            found.query,
            language,
            method,
            found.snapshot,
            self._analysis,
            sounds,
            partial(self._holds, found.collections, language),
            found.names,
        )

    def _parts(
        self, found: Retrieval, translations: Mapping[str, Translated], k: int, degraded: list[Degraded]
    ) -> list[Part]:
        parts: list[Part] = []
        faults: list[ServiceError] = []
        for collection in checked(found.collections):
            try:
                own = None if found.permitted is None else found.permitted.get(collection.key, ())
                parts.extend(self._ranked(collection, [translations[one] for one in collection.languages], k, own))
            except (NotFound, Unavailable, IndexFault) as fault:
                if in_background() and not isinstance(fault, NotFound):
                    raise
                known = classify(fault) or Unavailable(without_folders(str(fault)))
                faults.append(known)
                reason = f"collection '{collection.name}' was not searched: {known}"
                degraded.append(Degraded.of(STAGE, reason, known.error_type))
                continue
            if collection.index_state == IndexState.STALE:
                reason = f"collection '{collection.name}': the index is stale: {_STALE}"
                if in_background():
                    raise Unavailable(reason)
                degraded.append(Degraded.of(STAGE, reason, "stale_index"))
        if faults and len(faults) == len(found.collections):
            raise faults[0]
        return parts

    def _ranked(
        self, collection: CollectionInfo, translations: Sequence[Translated], k: int, permitted: Sequence[int] | None
    ) -> list[Part]:
        parts = []
        with self._indexes.of(collection.key).use() as index:
            for translated in checked(translations):
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
        for collection in checked(collections):
            if language in collection.languages:
                with suppress(NotFound, Unavailable, IndexFault), self._indexes.of(collection.key).use() as index:
                    found.update(index.sounding(language, term))
        return sorted(found.items(), key=lambda item: (-item[1], item[0]))

    def _holds(self, collections: Sequence[CollectionInfo], language: str, term: str) -> bool:
        """Whether a collection has an index term of ``language``."""
        for collection in checked(collections):
            if language in collection.languages:
                with suppress(NotFound, Unavailable, IndexFault), self._indexes.of(collection.key).use() as index:
                    if index.document_frequency(language, term):
                        return True
        return False


def _document(part: Part, key: int, bm25: StageScore) -> RankedDocument:
    return RankedDocument(part.collection, key, part.translated.language, bm25.value, bm25.score, part, bm25)


def _best(index: LuceneIndex, translated: Translated, keys: Sequence[int], k: int) -> list[Hit]:
    """The ``k`` best of these documents, the first of equal ones by key."""
    if not keys:
        return []
    scores, _ = index.parts(translated.query, translated.language, keys, translated.bm25)
    totals = scores @ np.array([group.weight for group in translated.query.groups])
    found = sorted((-total, key) for total, key in zip(totals.tolist(), keys, strict=True) if total > 0)
    return [Hit(key, -total) for total, key in found[:k]]
