"""Admission of requests to threads: a limit of those under way, of which the rest waits for its turn, fairly by key."""

from __future__ import annotations

import asyncio
import ipaddress
import time
from collections.abc import AsyncIterator, Callable, Hashable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, suppress
from contextvars import copy_context
from threading import Event
from typing import TypeVar

from fastapi import Request

from dragoman import cores
from dragoman.deadline import DeadlinePassed, WorkCancelled, check, deadline
from dragoman.engine.core.admission import Limit
from dragoman.engine.core.errors import ClientDisconnected, OutOfTime, classify
from dragoman.engine.core.turns import Turn, Turns, hold_turn
from dragoman.engine.models.queue.ahead import QueriesAhead, QueryAhead
from dragoman.engine.models.queue.worker import Cancelled
from dragoman.engine.settings import Settings

T = TypeVar("T")

_COMPUTING = cores.for_requests()
"""Threads that compute at a time."""
_SPARE = 8
"""Threads beside those that wait for the models, so that a search that is made without them still gets one."""
_UNWATCHED_SECONDS = 0.2
"""How long a request takes before its client is watched: the watch is a task of its own, which most need not have."""
_TOO_LATE = "the service has too much to do: the request waited too long for its turn; try again"
_SUBNET = 64
"""The bits of an IPv6 address that one caller has for itself."""


class Threads:
    """Runs the requests of one application on threads. Call it from the event loop's thread only.

    A caller is a key, or an address where the service is open. Whatever one caller asks for, a thread to compute and
    some to wait for the models are left for others.
    """

    def __init__(self, settings: Settings, limit: Callable[[int, str], Limit] = Limit) -> None:
        """``limit`` makes the limit of requests."""
        self._seconds = settings.requests.request_seconds
        self._requests = limit(settings.search.concurrent_searches, "requests are under way")
        self._computing = Turns(_COMPUTING, _COMPUTING - 1)
        self._waiting = Turns(
            settings.search.concurrent_model_searches + _SPARE, settings.search.concurrent_model_searches
        )
        self._queries = QueriesAhead()
        self._pool = ThreadPoolExecutor(
            _COMPUTING + settings.search.concurrent_model_searches + _SPARE, "dragoman-request"
        )

    async def run(
        self, request: Request, work: Callable[[Cancelled], T], *, waits: bool, ahead: QueryAhead | None = None
    ) -> T:
        """Run ``work`` on a thread when it is its turn; ``waits`` says that it will wait for the models.

        ``ahead`` is encoded while it waits for its turn. The work is told whether the client has disconnected, and has
        a deadline of ``request_seconds``, counted from now.

        Raises:
            TooManyRequests: the limit of concurrent requests is reached.
            OutOfTime: the deadline passed.
            ClientDisconnected: the client is gone.
        """
        caller, until = caller_of(request), time.monotonic() + self._seconds
        client = _Client(request)

        def start() -> T:
            try:
                with hold_turn(Turn(self._computing, caller)), deadline(until - time.monotonic(), client.gone):
                    check()
                    if ahead is None:
                        return work(client.gone)
                    self._queries.remove(ahead)
                    with ahead.offer():
                        return work(client.gone)
            except (DeadlinePassed, WorkCancelled) as fault:
                raise classify(fault) or fault from fault

        with self._requests.place(caller), client.watch_later():
            async with AsyncExitStack() as stack:
                if waits:
                    await stack.enter_async_context(_turn(self._waiting, caller, client, until))
                if ahead is not None:
                    self._queries.add(ahead, caller)
                    stack.callback(self._queries.leave, ahead)
                return await self._compute(caller, start, client, until)

    def close(self) -> None:
        """Begin nothing any more."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    async def _compute(self, caller: Hashable, work: Callable[[], T], client: _Client, until: float) -> T:
        """What ``work`` returns on a thread, which begins it as soon as it has a turn, and ends the turn with it.

        Raises:
            OutOfTime: its turn did not come in time.
            ClientDisconnected: the ``client`` left before it came.
        """
        outcome: Future[T] = Future()
        loop, context = asyncio.get_running_loop(), copy_context()
        ended = loop.create_future()
        turn = self._computing.take(caller)

        def compute() -> None:
            if not outcome.set_running_or_notify_cancel():
                return
            try:
                result = context.run(work)
            except BaseException as fault:
                self._computing.withdraw(caller, turn)
                outcome.set_exception(fault)
            else:
                self._computing.withdraw(caller, turn)
                outcome.set_result(result)
            with suppress(RuntimeError):  # the loop has ended with the process
                loop.call_soon_threadsafe(_end, ended)

        def give_up() -> None:
            if not outcome.cancelled() and outcome.cancel():  # else it has begun, and ends by itself
                self._computing.withdraw(caller, turn)
                _end(ended)

        # not by way of the event loop: another search need not wait until that has sent the answer to the last one
        turn.add_done_callback(lambda _: self._pool.submit(compute))
        timer = loop.call_later(max(0.0, until - time.monotonic()), give_up)
        client.on_leaving(give_up)
        try:
            await ended
        finally:
            timer.cancel()
            give_up()
        if not outcome.cancelled():
            return outcome.result()
        if client.gone():
            raise ClientDisconnected("the client disconnected")
        raise OutOfTime(_TOO_LATE)


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


class _Client:
    """The client of a request, whose body must have been read. Most requests end before it is watched."""

    def __init__(self, request: Request) -> None:
        self._request = request
        self._gone = Event()
        self._watching: asyncio.Task[None] | None = None
        self._leave: Callable[[], None] | None = None

    def gone(self) -> bool:
        """Whether it is known to have disconnected; from any thread."""
        return self._gone.is_set()

    def on_leaving(self, leave: Callable[[], None]) -> None:
        """Call ``leave`` when it disconnects, or now if it has."""
        self._leave = leave
        if self.gone():
            leave()

    @contextmanager
    def watch_later(self) -> Iterator[None]:
        """In the block it is watched, once that takes a while."""
        timer = asyncio.get_running_loop().call_later(_UNWATCHED_SECONDS, self.watch)
        try:
            yield
        finally:
            timer.cancel()
            if self._watching is not None:
                self._watching.cancel()

    def watch(self) -> asyncio.Task[None]:
        """A task that ends when it disconnects."""
        if self._watching is None:
            self._watching = asyncio.create_task(self._watch())
        return self._watching

    async def _watch(self) -> None:
        while (await self._request.receive())["type"] != "http.disconnect":
            pass
        self._gone.set()
        if self._leave is not None:
            self._leave()


def _end(ended: asyncio.Future[None]) -> None:
    if not ended.done():
        ended.set_result(None)


@asynccontextmanager
async def _turn(turns: Turns, caller: Hashable, client: _Client, until: float) -> AsyncIterator[None]:
    """A turn for the block.

    Raises:
        OutOfTime: it did not come in time.
        ClientDisconnected: the ``client`` left before it came.
    """
    turn = turns.take(caller)
    try:
        if not turn.done():
            seconds = max(0.0, until - time.monotonic())
            coming = asyncio.wrap_future(turn)
            await asyncio.wait({coming, client.watch()}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        if client.gone():
            raise ClientDisconnected("the client disconnected")
        if not turn.done():
            raise OutOfTime(_TOO_LATE)
        yield
    finally:
        turns.withdraw(caller, turn)
