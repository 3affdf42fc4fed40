"""The thread that embeds: what it makes of results that come late, and of the files of an earlier process."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from threading import Event
from typing import Any

import pytest

from dragoman.engine.core.errors import TooManyRequests, Unavailable
from dragoman.engine.indexing import follower
from dragoman.engine.indexing.dense import indexes as dense_registry
from dragoman.engine.indexing.dense.collection import Coverage
from dragoman.engine.models import worker
from dragoman.engine.models.batches import QueueEntry
from dragoman.engine.settings import Settings
from dragoman.indexes.dense import index as dense_index
from tests.engine.indexing.dense.test_collection import settled
from tests.support.modelling import GERMAN, WordEncoder, ask
from tests.support.searching import add, running

pytestmark = pytest.mark.slow


def test_a_batch_that_is_done_as_the_wait_for_it_ends_is_embedded(
    settings: Settings, encoder: WordEncoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The encoder computes until a wait has timed out, and is done before the waiting thread looks again."""

    class DoneAtTimeout(Future[Any]):
        def result(self, timeout: float | None = None) -> Any:
            try:
                return super().result(timeout)
            except TimeoutError:
                encoder.barrier.set()
                super().result()
                raise

    def wait_then_compute(futures: list[Future[Any]], timeout: float) -> Any:
        outcome = wait(futures, timeout)
        encoder.barrier.set()
        wait(futures)
        return outcome

    monkeypatch.setattr(worker, "QueueEntry", lambda *fields: QueueEntry(*fields, result=DoneAtTimeout()))
    monkeypatch.setattr(dense_registry, "wait", wait_then_compute)
    with running(settings) as runtime:
        runtime.collections.create("de", "de")
        add(runtime, "de", *GERMAN)
        key = runtime.collections.get("de").key
        runtime.models.encoder()
        encoder.barrier.clear()
        assert runtime.dense.embed(key) == Coverage(missing=0, failed=0, total=3)


def test_what_could_not_be_embedded_is_tried_again_by_itself(
    settings: Settings, encoder: WordEncoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(follower, "_PAUSES", (0.001, 0.01))
    faults = [TooManyRequests("the queue is full"), Unavailable("the worker is away"), RuntimeError("unforeseen")]
    with running(settings.replace(embed="always")) as runtime:
        submit = runtime.models.worker.submit

        def fail_first(*arguments: Any, **options: Any) -> Any:
            if faults:
                raise faults.pop()
            return submit(*arguments, **options)

        monkeypatch.setattr(runtime.models.worker, "submit", fail_first)
        key = runtime.collections.create("de", "de").key
        add(runtime, "de", *GERMAN)
        settled(runtime)
        assert runtime.dense.coverage(key) == Coverage(missing=0, failed=0, total=3)
        assert faults == []


@pytest.mark.parametrize("begun", [False, True])
def test_searches_and_additions_go_on_while_the_file_is_written(
    settings: Settings, encoder: WordEncoder, monkeypatch: pytest.MonkeyPatch, begun: bool
) -> None:
    """The disk takes as long as the test likes, for the file of a new index or for one that has grown."""
    writing, written, write = Event(), Event(), dense_index.write

    def write_slowly(*arguments: Any) -> None:
        writing.set()
        assert written.wait(60)
        write(*arguments)

    with running(settings) as runtime, ThreadPoolExecutor(2) as threads:

        def in_time(call: Callable[[], Any]) -> Any:
            return threads.submit(call).result(30)

        runtime.collections.create("de", "de")
        add(runtime, "de", *GERMAN)
        collection = runtime.dense.of(runtime.collections.get("de").key)
        info = runtime.models.encoder()
        monkeypatch.setattr(runtime.dense.follower, "following", False)  # what is added, this test embeds
        if begun:
            ask(runtime, "bee")
            add(runtime, "de", {"id": "n", "text": "noch eine Biene"})
            collection.reconcile()
            runtime.dense._embed(collection, collection.take())
        monkeypatch.setattr(dense_index, "write", write_slowly)
        slow = threads.submit(lambda: collection.save(force=True) if begun else collection.open(info))
        try:
            assert writing.wait(60)
            add(runtime, "de", {"id": "m", "text": "Asche"})
            in_time(collection.reconcile)
            in_time(lambda: runtime.dense._embed(collection, collection.take()))
            hits = in_time(lambda: collection.search(WordEncoder.vector("bee"), 9))
            assert len(hits) == 4 + begun
            assert in_time(collection.coverage) == Coverage(missing=0, failed=0, total=4 + begun)
        finally:
            written.set()
        slow.result(60)
