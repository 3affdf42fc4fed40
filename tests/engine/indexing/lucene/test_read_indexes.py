"""Indexes that another process writes, as a search process reads them."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from threading import Barrier

import pytest

from dragoman.engine.indexing.lucene import isolation
from dragoman.engine.indexing.lucene.read_indexes import ReadIndex, ReadIndexes
from dragoman.engine.indexing.sources import CollectionRecord
from dragoman.engine.settings import Settings
from dragoman.indexes.analysis.pipeline import analysis
from dragoman.lexicon.query import monolingual
from dragoman.store.collections.database_source import DatabaseSource
from dragoman.store.database import Store
from tests.support.searching import add, running
from tests.support.serving import wait_for

pytestmark = pytest.mark.slow


@contextmanager
def reading(settings: Settings) -> Iterator[tuple[DatabaseSource, ReadIndexes]]:
    """What a search process reads of the indexes of a service."""
    store = Store(settings.store.url, reading=True)
    source = DatabaseSource(store)
    indexes = ReadIndexes(source, settings.store.indexes_dir)
    try:
        yield source, indexes
    finally:
        indexes.close()
        store.close()


def test_why_an_index_cannot_be_read_is_logged_once(settings: Settings, caplog: pytest.LogCaptureFixture) -> None:
    with running(settings) as runtime, reading(settings) as (source, indexes):
        key = runtime.collections.create("c", "sw").key
        add(runtime, "c", {"id": "1", "text": "moja"})
        runtime.collections.index_of("c").commit()
        current = runtime.collections.index_of("c").directory / "current"
        pointer = current.read_text()
        current.write_text("nowhere")
        with caplog.at_level(logging.WARNING):
            assert [indexes.is_current(source.collection(key)) for _ in range(3)] == [False] * 3
        told = [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]
        assert told == ["the index of c cannot be read: there is no index"]
        current.write_text(pointer)
        wait_for(lambda: indexes.is_current(source.collection(key)))


def test_documents_that_are_tried_again_are_seen_at_once(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*arguments: object) -> None:
        raise ValueError("poison")

    def count(key: int) -> int:
        assert indexes.is_current(source.collection(key))
        with indexes.of(key).use() as index:
            ranking, _ = index.rank_with_statistics(monolingual(analysis("sw").tokens("moja")), "sw", 10)
        return len(ranking.hits)

    with running(settings.replace(index_commit_seconds=3600.0)) as runtime, reading(settings) as (source, indexes):
        key = runtime.collections.create("c", "sw").key
        add(runtime, "c", {"id": "1", "text": "moja"}, {"id": "2", "text": "moja mbili"})
        with monkeypatch.context() as patch:
            patch.setattr(isolation, "analyse_documents", fail)
            runtime.collections.index_of("c").rebuild()
        wait_for(lambda: indexes.is_current(source.collection(key)))
        assert count(key) == 0
        assert runtime.collections.retry_unindexed("c") == (2, 0)
        assert count(key) == 2


def test_searches_at_once_open_an_index_once(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    with running(settings) as runtime, reading(settings) as (source, indexes):
        record = source.collection(runtime.collections.create("c", "sw").key)
        both, make = Barrier(2, timeout=60), indexes._index

        def make_together(record: CollectionRecord) -> ReadIndex:
            both.wait()
            return make(record)

        monkeypatch.setattr(indexes, "_index", make_together)
        with ThreadPoolExecutor(2) as searches:
            first, second = [searches.submit(indexes._put, record) for _ in range(2)]
        assert first.result() is second.result() is indexes.find(record.id)


def test_an_index_that_is_replaced_is_closed_and_stays_so(settings: Settings) -> None:
    with running(settings) as runtime, reading(settings) as (source, indexes):
        key = runtime.collections.create("c", "sw").key
        wait_for(lambda: indexes.is_current(source.collection(key)))
        record, replaced = source.collection(key), indexes.of(key)
        assert not indexes.is_current(replace(record, uid="another"))
        assert indexes.of(key) is not replaced
        wait_for(lambda: replaced.shards == 0)
        assert isinstance(replaced, ReadIndex)
        assert not replaced.is_current(record)
        assert replaced.shards == 0


def test_a_search_does_not_wait_for_an_index_that_is_just_read(settings: Settings) -> None:
    with running(settings) as runtime, reading(settings) as (source, indexes):
        key = runtime.collections.create("c", "sw").key
        wait_for(lambda: indexes.is_current(source.collection(key)))
        with indexes.of(key).holding(), ThreadPoolExecutor(1) as searches:
            assert not searches.submit(indexes.is_current, source.collection(key)).result(60)
        assert indexes.is_current(source.collection(key))
