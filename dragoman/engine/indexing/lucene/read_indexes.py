"""The Lucene indexes that another process of this machine writes, each as its last commit has it."""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path
from threading import Lock, Thread

from dragoman.engine.core.errors import NotFound, classify
from dragoman.engine.indexing.feed import Feed
from dragoman.engine.indexing.lucene import builds
from dragoman.engine.indexing.lucene.builds import AnyIndex, IndexState, OpenIndex
from dragoman.engine.indexing.lucene.collection_index import CollectionIndex
from dragoman.engine.indexing.lucene.indexes import SEARCHERS, Indexes
from dragoman.engine.indexing.sources import CollectionRecord, IndexSource
from dragoman.indexes.lucene.sharded_index import open_index
from dragoman.indexes.shard_pool import ShardPool

logger = logging.getLogger("dragoman")

_SETTLED_NS = 50_000_000
"""How old the time of a folder has to be, nanoseconds: a second change at the same tick of the clock has the same."""
_WAIT_SECONDS = 0.05
"""How long a search waits while another reads a commit: that may wait for searches of an older build to end."""
_NONE: tuple[int, ...] = ()


class ReadIndex(CollectionIndex):
    """The index of a collection, which another process writes. It is searched only where it is of the generation asked
    for: see :meth:`is_current`."""

    _build: str | None = None
    _seen: tuple[int, ...] = _NONE
    """The times of the folders when the commit was read; empty where that has to be read again in any case."""
    _fault: str | None = "it is not open"

    def is_current(self, record: CollectionRecord) -> bool:
        """Whether searches see the generation of the record, of today's analysis. A newer commit is read first; where
        another search is reading it for long, the answer is no."""
        if not self._writing.acquire(timeout=_WAIT_SECONDS):
            return False
        try:
            if self._closing:  # it was replaced after it was found, and opening it would leave it open
                return False
            times = self._times()
            if not times or times != self._seen:
                self._seen = times if time.time_ns() - max(times, default=0) > _SETTLED_NS else _NONE
                try:
                    self._read_commit(record)
                except Exception as fault:  # files go while they are opened
                    self._note_fault(fault)
            return self._fault is None and self._applied == record.generation
        finally:
            self._writing.release()

    def close(self) -> None:
        """Close it; nothing is to be committed."""
        self._closing = True
        with self._writing:
            self._replace()

    def _times(self) -> tuple[int, ...]:
        """When something was made or renamed last in the folders of the index; a commit and a new build are both."""
        with suppress(OSError):
            folders = [self.directory]
            if self._build is not None:
                folders += [self.directory / self._build, *(self.directory / self._build).glob("[0-9]*")]
            return tuple(folder.stat().st_mtime_ns for folder in folders)
        return _NONE

    def _read_commit(self, record: CollectionRecord) -> None:
        build = builds.current_build(self.directory)
        if build is None:
            raise NotFound("there is no index")
        if build != self._build or self._opened is None:
            index: AnyIndex = open_index(self.directory / build, self._pool, reading=True)
            self._build, self._seen = build, _NONE  # the times of its folders are not among those seen
            with self._changing():
                self._replace(OpenIndex(index, self._users))
                self._note_commit(index, record)
        else:
            index = self._index()
            with self._changing():
                index.refresh()
                self._note_commit(index, record)

    def _note_fault(self, fault: Exception) -> None:
        classified = classify(fault)
        text = str(classified or fault)
        if text != self._fault:  # else every search would log it
            log = logger.exception if classified is None else logger.warning
            log("the index of %s cannot be read: %s", self.name, text)
        self._seen, self._fault = _NONE, text

    def _note_commit(self, index: AnyIndex, record: CollectionRecord) -> None:
        whole = index.generation == index.newest_generation  # else its parts are just being committed
        self._applied = index.generation if whole else -1
        self._writer.languages = builds.languages(index)
        self._fault = builds.find_fault(index, record) or builds.find_change(index) or None
        self.state = IndexState.READY if self._fault is None else IndexState.STALE


class ReadIndexes(Indexes):
    """The indexes of all collections that were asked for."""

    def __init__(self, source: IndexSource, directory: Path) -> None:
        self._source = source
        self._feed = Feed(source, None)
        self._directory = directory
        self._analysis_seconds = 0.0
        self.pool = ShardPool(SEARCHERS)
        self._lock = Lock()
        self._all: dict[int, CollectionIndex] = {}

    def is_current(self, record: CollectionRecord) -> bool:
        """Whether a collection's index is of the record's generation here."""
        index = self.find(record.id)
        if index is None or index.directory.name != record.uid:
            index = self._put(record)
        return isinstance(index, ReadIndex) and index.is_current(record)

    def keep_only(self, collections: Collection[int]) -> None:
        """Close the indexes of all other collections, which were deleted."""
        for collection in self._snapshot().keys() - set(collections):
            with self._lock:
                index = self._all.pop(collection)
            index.close()

    def states(self) -> Counter[IndexState]:
        """The number of open indexes by state."""
        return Counter(index.state for index in self._snapshot().values())

    def close(self) -> None:
        """Close all."""
        for index in self._snapshot().values():
            index.close()
        self.pool.shutdown(wait=False, cancel_futures=True)

    def _put(self, record: CollectionRecord) -> CollectionIndex:
        """The index of a collection, a new one unless another search has put that meanwhile."""
        opening = self._index(record)
        with self._lock:
            present = self._all.get(record.id)
            if present is not None and present.directory.name == record.uid:
                return present
            self._all[record.id] = opening
        if present is not None:  # it waits for its users, as this search need not
            Thread(target=present.close, name="dragoman-closer", daemon=True).start()
        return opening

    def _index(self, record: CollectionRecord) -> ReadIndex:
        directory, unindexed = self._directory / record.uid, self._source.unindexed_list(record.id)
        return ReadIndex(self._feed, unindexed, directory, record, self._analysis_seconds, self.pool)
