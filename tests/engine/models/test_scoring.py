"""Waiting for scores: a time for computing begins with it, however long the documents have waited before."""

from __future__ import annotations

import time
from collections.abc import Collection
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest

from dragoman.engine.core.errors import Unavailable
from dragoman.engine.models import scoring
from dragoman.engine.models.scoring import Pending, Scores


def never() -> Scores:
    raise AssertionError("nothing is scored")


def test_the_time_for_computing_does_not_run_while_documents_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[float] = []

    def look(futures: Collection[Future[Any]], seconds: float) -> Any:
        looks.append(seconds)
        return wait(futures, seconds)

    wait = scoring.wait
    monkeypatch.setattr(scoring, "wait", look)
    future: Future[float] = Future()
    with ThreadPoolExecutor(1) as threads:
        waiting = threads.submit(Pending([future], never).result, time.monotonic() + 600, None, 0.001)
        while len(looks) < 5:  # each longer than the time for computing
            time.sleep(0.001)
        assert not waiting.done()
        future.set_running_or_notify_cancel()
        with pytest.raises(Unavailable, match="not scored in time"):
            waiting.result(60)


def test_the_wait_itself_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    future: Future[float] = Future()
    with pytest.raises(Unavailable, match="not scored in time"):
        Pending([future], never).result(time.monotonic() + 0.05, None, 600.0)
    assert future.cancelled()
