"""All Lucene indexes of a service: opened, committed and repaired by a background thread."""

from __future__ import annotations

import logging
import shutil
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Lock, Thread

from sqlalchemy import select

from dragoman.engine.core.errors import NotFound, classify
from dragoman.indexes.lucene.lucene_index import LuceneIndex
from dragoman.service.collections.builds import IndexState
from dragoman.service.collections.lucene.index import CollectionIndex
from dragoman.store.database import Store
from dragoman.store.models import Collection

logger = logging.getLogger("dragoman")

_OPENERS = 4
"""Indexes that are opened at a time; one that takes long does not keep the others waiting."""
_REMOVE_SECONDS = 5.0
"""How long a deletion waits for the files to be gone; the next start removes what is left."""


class Indexes:
    """The index of every collection of the database.

    A background thread opens them, commits changes every ``commit_seconds``, and retries indexes that could not be
    opened.
    """

    def __init__(self, store: Store, directory: Path, commit_seconds: float, analysis_seconds: float = 60.0) -> None:
        """``analysis_seconds`` is the longest analysis of one document."""
        self._store = store
        self._directory = directory
        self._commit_seconds = commit_seconds
        self._analysis_seconds = analysis_seconds
        self._openers = ThreadPoolExecutor(_OPENERS, "dragoman-opener")
        self._opening: set[CollectionIndex] = set()
        self._lock = Lock()
        self._all: dict[int, CollectionIndex] = {}
        self._closing = Event()
        self._thread: Thread | None = None
        directory.mkdir(parents=True, exist_ok=True)
        with store.read() as session:
            for id, uid, name in session.execute(select(Collection.id, Collection.uid, Collection.name)):
                self._all[id] = CollectionIndex(store, directory / uid, id, uid, name, analysis_seconds)
        self._remove_orphans()

    def start(self, seconds: float) -> None:
        """Open all indexes in the background; returns when all are open, or after ``seconds`` seconds."""
        self._thread = Thread(target=self._maintain, name="dragoman-indexes", daemon=True)
        self._thread.start()
        until = time.monotonic() + seconds
        while time.monotonic() < until and IndexState.BUILDING in self.states():
            time.sleep(0.01)

    def add(self, collection_id: int, uid: str, name: str) -> None:
        """Create the index of a new collection."""
        index = CollectionIndex(self._store, self._directory / uid, collection_id, uid, name, self._analysis_seconds)
        index.made = True
        with self._lock:
            self._all[collection_id] = index
        index.open()
        index.made = False

    def find(self, collection_id: int) -> CollectionIndex | None:
        """The index of a collection, or None."""
        with self._lock:
            return self._all.get(collection_id)

    def of(self, collection_id: int) -> CollectionIndex:
        """The index of a collection.

        Raises:
            NotFound: there is no such collection.
        """
        if (index := self.find(collection_id)) is None:
            raise NotFound("the collection has been deleted")
        return index

    @contextmanager
    def use(self, collection_id: int) -> Iterator[LuceneIndex]:
        """The open index of a collection, for searching; it stays open until the block ends.

        Raises:
            NotFound: there is no such collection.
            Unavailable: its index is not open.
        """
        with self.of(collection_id).use() as index:
            yield index

    def remove(self, collection_id: int) -> None:
        """Remove the index of a deleted collection; what is being done with it is stopped, and not waited for."""
        with self._lock:
            index = self._all.pop(collection_id, None)
        if index is None:
            return
        remover = Thread(target=index.destroy, name="dragoman-remover", daemon=True)
        remover.start()
        remover.join(_REMOVE_SECONDS)

    def states(self) -> Counter[IndexState]:
        """The number of indexes by state."""
        with self._lock:
            return Counter(index.state for index in self._all.values())

    def missing(self) -> dict[IndexState, list[str]]:
        """The names of collections whose index is not ready, by state."""
        found: dict[IndexState, list[str]] = {}
        for index in self._snapshot():
            if (state := index.state) is not IndexState.READY and not index.made:
                found.setdefault(state, []).append(index.name)
        return found

    def close(self) -> None:
        """Commit and close all."""
        self._closing.set()
        for index in self._snapshot():
            index.stop()
        if self._thread is not None:
            self._thread.join()
        self._openers.shutdown()
        for index in self._snapshot():
            index.close()

    def _snapshot(self) -> list[CollectionIndex]:
        with self._lock:
            return list(self._all.values())

    def _maintain(self) -> None:
        while True:
            for index in self._snapshot():
                if self._closing.is_set():
                    return
                if index.made or index in self._opening:
                    continue
                if index.state is IndexState.READY:
                    self._keep(index)
                else:
                    self._opening.add(index)
                    self._openers.submit(self._open, index)
            if self._closing.wait(self._commit_seconds):
                return

    def _open(self, index: CollectionIndex) -> None:
        try:
            index.open()
        except Exception as fault:
            if classify(fault) is None:
                logger.exception("an index could not be opened")
        finally:
            self._opening.discard(index)

    def _keep(self, index: CollectionIndex) -> None:
        try:
            if index.behind:
                index.follow(0)
            index.commit()
        except Exception as fault:
            if classify(fault) is None:
                logger.exception("an index could not be brought up to date")

    def _remove_orphans(self) -> None:
        """Remove the indexes of deleted collections that a crash left behind."""
        known = {index.directory for index in self._all.values()}
        for path in self._directory.iterdir():
            if path.is_dir() and len(path.name) == 32 and path not in known:
                shutil.rmtree(path, ignore_errors=True)
