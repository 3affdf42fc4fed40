"""What all processes of a service count together: requests under way, and the tokens of rate limits.

The counts lie in a file that all map. An entry has a count for each process, so that those of one that ended by force
can be taken back. A record lock of the file keeps two processes from changing it at a time; the kernel releases it with
the process that holds it.
"""

from __future__ import annotations

import fcntl
import hashlib
import mmap
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import Final

_ENTRIES = 4_096
_PROBED = 16
"""Places at which an entry may lie; where all are in use, the one that was not used for longest is given up."""
_HEAD = struct.Struct("=Qdd")
"""The hash of an entry's name, the tokens that it has, and when they were counted."""
_COUNT = struct.Struct("=i")
_WHOLE: Final = "i"
"""A number that is written at once, as no lock keeps others from reading it; `struct` writes zeros before it."""
_WHOLE_BYTES = struct.calcsize(_WHOLE)


class Entry:
    """The counts of one name, while the ledger is held."""

    def __init__(self, content: mmap.mmap, offset: int, place: int, processes: int) -> None:
        self._content = content
        self._offset = offset
        self._count_offset = offset + _HEAD.size + place * _COUNT.size
        self._counts = struct.Struct(f"={processes}i")

    @property
    def total(self) -> int:
        """The count of all processes together."""
        return sum(self.counts)

    def add(self, more: int) -> None:
        """Add to the count of this process."""
        count = _COUNT.unpack_from(self._content, self._count_offset)[0] + more
        _COUNT.pack_into(self._content, self._count_offset, max(0, count))

    @property
    def counts(self) -> tuple[int, ...]:
        """The counts by process."""
        return self._counts.unpack_from(self._content, self._offset + _HEAD.size)

    @property
    def tokens(self) -> tuple[float, float]:
        """The tokens, and when they were counted."""
        _, tokens, at = _HEAD.unpack_from(self._content, self._offset)
        return tokens, at

    def put_tokens(self, tokens: float, at: float) -> None:
        """Note the tokens at a time."""
        name, _, _ = _HEAD.unpack_from(self._content, self._offset)
        _HEAD.pack_into(self._content, self._offset, name, tokens, at)


class Ledger:
    """The counts as one process sees them. Safe from any thread."""

    def __init__(self, path: Path, place: int, processes: int) -> None:
        """The process at ``place`` of so many; the file is made where it is not there."""
        self._size = _HEAD.size + processes * _COUNT.size
        self._place, self._processes = place, processes
        self._file = path.open("r+b" if path.exists() else "w+b")
        self._numbers = struct.Struct(f"{processes}i")
        self._connections = _ENTRIES * self._size
        self._requests = self._connections + self._numbers.size
        length = self._requests + self._numbers.size
        self._file.truncate(length)
        self._content = mmap.mmap(self._file.fileno(), length)
        self._whole = memoryview(self._content).cast("b").cast(_WHOLE)
        self._lock = Lock()

    @contextmanager
    def hold(self) -> Iterator[Ledger]:
        """Keep everybody else from the counts in the block, which is to be short."""
        with self._lock:
            fcntl.lockf(self._file, fcntl.LOCK_EX)
            try:
                yield self
            finally:
                fcntl.lockf(self._file, fcntl.LOCK_UN)

    def entry(self, name: str) -> Entry:
        """The entry of a name, a new one where there is none; call it inside :meth:`hold`."""
        mark = int.from_bytes(hashlib.blake2b(name.encode(), digest_size=8).digest(), "big") or 1
        idle: tuple[float, int] | None = None
        for step in range(_PROBED):
            offset = (mark + step) % _ENTRIES * self._size
            present, _, at = _HEAD.unpack_from(self._content, offset)
            if present == mark:
                return self._at(offset)
            free = present == 0 or self._at(offset).total == 0
            if free and (idle is None or (at if present else -1.0) < idle[0]):
                idle = (at if present else -1.0), offset
        offset = idle[1] if idle is not None else mark % _ENTRIES * self._size
        self._content[offset : offset + self._size] = bytes(self._size)
        _HEAD.pack_into(self._content, offset, mark, 0.0, float("-inf"))
        return self._at(offset)

    def connections(self, count: int) -> tuple[int, ...]:
        """Set the number of this process's connections; returns that of each. It takes no lock: each has one writer."""
        self._put(self._connections, self._place, count)
        return self._numbers.unpack_from(self._content, self._connections)

    def put_requests(self, count: int) -> None:
        """Set the number of this process's requests in progress, which takes no lock either."""
        self._put(self._requests, self._place, count)

    @property
    def requests(self) -> tuple[int, ...]:
        """The requests in progress of each process."""
        return self._numbers.unpack_from(self._content, self._requests)

    def forget(self, place: int) -> None:
        """Take back all counts of a process that has ended."""
        with self.hold():
            for index in range(_ENTRIES):
                offset = index * self._size + _HEAD.size + place * _COUNT.size
                _COUNT.pack_into(self._content, offset, 0)
        self._put(self._connections, place, 0)
        self._put(self._requests, place, 0)

    def close(self) -> None:
        """Let the file go."""
        self._whole.release()
        self._content.close()
        self._file.close()

    def _put(self, numbers: int, place: int, count: int) -> None:
        self._whole[numbers // _WHOLE_BYTES + place] = count

    def _at(self, offset: int) -> Entry:
        return Entry(self._content, offset, self._place, self._processes)
