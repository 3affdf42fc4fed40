"""The memory that requests take: of the bodies under way together, and the most that the process may have."""

from __future__ import annotations

import ctypes
import os
import resource
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from threading import Lock, Timer

from dragoman.engine.core.errors import Unavailable

_PAGE = os.sysconf("SC_PAGE_SIZE")
_READ_SECONDS = 0.1
_LITTLE = 16
"""A request that is too large by itself is let in while others have no more than this part of the memory."""
_SHARE = 0.9
"""Of the machine's memory, or its container's, that the process may have where no setting says otherwise."""


_LARGE = 1024 * 1024
"""Bytes of a body after which freed memory is returned to the system."""
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3
"""Of malloc.h."""
_LARGE_BLOCK = 4 * 1024 * 1024
_RETURN_SECONDS = 0.3
"""How long after that: what the answer and its fault still hold is free by then."""


def return_freed() -> None:
    """Return freed memory to the system, which the C library otherwise keeps for later."""
    with suppress(AttributeError, OSError, TypeError):  # another C library
        ctypes.CDLL(None).malloc_trim(0)


def return_large_blocks() -> None:
    """Return each block of 4 MiB or more to the system when it is freed, now and later in this process.

    The C library raises this limit by itself, up to 32 MiB, when a block of that size is freed. Bodies then share heaps
    with small blocks, and what is free between those stays with the process: up to three times ``BodyMemory.most``.
    Where models compute it takes half as long again: each of their products would be mapped anew.
    """
    with suppress(AttributeError, OSError, TypeError):  # another C library
        for limit in (_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD):
            ctypes.CDLL(None).mallopt(limit, _LARGE_BLOCK)


def anonymous_memory() -> int:
    """Memory of this process, bytes, without the files that it maps, which the kernel can let go of; 0 if unknown."""
    try:
        fields = Path("/proc/self/statm").read_text().split()
    except OSError:
        return 0
    return (int(fields[1]) - int(fields[2])) * _PAGE


def _data_room() -> float:
    """Bytes that the kernel lets this process have besides its data, where its data are limited."""
    limit = resource.getrlimit(resource.RLIMIT_DATA)[0]
    if limit == resource.RLIM_INFINITY:
        return float("inf")
    return limit - int(Path("/proc/self/statm").read_text().split()[5]) * _PAGE


def machine_memory() -> int:
    """Memory that this process can have, bytes: that of the machine, or of the container if it has less."""
    limits = [os.sysconf("SC_PHYS_PAGES") * _PAGE]
    for place in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        try:
            limits.append(int(Path(place).read_text()))
        except (OSError, ValueError):  # there is no such file, or it says "max"
            continue
    return min(limits)


class MemoryBreaker:
    """Refuses work while the process has more memory than it may have. Safe from any thread."""

    def __init__(self, most: int | None = None) -> None:
        """``most`` is in bytes; left out: most of what the machine or the container has."""
        self.most = int(machine_memory() * _SHARE) if most is None else most
        self._read_at = float("-inf")
        self._room: float = self.most

    def check(self, more: int = 0) -> None:
        """Check that there is room for ``more`` bytes, by a figure that is a tenth of a second old at most.

        Raises:
            Unavailable: there is not.
        """
        now = time.monotonic()
        if now - self._read_at > _READ_SECONDS:
            self._read_at, self._room = now, min(self.most - anonymous_memory(), _data_room())
        if more >= self._room:
            raise Unavailable("the service has too little memory for this now; try again in a moment")


class BodyMemory:
    """Counts the memory of the bodies under way, by caller. Safe from any thread."""

    def __init__(self, most: int, breaker: MemoryBreaker) -> None:
        """``most`` is that of all callers together, bytes; each that is named has half of it."""
        self.most = most
        self.breaker = breaker
        self.held = 0
        self._by_caller: Counter[str | None] = Counter()
        self._lock = Lock()
        self._returning: Timer | None = None

    def share(self, caller: str | None) -> BodyShare:
        """The part of one request, which takes nothing yet; ``caller`` is None in an open service."""
        return BodyShare(self, caller)

    def take(self, caller: str | None, more: int) -> None:
        with self._lock:
            self.held += more
            self._by_caller[caller] += more
            if not self._by_caller[caller]:
                del self._by_caller[caller]

    def return_soon(self) -> None:
        """Return freed memory to the system in a moment, once for all bodies that end meanwhile."""
        with self._lock:
            if self._returning is None:
                self._returning = Timer(_RETURN_SECONDS, self._return)
                self._returning.daemon = True
                self._returning.start()

    def _return(self) -> None:
        with self._lock:
            self._returning = None
        return_freed()

    def check(self, caller: str | None, has: int, more: int) -> None:
        """Check that a request which has ``has`` bytes may take more.

        Raises:
            Unavailable: it may not.
        """
        self.breaker.check(more)
        with self._lock:
            others, of_caller = self.held - has, self._by_caller[caller] - has
            room, little = self.most - has - more, self.most // _LITTLE
        if others > max(room, little):
            raise Unavailable(f"requests under way take {others} bytes of memory; try again in a moment")
        if caller is not None and of_caller > max(room - self.most // 2, little):
            raise Unavailable(f"requests of this API key take {of_caller} bytes of memory; try again in a moment")


class BodyShare:
    """The memory of one request's body."""

    FREE = 64 * 1024
    """Bytes for which no request is refused: small ones must pass while large ones fill the memory."""

    def __init__(self, memory: BodyMemory, caller: str | None) -> None:
        self._memory = memory
        self._caller = caller
        self.held = 0

    def check(self, more: int) -> None:
        """Check that there is room for so many more bytes, without taking them.

        Raises:
            Unavailable: there is not.
        """
        if self.held + more > self.FREE:
            self._memory.check(self._caller, self.held, more)
        else:
            self._memory.breaker.check()

    def take(self, more: int) -> None:
        """Take so many more bytes.

        Raises:
            Unavailable: there is no room for them.
        """
        self.check(more)
        self._memory.take(self._caller, more)
        self.held += more

    def release(self) -> None:
        """Give back all that was taken."""
        self._memory.take(self._caller, -self.held)
        if self.held >= _LARGE:
            self._memory.return_soon()
        self.held = 0
