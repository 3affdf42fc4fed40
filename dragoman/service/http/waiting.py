"""Waiting for the models without blocking a thread."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from concurrent.futures import Future
from typing import Any

from fastapi import Request

from dragoman.engine.core.errors import ClientDisconnected, Unavailable

_POLL_SECONDS = 0.25


async def wait_for_futures(
    futures: Sequence[Future[Any]],
    request: Request,
    until: float,
    *,
    all_of: bool = False,
    advice: str = "send fewer or shorter texts",
) -> None:
    """Wait until all futures are done or, unless ``all_of``, until the first one fails.

    Items that have not started are cancelled on a failure, at the deadline, or when the client disconnects.

    Raises:
        Unavailable: the deadline has passed, with ``advice``.
        ClientDisconnected: the client is gone.
        Exception: that of the first item that failed, unless ``all_of``.
    """
    wrapped = [asyncio.wrap_future(future) for future in futures]
    waiting = set(wrapped)
    how = asyncio.ALL_COMPLETED if all_of else asyncio.FIRST_EXCEPTION
    try:
        while waiting:
            left = max(0.0, min(_POLL_SECONDS, until - time.monotonic()))
            done, waiting = await asyncio.wait(waiting, timeout=left, return_when=how)
            for future in done:
                if not all_of:
                    future.result()
            if waiting and time.monotonic() >= until:
                raise Unavailable(f"the model took too long; {advice}, or try again")
            if waiting and await request.is_disconnected():
                raise ClientDisconnected("the client disconnected")
    finally:
        for future in wrapped:
            if not future.cancel() and not future.cancelled():
                future.exception()  # retrieved, or asyncio would log that it never was
