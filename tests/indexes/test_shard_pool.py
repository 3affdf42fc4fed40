"""Tasks have threads of their own while processors are free, and are done by whoever asks after that."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from threading import Event, Thread, current_thread

import pytest

from dragoman.indexes import shard_pool
from dragoman.indexes.shard_pool import ShardPool


def test_further_tasks_are_done_at_once_by_who_submits_them() -> None:
    pool, begun, go_on = ShardPool(2), threading.Barrier(3), Event()

    def hold() -> str:
        begun.wait(60)
        go_on.wait(60)
        return current_thread().name

    held = [pool.submit(hold) for _ in range(2)]
    begun.wait(60)
    assert pool.submit(current_thread).result() is current_thread()
    with pytest.raises(ZeroDivisionError):
        pool.submit(lambda: 1 / 0).result()
    go_on.set()
    assert {future.result(60) for future in held}.isdisjoint({current_thread().name})
    while pool._running:
        pass
    assert pool.submit(current_thread).result(60) is not current_thread()
    pool.shutdown()


def test_what_others_do_by_themselves_takes_a_processor_too() -> None:
    pool, go_on, threads = ShardPool(1), [Event(), Event()], ThreadPoolExecutor(1)
    begun = threading.Barrier(2)

    def hold() -> Thread:
        begun.wait(60)
        go_on[1].wait(60)
        return current_thread()

    held = pool.submit(go_on[0].wait, 60)
    other = threads.submit(lambda: pool.submit(hold).result())
    begun.wait(60)
    go_on[0].set()
    assert held.result(60)
    while len(pool._running) > 1:
        pass
    assert pool.submit(current_thread).result() is current_thread()
    go_on[1].set()
    assert other.result(60) is not current_thread()
    assert not pool._running
    threads.shutdown()
    pool.shutdown()


def test_a_task_that_is_cancelled_before_it_begins_is_over() -> None:
    pool, go_on = ShardPool(1_000), Event()
    held = [pool.submit(go_on.wait, 60) for _ in range(70)]
    cancelled = [future.cancel() for future in held]
    assert any(cancelled)
    go_on.set()
    while pool._running:
        pass
    pool.shutdown()


def test_nobody_computes_what_may_be_stuck(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shard_pool, "_STUCK_SECONDS", -1.0)
    pool, go_on = ShardPool(1), Event()
    held = [pool.submit(go_on.wait, 60) for _ in range(5)]
    assert not any(future.done() for future in held)
    go_on.set()
    assert all(future.result(60) for future in held)
    pool.shutdown()
