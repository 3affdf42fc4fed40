"""Several indexes answer as one that holds all of their documents, bit for bit."""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.deadline import WorkCancelled, deadline
from dragoman.engine.core.errors import classify
from dragoman.engine.indexing import faults as faults
from dragoman.indexes import BM25, IndexedDocument, LuceneIndex
from dragoman.indexes.errors import IndexClosed, LeaseExpired, ShardLate
from dragoman.indexes.java import jvm
from dragoman.indexes.java.jvm import JavaError
from dragoman.indexes.lucene import batch, queries
from dragoman.indexes.lucene.batch import score_batch, score_documents_batch
from dragoman.indexes.lucene.joined_index import JoinedIndex
from dragoman.indexes.lucene.searched_index import score_each
from dragoman.indexes.shard_group import shard_of
from dragoman.lexicon.query import Alternative, Method, TermGroup, TranslatedQuery
from dragoman.lexicon.text.tokens import PlainAnalysis
from tests.indexes.lucene.test_scores import MISSING, VOCABULARY, changes, groups, parameters

ANALYSES = {"xx": PlainAnalysis("de")}
METHODS: tuple[Method, ...] = ("psq", "smt", "none")
SOUNDING = ["petersburg", "pitersburg", "petersberg", "peterborough", "петербург", "piterburg"]

POOL = ThreadPoolExecutor(4)


@dataclass
class Pair:
    """One index, and shards that hold the same documents."""

    one: LuceneIndex
    shards: list[LuceneIndex]
    joined: JoinedIndex = field(init=False)

    def __post_init__(self) -> None:
        self.joined = JoinedIndex(self.shards, POOL)

    def change(self, added: Mapping[int, Sequence[str]], deleted: Sequence[int] = ()) -> None:
        rows = [IndexedDocument(key, "xx", " ".join(text)) for key, text in added.items()]
        self.one.add(rows, ANALYSES)
        self.one.delete(deleted)
        self.one.refresh()
        for place, shard in enumerate(self.shards):
            shard.add([row for row in rows if shard_of(row.key, len(self.shards)) == place], ANALYSES)
            shard.delete([key for key in deleted if shard_of(key, len(self.shards)) == place])
            shard.refresh()


@contextmanager
def pair(shards: int) -> Iterator[Pair]:
    with ExitStack() as opened:
        folder = Path(opened.enter_context(tempfile.TemporaryDirectory()))
        one, *parts = [opened.enter_context(LuceneIndex(folder / str(place))) for place in range(shards + 1)]
        yield Pair(one, parts)


def check_same(indexes: Pair, query: TranslatedQuery, k: int, bm25: BM25) -> None:
    ranking, statistics = indexes.one.rank_with_statistics(query, "xx", k, bm25)
    joined, sums = indexes.joined.rank_with_statistics(query, "xx", k, bm25)
    assert joined.hits == ranking.hits  # floats compare bit for bit
    assert (joined.attainable, joined.unsearched) == (ranking.attainable, ())
    assert sums == statistics
    keys = [*range(10), 7_000]
    one, parts = indexes.one.parts(query, "xx", keys, bm25), indexes.joined.parts(query, "xx", keys, bm25)
    for expected, computed in zip(one, parts, strict=True):
        np.testing.assert_array_equal(computed, expected)


def check_batch(indexes: Pair, asked: Sequence[TranslatedQuery], k: int, bm25: BM25, processors: int) -> None:
    """All queries in one call, each of one index and of its shards: as one by one.

    So many ``processors`` are free for the shards; the thread that asks searches the others.
    """
    prepared = [queries.prepare(query, "xx", bm25) for query in asked]
    of_shards = [searcher for shard in indexes.shards for searcher in shard.searchers]
    searchers = [indexes.one.searchers, of_shards] * len(prepared)
    twice = [query for query in prepared for _ in range(2)]
    keys = [np.array([key, 7_000, 3][: 1 + place % 3], np.int64) for place, key in enumerate(range(len(twice)))]
    with mock.patch.object(batch, "_PROCESSORS", processors):
        scored = jvm.run(score_batch, searchers, twice, k)
        linked = jvm.run(score_batch, searchers, twice, k, True)
    chosen = jvm.run(score_documents_batch, searchers, twice, keys)
    for place, query in enumerate(twice):
        for expected, found in zip(indexes.one.score(query, k), scored[place], strict=True):
            np.testing.assert_array_equal(found, expected)
        for expected, found in zip(
            indexes.one.score_documents(query, keys[place].tolist()), chosen[place], strict=True
        ):
            np.testing.assert_array_equal(found, expected)
        for expected, found in zip(scored[place][:-1], linked[place][:-1], strict=True):
            np.testing.assert_array_equal(found, expected)
        of_found = indexes.one.score_documents(query, scored[place].keys.tolist())
        for expected, found in zip(of_found, linked[place].parts, strict=True):
            np.testing.assert_array_equal(found, expected)


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(changes, st.lists(groups, min_size=1, max_size=2), parameters, st.sampled_from([1, 2, 3, 5]), st.integers(1, 12))
def test_shards_answer_as_one_index_bit_for_bit(
    changes: list[tuple[dict[int, list[str]], set[int]]],
    asked: list[list[TermGroup]],
    bm25: BM25,
    shards: int,
    k: int,
) -> None:
    with pair(shards) as indexes:
        for added, deleted in changes:
            indexes.change(added, sorted(deleted))
            for query in [TranslatedQuery(method, groups) for groups in asked for method in METHODS]:
                check_same(indexes, query, k, bm25)
                check_same(indexes, query, k, bm25)  # now with the sums of before
            together = [TranslatedQuery("psq", []), *(TranslatedQuery("psq", groups) for groups in asked)]
            for processors in range(3):
                check_batch(indexes, [*together, TranslatedQuery("smt", asked[0])], k, bm25, processors)
            terms = VOCABULARY + MISSING
            assert indexes.joined.document_frequencies("xx", terms) == indexes.one.document_frequencies("xx", terms)


@pytest.mark.slow
@settings(max_examples=10, deadline=None)
@given(
    st.dictionaries(st.integers(0, 99), st.lists(st.sampled_from(SOUNDING), max_size=4), min_size=1, max_size=20),
    st.sets(st.integers(0, 99)),
)
def test_what_sounds_alike_is_cut_once_all_shards_answered(added: dict[int, list[str]], deleted: set[int]) -> None:
    with pair(3) as indexes:
        indexes.change(added)
        for _ in range(2):
            for term in ("petersburg", "питер"):
                assert indexes.joined.sounding("xx", term) == indexes.one.sounding("xx", term)
            indexes.change({}, sorted(deleted))


TEXTS = {key: [VOCABULARY[key % 4], VOCABULARY[key * 7 % 5], "haus"][: 1 + key % 3] for key in range(60)}


def word(*terms: str, method: Method = "psq") -> TranslatedQuery:
    return TranslatedQuery(method, [TermGroup(term, term, 0, 1, [Alternative(term, 0.7, 0)]) for term in terms])


def test_a_batch_without_time_and_a_closed_index_leave_each_to_answer_by_itself(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with pair(2) as indexes:
        indexes.change(TEXTS)
        query = queries.prepare(word("haus"), "xx", BM25())
        expected = indexes.one.score(query, 5).keys.tolist()
        monkeypatch.setattr(batch, "_LONGEST_SECONDS", 0.0)
        with pytest.raises(JavaError, match="TimeoutException"):
            jvm.run(score_batch, [indexes.one.searchers], [query], 5)
        (found,) = score_each([(indexes.one, query)], 5)
        assert isinstance(found, queries.Scored)
        assert found.keys.tolist() == expected
        monkeypatch.undo()
        indexes.shards[0].close()
        found, closed = score_each([(indexes.one, query), (indexes.shards[0], query)], 5)
        assert isinstance(found, queries.Scored)
        assert found.keys.tolist() == expected
        assert isinstance(closed, IndexClosed)


def test_a_statistic_of_one_shard_alone_changes_the_scores(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the property would see: one shard that takes its own document frequencies."""
    with pair(3) as indexes:
        indexes.change(TEXTS)
        check_same(indexes, word("haus", "hof"), 100, BM25())
        scored = queries.score

        def alone(searcher: Any, *arguments: Any) -> Any:
            return scored(searcher, *arguments[:-1], None)

        monkeypatch.setattr(queries, "score", alone)
        with pytest.raises(AssertionError):
            check_same(indexes, word("haus", "hof"), 100, BM25())


def test_keys_are_spread_and_stay_where_they_are() -> None:
    counts = np.bincount([shard_of(key, 5) for key in range(10_000)])
    assert counts.min() > 1_850
    assert [shard_of(key, 5) for key in (-(2**63), -1, 0, 1, 2, 2**63 - 1)] == [0, 2, 0, 4, 0, 3]


class Stepping:
    """A shard that does something between the rounds, and counts them."""

    def __init__(self, shard: LuceneIndex, between: Any = lambda: None) -> None:
        self.shard = shard
        self.between = between
        self.rounds: list[str] = []

    def begin(self, *arguments: Any) -> queries.Lease:
        self.rounds.append("begin")
        lease = self.shard.begin(*arguments)
        self.between()
        return lease

    def score(self, *arguments: Any) -> Any:
        self.rounds.append("score")
        return self.shard.score(*arguments)

    def vocabulary(self, *arguments: Any) -> Any:
        self.rounds.append("vocabulary")
        return self.shard.vocabulary(*arguments)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.shard, name)


def test_the_second_round_sees_what_the_first_one_saw() -> None:
    with pair(2) as indexes:
        indexes.change(TEXTS)
        query = word("haus", "hof")
        expected = indexes.one.rank_with_statistics(query, "xx", 100)
        steps = [Stepping(shard, lambda: indexes.change({}, list(TEXTS)[::2])) for shard in indexes.shards]
        joined = JoinedIndex(steps, ThreadPoolExecutor(1))
        ranking, statistics = joined.rank_with_statistics(query, "xx", 100)
        first = {key for key in TEXTS if shard_of(key, 2) == 0}
        assert [hit for hit in ranking.hits if hit.key in first] != []
        assert statistics.documents > len(TEXTS) // 2  # the first shard's, from before its change
        assert {hit.key for hit in ranking.hits} & first == {hit.key for hit in expected[0].hits} & first


def test_what_a_translation_asks_is_one_round() -> None:
    with pair(3) as indexes:
        indexes.change({key: [SOUNDING[key % 6], "haus"] for key in range(30)})
        steps = [Stepping(shard) for shard in indexes.shards]
        joined = JoinedIndex(steps, POOL)
        joined.prefetch("xx", ["petersburg", "питер"], ["haus", "hof"])
        assert joined.sounding("xx", "petersburg") == indexes.one.sounding("xx", "petersburg") != []
        assert joined.sounding("xx", "питер") == indexes.one.sounding("xx", "питер")
        assert joined.document_frequencies("xx", ["haus", "hof"]) == {"haus": 30, "hof": 0}
        joined.prefetch("xx", ["petersburg"], ["hof"])
        assert [step.rounds for step in steps] == [["vocabulary"]] * 3
        indexes.change({99: ["hof"]})
        assert joined.document_frequencies("xx", ["hof"]) == {"hof": 1}


def test_while_nothing_changes_there_is_one_round() -> None:
    with pair(2) as indexes:
        indexes.change(TEXTS)
        steps = [Stepping(shard) for shard in indexes.shards]
        joined, query = JoinedIndex(steps, POOL), word("haus", "hof")
        for _ in range(3):
            joined.rank_with_statistics(query, "xx", 5)
        assert [step.rounds for step in steps] == [["begin", "score", "score", "score"]] * 2
        indexes.change({99: ["haus"]})
        again = joined.rank_with_statistics(query, "xx", 100)
        assert again[0].hits == indexes.one.rank(query, "xx", 100).hits
        assert steps[shard_of(99, 2)].rounds[4:] == ["begin", "score"]


def test_a_snapshot_goes_with_the_last_that_holds_it() -> None:
    with pair(1) as indexes:
        indexes.change(TEXTS)
        (shard,), query = indexes.shards, queries.prepare(word("haus"), "xx", BM25())
        lease, other = shard.begin(query), shard.begin(query)
        indexes.change({}, list(TEXTS))
        assert len(shard.score(query, 100, lease=lease).keys) == 33
        shard.end(lease)
        assert len(shard.score(query, 100, lease=other).keys) == 33
        shard.end(other)
        with pytest.raises(LeaseExpired):
            shard.score(query, 100, lease=lease)
        shard.end(lease)  # may be called again


def test_what_was_refreshed_is_seen_though_somebody_holds_the_snapshot_of_before() -> None:
    with pair(2) as indexes:
        indexes.change(TEXTS)
        indexes.joined.rank_with_statistics(word("haus"), "xx", 100)
        held = [shard.begin(queries.prepare(word("haus"), "xx", BM25())) for shard in indexes.shards]
        indexes.change({key: ["haus"] for key in range(100, 110)})
        check_same(indexes, word("haus"), 100, BM25())
        for shard, lease in zip(indexes.shards, held, strict=True):
            shard.end(lease)


class Holding(Stepping):
    """A shard whose first round waits, and that notes when its snapshot is given back."""

    def __init__(self, shard: LuceneIndex) -> None:
        self.go_on, self.ended = threading.Event(), threading.Event()
        super().__init__(shard, lambda: self.go_on.wait(60))

    def end(self, lease: queries.Lease) -> None:
        self.shard.end(lease)
        self.ended.set()


def test_snapshots_are_given_back_where_nobody_waits_for_the_answer_any_more() -> None:
    with pair(2) as indexes:
        indexes.change(TEXTS)
        steps = [Holding(shard) for shard in indexes.shards]
        steps[0].go_on.set()
        with deadline(60, cancelled=lambda: True), pytest.raises(WorkCancelled):
            JoinedIndex(steps, POOL).rank_with_statistics(word("haus"), "xx", 100)
        steps[1].go_on.set()
        assert all(step.ended.wait(60) for step in steps)


def test_where_all_shards_are_late_that_is_said_and_a_late_one_is_waited_for_once() -> None:
    with pair(2) as indexes:
        indexes.change(TEXTS)
        steps = [Holding(shard) for shard in indexes.shards]
        with deadline(0.3), pytest.raises(ShardLate) as late:
            JoinedIndex(steps, POOL).rank_with_statistics(word("haus"), "xx", 100)
        assert "took too long" in str(classify(late.value))
        steps = [Holding(shard) for shard in indexes.shards]
        steps[0].go_on.set()
        joined = JoinedIndex(steps, POOL)
        with deadline(1.0):
            joined.rank_with_statistics(word("haus"), "xx", 100)
        for _ in range(3):  # without a deadline: who waited again would do so for long
            ranking, _ = joined.rank_with_statistics(word("hof"), "xx", 100)
            assert len(ranking.unsearched) == 1
            assert len(joined.parts(word("hof"), "xx", [1, 2]).unsearched) == 1
        assert steps[1].rounds == ["begin"]
        steps[1].go_on.set()


def test_a_shard_that_fails_is_left_out_and_named() -> None:
    with pair(3) as indexes:
        indexes.change(TEXTS)
        indexes.shards[1].close()
        ranking, statistics = indexes.joined.rank_with_statistics(word("haus"), "xx", 100)
        there = {key for key in TEXTS if shard_of(key, 3) != 1}
        assert {hit.key for hit in ranking.hits} == {key for key in there if "haus" in TEXTS[key]}
        assert statistics.documents == len(there)
        (missing,) = ranking.unsearched
        assert missing.share == pytest.approx(1 / 3)
        assert isinstance(missing.fault, IndexClosed)
        assert indexes.joined.document_frequencies("xx", ["haus"])["haus"] > 0
        for shard in indexes.shards:
            shard.close()
        with pytest.raises(IndexClosed):
            indexes.joined.rank_with_statistics(word("haus"), "xx", 100)


def test_a_shard_that_is_late_is_left_out_in_time_and_gives_its_snapshot_back() -> None:
    with pair(2) as indexes:
        indexes.change(TEXTS)
        late = Holding(indexes.shards[1])
        steps = [Stepping(indexes.shards[0]), late]
        with deadline(0.6):
            ranking, _ = JoinedIndex(steps, POOL).rank_with_statistics(word("haus"), "xx", 100)
            (missing,) = ranking.unsearched
            assert "took too long" in str(missing.fault)
        assert {shard_of(hit.key, 2) for hit in ranking.hits} == {0}
        late.go_on.set()
        assert late.ended.wait(60)
