"""The mapping of Java exceptions to errors of an index."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from dragoman.indexes.errors import IndexClosed, IndexCorrupt, IndexFault, IndexLocked, index_faults
from dragoman.indexes.java.jvm import JavaError


@pytest.mark.parametrize(
    ("classname", "expected"),
    [
        ("org.apache.lucene.index.CorruptIndexException", IndexCorrupt),
        ("org.apache.lucene.index.IndexFormatTooOldException", IndexCorrupt),
        ("java.nio.file.NoSuchFileException", IndexCorrupt),
        ("org.apache.lucene.store.LockObtainFailedException", IndexLocked),
        ("org.apache.lucene.store.AlreadyClosedException", IndexClosed),
    ],
)
def test_faults_have_their_class_and_name_the_directory(classname: str, expected: type[IndexFault]) -> None:
    with pytest.raises(expected, match="/data/news") as caught, index_faults(Path("/data/news")):
        raise JavaError(classname, "why", "")
    assert caught.value.directory == Path("/data/news")
    assert isinstance(caught.value.__cause__, JavaError)


def test_a_full_disk_is_an_error_of_the_operating_system() -> None:
    with pytest.raises(OSError, match="/data/news") as caught, index_faults(Path("/data/news")):
        raise JavaError("java.io.IOException", "No space left on device", "")
    assert caught.value.errno == errno.ENOSPC


def test_files_that_cannot_be_opened_now_are_not_taken_for_missing() -> None:
    with pytest.raises(OSError, match="/data/news") as caught, index_faults(Path("/data/news")):
        raise JavaError("java.io.FileNotFoundException", "/data/news/_0.cfs (Too many open files)", "")
    assert caught.value.errno == errno.EMFILE


def test_other_exceptions_are_unchanged() -> None:
    with pytest.raises(JavaError, match="NullPointerException"), index_faults(Path("x")):
        raise JavaError("java.lang.NullPointerException", "", "")
