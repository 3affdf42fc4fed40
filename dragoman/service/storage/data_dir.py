"""The data directory: created if missing, and used by one process at a time."""

from __future__ import annotations

import fcntl
import os
from contextlib import suppress
from pathlib import Path

from dragoman.service.core.errors import Conflict, Unavailable


class DataDirectory:
    """Holds the lock of a data directory from construction to :meth:`close`.

    The kernel releases the lock whenever the process ends, even after a crash.

    Raises:
        Conflict: another process holds the lock.
        Unavailable: the directory cannot be created or written.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            path.mkdir(parents=True, exist_ok=True)
            self._descriptor = os.open(path / "lock", os.O_RDWR | os.O_CREAT, 0o644)
        except OSError as fault:
            raise Unavailable(f"the data directory {path} cannot be written: {fault.strerror}") from fault
        try:
            self._lock()
        except BaseException:
            os.close(self._descriptor)
            raise
        with suppress(OSError):  # full disk: the lock is held, only the holder's process id is missing
            os.ftruncate(self._descriptor, 0)
            os.pwrite(self._descriptor, f"{os.getpid()}\n".encode(), 0)

    def _lock(self) -> None:
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as fault:
            holder = os.pread(self._descriptor, 32, 0).decode("ascii", "replace").strip()
            raise Conflict(
                f"the data directory {self.path} is in use by another dragoman process"
                f"{f' (process {holder})' if holder else ''}: stop it, or choose another --data-dir"
            ) from fault
        except OSError as fault:
            raise Unavailable(
                f"the data directory {self.path} cannot be locked: {fault.strerror}; it has to be on a file system"
                " with locks, such as a local disk"
            ) from fault

    def close(self) -> None:
        os.close(self._descriptor)
