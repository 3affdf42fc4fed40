"""Followers of part of the keys: each has its documents of a collection, and together they have all."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from dragoman.engine.indexing.dense.indexes import DenseIndexes
from dragoman.engine.indexing.entities import Entities
from dragoman.engine.indexing.lucene.indexes import Indexes
from dragoman.engine.settings import Settings
from dragoman.indexes.analysis.pipeline import analysis
from dragoman.lexicon.query import monolingual
from dragoman.service.runtime import Runtime
from tests.engine.indexing.test_entities import BusyTagger
from tests.engine.indexing.test_entities import tagger as tagger
from tests.engine.indexing.test_entities import tagging as tagging
from tests.support.modelling import WordEncoder
from tests.support.searching import add, running

pytestmark = pytest.mark.slow

PARTS = (0, 1)


@pytest.fixture
def runtime(tagging: Settings, encoder: WordEncoder, tagger: BusyTagger) -> Iterator[Runtime]:
    """A collection of ten documents, each of one word; nothing is committed in the background."""
    with running(tagging.replace(index_commit_seconds=3600.0)) as runtime:
        runtime.collections.create("c", "sw", entities=True)
        add(runtime, "c", *({"id": f"{n}", "text": f"neno{n}"} for n in range(10)))
        yield runtime


def keys_of(runtime: Runtime, part: int) -> list[int]:
    versions = runtime.source.versions(runtime.collections.get("c").key, -1).changes
    return sorted(version.key for version in versions if version.key % 2 == part)


@pytest.mark.parametrize("part", PARTS)
def test_lucene(runtime: Runtime, tmp_path: Path, part: int) -> None:
    collection = runtime.collections.get("c").key
    indexes = Indexes(runtime.source, tmp_path / "part", 3600.0, keys=lambda key: key % 2 == part)
    query = monolingual(analysis("sw").tokens(" ".join(f"neno{n}" for n in range(10))))

    def keys() -> list[int]:
        with indexes.of(collection).use() as index:
            return sorted(hit.key for hit in index.search(query, "sw", 100))

    try:
        indexes.start(60.0)
        assert keys() == keys_of(runtime, part)
        runtime.collections.delete_document("c", "4")
        runtime.collections.delete_document("c", "5")
        add(runtime, "c", {"id": "6", "text": "kingine"}, {"id": "7", "text": "kingine"})
        indexes.of(collection).follow()
        indexes.of(collection).commit()
        deleted = [version for version in runtime.source.versions(collection, 0).changes if version.deleted]
        assert len(deleted) == 2  # others may have to follow them yet
        assert len(keys()) == len(keys_of(runtime, part)) - 1
    finally:
        indexes.close()


@pytest.mark.parametrize("part", PARTS)
def test_embeddings(runtime: Runtime, part: int) -> None:
    collection = runtime.collections.get("c").key
    pool = runtime.indexes.pool
    dense = DenseIndexes(runtime.source, runtime.models, pool, True, keys=lambda key: key % 2 == part)

    def keys() -> list[int]:
        return sorted(dense.of(collection).search(WordEncoder.vector("neno1"), 100).best.keys.tolist())

    try:
        dense.start()
        dense.follower.wait([collection], 60.0)
        assert keys() == keys_of(runtime, part)
        runtime.collections.delete_document("c", "4")
        runtime.collections.delete_document("c", "5")
        runtime.collections.index_of("c").commit()  # their tombstones are gone
        add(runtime, "c", {"id": "6", "text": "kingine"})
        dense.follower.wait([collection], 60.0)
        assert keys() == keys_of(runtime, part)
        coverage = dense.of(collection).coverage()
        assert (coverage.missing, coverage.total) == (0, len(keys()))
    finally:
        dense.follower.close()


@pytest.mark.parametrize("part", PARTS)
def test_names(tagging: Settings, tagger: BusyTagger, part: int) -> None:
    runtime = Runtime(tagging)
    try:
        runtime.start(serving=False)
        collection = runtime.collections.create("c", "sw", entities=True).key
        add(runtime, "c", *({"id": f"{n}", "text": f"neno{n}"} for n in range(40)))
        entities = Entities(runtime.source, runtime.models, 60.0, keys=lambda key: key % 2 == part)
        entities.start()
        entities.follower.wait([collection], 60.0)
        entities.follower.close()
        everything = keys_of(runtime, 0) + keys_of(runtime, 1)
        assert sorted(runtime.source.mentions(everything)) == keys_of(runtime, part)
    finally:
        runtime.close()
