"""What holds over all processes of a service together: limits, rates, and whether any request is under way."""

from __future__ import annotations

import time
from collections.abc import Hashable, Iterator
from contextlib import contextmanager

from dragoman.engine.core.admission import Limit
from dragoman.engine.core.priority import Traffic
from dragoman.service.access.rate_limit import Meter, Quota
from dragoman.service.processes.ledger import Ledger

_LOOK_SECONDS = 0.01
"""Between two looks for whether another process has requests in progress: nothing tells when they end."""


class SharedTraffic(Traffic):
    """As :class:`Traffic`: background work yields to the requests of all processes that have the ledger."""

    def __init__(self, ledger: Ledger) -> None:
        super().__init__()
        self._ledger = ledger

    def wait_until_idle(self, seconds: float) -> bool:
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            super().wait_until_idle(left)
            if not any(self._ledger.requests):
                return True
            time.sleep(min(left, _LOOK_SECONDS))
        return False

    def _publish(self, live: int) -> None:
        self._ledger.put_requests(live)


class SharedLimit(Limit):
    """As :class:`Limit`, of all processes that have the ledger."""

    def __init__(self, ledger: Ledger, most: int, taken: str) -> None:
        super().__init__(most, taken)
        self._ledger = ledger

    @contextmanager
    def place(self, caller: Hashable = None) -> Iterator[None]:
        names = [self._taken] if caller is None else [self._taken, f"{self._taken}/{caller}"]
        with self._ledger.hold() as ledger:
            totals = [ledger.entry(name).total for name in names]
            self.check(totals[0])
            self.check_caller(totals[-1] if caller is not None else 0)
            for name in names:
                ledger.entry(name).add(1)
        started = time.monotonic()
        try:
            yield
        finally:
            with self._ledger.hold() as ledger:
                for name in names:
                    ledger.entry(name).add(-1)
            self.pace.note(1, time.monotonic() - started)


class SharedMeter(Meter):
    """As :class:`Meter`, of all processes that have the ledger. The time is that of the machine's monotonic clock."""

    def __init__(self, ledger: Ledger, name: str, quota: Quota) -> None:
        super().__init__(quota)
        self._ledger, self._name = ledger, f"meter/{name}"

    def enter(self, now: float) -> float | None:
        quota = self.quota
        if not quota.concurrent and not quota.rate:
            return None
        with self._ledger.hold() as ledger:
            entry = ledger.entry(self._name)
            self._under_way = entry.total
            self._tokens, self._at = entry.tokens if entry.tokens[1] >= 0 else (self._capacity, now)
            self._tokens = min(self._tokens, self._capacity)
            wait = super().enter(now)
            entry.put_tokens(self._tokens, self._at)
            if wait is None:
                entry.add(1)
        return wait

    def leave(self) -> None:
        if self.quota.concurrent or self.quota.rate:
            with self._ledger.hold() as ledger:
                ledger.entry(self._name).add(-1)

    def give_back(self) -> None:
        """Give a token back: the request is counted again, elsewhere."""
        if self.quota.rate:
            with self._ledger.hold() as ledger:
                entry = ledger.entry(self._name)
                tokens, at = entry.tokens
                entry.put_tokens(min(self._capacity, tokens + 1), at)
