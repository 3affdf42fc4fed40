"""Several indexes that together hold the documents of one, and answer as that one would.

A search takes two rounds. The first asks each shard for whole numbers: its documents, their length, and the document
frequency of each term of the query. They add up to those of one index. The second has each shard score its documents by
the sums, with ``idf(sum_s df_s(t), sum_s N_s)`` and ``avgdl = sum_s length_s / sum_s N_s``. So each document gets the
very score that it has in one index, and the ``k`` best of all are among the ``k`` best of each.

Each shard keeps the snapshot of the first round for the second. The sums are kept as well: while no shard has changed,
the second round is the only one. What a query's translation asks of the index, if anything, is one round before these.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future, wait
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Protocol, TypeVar

import numpy as np

from dragoman.deadline import check, remaining
from dragoman.indexes.analysis.transliteration import most_alike
from dragoman.indexes.bm25 import BM25, Parts, Ranking, Unsearched
from dragoman.indexes.errors import IndexClosed, IndexCorrupt, IndexFault, LeaseExpired, ShardLate
from dragoman.indexes.explanation import Statistics
from dragoman.indexes.java.jvm import JavaError, JvmUnavailable
from dragoman.indexes.lucene.queries import Lease, PreparedQuery, Scored, prepare
from dragoman.lexicon.query import TranslatedQuery

__all__ = ["JoinedIndex", "SearchedIndex", "Shard", "shard_of"]

_CACHED_QUERIES = 256
_CACHED_TERMS = 8_192
_CACHED_CANDIDATES = 64
"""Terms of which may be kept what may sound like them; that may be very much, and is needed once."""
_LONGEST_SECONDS = 30.0
_SHARE_OF_TIME = 0.75
"""Of the time that is left, what a late shard may take: the answer has to be made of what the others found."""
_POLL_SECONDS = 0.1
_REST_SECONDS = 10.0
"""How long a shard that was late is not asked: else each round of a search would wait for it."""

_FAULTS = (IndexFault, OSError, JavaError, JvmUnavailable)
"""What a shard may raise by itself; all else is the query's fault, or ours."""
_MASK = (1 << 64) - 1
_BM25 = BM25()

T = TypeVar("T")
_Key = tuple[str, str, int]


class SearchedIndex(Protocol):
    """What a search asks of the index of a collection, of one part or of several."""

    def rank_with_statistics(
        self, query: TranslatedQuery, language: str, k: int, bm25: BM25 | None = None
    ) -> tuple[Ranking, Statistics]:
        """The ``k`` best documents, and the statistics behind their scores."""

    def parts(self, query: TranslatedQuery, language: str, keys: Sequence[int], bm25: BM25 | None = None) -> Parts:
        """The scores of the documents ``keys``: for each group, and together."""

    def sounding(self, language: str, term: str) -> list[tuple[str, float]]:
        """Index terms that sound like ``term``, with similarities in (0, 1]."""

    def document_frequencies(self, language: str, terms: Collection[str]) -> dict[str, int]:
        """The document frequency of each index term."""

    def prefetch(self, language: str, sounding: Collection[str], held: Collection[str]) -> Sequence[Unsearched]:
        """Get ready for being asked what sounds like some terms, and for the document frequencies of others.

        Returns the parts that cannot be asked.
        """


class Shard(Protocol):
    """An index that holds the documents of some keys, and answers in rounds; see ``LuceneIndex``."""

    @property
    def refreshes(self) -> int:
        """Another number whenever its answers may be others."""

    def begin(self, query: PreparedQuery) -> Lease:
        """The first round: the statistics of a query's terms, and the snapshot that has them."""

    def end(self, lease: Lease) -> None:
        """Let a snapshot go."""

    def score(self, query: PreparedQuery, k: int, lease: Lease | None = None) -> Scored:
        """The second round; raises LeaseExpired where the snapshot is gone."""

    def score_documents(self, query: PreparedQuery, keys: Sequence[int], lease: Lease | None = None) -> Parts:
        """The second round for some documents; raises LeaseExpired where the snapshot is gone."""

    def vocabulary(
        self, language: str, sounding: Collection[str], held: Collection[str]
    ) -> tuple[dict[str, Sequence[str]], dict[str, int]]:
        """For each of some terms the index terms that may sound like it, and the document frequencies of others."""


@dataclass(slots=True)
class _Sums:
    """The leases of first rounds by query and shard, while the shards' state was this. Their snapshots may be gone."""

    state: list[int]
    leases: dict[_Key, Mapping[int, Lease]] = field(default_factory=dict)


@dataclass(slots=True)
class _Vocabulary:
    """What the shards answered about terms, by language and term, while their state was this."""

    state: list[int]
    candidates: dict[tuple[str, str], set[str]] = field(default_factory=dict)
    """What may sound like a term, until it is compared."""
    sounds: dict[tuple[str, str], list[tuple[str, float]]] = field(default_factory=dict)
    frequencies: dict[tuple[str, str], int] = field(default_factory=dict)


def shard_of(key: int, shards: int) -> int:
    """The shard of a document: SplitMix64's finaliser (Steele, Lea & Flood 2014) of its key, modulo ``shards``."""
    mixed = key & _MASK
    mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9 & _MASK
    mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EB & _MASK
    return (mixed ^ (mixed >> 31)) % shards


class JoinedIndex:
    """The index of all documents of several shards. Thread-safe.

    A shard that fails or is late is left out of the answer, which says so; where all do, the first one's fault is
    raised.
    """

    def __init__(self, shards: Sequence[Shard], pool: Executor) -> None:
        """``pool`` runs the shards' work, several at a time."""
        self._shards = shards
        self._pool = pool
        self._sums = _Sums([])
        self._resting: dict[int, float] = {}
        """Until when shards that were late are not asked."""
        self._vocabulary = _Vocabulary([])
        self.damage: Exception | None = None
        """What was wrong with a shard that could not answer and never will."""

    def rank_with_statistics(
        self, query: TranslatedQuery, language: str, k: int, bm25: BM25 | None = None
    ) -> tuple[Ranking, Statistics]:
        """The ``k`` best documents, best first, ties by ascending key, and the statistics behind their scores.

        Raises:
            ValueError: if ``k`` is below 1 or a weight is not a positive number.
            IndexFault, OSError: no shard can be searched.
        """
        prepared = prepare(query, language, bm25 or _BM25)
        answers, unsearched = self._in_rounds(prepared, lambda shard, position, lease: shard.score(prepared, k, lease))
        keys = np.concatenate([scored.keys for scored in answers.values()])
        scores = np.concatenate([scored.scores for scored in answers.values()])
        best = np.lexsort((keys, -scores))[:k]
        joined = next(iter(answers.values()))._replace(keys=keys[best], scores=scores[best])
        ranking, statistics = joined.answer(prepared.terms)
        return replace(ranking, unsearched=unsearched), statistics

    def parts(self, query: TranslatedQuery, language: str, keys: Sequence[int], bm25: BM25 | None = None) -> Parts:
        """The scores of the documents ``keys``: for each group, and together; 0 for those of a shard that fails.

        Raises:
            IndexFault, OSError: no shard can be searched.
        """
        rows: list[list[int]] = [[] for _ in self._shards]
        for row, key in enumerate(keys):
            rows[shard_of(key, len(self._shards))].append(row)

        prepared = prepare(query, language, bm25 or _BM25)

        def score(shard: Shard, position: int, lease: Lease) -> Parts:
            return shard.score_documents(prepared, [keys[row] for row in rows[position]], lease)

        answers, unsearched = self._in_rounds(prepared, score)
        attainable = next(iter(answers.values())).attainable
        scores = np.zeros((len(keys), len(query.groups)), np.float32)
        joined = Parts(scores, attainable, np.zeros(len(keys), np.float32), unsearched)
        for position, parts in answers.items():
            joined.scores[rows[position]] = parts.scores
            joined.totals[rows[position]] = parts.totals
        return joined

    def sounding(self, language: str, term: str) -> list[tuple[str, float]]:
        """At most 50 index terms in ``language`` that sound like ``term``, with similarities in (0, 1]."""
        vocabulary = self._present_vocabulary()
        similar_terms = vocabulary.sounds.get((language, term))
        if similar_terms is None:
            candidates = vocabulary.candidates.pop((language, term), None)
            if candidates is None:
                answer, _ = self._ask_vocabulary(vocabulary, language, [term], [])
                candidates = answer.candidates[language, term]
            similar_terms = vocabulary.sounds[language, term] = most_alike(term, candidates)
        return similar_terms

    def document_frequencies(self, language: str, terms: Collection[str]) -> dict[str, int]:
        """The document frequency of each index term."""
        vocabulary = self._present_vocabulary()
        if missing := [term for term in terms if (language, term) not in vocabulary.frequencies]:
            self._ask_vocabulary(vocabulary, language, [], missing)
        return {term: vocabulary.frequencies[language, term] for term in terms}

    def prefetch(self, language: str, sounding: Collection[str], held: Collection[str]) -> Sequence[Unsearched]:
        """Ask in one round for what :meth:`sounding` and :meth:`document_frequencies` will be asked for.

        Returns the shards that did not answer.
        """
        vocabulary = self._present_vocabulary()
        terms = [term for term in sounding if (language, term) not in vocabulary.sounds]
        missing = [term for term in held if (language, term) not in vocabulary.frequencies]
        if not terms and not missing:
            return ()
        answer, faults = self._ask_vocabulary(vocabulary, language, terms, missing)
        if len(vocabulary.candidates) >= _CACHED_CANDIDATES:
            vocabulary.candidates.clear()
        vocabulary.candidates.update(answer.candidates)
        return self._list_unsearched(faults)

    def _present_vocabulary(self) -> _Vocabulary:
        state = [shard.refreshes for shard in self._shards]
        vocabulary = self._vocabulary
        if vocabulary.state != state or len(vocabulary.sounds) + len(vocabulary.frequencies) >= _CACHED_TERMS:
            vocabulary = self._vocabulary = _Vocabulary(state)
        return vocabulary

    def _ask_vocabulary(
        self, vocabulary: _Vocabulary, language: str, sounding: Collection[str], held: Collection[str]
    ) -> tuple[_Vocabulary, Mapping[int, Exception]]:
        """What the shards answer, of which the frequencies are kept, and the faults of those that do not."""
        answers, faults = self._ask(lambda shard, position: shard.vocabulary(language, sounding, held))
        if faults:
            vocabulary.state = []  # another search asks all shards anew
        answer = _Vocabulary([])
        for term in sounding:
            alike = [candidates[term] for candidates, _ in answers.values()]
            answer.candidates[language, term] = set().union(*alike)
        for term in held:
            vocabulary.frequencies[language, term] = sum(frequencies[term] for _, frequencies in answers.values())
        return answer, faults

    def _in_rounds(
        self, query: PreparedQuery, score: Callable[[Shard, int, Lease], T]
    ) -> tuple[dict[int, T], tuple[Unsearched, ...]]:
        """The answers of the second round, by shard, and which shards did not answer."""
        key = query.field, query.lines, len(query.terms)
        state = [shard.refreshes for shard in self._shards]
        sums = self._sums
        if sums.state != state or len(sums.leases) >= _CACHED_QUERIES:
            sums = self._sums = _Sums(state)
        if (cached := sums.leases.get(key)) is not None:
            with suppress(LeaseExpired):  # a shard is being refreshed
                return self._score(score, cached, {})
            sums.leases.pop(key, None)
        with self._begin(query) as (leases, faults):
            if not faults:
                sums.leases[key] = leases
            return self._score(score, leases, faults)

    @contextmanager
    def _begin(self, query: PreparedQuery) -> Iterator[tuple[Mapping[int, Lease], Mapping[int, Exception]]]:
        """The first round: the snapshots of the shards, each with the sums of all shards that answered."""
        leases, faults = self._ask(
            lambda shard, position: shard.begin(query), late=lambda shard, lease: shard.end(lease)
        )
        try:
            total = np.sum([lease.numbers for lease in leases.values()], axis=0)
            yield {position: Lease(lease.version, total) for position, lease in leases.items()}, faults
        finally:
            for position, lease in leases.items():
                with suppress(IndexFault, OSError):
                    self._shards[position].end(lease)

    def _score(
        self,
        score: Callable[[Shard, int, Lease], T],
        leases: Mapping[int, Lease],
        faults: Mapping[int, Exception],
    ) -> tuple[dict[int, T], tuple[Unsearched, ...]]:
        answers, more = self._ask(lambda shard, position: score(shard, position, leases[position]), only=leases)
        for fault in more.values():
            if isinstance(fault, LeaseExpired):
                raise fault
        return answers, self._list_unsearched({**faults, **more})

    def _list_unsearched(self, faults: Mapping[int, Exception]) -> tuple[Unsearched, ...]:
        return tuple(Unsearched(1 / len(self._shards), fault) for _, fault in sorted(faults.items()))

    def _ask(
        self,
        ask: Callable[[Shard, int], T],
        only: Collection[int] | None = None,
        late: Callable[[Shard, T], None] | None = None,
    ) -> tuple[dict[int, T], dict[int, Exception]]:
        """The answers of shards by their positions, and the faults of the others. ``late`` gets what comes too late.

        Raises:
            Exception: what the first shard raised, where none answered.
            WorkCancelled: nobody waits for it any more.
        """
        positions = list(range(len(self._shards))) if only is None else sorted(only)
        now = time.monotonic()
        awake = [position for position in positions if self._resting.get(position, 0.0) <= now] or positions
        futures: dict[int, Future[T]] = {}
        try:
            for position in awake:
                futures[position] = self._pool.submit(ask, self._shards[position], position)
            _wait(list(futures.values()), remaining(_LONGEST_SECONDS) * _SHARE_OF_TIME)
            answers, faults = self._collect(futures)
            if not answers:
                raise next(iter(faults.values()))
        except BaseException:
            self._abandon(futures, late)
            raise
        self._abandon({position: futures[position] for position in faults}, late)
        return answers, faults | {position: ShardLate(position) for position in positions if position not in awake}

    def _collect(self, futures: Mapping[int, Future[T]]) -> tuple[dict[int, T], dict[int, Exception]]:
        answers: dict[int, T] = {}
        faults: dict[int, Exception] = {}
        for position, future in futures.items():
            fault = future.exception() if future.done() else ShardLate(position)
            if fault is None:
                answers[position] = future.result()
            elif isinstance(fault, _FAULTS):
                faults[position] = fault
            else:
                raise fault
            if isinstance(fault, ShardLate):
                self._resting[position] = time.monotonic() + _REST_SECONDS
            if isinstance(fault, (IndexCorrupt, IndexClosed)):
                self.damage = fault
        return answers, faults

    def _abandon(self, futures: Mapping[int, Future[T]], late: Callable[[Shard, T], None] | None) -> None:
        """Nobody takes the answers of these: what is not begun is not done, and ``late`` gets what comes."""
        for position, future in futures.items():
            if not future.cancel() and late is not None:
                future.add_done_callback(partial(_give_back, late, self._shards[position]))


def _wait(futures: Sequence[Future[T]], seconds: float) -> None:
    """Wait until all are done, or for ``seconds``, as long as somebody waits for the answer."""
    while futures and seconds > 0:
        futures = list(wait(futures, min(seconds, _POLL_SECONDS)).not_done)
        seconds -= _POLL_SECONDS
        check()


def _give_back(end: Callable[[Shard, T], None], shard: Shard, future: Future[T]) -> None:
    if future.exception() is None:
        with suppress(*_FAULTS):
            end(shard, future.result())
