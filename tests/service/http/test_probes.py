"""The check behind /readyz: made once for all that ask at a time."""

from __future__ import annotations

import asyncio
from threading import Event

import pytest

from dragoman.engine.core.errors import Unavailable
from dragoman.service.http.probes import SharedCheck


def test_all_that_ask_at_a_time_share_one_check() -> None:
    made, go = [], Event()

    def check() -> None:
        made.append(1)
        go.wait(60)

    async def ask() -> None:
        shared = SharedCheck(check, seconds=3600)
        asking = [asyncio.create_task(shared.check()) for _ in range(20)]
        await asyncio.sleep(0)
        go.set()
        await asyncio.gather(*asking)
        await shared.check()

    asyncio.run(ask())
    assert made == [1]


def test_a_fault_is_told_to_all_and_ends_with_the_next_check() -> None:
    faults = [Unavailable("no database"), None]

    def check() -> None:
        if (fault := faults.pop(0)) is not None:
            raise fault

    async def ask() -> None:
        shared = SharedCheck(check, seconds=0)
        told = await asyncio.gather(shared.check(), shared.check(), return_exceptions=True)
        assert [str(one) for one in told] == ["no database"] * 2
        await shared.check()

    asyncio.run(ask())


def test_who_leaves_does_not_end_the_check_of_others() -> None:
    go = Event()

    async def ask() -> None:
        shared = SharedCheck(lambda: None if go.wait(60) else pytest.fail("it waits for ever"), seconds=3600)
        leaving, staying = asyncio.create_task(shared.check()), asyncio.create_task(shared.check())
        await asyncio.sleep(0)
        leaving.cancel()
        await asyncio.sleep(0)
        go.set()
        await staying

    asyncio.run(ask())
