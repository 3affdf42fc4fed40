"""The data directory: created if missing, and used by one process at a time."""

from __future__ import annotations

import fcntl
import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from dragoman.engine.core.errors import Conflict, Unavailable

_LOCK = "lock"
_FILES = (_LOCK, "demo.json", "dragoman.db", "dragoman.db-wal", "dragoman.db-shm")
_FOLDERS = ("indexes", "tables", "dense", "models")


def make_private(path: Path) -> None:
    """Let nobody but this user read the data directory, nor what this process writes from now on; make it if missing.

    What an earlier version left readable is closed: the service's own files and folders, never others beside them. A
    directory of another user, or one that everybody may write to, keeps its mode.

    Raises:
        OSError: the directory cannot be made.
    """
    os.umask(0o077)
    path.mkdir(parents=True, exist_ok=True)
    with suppress(OSError):  # not every file system has modes
        _restrict(path)
        for entry in _entries_of_the_service(path):
            _restrict(entry)


def _entries_of_the_service(path: Path) -> Iterator[Path]:
    yield from (path / name for name in _FILES if (path / name).exists())
    for name in _FOLDERS:
        for folder, _, files in os.walk(path / name):
            yield Path(folder)
            yield from (Path(folder, file) for file in files)


def _restrict(path: Path) -> None:
    status = path.lstat()
    if status.st_uid != os.geteuid() or stat.S_ISLNK(status.st_mode) or status.st_mode & stat.S_ISVTX:
        return
    if status.st_mode & 0o077:
        path.chmod(stat.S_IMODE(status.st_mode) & 0o700)


class DataDirectory:
    """Holds the lock of a data directory, which is this user's alone, from construction to :meth:`close`.

    The kernel releases the lock whenever the process ends, even after a crash.

    Raises:
        Conflict: another process holds the lock.
        Unavailable: the directory cannot be created or written.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            make_private(path)
            self._descriptor = os.open(path / _LOCK, os.O_RDWR | os.O_CREAT, 0o600)
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
