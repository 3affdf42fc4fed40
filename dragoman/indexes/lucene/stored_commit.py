"""The last commit of an index that another process writes, searched as it is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dragoman.indexes.errors import IndexCorrupt
from dragoman.indexes.java.jvm import java_class
from dragoman.indexes.lucene.lucene_store import FORMAT, FORMAT_KEY, GENERATION_KEY, LuceneStore, open_directory

__all__ = ["StoredCommit"]


class StoredCommit(LuceneStore):
    """A commit, and later ones once it is refreshed; it cannot be written. Thread-safe.

    Its files stay usable while it is open, also when the writer has deleted them.
    """

    def __init__(self, directory: Path) -> None:
        """
        Raises:
            IndexCorrupt: the commit is of another format.
            JavaError: there is none, or its files are gone already.
        """
        self._path = directory
        self._directory = open_directory(directory, locked=False)
        self._writer: Any = None
        self.searcher: Any = None
        try:
            self.searcher = java_class("dragoman.Searcher")(self._directory)
            self._read()
        except BaseException:
            self.close()
            raise

    def end_refresh(self) -> None:
        """Read what the commit that is searched now says of itself."""
        self._read()

    def _read(self) -> None:
        lines = str(self.searcher.commitData()).split("\n")
        content = dict(zip(lines[::2], lines[1::2], strict=True))
        if content.pop(FORMAT_KEY, None) != FORMAT:
            raise IndexCorrupt(self._path, "was written by another version; rebuild it")
        self.generation = int(content.pop(GENERATION_KEY))
        self.metadata = content
