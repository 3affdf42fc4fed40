"""Integrity checks of the files of an index. All functions run on the thread that owns Java."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from dragoman.indexes.java import classes as java

__all__ = ["check", "committed"]


def committed(directory: Path) -> list[str]:
    """The file names of the latest commit, whose own checksum is checked; empty without a commit."""
    if not any(path.name.startswith("segments_") for path in directory.iterdir()):
        return []
    opened = _open(directory)
    try:
        files = java.SegmentInfos.readLatestCommit(opened).files(False)
        return sorted(json.loads(java.ObjectMapper().writeValueAsString(files)))
    finally:
        opened.close()


def check(directory: Path, name: str) -> None:
    """Read a file and compare it with the checksum at its end; Java raises an exception if they differ."""
    opened = _open(directory)
    try:
        file = opened.openInput(name, java.IOContext.READONCE)
        try:
            java.CodecUtil.checksumEntireFile(file)
        finally:
            file.close()
    finally:
        opened.close()


def _open(directory: Path) -> Any:
    return java.MMapDirectory(java.File(str(directory)).toPath())
