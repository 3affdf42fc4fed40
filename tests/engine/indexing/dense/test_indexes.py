"""The thread that embeds: what it makes of results that come late, and what goes on meanwhile."""

from __future__ import annotations

import random
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from threading import Event
from typing import Any

import numpy as np
import pytest

from dragoman.engine.core.errors import TooManyRequests, Unavailable
from dragoman.engine.indexing import follower
from dragoman.engine.indexing.dense import indexes as dense_registry
from dragoman.engine.indexing.dense.collection import Coverage
from dragoman.engine.models.queue import worker
from dragoman.engine.models.queue.batches import QueueEntry
from dragoman.engine.settings import Settings
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


def test_searches_and_additions_go_on_while_embeddings_are_stored(
    settings: Settings, encoder: WordEncoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The database takes as long as the test likes."""
    with running(settings) as runtime, ThreadPoolExecutor(2) as threads:
        writing, written, put = Event(), Event(), runtime.source.put_embeddings

        def put_slowly(*arguments: Any) -> set[int]:
            writing.set()
            assert written.wait(60)
            return put(*arguments)

        def in_time(call: Callable[[], Any]) -> Any:
            return threads.submit(call).result(30)

        runtime.collections.create("de", "de")
        add(runtime, "de", *GERMAN)
        collection = runtime.dense.of(runtime.collections.get("de").key)
        ask(runtime, "bee")
        monkeypatch.setattr(runtime.dense.follower, "following", False)  # what is added, this test embeds
        add(runtime, "de", {"id": "n", "text": "noch eine Biene"}, {"id": "gone", "text": "Asche"})
        collection.reconcile()
        monkeypatch.setattr(runtime.source, "put_embeddings", put_slowly)
        slow = threads.submit(lambda: runtime.dense._embed(collection, collection.take()))
        try:
            assert writing.wait(60)
            hits = in_time(lambda: collection.search(WordEncoder.vector("bee"), 9).best.keys)
            assert len(hits) == 3
            assert in_time(collection.coverage) == Coverage(missing=2, failed=0, total=5)
            in_time(lambda: runtime.collections.delete_document("de", "gone"))
            in_time(collection.reconcile)
        finally:
            written.set()
        slow.result(60)
        assert collection.coverage() == Coverage(missing=0, failed=0, total=4)
        assert len(collection.search(WordEncoder.vector("bee"), 9).best.keys) == 4


def test_outdated_documents_are_left_out_and_no_others(
    settings: Settings, encoder: WordEncoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many of the first ones are outdated, in as many rounds as that takes."""
    with running(settings) as runtime:
        key = runtime.collections.create("c", "de").key
        add(runtime, "c", *({"id": str(place), "text": " ".join(["Biene"] * place)} for place in range(1, 25)))
        runtime.dense.embed(key)
        collection, vector, noise = runtime.dense.of(key), WordEncoder.vector("bee"), random.Random(1)
        order = collection.search(vector, 99).best.keys.tolist()
        generations = runtime.source.generations
        for _ in range(60):
            stale = set(noise.sample(order, noise.randrange(len(order))))
            others = sorted(noise.sample(order, noise.randrange(9)))
            k = noise.randrange(1, 9)
            monkeypatch.setattr(
                runtime.source,
                "generations",
                lambda keys, stale=stale: {one: at + (one in stale) for one, at in generations(keys).items()},
            )
            answer = collection.search(vector, k, None, np.array(others, np.int64))
            current = [one for one in order if one not in stale]
            assert answer.best.keys.tolist() == current[:k]
            assert sorted(answer.others.keys.tolist()) == sorted(one for one in current[k:] if one in others)
