"""Documents listed, exported and deleted by filters, against a plain evaluator, as they are changed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from threading import Event, Thread
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as chances
from hypothesis import strategies as st

from dragoman.engine.core.errors import InvalidRequest, NotFound, PreconditionFailed, Unavailable
from dragoman.engine.indexing.lucene import builds
from dragoman.engine.indexing.lucene.collection_index import CollectionIndex
from dragoman.engine.settings import Settings
from dragoman.indexes.documents import IndexRow
from dragoman.indexes.java.jvm import JavaError
from dragoman.indexes.lucene.lucene_index import LuceneIndex
from dragoman.service.runtime import Runtime
from dragoman.store.documents import deleting, listing
from dragoman.store.documents.patch import DocumentPatch, merge
from tests.support.filtering import FILTERS, LINES, Document, matches
from tests.support.searching import add, found, running
from tests.support.serving import wait_for

pytestmark = pytest.mark.slow


@pytest.fixture
def runtime(settings: Settings) -> Iterator[Runtime]:
    with running(settings) as started:
        started.collections.create("c", "de")
        yield started


STEPS = st.one_of(
    st.tuples(st.just("send"), st.lists(LINES, min_size=1, max_size=4)),
    st.tuples(st.just("patch"), LINES),
    st.tuples(st.just("delete"), FILTERS),
)


def send(runtime: Runtime, model: dict[str, Document], lines: list[Document]) -> None:
    lines = [{**line, "text": "neno", "title": (line["title"] or "")[:9_000] or None} for line in lines]
    lines = [{name: field for name, field in line.items() if field is not None} for line in lines]
    add(runtime, "c", *lines)
    for line in lines:
        stays = {"metadata": model.get(line["id"], {}).get("metadata")}
        model[line["id"]] = {"title": None, **stays, **line}


def patch(runtime: Runtime, model: dict[str, Document], line: Document) -> None:
    if line["id"] not in model or line["metadata"] is None:
        return
    runtime.collections.change_document("c", line["id"], DocumentPatch(metadata=line["metadata"]))
    document = model[line["id"]]
    document["metadata"] = merge(document["metadata"] or {}, line["metadata"])


def listed(runtime: Runtime, filter: dict[str, Any], limit: int = 2) -> list[str]:
    """The ids of all pages."""
    ids: list[str] = []
    cursor = None
    while True:
        page = runtime.collections.list_documents("c", limit, cursor, filter=filter)
        ids += [info.id for info in page.documents]
        if (cursor := page.next) is None:
            assert page.total == len(ids)
            return ids


@chances(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=st.lists(STEPS, min_size=1, max_size=4), filters=st.lists(FILTERS, min_size=3, max_size=6))
def test_what_filters_leave_is_listed_exported_and_deleted(
    runtime: Runtime, steps: list[tuple[str, Any]], filters: list[dict[str, Any]]
) -> None:
    runtime.collections.delete("c")
    runtime.collections.create("c", "de")
    model: dict[str, Document] = {}
    for step, subject in steps:
        if step == "send":
            send(runtime, model, subject)
        elif step == "patch":
            patch(runtime, model, subject)
        else:
            gone = [id for id, document in model.items() if matches(document, subject)]
            assert runtime.collections.delete_documents("c", subject, dry_run=True) == len(gone)
            assert runtime.collections.delete_documents("c", subject) == len(gone)
            model = {id: document for id, document in model.items() if id not in gone}
        info = runtime.collections.get("c")
        assert (info.documents, info.index_generation) == (len(model), info.generation)
        for filter in filters:
            left = sorted(id for id, document in model.items() if matches(document, filter))
            ids = listed(runtime, filter)
            assert sorted(ids) == left
            lines = b"".join(runtime.collections.export("c", filter)).splitlines()
            assert [json.loads(line)["id"] for line in lines] == ids


def fill(runtime: Runtime, count: int = 30) -> None:
    add(runtime, "c", *({"id": str(n), "text": "neno", "metadata": {"n": n}} for n in range(count)))


def test_pages_hold_while_documents_change(runtime: Runtime, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listing, "_KEYS_AT_ONCE", 3)
    fill(runtime)
    filter = {"n": {"$gte": 10}}
    page = runtime.collections.list_documents("c", 5, filter=filter)
    assert [info.id for info in page.documents] == ["10", "11", "12", "13", "14"] and page.total == 20
    for n in ("12", "15", "16", "17", "18", "19", "20"):
        runtime.collections.delete_document("c", n)
    runtime.collections.change_document("c", "21", DocumentPatch(metadata={"n": 1}))
    runtime.collections.change_document("c", "1", DocumentPatch(metadata={"n": 50}))
    page = runtime.collections.list_documents("c", 5, page.next, filter=filter)
    assert [info.id for info in page.documents] == ["22", "23", "24", "25", "26"] and page.total == 13
    page = runtime.collections.list_documents("c", 5, page.next, filter=filter)
    assert [info.id for info in page.documents] == ["27", "28", "29"] and page.next is None


def test_a_deletion_is_one_of_what_there_is_while_others_change_it(
    runtime: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deleting, "_KEYS_AT_ONCE", 2)
    fill(runtime)

    def change() -> None:
        for n in range(0, 30, 2):
            with suppress(NotFound):
                runtime.collections.change_document("c", str(n), DocumentPatch(metadata={"n": -n - 1}))
            with suppress(NotFound):
                runtime.collections.delete_document("c", str(n + 1))

    changing = Thread(target=change)
    changing.start()
    runtime.collections.delete_documents("c", {"n": {"$gte": 0}})
    changing.join()
    runtime.collections.delete_documents("c", {"n": {"$gte": 0}})
    left = [info.metadata or {} for info in runtime.collections.list_documents("c", 100).documents]
    info = runtime.collections.get("c")
    assert all(metadata["n"] < 0 for metadata in left) and len(left) == info.documents == len(listed(runtime, {}))
    assert info.index_generation == info.generation


def test_a_deletion_that_fails_deletes_nothing(runtime: Runtime, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deleting, "_KEYS_AT_ONCE", 2)
    fill(runtime)
    before = runtime.collections.get("c")
    with pytest.raises(PreconditionFailed):
        runtime.collections.delete_documents("c", {}, expected=[before.generation + 1])
    with pytest.raises(PreconditionFailed):
        runtime.collections.delete_documents("c", {}, dry_run=True, expected=[before.generation + 1])
    steps = iter(range(5))

    def fail(pieces: Any) -> Iterator[Any]:
        for piece in pieces:
            if next(steps, None) is None:
                raise Unavailable("the deadline passed")
            yield piece

    with monkeypatch.context() as failing:
        failing.setattr(deleting, "check_each", fail)
        with pytest.raises(Unavailable):
            runtime.collections.delete_documents("c", {"n": {"$lt": 25}})
    assert runtime.collections.get("c") == before and len(listed(runtime, {})) == 30
    with pytest.raises(InvalidRequest, match=r"^filter.n.\$x: "):
        runtime.collections.delete_documents("c", {"n": {"$x": 25}})
    assert runtime.collections.delete_documents("c", {"n": 99}) == 0
    assert runtime.collections.get("c") == before
    assert runtime.collections.delete_documents("c", {}, expected=[before.generation]) == 30
    assert runtime.collections.get("c").documents == 0


def test_documents_that_have_no_words_in_the_index_are_filtered(
    runtime: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = LuceneIndex.write

    def refuse(index: LuceneIndex, rows: list[IndexRow]) -> None:
        if any("gift" in row.words + row.terms for row in rows):
            raise JavaError("java.lang.IllegalArgumentException", "immense term", "")
        write(index, rows)

    monkeypatch.setattr(LuceneIndex, "write", refuse)
    add(runtime, "c", {"id": "1", "text": "Gift", "metadata": {"n": 1}}, {"id": "2", "text": "Haus"})
    assert runtime.collections.list_unindexed("c", 9)[1] == 1 and found(runtime, "c", "Gift") == []
    assert listed(runtime, {"n": 1}) == ["1"]
    runtime.collections.change_document("c", "1", DocumentPatch(metadata={"n": 2}))
    assert (listed(runtime, {"n": 1}), listed(runtime, {"n": 2})) == ([], ["1"])
    assert runtime.collections.delete_documents("c", {"n": {"$exists": True}}) == 1
    assert runtime.collections.list_unindexed("c", 9)[1] == 0 and listed(runtime, {}) == ["2"]


def test_an_index_without_fields_of_metadata_serves_until_it_is_built_anew(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as before:
        before.setattr(builds, "_LAYOUT", "1")
        with running(settings) as runtime:
            runtime.collections.create("c", "de")
            runtime.collections.index_of("c").rebuild()
            fill(runtime, 3)
            assert found(runtime, "c", "neno") == ["0", "1", "2"]
            for ask in (
                lambda: runtime.collections.list_documents("c", 1, filter={}),
                lambda: runtime.collections.export("c", {}),
                lambda: runtime.collections.delete_documents("c", {}, dry_run=True),
                lambda: runtime.collections.delete_documents("c", {}),
            ):
                with pytest.raises(Unavailable, match="its metadata is being indexed"):
                    ask()
    built, rebuild = Event(), CollectionIndex.rebuild

    def wait_and_rebuild(index: CollectionIndex) -> None:
        built.wait(30)
        rebuild(index)

    monkeypatch.setattr(CollectionIndex, "rebuild", wait_and_rebuild)
    with running(settings.replace(startup_wait_seconds=0)) as runtime:
        index = runtime.collections.index_of("c")
        wait_for(lambda: index.rebuilding)
        assert found(runtime, "c", "neno") == ["0", "1", "2"]
        with pytest.raises(Unavailable, match="its metadata is being indexed"):
            listed(runtime, {"n": 1})
        with pytest.raises(Unavailable, match="is being built"):
            runtime.collections.delete_documents("c", {"n": 1})
        built.set()
        wait_for(lambda: not index.rebuilding)
        assert listed(runtime, {"n": 1}) == ["1"] and found(runtime, "c", "neno") == ["0", "1", "2"]
        assert runtime.collections.delete_documents("c", {"n": 1}) == 1
