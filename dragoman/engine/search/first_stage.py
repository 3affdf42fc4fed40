"""The first stage: translates a query into every language of the collections, ranks by BM25, and merges."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import ExitStack, suppress
from functools import cache, partial
from operator import attrgetter
from typing import TypeVar

import numpy as np

from dragoman.deadline import check_each
from dragoman.engine.core.answer import Degraded
from dragoman.engine.core.errors import InvalidRequest, NotFound, ServiceError, Unavailable, classify
from dragoman.engine.core.names import without_folders
from dragoman.engine.core.priority import in_background
from dragoman.engine.indexing.collections import CollectionInfo
from dragoman.engine.indexing.lucene.builds import IndexState
from dragoman.engine.indexing.lucene.indexes import Indexes
from dragoman.engine.query.description import without_tables
from dragoman.engine.query.exact.pattern import all_of
from dragoman.engine.query.exact.reading import read_wish
from dragoman.engine.query.names import Which
from dragoman.engine.query.sounds import MOST_WORDS, Alike, Questions, Sounds
from dragoman.engine.query.spelling import Spellings
from dragoman.engine.query.translation import Translated, identical, translate
from dragoman.engine.search.candidates import NO_WORDS, Candidates, Keys, WordMatches, WordRanking
from dragoman.engine.search.ranked import (
    CollectionRanking,
    Retrieval,
    document_of_words,
    note_unsearched,
)
from dragoman.engine.tables.views import PivotView, View
from dragoman.indexes.errors import IndexFault
from dragoman.indexes.fusion import merge_by_share
from dragoman.indexes.lucene.listing import Matched, SortField
from dragoman.indexes.lucene.queries import PreparedQuery, Scored, prepare
from dragoman.indexes.lucene.searched_index import (
    FAULTS,
    Question,
    SearchedIndex,
    catch_faults,
    score_documents_of_each,
    score_each,
)
from dragoman.indexes.shard_group import Unsearched
from dragoman.lexicon.query import Respelt
from dragoman.lexicon.text.tokens import Analysis

STAGE = "first_stage"
_STALE = "it lacks the latest changes, or it is of an earlier version and being built anew"

_FAULTS = (NotFound, Unavailable, IndexFault)
"""What a collection may have that cannot be asked."""

T = TypeVar("T")


class FirstStage:
    """Ranks the documents of several collections for a query. Safe from any thread."""

    def __init__(self, indexes: Indexes, analysis: Callable[[str], Analysis]) -> None:
        self._indexes = indexes
        self._analysis = analysis

    def limit(self, retrieval: Retrieval) -> None:
        """Limit a search to the documents that hold what is required, and nothing of what is excluded.

        Raises:
            InvalidRequest: a text has no word, or too many; or no translation, where that is an error.
        """
        if not retrieval.wishes:
            return
        request, method = retrieval.request, retrieval.request.method or "psq"
        for language in sorted(retrieval.languages):
            sounds = self._sounds(retrieval, language)
            asked = method, retrieval.snapshot, self._analysis
            holds = partial(self._holds, retrieval.collections, language)
            for wish in check_each(retrieval.wishes):
                reading = read_wish(wish, retrieval.query.language, language, *asked, sounds, holds)
                if reading.literal and request.untranslated == "error":
                    why = f"has no translation into {language}"
                    if method == "none":
                        why = f"is not translated into {language} by the method none, and untranslated is error"
                    raise InvalidRequest(f"{wish.path}: {reading.literal[0]!r} {why}")
                if reading.left_out:
                    reason = f"the {reading.left_out} least probable index terms in {language} were not looked for"
                    retrieval.truncated.append(f"{wish.path}: {wish.text!r}: {reason}")
                wish.readings[language] = reading
            retrieval.truncated += sounds.truncated
            retrieval.degraded += sounds.degraded
        for collection in retrieval.collections:
            retrieval.narrow(collection, all_of([wish.program(collection.languages) for wish in retrieval.wishes]))

    def rank(self, retrieval: Retrieval, method: str, k: int) -> None:
        """Rank the ``k`` best documents of all collections, with the names of the query kept whole.

        Raises:
            Unavailable: as :meth:`find`.
        """
        words = self.find(retrieval, method, k)
        rankings = retrieval.collection_rankings
        for rank, (key, index, score, share) in enumerate(zip(*(column.tolist() for column in words), strict=True), 1):
            ranking = rankings[index]
            retrieval.documents.append(document_of_words(ranking, key, score, share, rank))

    def find(self, retrieval: Retrieval, method: str, k: int, linked: bool = False) -> WordRanking:
        """The ``k`` best documents of all collections, and their rankings in ``retrieval``.

        ``linked``: what :meth:`link` says of all of them may come with them, as they are few.

        Raises:
            Unavailable: there are collections, but none can be searched now. In background work also: a required
                index is not ready, or a required table is not served.
        """
        with retrieval.stage("translate"):
            translations = self._translations(retrieval, method)
        degraded = without_tables(retrieval.query.language, translations.values(), retrieval.snapshot)
        with retrieval.stage(STAGE):
            scored = self._rank_collections(retrieval, translations, k, linked, degraded)
            sources, inside, shares = merge_by_share(
                [(ranking.collection.key, *best[:2], best.attainable) for ranking, best in scored], k
            )
        retrieval.translations = list(translations.values())
        retrieval.collection_rankings = [ranking for ranking, _ in scored]
        retrieval.degraded += degraded
        if not scored:
            return NO_WORDS
        places = np.cumsum([0, *(len(best.keys) for _, best in scored)])[sources] + inside
        keys = np.concatenate([best.keys for _, best in scored])[places]
        return WordRanking(keys, sources, np.concatenate([best.scores for _, best in scored])[places], shares)

    def link(self, retrieval: Retrieval, words: WordRanking) -> list[WordMatches]:
        """How the words of the query match the documents that BM25 ranked, group by group.

        What cannot be compared now is added to ``degraded``.

        Raises:
            Unavailable: in background work, an index is not ready.
        """
        counts = np.bincount(words.rankings, minlength=len(retrieval.collection_rankings)).tolist()
        links: list[WordMatches] = []
        others: list[tuple[int, Keys]] = []
        for index, (ranking, count) in enumerate(zip(retrieval.collection_rankings, counts, strict=True)):
            if ranking.linked is not None and len(ranking.linked[0]) == count:  # none of its documents was left out
                links.append(WordMatches(index, *ranking.linked))
            else:
                others.append((index, words.keys[words.rankings == index]))
        return sorted(links + self._compare(retrieval, others), key=attrgetter("ranking"))

    def match(self, retrieval: Retrieval, candidates: Candidates) -> list[WordMatches]:
        """How the words of the query match the candidates that BM25 did not rank, as :meth:`link`."""
        unranked = np.isnan(candidates.bm25.scores)
        return self._compare(
            retrieval,
            [
                (index, candidates.keys[unranked & (candidates.collections == ranking.collection.key)])
                for index, ranking in enumerate(retrieval.collection_rankings)
            ],
        )

    def list_matches(
        self, retrieval: Retrieval, facets: Sequence[str], order: Sequence[SortField], k: int
    ) -> dict[int, Matched]:
        """By the index of a ranking, the values of fields of all documents that it matches, and the first of an order.

        What cannot be asked now is added to ``degraded``.

        Raises:
            Unavailable: in background work, an index is not ready.
        """
        rankings = retrieval.collection_rankings

        def ask(questions: list[Question], places: list[int]) -> list[Matched | Exception]:
            return [
                catch_faults(index.matches, query, rankings[place].numbers, facets, order, k)
                for (index, query), place in zip(questions, places, strict=True)
            ]

        asked = [(ranking.collection, ranking.query) for ranking in rankings]
        answers, faults = self._ask(asked, ask, attributes=True)
        for place, matched in answers.items():
            note_unsearched(retrieval.degraded, STAGE, rankings[place].collection, matched.unsearched)
        self._note_uncompared(retrieval, rankings, faults, "some documents are not counted or sorted")
        return answers

    def _compare(self, retrieval: Retrieval, keys_of_rankings: Sequence[tuple[int, Keys]]) -> list[WordMatches]:
        asked = [(index, keys) for index, keys in keys_of_rankings if len(keys)]
        if not asked:
            return []
        rankings = [retrieval.collection_rankings[index] for index, _ in asked]
        answers, faults = self._ask(
            [(ranking.collection, ranking.query) for ranking in rankings],
            lambda questions, places: score_documents_of_each(questions, [asked[place][1] for place in places]),
        )
        for place, parts in answers.items():
            note_unsearched(retrieval.degraded, STAGE, rankings[place].collection, parts.unsearched)
        self._note_uncompared(retrieval, rankings, faults, "some documents have no words compared")
        return [WordMatches(*asked[place], parts) for place, parts in answers.items()]

    def _note_uncompared(
        self,
        retrieval: Retrieval,
        rankings: Sequence[CollectionRanking],
        faults: Mapping[int, Exception],
        effect: str,
    ) -> None:
        names = {ranking.collection.key: ranking.collection.name for ranking in rankings}
        for key, fault in faults.items():
            degraded = _degradation(names[key], f"collection '{names[key]}': {effect}", fault)
            if degraded not in retrieval.degraded:
                retrieval.degraded.append(degraded)

    def _translations(self, retrieval: Retrieval, method: str) -> dict[str, Translated]:
        """The query in all languages of the collections."""
        languages = sorted(retrieval.languages)
        sounds = {language: self._sounds(retrieval, language) for language in languages}
        source, snapshot = retrieval.query.language, retrieval.snapshot
        spellings = {language: Spellings(source, language, snapshot, self._analysis) for language in languages}
        occurs = cache(partial(self._occurs, retrieval))
        translations = {
            language: self._translate(retrieval, method, language, sounds[language], spellings[language], occurs)
            for language in languages
        }
        for language_spellings in spellings.values():
            retrieval.truncated += language_spellings.truncated
        for language_sounds in sounds.values():
            retrieval.truncated += language_sounds.truncated
            retrieval.degraded += language_sounds.degraded
        return translations

    def _sounds(self, retrieval: Retrieval, language: str) -> Sounds:
        searched = [collection for collection in retrieval.collections if language in collection.languages]
        return Sounds(language, partial(self._sounding, searched, language))

    def _translate(
        self,
        retrieval: Retrieval,
        method: str,
        language: str,
        sounds: Sounds,
        spellings: Spellings,
        occurs: Callable[[str], bool],
    ) -> Translated:
        """Translate a query. What it asks of indexes in parts is asked at once, after a translation without that.

        ``occurs`` says whether documents of any language have a word.
        """

        def translate_with(sounds: Callable[[str], Alike], holds: Callable[[str], bool], which: Which) -> Translated:
            query, names, snapshot = retrieval.query, retrieval.names, retrieval.snapshot
            return translate(query, language, method, snapshot, self._analysis, sounds, holds, names, respell, which)

        def respell(word: str, view: View | PivotView) -> Respelt | None:
            return spellings(word, view) if sounds.complete and not occurs(word) else None

        in_parts = [info for info in retrieval.collections if info.index_shards > 1 and language in info.languages]
        if in_parts:
            questions = Questions()
            draft = translate_with(questions.sounds, questions.holds, questions.which)
            if not questions:
                return draft
            for collection in check_each(in_parts):
                unsearched: Sequence[Unsearched] = ()
                with suppress(NotFound, Unavailable, IndexFault), self._indexes.of(collection.key).use() as index:
                    unsearched = index.prefetch(language, questions.sounding[:MOST_WORDS], questions.held)
                note_unsearched(retrieval.degraded, STAGE, collection, unsearched)
        holds = partial(self._holds, retrieval.collections, language)
        return translate_with(sounds, holds, partial(self._which, retrieval.collections, language))

    def _occurs(self, retrieval: Retrieval, word: str) -> bool:
        """Whether documents of any language have a word, in any form of it."""
        terms = ((other, identical(self._analysis, other, word)) for other in sorted(retrieval.languages))
        return any(term and self._holds(retrieval.collections, other, term) for other, term in terms)

    def _rank_collections(
        self,
        retrieval: Retrieval,
        translations: Mapping[str, Translated],
        k: int,
        linked: bool,
        degraded: list[Degraded],
    ) -> list[tuple[CollectionRanking, Scored]]:
        """The rankings that have hits, by collection and language."""
        asked = [(info, translations[language]) for info in retrieval.collections for language in info.languages]
        queries = [
            (
                info,
                prepare(translated.query, translated.language, translated.bm25, retrieval.filters.get(info.key, "")),
            )
            for info, translated in asked
        ]
        answers, faults = self._ask(queries, lambda questions, _: score_each(questions, k, linked))
        rankings: list[tuple[CollectionRanking, Scored]] = []
        for place, ((info, translated), (_, query)) in enumerate(zip(asked, queries, strict=True)):
            if (answer := answers.get(place)) is not None and len(answer.keys):
                ranking = CollectionRanking(
                    info,
                    translated,
                    query,
                    answer.attainable,
                    answer.statistics(query.terms),
                    answer.numbers,
                    answer.matching,
                    None if answer.parts is None else (answer.keys, answer.parts),
                )
                rankings.append((ranking, answer))
        unsearched: dict[int, Sequence[Unsearched]] = {
            asked[place][0].key: answer.unsearched for place, answer in answers.items() if answer.unsearched
        }
        self._note_faults(retrieval.collections, unsearched, faults, degraded)
        return rankings

    def _note_faults(
        self,
        collections: Sequence[CollectionInfo],
        unsearched: Mapping[int, Sequence[Unsearched]],
        faults: Mapping[int, Exception],
        degraded: list[Degraded],
    ) -> None:
        """Say what was not searched, and what is out of date.

        Raises:
            Unavailable: nothing was searched; or, in background work, not everything was.
        """
        for collection in collections:
            if (fault := faults.get(collection.key)) is not None:
                effect = f"collection '{collection.name}' was not searched"
                degraded.append(_degradation(collection.name, effect, fault))
                continue
            note_unsearched(degraded, STAGE, collection, unsearched.get(collection.key, ()))
            if collection.index_state == IndexState.STALE:
                reason = f"collection '{collection.name}': the index is stale: {_STALE}"
                if in_background():
                    raise Unavailable(reason)
                degraded.append(Degraded.of(STAGE, reason, "stale_index", collection.name))
        if faults and len(faults) == len(collections):
            raise _error(next(iter(faults.values())))

    def _ask(
        self,
        queries: Sequence[tuple[CollectionInfo, PreparedQuery]],
        ask: Callable[[list[Question], list[int]], list[T | Exception]],
        attributes: bool = False,
    ) -> tuple[dict[int, T], dict[int, Exception]]:
        """The answers to queries by their places, and the faults of collections that cannot be asked, by key.

        ``ask`` gets the questions, and the places of their queries; with ``attributes`` it reads fields of metadata.
        """
        faults: dict[int, Exception] = {}
        answers: dict[int, T] = {}
        with ExitStack() as all_uses:
            uses: dict[int, tuple[ExitStack, SearchedIndex]] = {}
            for key, filtered in check_each({info.key: bool(query.filter) for info, query in queries}.items()):
                use = all_uses.enter_context(ExitStack())
                try:
                    uses[key] = use, use.enter_context(self._indexes.of(key).use(filtered=filtered or attributes))
                except _FAULTS as fault:
                    faults[key] = fault
            chosen = [place for place, (info, _) in enumerate(queries) if info.key in uses]
            questions = [(uses[queries[place][0].key][1], queries[place][1]) for place in chosen]
            for place, answer in zip(chosen, ask(questions, chosen), strict=True):
                if isinstance(answer, Exception):
                    faults[queries[place][0].key] = answer
                else:
                    answers[place] = answer
            for key in faults.keys() & uses:
                with suppress(*_FAULTS, *FAULTS), uses[key][0]:
                    raise faults[key]  # so that whoever opened the index learns of it
        return {place: answer for place, answer in answers.items() if queries[place][0].key not in faults}, faults

    def _sounding(self, collections: Sequence[CollectionInfo], language: str, term: str) -> list[tuple[str, float]]:
        """The index terms of collections with documents in ``language`` that sound like ``term``."""
        similarities: dict[str, float] = {}
        for collection in check_each(collections):
            with suppress(NotFound, Unavailable, IndexFault), self._indexes.of(collection.key).use() as index:
                similarities.update(index.sounding(language, term))
        return sorted(similarities.items(), key=lambda entry: (-entry[1], entry[0]))

    def _holds(self, collections: Sequence[CollectionInfo], language: str, term: str) -> bool:
        """Whether a collection has an index term of ``language``."""
        return bool(self._which(collections, language, [term]))

    def _which(self, collections: Sequence[CollectionInfo], language: str, terms: Collection[str]) -> set[str]:
        """Those of some index terms of ``language`` that a collection has."""
        held: set[str] = set()
        for collection in check_each([info for info in collections if language in info.languages]):
            if missing := [term for term in terms if term not in held]:
                with suppress(NotFound, Unavailable, IndexFault), self._indexes.of(collection.key).use() as index:
                    frequencies = index.document_frequencies(language, missing)
                    held.update(term for term, frequency in frequencies.items() if frequency)
        return held


def _error(fault: Exception) -> ServiceError:
    return classify(fault) or Unavailable(without_folders(str(fault)))


def _degradation(collection: str, effect: str, fault: Exception) -> Degraded:
    """What a search says of a collection that could not be asked.

    Raises:
        Exception: the fault, in background work, which waits for the collection.
    """
    if in_background() and not isinstance(fault, NotFound):
        raise fault
    error = _error(fault)
    return Degraded.of(STAGE, f"{effect}: {error}", error.cause, collection, 1.0)
