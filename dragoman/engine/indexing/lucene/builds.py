"""The builds of an index on disk, of which the file ``current`` names one; and who is using the open one."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Mapping
from concurrent.futures import Executor
from enum import StrEnum
from pathlib import Path
from threading import Condition

from dragoman.engine.indexing.sources import CollectionRecord
from dragoman.files.atomic import atomic_file
from dragoman.indexes.analysis.pipeline import analysis
from dragoman.indexes.errors import IndexCorrupt
from dragoman.indexes.java.jvm import JavaError
from dragoman.indexes.lucene.lucene_index import LuceneIndex
from dragoman.indexes.lucene.sharded_index import ShardedIndex, open_index

__all__ = [
    "AnyIndex",
    "IndexState",
    "OpenIndex",
    "current_build",
    "find_change",
    "find_fault",
    "has_attributes",
    "languages",
    "metadata",
    "open_build",
    "point_to",
    "remove_others",
]

logger = logging.getLogger("dragoman")

_LAYOUT = "2"
"""Changes whenever what is written into an index does; an index of another layout is built anew."""
_WITHOUT_ATTRIBUTES = "1"
"""The layout that has no fields of metadata: it can be searched, but not filtered, until it is built anew."""


AnyIndex = LuceneIndex | ShardedIndex


class IndexState(StrEnum):
    """``stale``: searches are answered, but from before a change that could not be indexed, or by an old analysis."""

    READY = "ready"
    BUILDING = "building"
    STALE = "stale"
    FAILED = "failed"


class OpenIndex:
    """An open index and how many are using it."""

    def __init__(self, index: AnyIndex, changed: Condition) -> None:
        """``changed`` is told when a user leaves."""
        self.index = index
        self.users = 0
        self._changed = changed

    def leave(self) -> None:
        """One of the users has done with it."""
        with self._changed:
            self.users -= 1
            self._changed.notify_all()

    def wait(self, seconds: float) -> bool:
        """Whether the last user has left within ``seconds``."""
        with self._changed:
            return self._changed.wait_for(lambda: not self.users, seconds)


def open_build(directory: Path, record: CollectionRecord, pool: Executor) -> tuple[AnyIndex | None, str]:
    """The index on the disk, and why it is to be built anew though it can be searched; None when it cannot be.

    An index in another number of parts than the record's is not outdated by that.
    """
    name = record.name
    if (build := current_build(directory)) is None:
        return None, ""
    try:
        index = open_index(directory / build, pool)
    except (IndexCorrupt, JavaError) as fault:
        logger.warning("the index of %s cannot be opened and is built anew: %s", name, fault)
        return None, ""
    if (reason := find_fault(index, record)) is not None:
        logger.warning("the index of %s is built anew: %s", name, reason)
        index.close()
        return None, ""
    if outdated := find_change(index):
        logger.warning("the index of %s is built anew, and searched as it is until then: %s", name, outdated)
    return index, outdated


def metadata(uid: str, languages: Mapping[str, str]) -> dict[str, str]:
    """What a commit says of the index: ``languages`` has the fingerprint of each language's analysis."""
    marks = {f"analysis.{language}": mark for language, mark in languages.items()}
    return {"collection": uid, "layout": _LAYOUT, **marks}


def languages(index: AnyIndex) -> dict[str, str]:
    """The fingerprint of each language's analysis, as of the last commit."""
    prefix = "analysis."
    return {key.removeprefix(prefix): mark for key, mark in index.metadata.items() if key.startswith(prefix)}


def point_to(directory: Path, name: str) -> None:
    """Swap the build ``name`` in: whatever happens, ``current`` names one whole index."""
    with atomic_file(directory / "current") as unfinished:
        unfinished.write_text(name, encoding="ascii")


def remove_others(directory: Path, name: str) -> None:
    """Remove all builds but this one."""
    for path in directory.iterdir():
        if path.name not in (name, "current"):
            shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink(missing_ok=True)


def current_build(directory: Path) -> str | None:
    """The name of the build that is to be opened, or None."""
    try:
        name = (directory / "current").read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        return None
    return name if name.isalnum() and (directory / name).is_dir() else None


def find_fault(index: AnyIndex, record: CollectionRecord) -> str | None:
    """Why an index cannot be used for a collection; None if it can."""
    present = index.metadata
    if present.get("collection") != record.uid or present.get("layout") not in (_LAYOUT, _WITHOUT_ATTRIBUTES):
        return "it is of another collection or layout"
    if index.newest_generation > record.generation:
        return "it is newer than the database"
    return None


def has_attributes(index: AnyIndex) -> bool:
    """Whether documents can be filtered by their metadata."""
    return index.metadata.get("layout") != _WITHOUT_ATTRIBUTES


def find_change(index: AnyIndex) -> str:
    """Why an index that can be searched is to be built anew; empty if it is as a new one would be."""
    if not has_attributes(index):
        return "it has no fields of metadata"
    for language, mark in languages(index).items():
        if analysis(language).fingerprint != mark:
            return f"the analysis of {language} has changed"
    return ""
