"""An index in several parts is refreshed at one moment: who searches sees a change in all parts or in none."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event

import pytest

from dragoman.indexes import BM25
from dragoman.indexes.attributes.filters import parse_filter
from dragoman.indexes.documents import IndexedDocument, analyse_documents
from dragoman.indexes.lucene import searched_index
from dragoman.indexes.lucene.queries import prepare
from dragoman.indexes.lucene.sharded_index import ShardedIndex
from dragoman.indexes.shard_group import shard_of
from dragoman.lexicon.query import Alternative, TermGroup, TranslatedQuery
from dragoman.lexicon.text.tokens import PlainAnalysis

SHARDS, PAIRS, SEARCHES = 3, 150, 3
QUERY = TranslatedQuery("none", [TermGroup("haus", "haus", 0, 1, [Alternative("haus", 1.0, 0)])])
ALL = parse_filter({"year": {"$exists": False}}).program(lambda names: [])
PREPARED = prepare(QUERY, "xx", BM25())


@pytest.fixture
def index(tmp_path: Path) -> Iterator[ShardedIndex]:
    with ThreadPoolExecutor(2 * SHARDS) as pool:
        opened = ShardedIndex(tmp_path, pool, SHARDS)
        try:
            yield opened
        finally:
            opened.close()


def keys_by_part() -> list[list[int]]:
    """For each of two parts as many keys as there are pairs."""
    return [[key for key in range(20 * PAIRS) if shard_of(key, SHARDS) == part][:PAIRS] for part in (0, SHARDS - 1)]


def ranked(index: ShardedIndex) -> set[int]:
    return {hit.key for hit in index.search(QUERY, "xx", 10 * PAIRS)}


def selected(index: ShardedIndex) -> set[int]:
    return set(index.select_keys(ALL).keys.tolist())


def counted(index: ShardedIndex) -> set[int]:
    """As many numbers as there are matches."""
    numbers = index.score(PREPARED, 1).numbers
    return set(range(index.matches(PREPARED, numbers).total))


@pytest.mark.parametrize("one_by_one", [False, True])
@pytest.mark.parametrize("seen", [ranked, selected, counted])
def test_of_two_documents_that_come_together_a_search_sees_both_or_none(
    index: ShardedIndex, seen: Callable[[ShardedIndex], set[int]], one_by_one: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where parts are asked one by one, as when one of them cannot answer."""
    if one_by_one:
        monkeypatch.setattr(searched_index, "_at_once", lambda questions, ask: [])
    left, right = keys_by_part()
    partner = dict(zip(left, right, strict=True)) | dict(zip(right, left, strict=True))
    ended = Event()

    def write() -> None:
        try:
            for first, second in zip(left, right, strict=True):
                pair = [IndexedDocument(key, "xx", "haus") for key in (first, second)]
                index.write(analyse_documents(pair, {"xx": PlainAnalysis("de")}))
                index.refresh()
        finally:
            ended.set()

    def search() -> list[set[int]]:
        answers = []
        while not ended.is_set():
            answers.append(seen(index))
            time.sleep(0)
        return answers

    with ThreadPoolExecutor(SEARCHES + 1) as threads:
        searches = [threads.submit(search) for _ in range(SEARCHES)]
        threads.submit(write).result()
        answers = [answer for searched in searches for answer in searched.result()]
    assert len({len(answer) for answer in answers}) > 5
    if seen is counted:
        assert [answer for answer in answers if len(answer) % 2] == []
    else:
        assert [answer for answer in answers if {partner[key] for key in answer} != answer] == []
    assert len(seen(index)) == 2 * PAIRS
