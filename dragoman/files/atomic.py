"""Files and folders that are on disk whole or not at all."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4


@contextmanager
def atomic_file(path: Path) -> Iterator[Path]:
    """Where to write a file that takes ``path``'s name, on disk, only once the block ends without an error.

    A reader finds the old file or the new one; what was written before an error, such as a full disk, is removed.
    """
    unfinished = path.with_name(f".{path.name}.{uuid4().hex}.tmp")
    try:
        yield unfinished
        sync(unfinished)
        unfinished.replace(path)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise
    sync(path.parent)


@contextmanager
def atomic_folder(folder: Path) -> Iterator[Path]:
    """A new folder to write into that takes ``folder``'s name, on disk, only once the block ends without an error.

    What was written before an error is removed. A kill leaves the old folder or the new one, at worst under the name
    ``<folder>.old``, which the next writing restores.
    """
    old = folder.with_name(folder.name + ".old")
    if old.exists() and not folder.exists():
        old.rename(folder)
    unfinished = folder.with_name(folder.name + ".unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir(parents=True)
    try:
        yield unfinished
        for path in [*unfinished.rglob("*"), unfinished]:
            sync(path)
    except BaseException:
        shutil.rmtree(unfinished, ignore_errors=True)
        raise
    shutil.rmtree(old, ignore_errors=True)
    if folder.exists():
        folder.rename(old)
    unfinished.rename(folder)
    shutil.rmtree(old, ignore_errors=True)
    sync(folder.parent)


def sync(path: Path) -> None:
    """Wait until what a file or a folder holds is on disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
