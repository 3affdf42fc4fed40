"""Threads that search the parts of indexes; while all are busy, whoever asks computes by itself."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from functools import partial
from typing import ParamSpec, TypeVar

__all__ = ["ShardPool"]

_MOST_THREADS = 64
_STUCK_SECONDS = 1.0
"""After this a task is taken for stuck: nobody computes by itself then what may be stuck as well."""

P = ParamSpec("P")
T = TypeVar("T")


class ShardPool(Executor):
    """Runs tasks on threads, a few at a time, and further ones at once on the thread that submits them.

    So one search has all processors, and many searches at a time do not pay for threads that wake each other.
    """

    def __init__(self, at_once: int) -> None:
        """``at_once`` is how many tasks have threads of their own, as many as there are processors."""
        self._at_once = at_once
        self._threads = ThreadPoolExecutor(_MOST_THREADS, "dragoman-shard")
        self._lock = threading.Lock()
        self._running: dict[object, float] = {}
        """When each task began, on a thread of its own or on that of whoever asks."""

    def submit(self, task: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Run a task; the future may be done already.

        Raises:
            RuntimeError: the pool is shut down, and the task would need a thread.
        """
        token = object()
        with self._lock:
            now = time.monotonic()
            stuck = any(now - began > _STUCK_SECONDS for began in self._running.values())
            own_thread = stuck or len(self._running) < self._at_once
            self._running[token] = now
        if own_thread:
            begun = self._threads.submit(task, *args, **kwargs)
            begun.add_done_callback(partial(self._end, token))  # also where it is cancelled before it begins
            return begun
        future: Future[T] = Future()
        try:
            future.set_result(task(*args, **kwargs))
        except Exception as fault:
            future.set_exception(fault)
        finally:
            self._end(token, future)
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End the threads."""
        self._threads.shutdown(wait, cancel_futures=cancel_futures)

    def _end(self, token: object, _: object) -> None:
        with self._lock:
            del self._running[token]
