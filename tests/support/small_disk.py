"""A disk that is small enough to be filled."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

MIB = 1 << 20


@contextmanager
def small_disk(at: Path, mebibytes: int) -> Iterator[Path]:
    """A file system of this size."""
    at.mkdir(parents=True)
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={mebibytes}m,mode=0777", "tmpfs", str(at)], capture_output=True, text=True
    )
    if made.returncode:
        pytest.skip(f"no file system can be mounted here: {made.stderr.strip()}")
    try:
        yield at
    finally:
        subprocess.run(["umount", "--lazy", str(at)], check=True)


def fill(disk: Path, leave: int = 0) -> Path:
    """Take all space but so many bytes; returns the file that takes it."""
    filler = disk / "filler"
    with filler.open("wb", buffering=0) as file:
        try:
            while True:
                left = shutil.disk_usage(disk).free - leave
                if left <= 0:
                    break
                file.write(b"\0" * min(left, MIB))
        except OSError as fault:
            assert fault.errno == 28
    return filler
