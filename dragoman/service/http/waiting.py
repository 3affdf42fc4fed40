"""Waiting for the models without holding a thread."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from concurrent.futures import Future
from typing import Any

from fastapi import Request

from dragoman.service.core.errors import ClientDisconnected, Unavailable

_POLL_SECONDS = 0.25


async def settled(futures: Sequence[Future[Any]], request: Request, until: float, *, all_of: bool = False) -> None:
    """Wait until all futures are done, or the first fails unless ``all_of``.

    What has not been begun is cancelled where one item fails, time is up, or the client goes away.

    Raises:
        Unavailable: it took too long.
        Exception: what the first item failed with, unless ``all_of``.
    """
    wrapped = [asyncio.wrap_future(future) for future in futures]
    waiting = set(wrapped)
    how = asyncio.ALL_COMPLETED if all_of else asyncio.FIRST_EXCEPTION
    try:
        while waiting:
            done, waiting = await asyncio.wait(waiting, timeout=_POLL_SECONDS, return_when=how)
            for future in done:
                if not all_of:
                    future.result()
            if waiting and time.monotonic() >= until:
                raise Unavailable("the model took too long; send less, or try again")
            if waiting and await request.is_disconnected():
                raise ClientDisconnected("the client disconnected")
    finally:
        for future in wrapped:
            if not future.cancel() and not future.cancelled():
                future.exception()  # looked at, so that none is reported as forgotten
