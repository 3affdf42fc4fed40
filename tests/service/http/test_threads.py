"""What becomes of a turn: of work that ends or fails, and of a request that its client or its time leaves."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import Future
from threading import Event
from typing import Any

import pytest
from fastapi import Request

from dragoman import cores
from dragoman.engine.core.errors import ClientDisconnected, Unavailable
from dragoman.engine.models.queue.ahead import QueryAhead, taken_ahead
from dragoman.engine.settings import Settings
from dragoman.service.http.threads import Threads


def run_with_threads(use: Callable[[Threads], Awaitable[None]], **settings: Any) -> None:
    async def opened() -> None:
        threads = Threads(Settings.load(**settings))
        try:
            await asyncio.wait_for(use(threads), 60)
        finally:
            threads.close()

    asyncio.run(opened())


def request_of(host: str, left: asyncio.Event | None = None) -> Request:
    """A request of a client that stays until ``left``."""

    async def receive() -> dict[str, str]:
        await (left or asyncio.Event()).wait()
        return {"type": "http.disconnect"}

    return Request({"type": "http", "client": (host, 1), "headers": []}, receive)


async def occupy(threads: Threads, end: Event) -> list[asyncio.Task[bool]]:
    """Take all turns of a caller, by work that lasts until ``end``."""
    began = [Event() for _ in range(cores.for_requests() - 1)]

    def work(started: Event) -> Callable[[Callable[[], bool]], bool]:
        def wait(_: Callable[[], bool]) -> bool:
            started.set()
            return end.wait(60)

        return wait

    tasks = [asyncio.create_task(threads.run(request_of("10.0.0.1"), work(started), waits=False)) for started in began]
    while not all(started.is_set() for started in began):
        await asyncio.sleep(0.01)
    return tasks


def test_work_that_fails_ends_its_turn_as_work_that_ends() -> None:
    async def use(threads: Threads) -> None:
        def fail(_: Callable[[], bool]) -> None:
            raise Unavailable("no")

        for _ in range(3 * cores.for_requests()):
            with pytest.raises(Unavailable, match="no"):
                await threads.run(request_of("10.0.0.1"), fail, waits=True)
            assert await threads.run(request_of("10.0.0.1"), lambda gone: gone(), waits=True) is False

    run_with_threads(use)


def test_a_client_that_leaves_before_its_turn_leaves_that_to_others() -> None:
    async def use(threads: Threads) -> None:
        end, left = Event(), asyncio.Event()
        busy = await occupy(threads, end)
        waiting = asyncio.create_task(threads.run(request_of("10.0.0.1", left), lambda _: "late", waits=False))
        await asyncio.sleep(0)
        left.set()
        with pytest.raises(ClientDisconnected):
            await waiting
        end.set()
        assert all(await asyncio.gather(*busy))
        assert await threads.run(request_of("10.0.0.1"), lambda _: "next", waits=False) == "next"

    run_with_threads(use)


def test_a_query_that_was_begun_for_a_search_that_does_not_take_it_is_cancelled() -> None:
    async def use(threads: Threads) -> None:
        begun: list[Future[str]] = []

        def begin(texts: Sequence[str]) -> list[Future[str]]:
            begun.extend(Future() for _ in texts)
            return begun[-len(texts) :]

        def take(_: Callable[[], bool]) -> bool:
            return taken_ahead("query") is begun[-1]

        host, end, left = request_of("10.0.0.1"), Event(), asyncio.Event()
        assert await threads.run(host, lambda _: "elsewhere", waits=True, ahead=QueryAhead("query", begin))
        assert await threads.run(host, take, waits=True, ahead=QueryAhead("query", begin))
        busy = await occupy(threads, end)
        gone = request_of("10.0.0.1", left)
        waiting = asyncio.create_task(threads.run(gone, take, waits=True, ahead=QueryAhead("query", begin)))
        while len(begun) < 3:
            await asyncio.sleep(0.01)
        left.set()
        with pytest.raises(ClientDisconnected):
            await waiting
        end.set()
        await asyncio.gather(*busy)
        assert [future.cancelled() for future in begun] == [True, False, True]

    run_with_threads(use)


def test_work_learns_that_its_client_has_left() -> None:
    async def use(threads: Threads) -> None:
        left, started = asyncio.Event(), asyncio.Event()
        loop = asyncio.get_running_loop()

        def work(gone: Callable[[], bool]) -> bool:
            loop.call_soon_threadsafe(started.set)
            while not gone():
                Event().wait(0.01)
            return True

        running = asyncio.create_task(threads.run(request_of("10.0.0.1", left), work, waits=False))
        await started.wait()
        left.set()
        assert await running

    run_with_threads(use)


def test_a_turn_that_does_not_come_in_time_is_given_up() -> None:
    async def use(threads: Threads) -> None:
        end = Event()
        busy = await occupy(threads, end)
        with pytest.raises(Unavailable, match="waited too long for its turn"):
            await threads.run(request_of("10.0.0.1"), lambda _: "late", waits=False)
        end.set()
        await asyncio.gather(*busy, return_exceptions=True)
        assert await threads.run(request_of("10.0.0.1"), lambda _: "next", waits=False) == "next"

    run_with_threads(use, request_seconds=0.5)


def test_a_request_that_is_cancelled_while_it_computes_ends_its_turn() -> None:
    async def use(threads: Threads) -> None:
        end = Event()
        for task in await occupy(threads, end):
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        next_one = asyncio.create_task(threads.run(request_of("10.0.0.1"), lambda _: "next", waits=False))
        await asyncio.sleep(0.1)
        assert not next_one.done()  # its thread still computes
        end.set()
        assert await next_one == "next"

    run_with_threads(use)
