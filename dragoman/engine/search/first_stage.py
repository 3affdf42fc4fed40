"""The first stage: translates a query into every language of the collections, ranks by BM25, and merges."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial

import numpy as np

from dragoman.deadline import check_each
from dragoman.engine.core.answer import Degraded
from dragoman.engine.core.errors import NotFound, ServiceError, Unavailable, classify
from dragoman.engine.core.names import without_folders
from dragoman.engine.core.priority import in_background
from dragoman.engine.indexing.collections import CollectionInfo
from dragoman.engine.indexing.lucene.builds import IndexState
from dragoman.engine.indexing.lucene.indexes import Indexes
from dragoman.engine.query.description import without_tables
from dragoman.engine.query.sounds import MOST_WORDS, Alike, Questions, Sounds
from dragoman.engine.query.translation import Translated, translate
from dragoman.engine.search.ranked import CollectionRanking, RankedDocument, Retrieval, StageScore, note_unsearched
from dragoman.indexes.bm25 import Hit
from dragoman.indexes.errors import IndexFault
from dragoman.indexes.fusion import merge_by_share
from dragoman.indexes.lucene.joined_index import SearchedIndex
from dragoman.indexes.shard_group import Unsearched
from dragoman.lexicon.text.tokens import Analysis

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

    def rank(self, retrieval: Retrieval, method: str, k: int) -> None:
        """Rank the ``k`` best documents of all collections, with the names of the query kept whole.

        Raises:
            Unavailable: there are collections, but none can be searched now. In background work also: a required
                index is not ready, or a required table is not served.
        """
        with retrieval.stage("translate"):
            languages = sorted(retrieval.languages)
            searched = {
                language: [collection for collection in retrieval.collections if language in collection.languages]
                for language in languages
            }
            sounds = {
                language: Sounds(language, partial(self._sounding, searched[language], language))
                for language in languages
            }
            translations = {
                language: self._translate(retrieval, method, language, sounds[language]) for language in languages
            }
        for language_sounds in sounds.values():
            retrieval.truncated += language_sounds.truncated
            retrieval.degraded += language_sounds.degraded
        degraded = without_tables(retrieval.query.language, translations.values(), retrieval.snapshot)
        with retrieval.stage(STAGE):
            rankings = self._rank_collections(retrieval, translations, k, degraded)
            scores = [dict(ranking.ranking.hits) for ranking in rankings]
            merged = merge_by_share(
                [(index, ranking.ranking) for index, ranking in enumerate(rankings)],
                lambda index: rankings[index].collection.key,
                k,
            )
            retrieval.documents = [
                _document(rankings[index], key, StageScore(scores[index][key], share, rank))
                for rank, (index, key, share) in enumerate(merged, 1)
            ]
        retrieval.translations, retrieval.collection_rankings = list(translations.values()), rankings
        retrieval.degraded += degraded

    def match(self, retrieval: Retrieval) -> None:
        """Compare all documents with the words of the query, those that BM25 did not rank as well.

        What cannot be compared now is added to ``degraded``.

        Raises:
            Unavailable: in background work, an index is not ready.
        """
        by_collection = retrieval.by_collection()
        faults: dict[int, Degraded] = {}
        for ranking in retrieval.collection_rankings:
            documents, query = by_collection.get(ranking.collection.key, ()), ranking.translated.query
            if not documents:
                continue
            try:
                with self._indexes.of(ranking.collection.key).use() as index:
                    keys = [document.key for document in documents]
                    parts = index.parts(query, ranking.translated.language, keys, ranking.translated.bm25)
            except (NotFound, Unavailable, IndexFault) as fault:
                if in_background() and not isinstance(fault, NotFound):
                    raise
                error = classify(fault) or Unavailable(without_folders(str(fault)))
                reason = f"collection '{ranking.collection.name}': hits of dense search have no words compared: {error}"
                faults[ranking.collection.key] = Degraded.of(
                    STAGE, reason, error.error_type, ranking.collection.name, 1.0
                )
                continue
            note_unsearched(retrieval.degraded, STAGE, ranking.collection, parts.unsearched)
            totals, linked = parts.totals.tolist(), parts.scores >= LEAST_LINK * np.maximum(parts.attainable, _TINY)
            for row in np.flatnonzero(parts.totals).tolist():
                document = documents[row]
                document.linked = linked[row]
                if document.bm25 is None:
                    document.collection_ranking, document.bm25 = (
                        ranking,
                        StageScore(totals[row], totals[row] / ranking.ranking.attainable),
                    )
        retrieval.degraded.extend(faults.values())

    def _translate(self, retrieval: Retrieval, method: str, language: str, sounds: Sounds) -> Translated:
        """Translate a query. What it asks of indexes in parts is asked at once, after a translation without that."""

        def translate_with(sounds: Callable[[str], Alike], holds: Callable[[str], bool]) -> Translated:
            query, names = retrieval.query, retrieval.names
            return translate(query, language, method, retrieval.snapshot, self._analysis, sounds, holds, names)

        in_parts = [info for info in retrieval.collections if info.index_shards > 1 and language in info.languages]
        if in_parts:
            questions = Questions()
            draft = translate_with(questions.sounds, questions.holds)
            if not questions:
                return draft
            for collection in check_each(in_parts):
                unsearched: Sequence[Unsearched] = ()
                with suppress(NotFound, Unavailable, IndexFault), self._indexes.of(collection.key).use() as index:
                    unsearched = index.prefetch(language, questions.sounding[:MOST_WORDS], questions.held)
                note_unsearched(retrieval.degraded, STAGE, collection, unsearched)
        return translate_with(sounds, partial(self._holds, retrieval.collections, language))

    def _rank_collections(
        self, retrieval: Retrieval, translations: Mapping[str, Translated], k: int, degraded: list[Degraded]
    ) -> list[CollectionRanking]:
        rankings: list[CollectionRanking] = []
        faults: list[ServiceError] = []
        for collection in check_each(retrieval.collections):
            try:
                permitted_keys = None if retrieval.permitted is None else retrieval.permitted.get(collection.key, ())
                queries = [translations[language] for language in collection.languages]
                rankings += self._rank_languages(collection, queries, k, permitted_keys, degraded)
            except (NotFound, Unavailable, IndexFault) as fault:
                if in_background() and not isinstance(fault, NotFound):
                    raise
                error = classify(fault) or Unavailable(without_folders(str(fault)))
                faults.append(error)
                reason = f"collection '{collection.name}' was not searched: {error}"
                degraded.append(Degraded.of(STAGE, reason, error.error_type, collection.name, 1.0))
                continue
            if collection.index_state == IndexState.STALE:
                reason = f"collection '{collection.name}': the index is stale: {_STALE}"
                if in_background():
                    raise Unavailable(reason)
                degraded.append(Degraded.of(STAGE, reason, "stale_index", collection.name))
        if faults and len(faults) == len(retrieval.collections):
            raise faults[0]
        return rankings

    def _rank_languages(
        self,
        collection: CollectionInfo,
        translations: Sequence[Translated],
        k: int,
        permitted: Sequence[int] | None,
        degraded: list[Degraded],
    ) -> list[CollectionRanking]:
        rankings = []
        unsearched: Sequence[Unsearched] = ()
        with self._indexes.of(collection.key).use() as index:
            for translated in check_each(translations):
                query, language = translated.query, translated.language
                ranking, statistics = index.rank_with_statistics(query, language, k, translated.bm25)
                if len(ranking.unsearched) > len(unsearched):
                    unsearched = ranking.unsearched
                if permitted is not None and ranking.hits:
                    hits, without = _best(index, translated, permitted, k)
                    ranking = replace(ranking, hits=hits)
                    unsearched = max(unsearched, without, key=len)
                if ranking.hits:
                    rankings.append(CollectionRanking(collection, translated, ranking, statistics))
        note_unsearched(degraded, STAGE, collection, unsearched)
        return rankings

    def _sounding(self, collections: Sequence[CollectionInfo], language: str, term: str) -> list[tuple[str, float]]:
        """The index terms of collections with documents in ``language`` that sound like ``term``."""
        similarities: dict[str, float] = {}
        for collection in check_each(collections):
            with suppress(NotFound, Unavailable, IndexFault), self._indexes.of(collection.key).use() as index:
                similarities.update(index.sounding(language, term))
        return sorted(similarities.items(), key=lambda entry: (-entry[1], entry[0]))

    def _holds(self, collections: Sequence[CollectionInfo], language: str, term: str) -> bool:
        """Whether a collection has an index term of ``language``."""
        for collection in check_each(collections):
            if language in collection.languages:
                with suppress(NotFound, Unavailable, IndexFault), self._indexes.of(collection.key).use() as index:
                    if index.document_frequencies(language, [term])[term]:
                        return True
        return False


def _document(ranking: CollectionRanking, key: int, bm25: StageScore) -> RankedDocument:
    return RankedDocument(ranking.collection, key, ranking.translated.language, bm25.share, bm25.score, ranking, bm25)


def _best(
    index: SearchedIndex, translated: Translated, keys: Sequence[int], k: int
) -> tuple[list[Hit], Sequence[Unsearched]]:
    """The ``k`` best of these documents, the first of equal ones by key, and the parts that did not answer."""
    if not keys:
        return [], ()
    parts = index.parts(translated.query, translated.language, keys, translated.bm25)
    ranked = sorted((-total, key) for total, key in zip(parts.totals.tolist(), keys, strict=True) if total > 0)
    return [Hit(key, -total) for total, key in ranked[:k]], parts.unsearched
