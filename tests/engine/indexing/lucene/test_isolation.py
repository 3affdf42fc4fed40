"""Documents that cannot be indexed: told from the others of their batch, listed, tried again within a deadline."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from threading import Event, Thread

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.deadline import DeadlinePassed, WorkCancelled, check, deadline
from dragoman.engine.core.errors import NotFound
from dragoman.engine.indexing.lucene import isolation as unindexed
from dragoman.engine.settings import Settings
from dragoman.indexes.analysis import pipeline
from dragoman.indexes.documents import IndexedDocument, IndexRow
from dragoman.indexes.java.jvm import JavaError
from dragoman.indexes.lucene.lucene_index import LuceneIndex
from dragoman.store.models import now
from tests.support.searching import add, found, running
from tests.support.serving import wait_for

pytestmark = pytest.mark.slow


def _row(document: IndexedDocument) -> IndexRow:
    return IndexRow(document.key, document.language, document.text, document.text, "")


def _failing(fails: Callable[[str], bool], fault: Callable[[], None]) -> Callable[..., list[IndexRow]]:
    def analysed(documents: Sequence[IndexedDocument], analyses: object) -> list[IndexRow]:
        if any(fails(document.text) for document in documents):
            fault()
        return [_row(document) for document in documents]

    return analysed


def _raise() -> None:
    raise ValueError("poison")


def _hang() -> None:
    while True:
        check()
        time.sleep(0.001)


@given(st.lists(st.booleans(), max_size=30))
def test_each_document_that_fails_is_told_from_the_others(poisoned: list[bool]) -> None:
    documents = [IndexedDocument(key, "sw", "bad" if bad else "good") for key, bad in enumerate(poisoned)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(unindexed, "analyse_documents", _failing(lambda text: text == "bad", _raise))
        rows, faults = unindexed.isolate(documents, lambda language: None, 60, lambda: False)  # type: ignore[arg-type,return-value]
    assert set(faults) == {key for key, bad in enumerate(poisoned) if bad}
    assert sorted(row.key for row in rows) == [key for key, bad in enumerate(poisoned) if not bad]


@given(st.lists(st.booleans(), min_size=1, max_size=30))
def test_each_document_that_the_index_refuses_is_told_from_the_others(refused: list[bool]) -> None:
    present: set[int] = set()

    def write(rows: Sequence[IndexRow]) -> None:
        for row in rows:
            if refused[row.key]:
                raise JavaError("java.lang.IllegalArgumentException", "immense term", "")
            present.add(row.key)

    faults = unindexed.write_each(write, [IndexRow(key, "sw", "", "", "") for key in range(len(refused))])
    assert set(faults) == {key for key, bad in enumerate(refused) if bad}
    assert present == {key for key, bad in enumerate(refused) if not bad}


def test_a_fault_for_want_of_memory_is_not_the_document_s() -> None:
    def write(rows: Sequence[IndexRow]) -> None:
        raise JavaError("java.lang.OutOfMemoryError", "Java heap space", "")

    with pytest.raises(JavaError, match="heap"):
        unindexed.write_each(write, [IndexRow(1, "sw", "", "", "")])


@pytest.mark.parametrize("language", ["sw", "de"])
def test_a_document_of_too_many_distinct_words_is_told_so(monkeypatch: pytest.MonkeyPatch, language: str) -> None:
    monkeypatch.setattr(pipeline, "DISTINCT_WORDS", 3)
    texts = ["moja mbili tatu nne", "moja moja moja mbili", "moja mbili tatu"]
    documents = [IndexedDocument(key, language, text) for key, text in enumerate(texts)]
    rows, faults = unindexed.isolate(documents, pipeline.analysis, 60, lambda: False)
    assert faults == {0: "it has 4 distinct words; at most 3 can be indexed"}
    assert sorted(row.key for row in rows) == [1, 2]


def test_a_deadline_or_an_end_of_the_whole_work_is_no_fault_of_a_document(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unindexed, "analyse_documents", _failing(lambda text: True, _hang))
    document = IndexedDocument(1, "sw", "x")
    with pytest.raises(DeadlinePassed), deadline(0.01):
        unindexed.isolate([document], lambda language: None, 60, lambda: False)  # type: ignore[arg-type,return-value]
    with pytest.raises(WorkCancelled):
        unindexed.isolate([document], lambda language: None, 60, lambda: True)  # type: ignore[arg-type,return-value]


def test_a_retry_ends_with_its_deadline_and_the_next_begins_with_the_others(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = settings.replace(index_commit_seconds=3600.0)
    with running(settings) as runtime:
        runtime.collections.create("c", "sw")
        index = runtime.collections.index_of("c")
        add(runtime, "c", {"id": "1", "text": "moja"}, {"id": "2", "text": "mbili"}, {"id": "3", "text": "tatu"})
        with monkeypatch.context() as patch:
            patch.setattr(unindexed, "analyse_documents", _failing(lambda text: True, _raise))
            index.rebuild()
        assert runtime.collections.list_unindexed("c", 0)[1] == 3 and found(runtime, "c", "mbili") == []
        with monkeypatch.context() as patch:
            patch.setattr(unindexed, "analyse_documents", _failing(lambda text: text == "moja", _hang))
            with deadline(0.2):
                assert runtime.collections.retry_unindexed("c") == (0, 3)
            with deadline(30):
                tried = runtime.collections.index_of("c").unindexed
                order = [entry.id for entry, _ in zip(tried.tried_before(now()), range(3), strict=False)]
        assert order == ["2", "3", "1"]
        assert runtime.collections.retry_unindexed("c") == (3, 0)
        assert [found(runtime, "c", word) for word in ("moja", "mbili", "tatu")] == [["1"], ["2"], ["3"]]


def test_what_was_tried_again_is_durable(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = settings.replace(index_commit_seconds=3600.0)
    with running(settings) as runtime:
        runtime.collections.create("c", "sw")
        add(runtime, "c", {"id": "1", "text": "moja"})
        with monkeypatch.context() as patch:
            patch.setattr(unindexed, "analyse_documents", _failing(lambda text: True, _raise))
            runtime.collections.index_of("c").rebuild()
        assert runtime.collections.retry_unindexed("c") == (1, 0)
    with running(settings) as runtime:
        assert found(runtime, "c", "moja") == ["1"] and runtime.collections.list_unindexed("c", 0)[1] == 0


def test_a_document_that_the_index_refuses_is_listed(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    present = LuceneIndex.write

    def refusing(index: LuceneIndex, rows: Sequence[IndexRow]) -> None:
        if any("sumu" in row.terms for row in rows):
            raise JavaError("java.lang.IllegalArgumentException", "immense term", "")
        present(index, rows)

    with running(settings) as runtime:
        runtime.collections.create("c", "sw")
        with monkeypatch.context() as patch:
            patch.setattr(LuceneIndex, "write", refusing)
            add(runtime, "c", {"id": "1", "text": "moja"}, {"id": "x", "text": "sumu"})
        (entry,), total = runtime.collections.list_unindexed("c", 10)
        assert (entry.id, total) == ("x", 1) and "IllegalArgumentException" in entry.reason
        assert found(runtime, "c", "moja") == ["1"]
        runtime.collections.delete_document("c", "x")
        assert runtime.collections.list_unindexed("c", 10) == ([], 0)


def test_a_collection_whose_index_is_being_built_is_deleted_with_its_documents(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun = Event()

    def hang() -> None:
        begun.set()
        _hang()

    with running(settings) as runtime:
        runtime.collections.create("c", "sw")
        add(runtime, "c", {"id": "1", "text": "moja"}, {"id": "2", "text": "mbili"})
        index = runtime.collections.index_of("c")
        monkeypatch.setattr(unindexed, "analyse_documents", _failing(lambda text: True, hang))

        ended: list[BaseException] = []

        def build() -> None:
            try:
                index.rebuild()
            except (NotFound, WorkCancelled) as fault:
                ended.append(fault)

        builder = Thread(target=build, daemon=True)
        builder.start()
        assert begun.wait(60)
        assert runtime.collections.delete_document("c", "1") == 2
        assert found(runtime, "c", "mbili") == ["2"]
        runtime.collections.delete("c")
        wait_for(lambda: not builder.is_alive())
        assert ended
        wait_for(lambda: not index.directory.exists())
