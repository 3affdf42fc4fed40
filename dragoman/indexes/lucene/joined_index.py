"""Several indexes that together hold the documents of one, and answer as that one would.

A search takes two rounds. The first asks each shard for whole numbers: its documents, their length, and the document
frequency of each term of the query. They add up to those of one index. The second has each shard score its documents by
the sums, with ``idf(sum_s df_s(t), sum_s N_s)`` and ``avgdl = sum_s length_s / sum_s N_s``. So each document gets the
very score that it has in one index, and the ``k`` best of all are among the ``k`` best of each.

Where all shards are in this process, both rounds are one call of Java (:mod:`dragoman.indexes.lucene.batch`). What
follows is for shards elsewhere, and for where one of them cannot answer. Each shard keeps the snapshot of the first
round for the second. The sums are kept as well: while no shard has changed, the second round is the only one. What a
query's translation asks of the index, if anything, is one round before these.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from dragoman.indexes.analysis.spellings import most_alike
from dragoman.indexes.bm25 import Parts
from dragoman.indexes.errors import IndexFault, LeaseExpired
from dragoman.indexes.lucene.listing import Matched, SortField, Values, join_matched
from dragoman.indexes.lucene.queries import Lease, PreparedQuery, Scored
from dragoman.indexes.lucene.searched_index import FAULTS, Filtered, SearchedIndex
from dragoman.indexes.shard_group import ShardGroup, Unsearched

__all__ = ["JoinedIndex", "Shard"]

_CACHED_QUERIES = 256
_CACHED_TERMS = 8_192
_CACHED_CANDIDATES = 64
"""Terms of which may be kept what may sound like them; that may be very much, and is needed once."""

T = TypeVar("T")
_Key = tuple[str, str, int]


class Shard(Protocol):
    """An index that holds the documents of some keys, and answers in rounds; see ``LuceneIndex``."""

    @property
    def refreshes(self) -> int:
        """Another number whenever its answers may be others."""

    def begin(self, query: PreparedQuery, version: int) -> Lease:
        """The first round: the statistics of a query's terms, and the snapshot that has them.

        ``version`` is that of the snapshot; 0 is the present one, here and in what follows.
        """

    def end(self, lease: Lease) -> None:
        """Let a snapshot go."""

    def score(self, query: PreparedQuery, k: int, lease: Lease | None = None) -> Scored:
        """The second round; raises LeaseExpired where the snapshot is gone."""

    def score_documents(self, query: PreparedQuery, keys: Sequence[int], lease: Lease | None = None) -> Parts:
        """The second round for some documents; raises LeaseExpired where the snapshot is gone."""

    def select_keys(self, program: str, version: int) -> Filtered:
        """The documents that the program of a filter leaves."""

    def matches(
        self,
        query: PreparedQuery,
        numbers: NDArray[np.int64],
        facets: Sequence[str],
        order: Sequence[SortField],
        k: int,
        version: int,
    ) -> Matched:
        """What the matching documents have in common; ``numbers`` are the sums."""

    def values(self, fields: Sequence[str], keys: Sequence[int]) -> list[Values]:
        """The values of fields of documents."""

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


class JoinedIndex(SearchedIndex):
    """The index of all documents of several shards. Thread-safe.

    A shard that fails or is late is left out of the answer, which says so; where all do, the first one's fault is
    raised.
    """

    def __init__(self, shards: Sequence[Shard], pool: Executor) -> None:
        """``pool`` runs the shards' work, several at a time."""
        self._group = ShardGroup(shards, pool, FAULTS)
        self._sums = _Sums([])
        self._vocabulary = _Vocabulary([])

    @property
    def damage(self) -> Exception | None:  # type: ignore[override]
        return self._group.damage

    @property
    def searchers(self) -> Sequence[Any] | None:
        return None

    @contextmanager
    def _at_one_moment(self) -> Iterator[Mapping[int, int]]:
        """The versions of snapshots of one moment, by shard, which stay in the block; none where that cannot be had."""
        yield {}

    def score(self, query: PreparedQuery, k: int) -> Scored:
        answers, unsearched = self._in_rounds(query, lambda shard, position, lease: shard.score(query, k, lease))
        keys = np.concatenate([scored.keys for scored in answers.values()])
        scores = np.concatenate([scored.scores for scored in answers.values()])
        best = np.lexsort((keys, -scores))[:k]
        matching = sum(scored.matching for scored in answers.values())
        return next(iter(answers.values()))._replace(
            keys=keys[best], scores=scores[best], matching=matching, unsearched=unsearched
        )

    def score_documents(self, query: PreparedQuery, keys: Sequence[int]) -> Parts:
        rows = self._group.spread(range(len(keys)), lambda row: keys[row])

        def score(shard: Shard, position: int, lease: Lease) -> Parts:
            return shard.score_documents(query, [keys[row] for row in rows.get(position, ())], lease)

        answers, unsearched = self._in_rounds(query, score)
        attainable = next(iter(answers.values())).attainable
        scores = np.zeros((len(keys), len(attainable)), np.float32)
        joined = Parts(scores, attainable, np.zeros(len(keys), np.float32), unsearched)
        for position, parts in answers.items():
            chosen = rows.get(position, [])
            joined.scores[chosen] = parts.scores
            joined.totals[chosen] = parts.totals
        return joined

    def select_keys(self, program: str) -> Filtered:
        with self._at_one_moment() as versions:
            answers, faults = self._group.ask(
                lambda shard, position: shard.select_keys(program, versions.get(position, 0))
            )
        keys = np.sort(np.concatenate([answer.keys for answer in answers.values()]))
        return Filtered(keys, self._group.list_unsearched(faults))

    def matches(
        self,
        query: PreparedQuery,
        numbers: NDArray[np.int64],
        facets: Sequence[str] = (),
        order: Sequence[SortField] = (),
        k: int = 1,
    ) -> Matched:
        with self._at_one_moment() as versions:
            answers, faults = self._group.ask(
                lambda shard, position: shard.matches(query, numbers, facets, order, k, versions.get(position, 0))
            )
        return join_matched(list(answers.values()), self._group.list_unsearched(faults))

    def values(self, fields: Sequence[str], keys: Sequence[int]) -> list[Values]:
        rows = self._group.spread(range(len(keys)), lambda row: keys[row])
        answers, _ = self._group.ask(
            lambda shard, position: shard.values(fields, [keys[row] for row in rows[position]]), rows
        )
        values: list[Values] = [[[] for _ in fields] for _ in keys]
        for position, answer in answers.items():
            for row, of_document in zip(rows[position], answer, strict=True):
                values[row] = of_document
        return values

    def sounding(self, language: str, term: str) -> list[tuple[str, float]]:
        vocabulary = self._present_vocabulary()
        similar_terms = vocabulary.sounds.get((language, term))
        if similar_terms is None:
            candidates = vocabulary.candidates.pop((language, term), None)
            if candidates is None:
                answer, _ = self._ask_vocabulary(vocabulary, language, [term], [])
                candidates = answer.candidates[language, term]
            similar_terms = vocabulary.sounds[language, term] = most_alike(term, candidates, language)
        return similar_terms

    def document_frequencies(self, language: str, terms: Collection[str]) -> dict[str, int]:
        vocabulary = self._present_vocabulary()
        if missing := [term for term in terms if (language, term) not in vocabulary.frequencies]:
            self._ask_vocabulary(vocabulary, language, [], missing)
        return {term: vocabulary.frequencies[language, term] for term in terms}

    def prefetch(self, language: str, sounding: Collection[str], held: Collection[str]) -> Sequence[Unsearched]:
        """Ask in one round for what :meth:`sounding` and :meth:`document_frequencies` will be asked for."""
        vocabulary = self._present_vocabulary()
        terms = [term for term in sounding if (language, term) not in vocabulary.sounds]
        missing = [term for term in held if (language, term) not in vocabulary.frequencies]
        if not terms and not missing:
            return ()
        answer, faults = self._ask_vocabulary(vocabulary, language, terms, missing)
        if len(vocabulary.candidates) >= _CACHED_CANDIDATES:
            vocabulary.candidates.clear()
        vocabulary.candidates.update(answer.candidates)
        return self._group.list_unsearched(faults)

    def _present_vocabulary(self) -> _Vocabulary:
        state = [shard.refreshes for shard in self._group.shards]
        vocabulary = self._vocabulary
        if vocabulary.state != state or len(vocabulary.sounds) + len(vocabulary.frequencies) >= _CACHED_TERMS:
            vocabulary = self._vocabulary = _Vocabulary(state)
        return vocabulary

    def _ask_vocabulary(
        self, vocabulary: _Vocabulary, language: str, sounding: Collection[str], held: Collection[str]
    ) -> tuple[_Vocabulary, Mapping[int, Exception]]:
        """What the shards answer, of which the frequencies are kept, and the faults of those that do not."""
        answers, faults = self._group.ask(lambda shard, position: shard.vocabulary(language, sounding, held))
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
        state = [shard.refreshes for shard in self._group.shards]
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
        with self._at_one_moment() as versions:
            leases, faults = self._group.ask(
                lambda shard, position: shard.begin(query, versions.get(position, 0)),
                late=lambda shard, lease: shard.end(lease),
            )
        try:
            total = np.sum([lease.numbers for lease in leases.values()], axis=0)
            yield {position: Lease(lease.version, total) for position, lease in leases.items()}, faults
        finally:
            for position, lease in leases.items():
                with suppress(IndexFault, OSError):
                    self._group.shards[position].end(lease)

    def _score(
        self,
        score: Callable[[Shard, int, Lease], T],
        leases: Mapping[int, Lease],
        faults: Mapping[int, Exception],
    ) -> tuple[dict[int, T], tuple[Unsearched, ...]]:
        answers, more = self._group.ask(lambda shard, position: score(shard, position, leases[position]), only=leases)
        for fault in more.values():
            if isinstance(fault, LeaseExpired):
                raise fault
        return answers, self._group.list_unsearched({**faults, **more})
