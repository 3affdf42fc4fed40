"""One index in several parts, each of them a Lucene index in a folder of its own, which are searched at once."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import Executor, wait
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np

from dragoman.indexes.documents import IndexRow
from dragoman.indexes.errors import IndexCorrupt, index_faults
from dragoman.indexes.java import jvm
from dragoman.indexes.lucene.joined_index import JoinedIndex
from dragoman.indexes.lucene.lucene_index import LuceneIndex
from dragoman.indexes.lucene.lucene_store import lease_together, refresh_together
from dragoman.indexes.lucene.queries import Lease
from dragoman.indexes.lucene.searched_index import FAULTS

__all__ = ["ShardedIndex", "open_index"]

_SHARDS = "shards"
"""The key of the commits' metadata that says how many parts there are."""
_NO_NUMBERS = np.zeros(0, np.int64)


def open_index(
    directory: Path, pool: Executor, shards: int | None = None, reading: bool = False
) -> LuceneIndex | ShardedIndex:
    """The index in a directory, or a new one of so many ``shards``. It has one writer, which its owner sees to.

    With ``reading`` that is another process: see :class:`LuceneIndex`.

    Raises:
        IndexCorrupt: as :class:`LuceneIndex`; or a part is missing.
    """
    if shards is None:
        shards = len(list(directory.glob("[0-9]*"))) or 1
    if shards == 1:
        return LuceneIndex(directory, locked=False, reading=reading)
    return ShardedIndex(directory, pool, shards, reading)


class ShardedIndex(JoinedIndex):
    """An index whose documents are spread over parts by their keys. Every method may be called from any thread.

    It has the methods of :class:`LuceneIndex`, and the same scores. What changes it changes all parts at once, and
    raises the first fault when all are done. A refresh is atomic over the parts. A commit is not: each says the
    generation it holds.
    """

    def __init__(self, directory: Path, pool: Executor, shards: int, reading: bool = False) -> None:
        self.directory = directory
        self._parts: list[LuceneIndex] = []
        try:
            for place in range(shards):
                self._parts.append(LuceneIndex(directory / str(place), locked=False, reading=reading))
            self._check_parts()
        except BaseException:
            self.close()
            raise
        self._pool = pool
        self._refreshing = Lock()
        super().__init__(self._parts, pool)

    @property
    def searchers(self) -> Sequence[Any] | None:
        return [searcher for part in self._parts for searcher in part.searchers] if self._group.whole else None

    @property
    def shards(self) -> int:
        """The number of parts."""
        return len(self._parts)

    @property
    def refreshes(self) -> int:
        """How often its parts were refreshed."""
        return sum(part.refreshes for part in self._parts)

    @property
    def generation(self) -> int:
        """The generation of the last commit that all parts have; 0 for a new index."""
        return min(part.generation for part in self._parts)

    @property
    def newest_generation(self) -> int:
        """The generation of the last commit that any part has."""
        return max(part.generation for part in self._parts)

    @property
    def metadata(self) -> dict[str, str]:
        """The metadata of the last commit."""
        merged = {name: text for part in self._parts for name, text in part.metadata.items()}
        merged.pop(_SHARDS, None)
        return merged

    def write(self, rows: Sequence[IndexRow]) -> None:
        """Add analysed documents; a document with a known key is replaced."""
        spread = self._group.spread(rows, lambda row: row.key)
        self._each(lambda part, place: part.write(spread[place]), spread)

    def delete(self, keys: Collection[int]) -> None:
        """Delete documents by key; unknown keys are ignored."""
        spread = self._group.spread(keys, lambda key: key)
        self._each(lambda part, place: part.delete(spread[place]), spread)

    def commit(self, generation: int, metadata: Mapping[str, str] | None = None) -> None:
        """Make all changes durable, in each part atomically."""
        with_count = {**(metadata or {}), _SHARDS: str(self.shards)}
        self._each(lambda part, place: part.commit(generation, with_count))

    def refresh(self) -> None:
        """Make all changes so far searchable, in all parts at one moment: searches see them in all or in none."""
        with self._refreshing:
            self._each(lambda part, place: part.prepare_refresh())
            try:
                with index_faults(self.directory):
                    jvm.run(refresh_together, [searcher for part in self._parts for searcher in part.searchers])
            finally:
                for part in self._parts:
                    part.end_refresh()

    @contextmanager
    def _at_one_moment(self) -> Iterator[Mapping[int, int]]:
        searchers: dict[int, Any] = {}
        for place, part in enumerate(self._parts):
            with suppress(*FAULTS):  # which is seen when the part is asked
                (searchers[place],) = part.searchers
        versions: dict[int, int] = {}
        with suppress(*FAULTS):
            versions = dict(zip(searchers, jvm.run(lease_together, [*searchers.values()]), strict=True))
        try:
            yield versions
        finally:
            for place, version in versions.items():
                with suppress(*FAULTS):
                    self._parts[place].end(Lease(version, _NO_NUMBERS))

    def stop_writing(self) -> None:
        """Become read-only; uncommitted changes are lost."""
        for part in self._parts:
            part.stop_writing()

    def document_count(self, language: str | None = None) -> int:
        """The number of searchable documents: all, or those with at least one index term in ``language``."""
        return sum(part.document_count(language) for part in self._parts)

    def verify(self) -> None:
        """Read all files and compare their checksums; raises :class:`IndexCorrupt` if one differs."""
        for part in self._parts:
            part.verify()

    def close(self) -> None:
        """Close all parts; uncommitted changes are lost. May be called twice."""
        with ExitStack() as closing:  # all of them, whatever one raises
            for part in self._parts:
                closing.callback(part.close)

    def _check_parts(self) -> None:
        counts = {part.metadata.get(_SHARDS) for part in self._parts if part.metadata}
        if counts - {str(self.shards)}:
            raise IndexCorrupt(self.directory, f"has {self.shards} parts, not {min(map(str, counts))}; rebuild it")

    def _each(self, change: Callable[[LuceneIndex, int], None], places: Collection[int] | None = None) -> None:
        chosen = range(self.shards) if places is None else places
        futures = [self._pool.submit(change, self._parts[place], place) for place in chosen]
        wait(futures)
        for future in futures:
            future.result()
