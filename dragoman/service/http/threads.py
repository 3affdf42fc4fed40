"""Admission of requests to threads: a limit of those under way, of which the rest waits for its turn, fairly by key."""

from __future__ import annotations

import asyncio
import ipaddress
import time
from collections.abc import AsyncIterator, Callable, Hashable
from contextlib import AsyncExitStack, asynccontextmanager
from threading import Event
from typing import TypeVar

import anyio
import anyio.to_thread
from fastapi import Request

from dragoman import cores
from dragoman.deadline import DeadlinePassed, WorkCancelled, check, deadline
from dragoman.engine.core.admission import Limit
from dragoman.engine.core.errors import ClientDisconnected, Unavailable, classify
from dragoman.engine.core.turns import Turn, Turns, hold_turn
from dragoman.engine.models.queue.worker import Cancelled
from dragoman.engine.settings import Settings

T = TypeVar("T")

_COMPUTING = cores.for_requests()
"""Threads that compute at a time."""
_SPARE = 8
"""Threads beside those that wait for the models, so that a search that is made without them still gets one."""
_SUBNET = 64
"""The bits of an IPv6 address that one caller has for itself."""


class Threads:
    """Runs the requests of one application on threads. Call it from the event loop's thread only.

    A caller is a key, or an address where the service is open. Whatever one caller asks for, a thread to compute and
    some to wait for the models are left for others.
    """

    def __init__(self, settings: Settings) -> None:
        self._seconds = settings.requests.request_seconds
        self._requests = Limit(settings.search.concurrent_searches, "requests are under way")
        self._computing = Turns(_COMPUTING, _COMPUTING - 1)
        self._waiting = Turns(
            settings.search.concurrent_model_searches + _SPARE, settings.search.concurrent_model_searches
        )
        self._threads = anyio.CapacityLimiter(_COMPUTING + settings.search.concurrent_model_searches + _SPARE)

    async def run(self, request: Request, work: Callable[[Cancelled], T], *, waits: bool) -> T:
        """Run ``work`` on a thread when it is its turn; ``waits`` says that it will wait for the models.

        It is told whether the client has disconnected, and has a deadline of ``request_seconds``, counted from now.

        Raises:
            TooManyRequests: the limit of concurrent requests is reached.
            Unavailable: the deadline passed.
            ClientDisconnected: the client is gone.
        """
        caller, until = caller_of(request), time.monotonic() + self._seconds
        gone = Event()

        def start() -> T:
            try:
                with hold_turn(Turn(self._computing, caller)), deadline(until - time.monotonic(), gone.is_set):
                    check()
                    return work(gone.is_set)
            except (DeadlinePassed, WorkCancelled) as fault:
                raise classify(fault) or fault from fault

        with self._requests.place(caller):
            async with AsyncExitStack() as stack:
                left = await stack.enter_async_context(_watch(request, gone))
                if waits:
                    await stack.enter_async_context(_turn(self._waiting, caller, left, until))
                await stack.enter_async_context(_turn(self._computing, caller, left, until))
                return await anyio.to_thread.run_sync(start, limiter=self._threads)


def caller_of(request: Request) -> Hashable:
    """Whose request it is: its key, or the address that it comes from."""
    caller = request.scope.get("state", {}).get("caller")
    if caller is not None and caller.key_id is not None:
        return str(caller.key_id)
    host = request.client.host if request.client is not None else ""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return host
    return host if address.version == 4 else str(ipaddress.ip_network((address, _SUBNET), strict=False))


@asynccontextmanager
async def _watch(request: Request, gone: Event) -> AsyncIterator[asyncio.Task[None]]:
    """A task that ends, with ``gone`` set, when the client disconnects. The request's body must have been read."""

    async def watch() -> None:
        while (await request.receive())["type"] != "http.disconnect":
            pass
        gone.set()

    task = asyncio.create_task(watch())
    try:
        yield task
    finally:
        task.cancel()


@asynccontextmanager
async def _turn(turns: Turns, caller: Hashable, left: asyncio.Task[None], until: float) -> AsyncIterator[None]:
    """A turn for the block.

    Raises:
        Unavailable: it did not come in time.
        ClientDisconnected: the client ``left`` before it came.
    """
    turn = turns.take(caller)
    try:
        if not turn.done():
            seconds = max(0.0, until - time.monotonic())
            coming = asyncio.wrap_future(turn)
            await asyncio.wait({coming, left}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        if left.done():
            raise ClientDisconnected("the client disconnected")
        if not turn.done():
            raise Unavailable("the service has too much to do: the request waited too long for its turn; try again")
        yield
    finally:
        turns.withdraw(caller, turn)
