"""The Lucene files, writer and searcher of an index."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dragoman.indexes.documents import IndexRow
from dragoman.indexes.errors import IndexCorrupt
from dragoman.indexes.java.jvm import java_class

__all__ = ["LuceneStore"]

FORMAT = "4"
"""Version of the index fields; an index of another version is rebuilt."""

FORMAT_KEY = "dragoman.format"
GENERATION_KEY = "dragoman.generation"
_WRITE_LOCK = "write.lock"
_BUFFER_MEGABYTES = 32.0
_INDEX = "org.apache.lucene.index."
_STORE = "org.apache.lucene.store."


class LuceneStore:
    """An open index. The state on disk is always that of the last :meth:`commit`. Thread-safe."""

    def __init__(self, directory: Path, locked: bool = True) -> None:
        """``locked`` keeps other writers out of the directory; it takes a file descriptor for as long as it is open."""
        self._path = directory
        self._directory = open_directory(directory, locked)
        self._writer: Any = None
        self._committing = threading.Lock()
        self.searcher: Any = None
        """An object of the Java class ``dragoman.Searcher``."""
        try:
            exists, self.generation, self.metadata = self._read_commit()
            mode = java_class(_INDEX + "IndexWriterConfig$OpenMode")
            config = java_class(_INDEX + "IndexWriterConfig")(java_class("dragoman.Places")())
            config.setOpenMode(mode.APPEND if exists else mode.CREATE)
            config.setRAMBufferSizeMB(_BUFFER_MEGABYTES)
            config.setCommitOnClose(False)
            config.setSimilarity(java_class("dragoman.Rows$Lengths")())
            self._writer = java_class(_INDEX + "IndexWriter")(self._directory, config)
            if not exists:
                self.commit(0, {})
            self.searcher = java_class("dragoman.Searcher")(self._writer)
        except BaseException:
            self.close()
            raise

    def _read_commit(self) -> tuple[bool, int, dict[str, str]]:
        """Whether there is a commit, its generation and its metadata."""
        files = {path.name for path in self._path.iterdir()} - {_WRITE_LOCK}
        if not any(name.startswith("segments_") for name in files):
            if files:
                raise IndexCorrupt(self._path, f"has {min(files)!r} but no commit; rebuild it")
            return False, 0, {}
        infos = java_class(_INDEX + "SegmentInfos").readLatestCommit(self._directory)
        user_data = {str(entry.getKey()): str(entry.getValue()) for entry in infos.getUserData().entrySet()}
        if user_data.pop(FORMAT_KEY, None) != FORMAT:
            raise IndexCorrupt(self._path, "was written by another version; rebuild it")
        return True, int(user_data.pop(GENERATION_KEY)), user_data

    def write(self, rows: Sequence[IndexRow]) -> None:
        """Add documents; a document with a known key is replaced."""
        keys, *lists = zip(*rows, strict=True)
        lines = ["\n".join(column) for column in lists]
        java_class("dragoman.Rows").write(self._writer, np.array(keys, np.int64), *lines)

    def delete(self, keys: Sequence[int]) -> None:
        """Delete documents; unknown keys are ignored."""
        java_class("dragoman.Rows").delete(self._writer, np.array(keys, np.int64))

    def commit(self, generation: int, metadata: Mapping[str, str]) -> None:
        """Make all changes durable, with their generation and metadata."""
        user_data = java_class("java.util.HashMap")()
        for name, text in {**metadata, FORMAT_KEY: FORMAT, GENERATION_KEY: str(generation)}.items():
            user_data.put(name, text)
        with self._committing:
            self._writer.setLiveCommitData(user_data.entrySet())
            self._writer.commit()
            self.generation, self.metadata = generation, dict(metadata)

    def refresh(self) -> None:
        """Make all changes so far searchable."""
        self.searcher.maybeRefreshBlocking()

    def prepare_refresh(self) -> None:
        """Open what :func:`refresh_together` makes searchable."""
        self.searcher.prepare()

    def end_refresh(self) -> None:
        """Read what is new in a commit; nothing, where it is written here."""

    def stop_writing(self) -> None:
        """Release the write lock. Searchable documents remain searchable; uncommitted changes are lost."""
        if self._writer is not None:
            self._writer.rollback()

    def close(self) -> None:
        """Close all files once running searches are done; uncommitted changes are lost."""
        if self.searcher is not None:
            self.searcher.close()
        self.stop_writing()
        self._directory.close()


def refresh_together(searchers: Sequence[Any]) -> None:
    """Make what was prepared in the parts of an index searchable, at one moment."""
    java_class("dragoman.Parts").refreshAll(list(searchers))


def lease_together(searchers: Sequence[Any]) -> list[int]:
    """The versions of the snapshots of parts of an index at one moment; each is to be let go."""
    return [int(version) for version in java_class("dragoman.Parts").leaseAll(list(searchers))]


def open_directory(path: Path, locked: bool = True) -> Any:
    """A folder as Lucene's memory-mapped directory; without ``locked`` it may have several writers."""
    folder = java_class("java.io.File")(str(path)).toPath()
    directory = java_class(_STORE + "MMapDirectory")
    return directory(folder) if locked else directory(folder, java_class(_STORE + "NoLockFactory").INSTANCE)
