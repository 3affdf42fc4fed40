"""Embeddings that another process makes: what is read of them, and when again."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from dragoman.engine.indexing.dense.read_indexes import ReadCollection, ReadDenseIndexes
from dragoman.engine.settings import Settings
from dragoman.service.runtime import Runtime
from dragoman.store.collections.database_source import DatabaseSource
from dragoman.store.database import Store
from tests.support.modelling import GERMAN, WordEncoder, settled
from tests.support.searching import add, running
from tests.support.serving import wait_for

pytestmark = pytest.mark.slow


@contextmanager
def reading(runtime: Runtime, settings: Settings) -> Iterator[tuple[DatabaseSource, ReadDenseIndexes]]:
    """What a search process reads of the embeddings of a service."""
    store = Store(settings.store.url, reading=True)
    source = DatabaseSource(store)
    dense = ReadDenseIndexes(source, runtime.models, runtime.indexes.pool, True)
    try:
        yield source, dense
    finally:
        dense.close()
        store.close()


def test_a_collection_that_was_changed_before_it_is_read_is_read_anew(settings: Settings, encoder: WordEncoder) -> None:
    settings = settings.replace(embed="always")
    with running(settings) as runtime, reading(runtime, settings) as (source, dense):
        key = runtime.collections.create("de", "de").key
        add(runtime, "de", *GERMAN)
        settled(runtime)
        wait_for(lambda: dense.is_complete(source.collection(key)))
        before = dense.of(key)
        runtime.collections.change("de", {"shards": 3})  # after it was asked for again, so that nobody has seen it
        before.open(runtime.models.encoder())
        dense._read(key)
        assert dense.of(key) is not before
        assert isinstance(dense.of(key), ReadCollection)
        assert dense.is_complete(source.collection(key))


def test_what_nobody_stores_is_looked_for_ever_more_rarely(settings: Settings, encoder: WordEncoder) -> None:
    settings = settings.replace(embed="always")
    with running(settings) as runtime, reading(runtime, settings) as (source, dense):
        key = runtime.collections.create("de", "de").key
        add(runtime, "de", *GERMAN, {"id": "p", "text": "poison"})
        settled(runtime)
        embeddings = dense.of(key)
        assert isinstance(embeddings, ReadCollection)
        embeddings.open(runtime.models.encoder())
        for _ in range(6):
            embeddings.read_missing()
        assert not embeddings.complete
        assert not embeddings.is_due
        add(runtime, "de", {"id": "p", "text": "Biene"})
        settled(runtime)
        wait_for(lambda: dense.is_complete(source.collection(key)))
