"""Integrity checks of the files of an index."""

from __future__ import annotations

from pathlib import Path

from dragoman.indexes.java.jvm import java_class
from dragoman.indexes.lucene.lucene_store import open_directory

__all__ = ["check_files"]


def check_files(directory: Path) -> None:
    """Read all files of the latest commit and compare them with the checksums in them.

    Raises:
        JavaError: Java's exception where they differ.
    """
    if not any(path.name.startswith("segments_") for path in directory.iterdir()):
        return
    opened = open_directory(directory)
    try:
        for name in java_class("org.apache.lucene.index.SegmentInfos").readLatestCommit(opened).files(False):
            file = opened.openInput(name, java_class("org.apache.lucene.store.IOContext").READONCE)
            try:
                java_class("org.apache.lucene.codecs.CodecUtil").checksumEntireFile(file)
            finally:
                file.close()
    finally:
        opened.close()
