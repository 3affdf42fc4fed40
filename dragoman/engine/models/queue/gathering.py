"""Waiting on a request's thread for what the worker computes."""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, wait
from typing import Any

from dragoman.engine.core.errors import ClientDisconnected, Unavailable
from dragoman.engine.core.turns import waiting_for_models
from dragoman.engine.models.queue.worker import Cancelled

_POLL_SECONDS = 0.2


def gather(futures: Sequence[Future[Any]], seconds: float, cancelled: Cancelled | None = None) -> list[Any]:
    """The results of all futures. Futures that have not started are cancelled on a failure, timeout or ``cancelled()``.

    Raises:
        Unavailable: they took longer than ``seconds``.
        ClientDisconnected: ``cancelled()``.
        Exception: that of the first future that failed.
    """
    try:
        if not all(future.done() for future in futures):
            with waiting_for_models():
                _wait(futures, time.monotonic() + seconds, seconds, cancelled)
        return [future.result() for future in futures]
    finally:
        for future in futures:
            future.cancel()


def _wait(futures: Sequence[Future[Any]], until: float, seconds: float, cancelled: Cancelled | None) -> None:
    waiting = set(futures)
    while waiting:
        timeout = max(0.0, min(_POLL_SECONDS, until - time.monotonic()))
        done, waiting = wait(waiting, timeout, return_when=FIRST_EXCEPTION)
        for future in done:
            future.result()
        if waiting and time.monotonic() >= until:
            raise Unavailable(f"the model took longer than {seconds:g} seconds")
        if waiting and cancelled is not None and cancelled():
            raise ClientDisconnected("the client disconnected")
