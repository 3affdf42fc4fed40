"""A collection that is renamed, emptied and measured."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.engine.core.errors import Conflict, NotFound, PreconditionFailed
from dragoman.engine.settings import Settings
from dragoman.service.runtime import Runtime
from dragoman.store.collections import statistics
from dragoman.store.collections.statistics import FieldStatistics, type_of, walk
from tests.support.searching import add, found, running

pytestmark = pytest.mark.slow


@pytest.fixture
def runtime(settings: Settings) -> Iterator[Runtime]:
    with running(settings) as started:
        started.collections.create("c", "sw")
        add(started, "c", {"id": "1", "text": "moja"}, {"id": "2", "text": "mbili", "language": "de"})
        yield started


def test_a_collection_is_renamed_with_all_that_is_in_it(runtime: Runtime) -> None:
    collections = runtime.collections
    collections.create("other", "de")
    with pytest.raises(Conflict, match="a collection named 'other' already"):
        collections.change("c", {"name": "other", "description": "lost"})
    assert collections.get("c").description is None
    changed = collections.change("c", {"name": "renamed", "description": "kept"}, {1})
    assert (changed.name, changed.description, changed.documents, changed.generation) == ("renamed", "kept", 2, 1)
    with pytest.raises(NotFound):
        collections.get("c")
    assert found(runtime, "renamed", "moja") == ["1"]
    assert add(runtime, "renamed", {"id": "3", "text": "tatu"}) == 2
    assert collections.change("renamed", {"name": "renamed", "description": None}).description is None
    assert runtime.indexes.of(changed.key).name == "renamed"
    collections.create("c", "de")
    assert collections.get("c").documents == 0


def test_an_emptied_collection_has_nothing_and_takes_documents(runtime: Runtime) -> None:
    collections = runtime.collections
    with pytest.raises(PreconditionFailed, match="its generation is 1"):
        collections.truncate("c", {7})
    info = collections.truncate("c", {1})
    assert (info.documents, info.generation, info.index_generation, info.index_state) == (0, 2, 2, "ready")
    assert found(runtime, "c", "moja") == [] and list(collections.export("c")) == []
    assert collections.truncate("c").generation == 2
    assert add(runtime, "c", {"id": "2", "text": "mbili"}) == 3
    assert collections.document("c", "2").language == "sw"
    assert found(runtime, "c", "mbili") == ["2"]


def test_what_was_emptied_is_answered_though_it_is_gone(runtime: Runtime, monkeypatch: pytest.MonkeyPatch) -> None:
    collections, follow = runtime.collections, runtime.collections._follow

    def follow_and_rename(collection: int) -> None:
        follow(collection)
        collections.change("c", {"name": "renamed"})
        collections.create("c", "de")

    monkeypatch.setattr(collections, "_follow", follow_and_rename)
    info = collections.truncate("c")
    assert (info.key, info.documents, info.language) == (collections.get("renamed").key, 0, "sw")


def test_what_is_emptied_is_so_where_the_index_had_not_followed(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    with running(settings) as runtime:
        runtime.collections.create("c", "sw")
        add(runtime, "c", {"id": "1", "text": "moja"}, {"id": "2", "text": "mbili"})
        monkeypatch.setattr(runtime.collections, "_follow", lambda collection: None)
        assert runtime.collections.truncate("c").index_generation == 1
    with running(settings) as runtime:
        assert found(runtime, "c", "moja") == []
        info = runtime.collections.get("c")
        assert (info.documents, info.generation, info.index_generation) == (0, 2, 2)


def test_statistics_say_what_is_there(runtime: Runtime, monkeypatch: pytest.MonkeyPatch) -> None:
    metadata = {"year": 2024, "tags": ["a", "b", 1], "by": [{"name": "Ä"}, {"name": None}], "at": "2024-02-29T10:00Z"}
    add(runtime, "c", {"id": "3", "text": "ä" * 10, "title": "xx", "metadata": metadata})
    add(runtime, "c", {"id": "4", "text": "x", "metadata": {"year": True, "tags": "a", "by": "y" * 101}})
    runtime.collections.delete_document("c", "1")
    counted = runtime.collections.statistics("c")
    assert (counted.documents, counted.generation, counted.languages) == (3, 4, {"de": 1, "sw": 2})
    assert counted.fields == [
        FieldStatistics("at", 1, {"date": 1}, ["2024-02-29T10:00Z"]),
        FieldStatistics("by", 1, {"string": 1}, []),
        FieldStatistics("by.name", 1, {"string": 1, "null": 1}, ["Ä"]),
        FieldStatistics("tags", 2, {"string": 2, "number": 1}, ["a", "b", 1]),
        FieldStatistics("year", 2, {"boolean": 1, "number": 1}, [True, 2024]),
    ]
    assert (counted.fields_from, counted.fields_left_out) == (3, 0)
    assert counted.bytes["texts"] == len("mbili") + 20 + 2 + 1
    assert counted.bytes["metadata"] > 100 and counted.bytes["index"] > 0 and counted.bytes["embeddings"] == 0
    for shown, names in ((4, ["at", "by", "tags", "year"]), (1, ["tags"])):
        monkeypatch.setattr(statistics, "FIELDS_SHOWN", shown)
        few = runtime.collections.statistics("c")
        assert ([field.field for field in few.fields], few.fields_left_out) == (names, 5 - shown)
    monkeypatch.setattr(statistics, "FIELDS_FROM", 1)
    assert runtime.collections.statistics("c").fields_from == 1
    empty = runtime.collections.create("empty", "de")
    counted = runtime.collections.statistics("empty")
    assert (counted.documents, counted.languages, counted.fields, counted.fields_from) == (0, {}, [], 0)
    assert counted.bytes["texts"] == 0 and empty.documents == 0


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(), lambda inner: st.lists(inner)))
def test_lists_are_gone_through(content: object) -> None:
    flat = list(walk({"a": content}))
    assert all(path == "a" and not isinstance(value, list) for path, value in flat)
    assert all(type_of(value) in ("null", "boolean", "number", "string", "date") for _, value in flat)


@pytest.mark.parametrize("text", ["2024-01-31", "2024-01-31T23:59", "2024-01-31 00:00:00.5Z", "2024-01-31T10:00+02:00"])
def test_dates_are_told_from_other_strings(text: str) -> None:
    assert type_of(text) == "date"
    for other in (
        text + "x",
        "x" + text,
        text[:9],
        text.replace("-", "/"),
        text.replace("01", "13"),
        text.replace("01-31", "02-30"),
    ):
        assert type_of(other) == "string"
