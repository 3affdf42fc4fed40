"""The keys as a search process reads them, from a database that counts no commits."""

from __future__ import annotations

import asyncio

import pytest

from dragoman.engine.settings import Settings
from dragoman.service.access.keys import KeyInfo, Keys
from dragoman.service.access.shares import ALONE
from dragoman.service.processes.fresh_access import FreshAccess
from dragoman.store.database import Store


class CountedKeys(Keys):
    """Keys that count how often they are read."""

    reads = 0

    def all(self) -> list[KeyInfo]:
        self.reads += 1
        return super().all()


@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
def test_requests_at_a_time_share_a_reading_that_begins_after_them(store: Store, settings: Settings) -> None:
    keys = CountedKeys(store)
    access = FreshAccess(keys, settings, ALONE, store.commits)

    async def ask() -> None:
        await asyncio.gather(*(access._refresh(0.0) for _ in range(100)))
        assert keys.reads <= 2
        before = keys.reads
        await access._refresh(0.0)
        assert keys.reads == before + 1

    asyncio.run(ask())
