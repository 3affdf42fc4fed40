"""Who may call the service: recognises keys from a copy of the database's that is at most a second old.

A key that was made works at once. One that was revoked is refused at once by the process that revoked it, and within a
second by all others, such as when the command line did it.
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

from dragoman.service.access.keys import SCOPES, KeyInfo, Keys, recognised
from dragoman.service.access.rate_limit import Meter, Quota
from dragoman.service.core.errors import Unauthorized, Unavailable
from dragoman.service.core.settings import Settings
from dragoman.service.storage.models import now

logger = logging.getLogger("dragoman")

_AGE_SECONDS = 1.0
_SPACING_SECONDS = 0.1
"""Least time between two readings of the keys, however many unknown ones are sent."""
_WAIT_SECONDS = 5.0
_USED_SECONDS = 60.0
"""How often a key's last use is written down."""


@dataclass(frozen=True, slots=True)
class Caller:
    """Who sent a request; ``key_id`` is None where the service is open."""

    key_id: str | None
    name: str
    scopes: tuple[str, ...]
    meter: Meter


@dataclass(frozen=True, slots=True)
class _Copy:
    begun: float = -math.inf
    keys: Mapping[str, KeyInfo] = field(default_factory=lambda: MappingProxyType({}))


class Access:
    """Recognises callers. To be used from one event loop; :meth:`changed` may be called from any thread."""

    def __init__(self, keys: Keys, settings: Settings) -> None:
        self._keys = keys
        self._settings = settings
        self._copy = _Copy()
        self._changed_at = -math.inf
        self._reading: asyncio.Task[None] | None = None
        # A thread of its own: it must not wait behind requests that wait for the database or for the models.
        self._thread = anyio.CapacityLimiter(1)
        self._meters: dict[str | None, Meter] = {}
        self._used: dict[str, datetime] = {}
        self._noted: dict[str, float] = {}
        self._noting: asyncio.Task[None] | None = None

    async def caller(self, given: str | None) -> Caller:
        """Who sends this key, or no key.

        Raises:
            Unauthorized: a key is needed, and this is none.
            Unavailable: the database does not answer.
            DBAPIError: the keys cannot be read.
        """
        arrived = time.monotonic()
        copy = await self._fresh(arrived - _AGE_SECONDS)
        if not copy.keys and self._settings.loopback:
            return self._anonymous()
        if given is None:
            raise Unauthorized("send an API key: Authorization: Bearer KEY")
        key = recognised(copy.keys, given)
        if key is None:  # it may be newer than the copy
            key = recognised((await self._fresh(arrived)).keys, given)
        if key is None:
            raise Unauthorized("the API key is not known")
        self._note(key.id)
        return Caller(key.id, key.label, key.scopes, self._meter(key.id, self._quota(key)))

    def changed(self) -> None:
        """Have the keys read anew before the next request: this process changed them."""
        self._changed_at = time.monotonic()

    async def close(self) -> None:
        """Write down what was not yet."""
        if self._noting is not None:
            await self._noting
        if self._used:
            await self._write_down()

    async def _fresh(self, since: float) -> _Copy:
        """A copy that was not begun to be read before ``since``, nor before this process changed the keys."""
        while self._copy.begun < max(since, self._changed_at):
            if self._reading is None:
                self._reading = asyncio.create_task(self._read())
            done, _ = await asyncio.wait([self._reading], timeout=_WAIT_SECONDS)
            if not done:
                raise Unavailable("the database does not answer, so that no API key can be looked at")
            done.pop().result()
        return self._copy

    async def _read(self) -> None:
        try:
            await asyncio.sleep(max(0.0, self._copy.begun + _SPACING_SECONDS - time.monotonic()))
            begun = time.monotonic()
            found = await anyio.to_thread.run_sync(self._keys.all, limiter=self._thread)
            self._copy = _Copy(begun, {key.id: key for key in found})
        finally:
            self._reading = None

    def _anonymous(self) -> Caller:
        chosen = self._settings
        quota = Quota(
            chosen.anonymous_requests_per_second, chosen.anonymous_burst, chosen.anonymous_concurrent_requests
        )
        return Caller(None, "anonymous", SCOPES, self._meter(None, quota))

    def _quota(self, key: KeyInfo) -> Quota:
        chosen = self._settings
        return Quota(
            chosen.key_requests_per_second if key.requests_per_second is None else key.requests_per_second,
            chosen.key_burst if key.burst is None else key.burst,
            chosen.key_concurrent_requests if key.concurrent_requests is None else key.concurrent_requests,
        )

    def _meter(self, id: str | None, quota: Quota) -> Meter:
        meter = self._meters.get(id)
        if meter is None:
            meter = self._meters[id] = Meter(quota)
        return meter

    def _note(self, id: str) -> None:
        self._used[id] = now()
        if self._noting is None and time.monotonic() - self._noted.get(id, -math.inf) >= _USED_SECONDS:
            self._noting = asyncio.create_task(self._write_down())

    async def _write_down(self) -> None:
        times, self._used = self._used, {}
        self._noted |= dict.fromkeys(times, time.monotonic())
        try:
            await asyncio.to_thread(self._keys.used, times)
        except Exception as fault:  # a request does not fail for this
            logger.warning("the last use of API keys could not be written down: %s", fault)
        finally:
            self._noting = None
