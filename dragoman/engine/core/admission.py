"""What the service takes on at a time: one limit for each resource, and one way to refuse what comes above it."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from threading import Lock

from dragoman.engine.core.errors import TooManyRequests
from dragoman.engine.core.pace import Pace

_KEPT_FOR_OTHERS = 8
"""One of so many places is kept from a caller who holds all of the others."""


class Limit:
    """The most of a resource that is taken at a time. Safe from any thread.

    One caller alone cannot take all of it, where it is not small.
    """

    def __init__(self, most: int, taken: str) -> None:
        """``taken`` says, after a number, what takes the resource."""
        self.most = most
        self._taken = taken
        self._held: Counter[Hashable] = Counter()
        self._lock = Lock()
        self.pace = Pace()

    def check(self, taken: int, more: int = 1, before: int = 1) -> None:
        """Check that there is room for so many more; what alone is larger than the limit is let in where nothing is.

        Raises:
            TooManyRequests: there is none; it is told to come again when ``before`` have been done, at today's pace.
        """
        if taken and taken + more > self.most:
            raise TooManyRequests(f"{taken} {self._taken}; try again in a moment", self.pace.wait(before))

    def check_caller(self, taken: int) -> None:
        """Check that there is room for one more of a caller who has so many.

        Raises:
            TooManyRequests: what is left is kept for other callers.
        """
        if taken and taken >= self.most - self.most // _KEPT_FOR_OTHERS:
            raise TooManyRequests(f"{taken} {self._taken} for this caller", self.pace.wait(1))

    @contextmanager
    def place(self, caller: Hashable = None) -> Iterator[None]:
        """Take one place for the block, for one of several callers where it is given.

        Raises:
            TooManyRequests: all are taken, or all but those kept for other callers.
        """
        with self._lock:
            self.check(self._held.total())
            self.check_caller(0 if caller is None else self._held[caller])
            self._held[caller] += 1
        started = time.monotonic()
        try:
            yield
        finally:
            with self._lock:
                self._held[caller] -= 1
                if not self._held[caller]:
                    del self._held[caller]
            self.pace.note(1, time.monotonic() - started)
