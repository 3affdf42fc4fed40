"""The files of an index on the disk: whether each is what Lucene wrote. All of it runs on the thread that owns Java."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from dragoman.indexes.java import classes as java

__all__ = ["check", "committed"]


def committed(directory: Path) -> list[str]:
    """The files of the latest commit, by name; empty where there is none. The commit's own checksum is compared."""
    if not any(path.name.startswith("segments_") for path in directory.iterdir()):
        return []
    opened = _open(directory)
    try:
        files = java.SegmentInfos.readLatestCommit(opened).files(False)
        return sorted(json.loads(java.ObjectMapper().writeValueAsString(files)))
    finally:
        opened.close()


def check(directory: Path, name: str) -> None:
    """Read a file whole and compare it with the checksum at its end; Java raises where they differ."""
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
