from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as examples
from hypothesis import strategies as st
from sqlalchemy import func, select

from dragoman.engine.core.errors import NotFound, StorageFull, Unavailable
from dragoman.engine.indexing.lucene import builds, document_writer
from dragoman.engine.indexing.lucene.builds import IndexState
from dragoman.engine.indexing.lucene.collection_index import CollectionIndex
from dragoman.engine.search.request import SearchQuery
from dragoman.engine.settings import Settings
from dragoman.indexes.errors import IndexCorrupt
from dragoman.indexes.lucene.lucene_index import LuceneIndex
from dragoman.service.runtime import Runtime
from dragoman.store.collections import stored_documents
from dragoman.store.models import Collection, Document
from tests.support.searching import add, crash, found, running

pytestmark = pytest.mark.slow


def _start(settings: Settings) -> Runtime:
    runtime = Runtime(settings)
    runtime.start()
    return runtime


@pytest.fixture
def slow(settings: Settings) -> Settings:
    """Settings with which nothing is committed in the background."""
    return settings.replace(index_commit_seconds=3600.0)


def test_what_lucene_had_not_committed_is_there_after_a_crash(slow: Settings) -> None:
    runtime = _start(slow)
    runtime.collections.create("c", "sw")
    add(runtime, "c", {"id": "1", "text": "moja kwanza"}, {"id": "2", "text": "mbili"})
    runtime.collections.index_of("c").commit()
    add(runtime, "c", {"id": "1", "text": "moja pili"}, {"id": "3", "text": "tatu"})
    runtime.collections.delete_document("c", "2")
    crash(runtime)
    with running(slow) as again:
        info = again.collections.get("c")
        assert (info.documents, info.generation, info.index_generation) == (2, 3, 3)
        assert found(again, "c", "moja") == ["1"]
        assert found(again, "c", "kwanza") == []
        assert found(again, "c", "pili") == ["1"]
        assert found(again, "c", "mbili") == []
        assert found(again, "c", "tatu") == ["3"]


@pytest.mark.parametrize("keep", [CollectionIndex.commit, CollectionIndex.publish])
def test_tombstones_go_once_the_index_has_forgotten_the_document(
    slow: Settings, keep: Callable[[CollectionIndex], None]
) -> None:
    with running(slow) as runtime:
        runtime.collections.create("c", "sw")
        add(runtime, "c", {"id": "1", "text": "moja"})
        runtime.collections.delete_document("c", "1")
        with runtime.store.read() as session:
            assert session.scalars(select(Document.text)).all() == [""]
        keep(runtime.collections.index_of("c"))
        with runtime.store.read() as session:
            assert session.scalar(select(func.count()).select_from(Document)) == 0


@pytest.mark.parametrize(
    "damage",
    ["missing", "pointer", "elsewhere", "truncated", "emptied", "foreign"],
)
def test_a_missing_or_damaged_index_is_built_anew(slow: Settings, damage: str) -> None:
    with running(slow) as runtime:
        runtime.collections.create("c", "sw")
        runtime.collections.create("other", "sw")
        add(runtime, "c", {"id": "1", "text": "moja"}, {"id": "2", "text": "mbili"})
        add(runtime, "other", {"id": "1", "text": "kumi"})
        directory = runtime.collections.index_of("c").directory
        other = runtime.collections.index_of("other").directory
    build = directory / (directory / "current").read_text()
    segments = sorted(build.glob("_*.*"))
    if damage == "missing":
        shutil.rmtree(directory)
    elif damage == "pointer":
        (directory / "current").write_text("../../../etc")
    elif damage == "elsewhere":
        (directory / "current").write_text("0" * 12)
    elif damage == "truncated":
        for path in segments:
            path.write_bytes(path.read_bytes()[:10])
    elif damage == "emptied":
        for path in build.iterdir():
            path.unlink()
    else:
        shutil.rmtree(directory)
        shutil.copytree(other, directory)
    with running(slow) as runtime:
        assert runtime.collections.get("c").index_state == "ready"
        assert found(runtime, "c", "moja") == ["1"]
        assert found(runtime, "c", "mbili") == ["2"]
        assert found(runtime, "c", "kumi") == []
        with runtime.collections.index_of("c").holding():  # whoever built it has tidied up
            present = sorted(path.name for path in directory.iterdir())
        assert present == sorted(["current", (directory / "current").read_text()])


def test_an_index_newer_than_the_database_is_built_anew(slow: Settings) -> None:
    with running(slow) as runtime:
        runtime.collections.create("c", "sw")
        add(runtime, "c", {"id": "1", "text": "moja"})
        with runtime.collections.index_of("c").use() as index:
            index.commit(99, index.metadata)
    with running(slow) as runtime:
        assert runtime.collections.get("c").index_generation == 1
        assert found(runtime, "c", "moja") == ["1"]


def test_an_index_of_another_analysis_is_searched_while_it_is_built_anew(
    slow: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    with running(slow) as runtime:
        runtime.collections.create("c", "sw")
        add(runtime, "c", {"id": "1", "text": "moja"})
        before = runtime.collections.index_of("c").directory / "current"
        build = before.read_text()
    with running(slow):
        assert before.read_text() == build
    present = document_writer.analysis

    class Changed:
        language = "sw"
        fingerprint = "changed"
        tokens = staticmethod(lambda text: [one._replace(term=one.term + "x") for one in present("sw").tokens(text)])

    for module in (builds, document_writer):
        monkeypatch.setattr(module, "analysis", lambda language: Changed())
    go_on, catch_up = Event(), CollectionIndex._catch_up

    def catch_up_later(self: CollectionIndex, *arguments: Any, **options: Any) -> None:
        go_on.wait(30)
        catch_up(self, *arguments, **options)

    monkeypatch.setattr(CollectionIndex, "_catch_up", catch_up_later)
    with running(slow) as runtime:
        index = runtime.collections.index_of("c")
        assert found(runtime, "c", "moja") == ["1"]
        answer = runtime.search.search(SearchQuery(query="moja", query_language="sw", method="none"), "x")
        assert [one.id for one in answer.hits] == ["1"]
        assert "it is of an earlier version and being built anew" in answer.degraded[0].reason
        with pytest.raises(Unavailable, match="being built"), index.writing():
            pass
        go_on.set()
        until = time.monotonic() + 30
        while index.state is not IndexState.READY and time.monotonic() < until:
            time.sleep(0.01)
        assert before.read_text() != build
        with runtime.collections.index_of("c").use() as index:
            assert index.document_frequency("sw", "mojax") == 1
            assert index.document_frequency("sw", "moja") == 0


def test_a_rebuild_keeps_serving_and_holds_exactly_the_documents(slow: Settings) -> None:
    with running(slow) as runtime:
        runtime.collections.create("c", "sw")
        for number in range(3):
            add(runtime, "c", *({"id": f"{n}", "text": f"neno{n} mara{number}"} for n in range(700)))
        runtime.collections.delete_document("c", "5")
        index = runtime.collections.index_of("c")
        seen: list[tuple[int, list[str]]] = []
        index.rebuild(lambda done: seen.append((done, found(runtime, "c", "neno7"))))
        assert [done for done, _ in seen] == [500, 699]
        assert all(ids == ["7"] for _, ids in seen)
        assert len(found(runtime, "c", "mara2")) == 699
        assert found(runtime, "c", "mara1") == []
        assert found(runtime, "c", "neno5") == []


def test_large_documents_are_replayed_in_small_batches(slow: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stored_documents, "BATCH_CHARS", 100)
    with running(slow) as runtime:
        runtime.collections.create("c", "sw")
        add(runtime, "c", *({"id": f"{n}", "text": f"neno{n} wote " + "x " * n} for n in range(90)))
        seen: list[int] = []
        runtime.collections.index_of("c").rebuild(seen.append)
        assert len(seen) > 40
        assert seen[-1] == 90
        assert len(found(runtime, "c", "wote")) == 90


@pytest.mark.parametrize("language", ["sw", "de", "zh", "th", "ja"])
def test_no_text_can_stop_an_index(slow: Settings, language: str) -> None:
    lengths = {"x": 200_000, "日本": 50_000, "ا": 70_000, "é": 70_000, "😀": 50_000, "ก": 70_000, "a.": 70_000}
    texts = [part * times for part, times in lengths.items()]
    texts += ["1" * 200_000, "\u200d" * 1000, "\ufffe\uffff\U0010ffff", "\u202e|,^~*:", "a" + "\u0301" * 9000]
    with running(slow) as runtime:
        runtime.collections.create("c", language)
        add(runtime, "c", *({"id": f"{n}", "text": f"{text} 2024"} for n, text in enumerate(texts)))
        assert len(found(runtime, "c", "2024")) == len(texts)


def test_a_rebuild_that_fails_leaves_the_index_as_it_was(slow: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    with running(slow) as runtime:
        runtime.collections.create("c", "sw")
        add(runtime, "c", {"id": "1", "text": "moja"})
        index = runtime.collections.index_of("c")
        monkeypatch.setattr(LuceneIndex, "commit", _full)
        with pytest.raises(OSError, match="No space"):
            index.rebuild()
        monkeypatch.undo()
        assert len(list(index.directory.iterdir())) == 2
        assert index.state is IndexState.READY
        assert found(runtime, "c", "moja") == ["1"]
        add(runtime, "c", {"id": "2", "text": "moja"})
        assert found(runtime, "c", "moja") == ["1", "2"]


def _full(*_: object) -> None:
    raise OSError(28, "No space left on device")


@pytest.mark.parametrize("step", ["write", "refresh"])
def test_a_full_disk_under_the_index_loses_nothing_and_mends_when_there_is_space(
    slow: Settings, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    with running(slow) as runtime:
        runtime.collections.create("c", "sw")
        add(runtime, "c", {"id": "1", "text": "moja"})
        monkeypatch.setattr(LuceneIndex, step, _full)
        with pytest.raises(StorageFull, match="stored and kept: the 1 documents up to line 1"):
            add(runtime, "c", {"id": "2", "text": "moja"})
        info = runtime.collections.get("c")
        assert (info.index_state, info.documents) == ("stale", 2)
        assert found(runtime, "c", "moja") == ["1"]
        monkeypatch.undo()
        runtime.collections.index_of("c").open()
        assert runtime.collections.get("c").index_state == "ready"
        assert found(runtime, "c", "moja") == ["1", "2"]


def test_the_background_mends_a_stale_index(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    with running(settings) as runtime:
        runtime.collections.create("c", "sw")
        monkeypatch.setattr(LuceneIndex, "refresh", _full)
        with pytest.raises(StorageFull):
            add(runtime, "c", {"id": "1", "text": "moja"})
        monkeypatch.undo()
        for _ in range(1000):
            if runtime.collections.get("c").index_state == "ready":
                break
            runtime.indexes.follower._closing.wait(0.01)
        assert found(runtime, "c", "moja") == ["1"]


def test_damage_met_while_searching_is_mended(slow: Settings) -> None:
    with running(slow) as runtime:
        runtime.collections.create("c", "sw")
        add(runtime, "c", {"id": "1", "text": "moja"})
        index = runtime.collections.index_of("c")
        build = (index.directory / "current").read_text()
        with pytest.raises(IndexCorrupt), index.use():
            raise IndexCorrupt(Path("x"), "damaged")
        assert index.state is IndexState.FAILED
        add(runtime, "c", {"id": "2", "text": "moja"})
        assert (index.directory / "current").read_text() != build
        assert found(runtime, "c", "moja") == ["1", "2"]


def test_an_index_being_built_refuses_searches_and_documents(slow: Settings) -> None:
    runtime = Runtime(slow)
    try:
        with runtime.store.write() as session:
            row = Collection(name="c", language="sw")
            session.add(row)
        index = runtime.indexes._index(runtime.source.collection(row.id))
        with pytest.raises(Unavailable, match="building"), index.use():
            pass
        with pytest.raises(Unavailable, match="being built"), index.writing():
            pass
        assert index.generation == -1
    finally:
        runtime.close()


def test_a_deleted_collection_takes_no_documents(slow: Settings) -> None:
    with running(slow) as runtime:
        runtime.collections.create("c", "sw")
        index = runtime.collections.index_of("c")
        runtime.collections.delete("c")
        assert not index.directory.exists()
        with pytest.raises(NotFound), index.writing():
            pass


OPERATIONS = st.lists(
    st.one_of(
        st.tuples(st.just("add"), st.lists(st.sampled_from("abcdef"), min_size=1, max_size=4)),
        st.tuples(st.just("delete"), st.sampled_from("abcdef")),
        st.tuples(st.sampled_from(["commit", "crash", "restart", "rebuild"]), st.none()),
    ),
    max_size=12,
)


@examples(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(OPERATIONS)
def test_database_and_index_agree_after_any_history(tmp_path_factory, operations) -> None:
    settings = Settings.load(data_dir=tmp_path_factory.mktemp("data"), index_commit_seconds=3600)
    runtime = _start(settings)
    runtime.collections.create("c", "sw")
    model: dict[str, int] = {}
    for step, (operation, argument) in enumerate(operations):
        if operation == "add":
            add(runtime, "c", *({"id": id, "text": f"wote toleo{step}"} for id in argument))
            model.update(dict.fromkeys(argument, step))
        elif operation == "delete":
            if model.pop(argument, None) is None:
                with pytest.raises(NotFound):
                    runtime.collections.delete_document("c", argument)
            else:
                runtime.collections.delete_document("c", argument)
        elif operation == "commit":
            runtime.collections.index_of("c").commit()
        elif operation == "rebuild":
            runtime.collections.index_of("c").rebuild()
        else:
            crash(runtime) if operation == "crash" else runtime.close()
            runtime = _start(settings)
        assert runtime.collections.get("c").documents == len(model)
        assert sorted(found(runtime, "c", "wote")) == sorted(model)
        for version in set(model.values()):
            expected = sorted(id for id, of in model.items() if of == version)
            assert sorted(found(runtime, "c", f"toleo{version}")) == expected
    runtime.close()
