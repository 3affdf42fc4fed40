"""Authenticates callers with a cached copy of the API keys that is at most a second old.

A new key works at once. The process that revokes a key refuses it at once; other processes refuse it within a second,
for example after a revocation on the command line.
"""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType

import anyio
import anyio.to_thread

from dragoman.engine.core.errors import Unauthorized, Unavailable
from dragoman.engine.core.key_limits import KeyLimits
from dragoman.engine.settings import Settings
from dragoman.service.access.keys import SCOPES, KeyInfo, Keys, recognise_key
from dragoman.service.access.rate_limit import Meter, Quota
from dragoman.service.access.shares import ALONE, Shares
from dragoman.store.models import now

logger = logging.getLogger("dragoman")

_MAX_AGE_SECONDS = 1.0
_WAIT_SECONDS = 5.0
_SAVE_USE_SECONDS = 60.0
"""How often the last use of a key is saved."""


@dataclass(frozen=True, slots=True)
class Caller:
    """Who sent a request; ``key_id`` is None where the service is open."""

    key_id: str | None
    name: str
    scopes: tuple[str, ...]
    meter: Meter
    limits: KeyLimits | None = None
    """What it may see; None for all that there is."""
    owner_id: str | None = None
    """Of its jobs; see :attr:`dragoman.service.access.keys.KeyInfo.owner_id`."""


@dataclass(frozen=True, slots=True)
class CachedKeys:
    """The keys as they were read at a time of the monotonic clock."""

    read_at: float = -math.inf
    keys: Mapping[str, KeyInfo] = field(default_factory=lambda: MappingProxyType({}))


class Access:
    """Authenticates callers. Use it from one event loop; :meth:`changed` may be called from any thread."""

    _least_pause = 0.1
    """Minimum seconds between two refreshes, however many unknown keys are sent."""

    def __init__(self, keys: Keys, settings: Settings, shares: Shares = ALONE) -> None:
        self._shares = shares
        self._keys = keys
        self._settings = settings
        self._cached = CachedKeys()
        self._changed_at = -math.inf
        self._reading: asyncio.Task[None] | None = None
        # A dedicated thread: it must not queue behind requests that wait for the database or the models.
        self._thread = anyio.CapacityLimiter(1)
        self._meters: dict[str | None, Meter] = {}
        self._used: dict[str, datetime] = {}
        self._saved_at: dict[str, float] = {}
        self._saving: asyncio.Task[None] | None = None

    async def caller(self, sent_key: str | None) -> Caller:
        """The caller with this key, or without a key.

        Raises:
            Unauthorized: a key is required, and this one is missing or not valid.
            Unavailable: the database does not respond.
            DBAPIError: the keys cannot be read.
        """
        arrived = time.monotonic()
        cached = await self._refresh(arrived - _MAX_AGE_SECONDS)
        if not cached.keys and self._settings.server.loopback:
            return self._anonymous()
        if sent_key is None:
            raise Unauthorized("send an API key: Authorization: Bearer KEY, or X-API-Key: KEY", "missing")
        key = recognise_key(cached.keys, sent_key)
        if key is None:  # it may be newer than the cache; a wrong secret waits as well, or its id would be told apart
            key = recognise_key((await self._refresh(arrived)).keys, sent_key)
        if key is None:
            raise Unauthorized("the API key is not known")
        self._record_use(key.id)
        meter = self._meter(key.id, self._quota(key))
        return Caller(key.id, key.label, key.scopes, meter, key.limits, key.owner_id)

    def invalidate(self) -> None:
        """Invalidate the cache: this process changed the keys."""
        self._changed_at = time.monotonic()

    async def close(self) -> None:
        """Save the last uses that are not saved yet."""
        if self._saving is not None:
            await self._saving
        if self._used:
            await self._save_uses()

    async def _refresh(self, since: float) -> CachedKeys:
        """The keys, read after ``since`` and after the last change by this process."""
        while self._cached.read_at < max(since, self._changed_at):
            if self._reading is None:
                self._reading = asyncio.create_task(self._read_keys())
            done, _ = await asyncio.wait([self._reading], timeout=_WAIT_SECONDS)
            if not done:
                raise Unavailable("the database does not respond, so API keys cannot be checked")
            done.pop().result()
        return self._cached

    async def _read_keys(self) -> None:
        try:
            await asyncio.sleep(max(0.0, self._cached.read_at + self._least_pause - time.monotonic()))
            read_at = time.monotonic()
            keys = await anyio.to_thread.run_sync(self._keys.all, limiter=self._thread)
            self._cached = CachedKeys(read_at, {key.id: key for key in keys})
            self._forget_others(self._cached.keys)
        finally:
            self._reading = None

    def _forget_others(self, keys: Mapping[str, KeyInfo]) -> None:
        """Let go of what is kept for keys that no longer work."""
        usable = {id for id, key in keys.items() if key.usable(now())}
        self._meters = {id: meter for id, meter in self._meters.items() if id is None or id in usable}
        self._saved_at = {id: saved_at for id, saved_at in self._saved_at.items() if id in usable}

    def _anonymous(self) -> Caller:
        chosen = self._settings.access
        quota = Quota(
            chosen.anonymous_requests_per_second, chosen.anonymous_burst, chosen.anonymous_concurrent_requests
        )
        return Caller(None, "anonymous", SCOPES, self._meter(None, quota))

    def _quota(self, key: KeyInfo) -> Quota:
        chosen = self._settings.access
        return Quota(
            chosen.key_requests_per_second if key.requests_per_second is None else key.requests_per_second,
            chosen.key_burst if key.burst is None else key.burst,
            chosen.key_concurrent_requests if key.concurrent_requests is None else key.concurrent_requests,
        )

    def _meter(self, id: str | None, quota: Quota) -> Meter:
        meter = self._meters.get(id)
        if meter is None:
            meter = self._meters[id] = self._shares.meter(id or "", quota)
        elif meter.quota != quota:
            meter.change(quota)
        return meter

    def _record_use(self, id: str) -> None:
        self._used[id] = now()
        if self._saving is None and time.monotonic() - self._saved_at.get(id, -math.inf) >= _SAVE_USE_SECONDS:
            self._saving = asyncio.create_task(self._save_uses())

    async def _save_uses(self) -> None:
        times, self._used = self._used, {}
        self._saved_at |= dict.fromkeys(times, time.monotonic())
        try:
            await asyncio.to_thread(self._keys.save_use, times)
        except Exception as fault:  # no request may fail because of this
            logger.warning("the last use of API keys could not be saved: %s", fault)
        finally:
            self._saving = None
