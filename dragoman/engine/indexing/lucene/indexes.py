"""All Lucene indexes of a service, and how they follow the documents."""

from __future__ import annotations

import logging
import shutil
import time
from collections import Counter
from pathlib import Path
from threading import Lock, Thread

from dragoman import cores
from dragoman.engine.core.errors import NotFound, classify
from dragoman.engine.indexing.feed import Feed, KeyFilter
from dragoman.engine.indexing.follower import FollowedIndex, Follower
from dragoman.engine.indexing.lucene.builds import IndexState
from dragoman.engine.indexing.lucene.collection_index import CollectionIndex
from dragoman.engine.indexing.sources import CollectionRecord, IndexSource
from dragoman.indexes.shard_pool import ShardPool

logger = logging.getLogger("dragoman")

_OPENERS = 4
"""Indexes that are opened at a time; one that takes long does not keep the others waiting."""
_LONGEST_PAUSE = 30.0
"""How long an index that cannot be opened waits at most, in seconds, unless commits are rarer."""
SEARCHERS = cores.available()
"""Parts of indexes that are searched or written at a time on threads of their own."""
_REMOVE_SECONDS = 5.0
"""How long a deletion waits for the files to be gone; the next start removes what is left."""


class Indexes(FollowedIndex):
    """The index of every collection.

    Imports and deletions write to it at once. What follows in the background is the rest: indexes are opened, built
    where they have to be and mended, and committed every ``commit_seconds``.
    """

    def __init__(
        self,
        source: IndexSource,
        directory: Path,
        commit_seconds: float,
        analysis_seconds: float = 60.0,
        keys: KeyFilter | None = None,
    ) -> None:
        """``analysis_seconds`` is the longest analysis of one document; with ``keys``, only those are indexed."""
        self._source = source
        self._feed = Feed(source, keys)
        self._directory = directory
        self._analysis_seconds = analysis_seconds
        self.pool = ShardPool(SEARCHERS)
        """Searches the parts of all indexes."""
        self._lock = Lock()
        pauses = (commit_seconds, max(_LONGEST_PAUSE, commit_seconds))
        self.follower = Follower(self, "indexed", threads=_OPENERS, save_seconds=commit_seconds, pauses=pauses)
        directory.mkdir(parents=True, exist_ok=True)
        self._all = {record.id: self._index(record) for record in source.collections()}
        self._remove_orphans()

    def start(self, seconds: float) -> None:
        """Open all indexes in the background; returns when all are open, or after ``seconds`` seconds."""
        self.follower.start(list(self._all))
        until = time.monotonic() + seconds
        while time.monotonic() < until and IndexState.BUILDING in self.states():
            time.sleep(0.01)

    def add(self, collection: int) -> None:
        """Create the index of a new collection."""
        index = self._index(self._source.collection(collection))
        index.created = False
        with self._lock:
            self._all[collection] = index
        index.open()
        index.created = True

    def find(self, collection: int) -> CollectionIndex | None:
        """The index of a collection, or None."""
        with self._lock:
            return self._all.get(collection)

    def of(self, collection: int) -> CollectionIndex:
        """The index of a collection.

        Raises:
            NotFound: there is no such collection.
        """
        if (index := self.find(collection)) is None:
            raise NotFound("the collection has been deleted")
        return index

    def states(self) -> Counter[IndexState]:
        """The number of indexes by state."""
        return Counter(index.state for index in self._snapshot().values())

    def missing(self) -> dict[IndexState, list[str]]:
        """The names of collections whose index is not ready, by state."""
        names: dict[IndexState, list[str]] = {}
        for index in self._snapshot().values():
            if (state := index.state) is not IndexState.READY and index.created:
                names.setdefault(state, []).append(index.name)
        return names

    def close(self) -> None:
        """Commit and close all."""
        for index in self._snapshot().values():
            index.stop()
        self.follower.stop()
        for index in self._snapshot().values():
            index.close()
        self.pool.shutdown(wait=False, cancel_futures=True)

    def open(self, collection: int) -> None:
        """Open an index and bring it up to date, or build it; see :meth:`CollectionIndex.open`."""
        self.of(collection).open()

    def apply(self, collection: int) -> bool:
        """Apply deletions that nobody has applied yet, and give the index the number of parts it is to have.

        All else is done when the index is open.
        """
        index = self.of(collection)
        if index.behind:
            index.follow(0)
        index.reshape()
        return True

    def save(self, *, force: bool = False) -> list[int]:
        """Commit what has changed; returns the collections whose index is not ready."""
        lagging = []
        for collection, index in self._snapshot().items():
            if index.created and index.state is IndexState.READY:
                self._commit(index)
            if index.created and index.state is not IndexState.READY:
                lagging.append(collection)
        return lagging

    def drop(self, collection: int, uid: str) -> None:
        """Remove the index of a deleted collection; what is being done with it is stopped, and not waited for."""
        with self._lock:
            index = self._all.pop(collection, None)
        if index is None:
            return
        remover = Thread(target=index.destroy, name="dragoman-remover", daemon=True)
        remover.start()
        remover.join(_REMOVE_SECONDS)

    def _index(self, record: CollectionRecord) -> CollectionIndex:
        directory, unindexed = self._directory / record.uid, self._source.unindexed_list(record.id)
        return CollectionIndex(self._feed, unindexed, directory, record, self._analysis_seconds, self.pool)

    def _snapshot(self) -> dict[int, CollectionIndex]:
        with self._lock:
            return dict(self._all)

    def _commit(self, index: CollectionIndex) -> None:
        try:
            if index.behind:
                index.follow(0)
            index.commit()
        except Exception as fault:
            if classify(fault) is None:
                logger.exception("an index could not be brought up to date")

    def _remove_orphans(self) -> None:
        """Remove the indexes of deleted collections that a crash left behind."""
        directories = {index.directory for index in self._all.values()}
        for path in self._directory.iterdir():
            if path.is_dir() and len(path.name) == 32 and path not in directories:
                shutil.rmtree(path, ignore_errors=True)
