"""Authentication in a search process: by the keys as the database has them now, and without writing to it."""

from __future__ import annotations

import math
import time

from dragoman.engine.core.errors import Conflict
from dragoman.engine.settings import Settings
from dragoman.service.access.authenticator import Access, CachedKeys
from dragoman.service.access.keys import Keys
from dragoman.service.access.rate_limit import Meter, Quota
from dragoman.service.access.shares import Shares
from dragoman.service.processes.shared_limits import SharedMeter
from dragoman.store.recent import CommitCounter

_NOTED_SECONDS = 30.0
"""How often a request of a key goes to the process that notes when keys were last used."""


class UseToBeNoted(Conflict):
    """The request goes to the process that notes when keys were last used."""


class RequestMeter(Meter):
    """The meter of one request, which can be given back."""

    def __init__(self, shared: Meter) -> None:
        super().__init__(shared.quota)
        self._shared = shared
        self._entered = False

    def enter(self, now: float) -> float | None:
        wait = self._shared.enter(now)
        self._entered = wait is None
        return wait

    def leave(self) -> None:
        self._shared.leave()

    def give_back(self) -> None:
        """Let the request count for nothing: it is counted where it is answered."""
        if self._entered and isinstance(self._shared, SharedMeter):
            self._shared.give_back()


class FreshAccess(Access):
    """As :class:`Access`; a revocation holds from the moment on at which the database has it."""

    _least_pause = 0.01
    """Short: where no commits are counted, each request waits for keys that are read after it came."""

    def __init__(self, keys: Keys, settings: Settings, shares: Shares, commits: CommitCounter) -> None:
        super().__init__(keys, settings, shares)
        self._commits = commits
        self._count: tuple[int, int] | None = None
        self._noted_at: dict[str, float] = {}

    async def _refresh(self, since: float) -> CachedKeys:
        """The keys of now, which are read where anything was committed since they were read last."""
        count = self._commits.count()  # before they are read, so that what is noted is never newer
        if count is None or count != self._count:
            await super()._refresh(time.monotonic())
            self._count = count
        return self._cached

    def _meter(self, id: str | None, quota: Quota) -> Meter:
        return RequestMeter(super()._meter(id, quota))

    def _record_use(self, id: str) -> None:
        now = time.monotonic()
        if now - self._noted_at.get(id, -math.inf) > _NOTED_SECONDS:
            self._noted_at[id] = now
            raise UseToBeNoted("the use of the key is to be noted")
