"""What the tests ask an index directly, without the search service."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from dragoman.engine.settings import Settings
from dragoman.indexes.analysis.pipeline import analysis
from dragoman.indexes.errors import IndexFault
from dragoman.indexes.lucene import searched_index
from dragoman.lexicon.query import monolingual
from dragoman.service.runtime import Runtime


@contextmanager
def running(settings: Settings) -> Iterator[Runtime]:
    """A runtime with all indexes open."""
    runtime = Runtime(settings)
    try:
        runtime.start()
        yield runtime
    finally:
        runtime.close()


def found(runtime: Runtime, collection: str, word: str, language: str | None = None) -> list[str]:
    """Ids of the documents that hold the word, in the order of their keys; one twice would be there twice."""
    info = runtime.collections.get(collection)
    query = monolingual(analysis(language or info.language).tokens(word))
    with runtime.indexes.of(info.key).use() as index:
        ranking, _ = index.rank_with_statistics(query, language or info.language, 10_000)
    keys = [hit.key for hit in ranking.hits]
    documents = runtime.collections.by_keys(keys)
    return [documents[key].id for key in sorted(keys)]


def ndjson(documents: Iterable[dict[str, Any]]) -> bytes:
    return b"".join(json.dumps(document).encode() + b"\n" for document in documents)


def add(runtime: Runtime, collection: str, *documents: dict[str, Any]) -> int:
    """Import documents and return the new generation."""
    done = runtime.collections.import_documents(collection, iter([ndjson(documents)]))
    assert not done.rejected
    return done.generation


def crash(runtime: Runtime) -> None:
    """Let go of everything without saving, as a killed process does."""
    runtime.dense.follower.stop()
    runtime.models.close()
    runtime.indexes.follower.stop()
    for index in runtime.indexes._snapshot().values():
        index._replace()
    runtime.store.close()
    runtime._directory.close()


def ask_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no indexes be asked together, as where one of them is broken, so that each is asked by itself."""

    def refuse(*_: object) -> None:
        raise IndexFault(Path("one of them"), "is broken")

    for name in ("score_batch", "score_documents_batch"):
        monkeypatch.setattr(searched_index, name, refuse)
