"""The thread that embeds: what it makes of results that come late, and of the files of an earlier process."""

from __future__ import annotations

from concurrent.futures import Future, wait
from typing import Any

import pytest

from dragoman.service.collections import dense_registry
from dragoman.service.collections.dense_index import Coverage
from dragoman.service.core.settings import Settings
from dragoman.service.inference import batching
from dragoman.service.inference.batches import Item
from tests.service.modelling import GERMAN, WordEncoder
from tests.service.searching import add, running

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

    monkeypatch.setattr(batching, "Item", lambda *fields: Item(*fields, result=DoneAtTimeout()))
    monkeypatch.setattr(dense_registry, "wait", wait_then_compute)
    with running(settings) as runtime:
        runtime.collections.create("de", "de")
        add(runtime, "de", *GERMAN)
        key = runtime.collections.get("de").key
        runtime.models.encoder()
        encoder.barrier.clear()
        assert runtime.dense.embed(key) == Coverage(missing=0, failed=0, total=3)
