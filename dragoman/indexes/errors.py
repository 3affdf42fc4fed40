"""What can go wrong with an index, and how Java's exceptions are told apart."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dragoman.indexes.java.jvm import JavaError

__all__ = ["IndexClosed", "IndexCorrupt", "IndexFault", "IndexLocked"]

_CORRUPT = frozenset(
    {
        "org.apache.lucene.index.CorruptIndexException",
        "org.apache.lucene.index.IndexFormatTooNewException",
        "org.apache.lucene.index.IndexFormatTooOldException",
        "org.apache.lucene.index.IndexNotFoundException",
        "java.io.EOFException",
        "java.io.FileNotFoundException",
        "java.nio.file.NoSuchFileException",
        "java.lang.InternalError",
    }
)
_LOCKED = "org.apache.lucene.store.LockObtainFailedException"
_CLOSED = "org.apache.lucene.store.AlreadyClosedException"
_DISK_FULL = ("no space left on device", "disk quota exceeded")


class IndexFault(RuntimeError):
    """Base of the faults of an index; the message names its directory."""

    def __init__(self, directory: Path, message: str) -> None:
        super().__init__(f"index {directory}: {message}")
        self.directory = directory


class IndexCorrupt(IndexFault):
    """The index's files are damaged, incomplete or of another format; it has to be rebuilt."""


class IndexLocked(IndexFault):
    """Another process, or another object of this one, has the index open."""


class IndexClosed(IndexFault):
    """The index was closed, or Lucene closed it after a fault that it could not survive."""


@contextmanager
def index_faults(directory: Path) -> Iterator[None]:
    """Turn the Java exceptions that have a meaning for callers into this module's, and a full disk into OSError."""
    try:
        yield
    except JavaError as error:
        told = f"{error}\n{error.trace}".lower()  # a writer that the full disk closed says so in the trace alone
        if any(reason in told for reason in _DISK_FULL):
            raise OSError(errno.ENOSPC, "no space left on device", str(directory)) from error
        if error.classname in _CORRUPT:
            raise IndexCorrupt(directory, f"{error}; rebuild it") from error
        if error.classname == _LOCKED:
            raise IndexLocked(directory, "is open elsewhere") from error
        if error.classname == _CLOSED:
            raise IndexClosed(directory, str(error)) from error
        raise
