"""The errors of an index, and their mapping from Java exceptions."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dragoman.indexes.java.jvm import JavaError

__all__ = ["IndexClosed", "IndexCorrupt", "IndexFault", "IndexLocked", "LeaseExpired", "ShardLate", "TooManyWords"]

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
_EXPIRED = "dragoman.LeaseExpired"
_DISK_FULL = ("no space left on device", "disk quota exceeded")
_TOO_MANY_FILES = "too many open files"


class IndexFault(RuntimeError):
    """Base class of index errors; the message names the index directory."""

    def __init__(self, directory: Path, message: str) -> None:
        super().__init__(f"index {directory}: {message}")
        self.directory = directory


class IndexCorrupt(IndexFault):
    """The index's files are damaged, incomplete or of another format; it has to be rebuilt."""


class IndexLocked(IndexFault):
    """Another process, or another object in this process, has the index open."""


class IndexClosed(IndexFault):
    """The index was closed, or Lucene closed it after a fatal error."""


class LeaseExpired(IndexFault):
    """The snapshot that a query began with is there no longer: it begins anew."""


class ShardLate(IndexFault):
    """A part of an index did not answer in time."""

    def __init__(self, position: int) -> None:
        super().__init__(Path(str(position)), "took too long")


class TooManyWords(ValueError):
    """A document has more distinct words than an index takes; the message says how many."""


@contextmanager
def index_faults(directory: Path) -> Iterator[None]:
    """Map known Java exceptions to this module's errors, and a full disk or too many open files to OSError."""
    try:
        yield
    except JavaError as error:
        report = f"{error}\n{error.trace}".lower()  # if a full disk closed the writer, only the trace says so
        if any(reason in report for reason in _DISK_FULL):
            raise OSError(errno.ENOSPC, "no space left on device", str(directory)) from error
        if _TOO_MANY_FILES in report:  # files that cannot be opened now are not missing
            raise OSError(errno.EMFILE, _TOO_MANY_FILES, str(directory)) from error
        if error.classname in _CORRUPT:
            raise IndexCorrupt(directory, f"{error}; rebuild it") from error
        if error.classname == _LOCKED:
            raise IndexLocked(directory, "is open elsewhere") from error
        if error.classname == _CLOSED:
            raise IndexClosed(directory, str(error)) from error
        if error.classname == _EXPIRED:
            raise LeaseExpired(directory, "its snapshot is there no longer") from error
        raise
