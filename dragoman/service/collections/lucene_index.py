"""The Lucene index of one collection: where it lies, and how it is kept in step with the database.

The database is written first; the index follows. A Lucene commit carries the generation of the database that
it holds, so that after a crash exactly what came later is added again, and nothing is lost or twice.
"""

from __future__ import annotations

import logging
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from threading import Condition, RLock
from uuid import uuid4

from dragoman.files.atomic import atomic_file
from dragoman.indexes.analysis.pipeline import analysis
from dragoman.indexes.errors import IndexClosed, IndexCorrupt
from dragoman.indexes.java.jvm import JavaError
from dragoman.indexes.lucene.index import IndexedDocument, LuceneIndex
from dragoman.service.collections.changes import Change, changes_after, database_generation, purge_tombstones
from dragoman.service.core.errors import NotFound, Unavailable, classify
from dragoman.service.storage.database import Store

logger = logging.getLogger("dragoman")

LAYOUT = "1"
"""Changes whenever what is written into an index does; an index of another layout is built anew."""

_WAIT_SECONDS = 30.0

Progress = Callable[[int], None]


class IndexState(StrEnum):
    """``stale``: searches are answered, but from before a change that could not be indexed."""

    READY = "ready"
    BUILDING = "building"
    STALE = "stale"
    FAILED = "failed"


class _Opened:
    """An open index and how many are using it."""

    def __init__(self, index: LuceneIndex) -> None:
        self.index = index
        self.users = 0


class CollectionIndex:
    """The index of one collection; all methods may be called from any thread.

    Lucene's own lock of the directory would take a file descriptor for each collection. The lock of the data directory
    keeps other processes out, and :meth:`writing` other threads.
    """

    def __init__(self, store: Store, directory: Path, collection_id: int, uid: str, name: str = "") -> None:
        """``name`` is what people know the collection by, for messages."""
        self._store = store
        self.name = name or uid
        self.directory = directory
        self._collection_id = collection_id
        self._uid = uid
        self._writing = RLock()
        self._users = Condition()
        self._opened: _Opened | None = None
        self._languages: dict[str, str] = {}
        self._applied = -1
        self._committed = -1
        self._purge = True
        self._damaged = False
        self._deleted = False
        self.state = IndexState.BUILDING

    @property
    def generation(self) -> int:
        """The generation of the collection up to which this index has all changes; -1 before it is open."""
        return self._applied

    @property
    def languages(self) -> tuple[str, ...]:
        """Languages of the documents that this index holds or once held."""
        return tuple(sorted(self._languages))

    @contextmanager
    def use(self) -> Iterator[LuceneIndex]:
        """The open index, which stays open until the block ends.

        Raises:
            Unavailable: it is not open, because it is being built or could not be.
        """
        with self._users:
            opened = self._opened
            if opened is None:
                raise Unavailable(f"the index is {self.state.value}, so the collection cannot be searched yet")
            opened.users += 1
        try:
            yield opened.index
        except IndexCorrupt:
            self._damaged = True
            self.state = IndexState.FAILED
            raise
        except IndexClosed:
            self.state = IndexState.STALE
            raise
        finally:
            with self._users:
                opened.users -= 1
                self._users.notify_all()

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Hold the right to change this collection, in the database and in the index.

        Raises:
            Unavailable: the index is being built, or broken and cannot be opened again.
            NotFound: the collection was deleted.
        """
        if self.state is IndexState.BUILDING:
            raise Unavailable("the index of this collection is being built; try again when it is ready")
        with self.holding():
            if self.state is not IndexState.READY:
                self.open()
            yield

    @contextmanager
    def holding(self) -> Iterator[None]:
        """Keep everybody else from changing this collection, whatever the state of its index.

        Raises:
            NotFound: the collection was deleted.
        """
        with self._writing:
            if self._deleted:
                raise NotFound("the collection has been deleted")
            yield

    def apply(self, changes: Sequence[Change], generation: int) -> None:
        """Index what the database has just committed as ``generation``; call it inside :meth:`writing`."""
        with self._failing_to(IndexState.STALE):
            self._apply(self._index(), changes)
            self._applied = generation

    def refresh(self) -> None:
        """Make what was applied searchable."""
        with self._writing, self._failing_to(IndexState.STALE):
            self._index().refresh()

    def commit(self) -> None:
        """Make the index durable where it has changed, then forget the documents deleted before."""
        with self._writing:
            if self._opened is None or self.state is not IndexState.READY or self._applied <= self._committed:
                return
            with self._failing_to(IndexState.STALE):
                self._commit(self._index())
            self._purge_tombstones()

    def open(self) -> None:
        """Open the index and bring it up to date, or build it anew where it is missing, damaged or of
        another layout or analysis. Nothing to do where it is open and up to date; one that lacks changes serves on
        until a newer one is open, and where that fails.

        Raises:
            Exception: what building it failed with; ``state`` is then ``failed``, or ``stale`` as it was.
        """
        with self._writing:
            if self._deleted or (self._opened is not None and self.state is IndexState.READY):
                return
            stale = self._opened is not None and not self._damaged
            self.state = IndexState.STALE if stale else IndexState.BUILDING
            with self._failing_to(IndexState.STALE if stale else IndexState.FAILED):
                if stale:
                    self._index().stop_writing()  # a Lucene directory has one writer; searches go on
                else:
                    self._retire()
                index = None if self._damaged else self._open_present()
                if index is None:
                    self.rebuild()
                    return
                try:
                    self._catch_up(index)
                except BaseException:
                    index.close()
                    raise
                self._install(index)
            self._purge_tombstones()

    def rebuild(self, progress: Progress | None = None) -> None:
        """Build the index from the database into a new directory and swap it in; the old one serves on
        until then. ``progress`` is called with the number of documents done so far.
        """
        with self._writing:
            name = uuid4().hex[:12]
            target = self.directory / name
            target.mkdir(parents=True)
            previous, self._languages = self._languages, {}
            index: LuceneIndex | None = None
            try:
                index = LuceneIndex(target, locked=False)
                self._catch_up(index, progress, after=-1)
                self._point_to(name)
            except BaseException:
                self._languages = previous
                if index is not None:
                    index.close()
                shutil.rmtree(target, ignore_errors=True)
                raise
            self._damaged = False
            self._install(index)
            logger.info("the index of %s is built", self.name)
            self._remove_others(name)
            self._purge = True
            self._purge_tombstones()

    def close(self) -> None:
        """Commit what is not yet committed, and close."""
        with self._writing:
            try:
                self.commit()
            except Exception as fault:
                logger.warning("the index of %s was closed without a commit: %s", self.name, fault)
            self._retire()

    def destroy(self) -> None:
        """Close the index of a deleted collection and remove it from the disk."""
        with self._writing:
            self._deleted = True
            self._retire()
            shutil.rmtree(self.directory, ignore_errors=True)

    def _index(self) -> LuceneIndex:
        if self._opened is None:
            raise Unavailable("the index is closed")
        return self._opened.index

    def _apply(self, index: LuceneIndex, changes: Sequence[Change]) -> None:
        deleted = [change.key for change in changes if change.text is None]
        documents = [
            IndexedDocument(change.key, change.language, change.text) for change in changes if change.text is not None
        ]
        analyses = {language: analysis(language) for language in {one.language for one in documents}}
        for language, used in analyses.items():
            self._languages[language] = used.fingerprint
        if documents:
            index.add(documents, analyses)
        if deleted:
            index.delete(deleted)
            self._purge = True

    def _catch_up(self, index: LuceneIndex, progress: Progress | None = None, after: int | None = None) -> None:
        done = 0
        generation = database_generation(self._store, self._collection_id)
        start = index.generation if after is None else after
        for changes in changes_after(self._store, self._collection_id, start):
            self._apply(index, changes)
            done += len(changes)
            if progress is not None:
                progress(done)
        self._applied = generation
        if after is not None or generation > start:
            self._commit(index)
        self._committed = generation
        index.refresh()

    def _commit(self, index: LuceneIndex) -> None:
        fingerprints = {f"analysis.{language}": mark for language, mark in self._languages.items()}
        index.commit(self._applied, {"collection": self._uid, "layout": LAYOUT, **fingerprints})
        self._committed = self._applied

    def _open_present(self) -> LuceneIndex | None:
        """The index on the disk, or None when it has to be built."""
        try:
            name = (self.directory / "current").read_text(encoding="ascii").strip()
        except (OSError, UnicodeDecodeError):
            return None
        if not name.isalnum() or not (self.directory / name).is_dir():
            return None
        try:
            index = LuceneIndex(self.directory / name, locked=False)
        except (IndexCorrupt, JavaError) as fault:
            logger.warning("the index of %s cannot be opened and is built anew: %s", self.name, fault)
            return None
        if (reason := self._outdated(index)) is not None:
            logger.warning("the index of %s is built anew: %s", self.name, reason)
            index.close()
            return None
        return index

    def _outdated(self, index: LuceneIndex) -> str | None:
        metadata = index.metadata
        if metadata.get("collection") != self._uid or metadata.get("layout") != LAYOUT:
            return "it is of another collection or layout"
        if index.generation > database_generation(self._store, self._collection_id):
            return "it is newer than the database"
        marks = {key.removeprefix("analysis."): mark for key, mark in metadata.items() if key.startswith("analysis.")}
        for language, mark in marks.items():
            if analysis(language).fingerprint != mark:
                return f"the analysis of {language} has changed"
        self._languages = marks
        return None

    def _install(self, index: LuceneIndex) -> None:
        self._retire()
        with self._users:
            self._opened = _Opened(index)
        self.state = IndexState.READY

    def _retire(self) -> None:
        """Take the open index out of use, and close it when the last of those using it has left."""
        with self._users:
            opened, self._opened = self._opened, None
            if opened is None:
                return
            if not self._users.wait_for(lambda: not opened.users, _WAIT_SECONDS):
                logger.warning("the index of %s is closed while it is searched", self.name)
        opened.index.close()

    def _point_to(self, name: str) -> None:
        """Swap the build ``name`` in: whatever happens, ``current`` names one whole index."""
        with atomic_file(self.directory / "current") as unfinished:
            unfinished.write_text(name, encoding="ascii")

    def _remove_others(self, name: str) -> None:
        for path in self.directory.iterdir():
            if path.name not in (name, "current"):
                shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink(missing_ok=True)

    def _purge_tombstones(self) -> None:
        if self._purge:
            purge_tombstones(self._store, self._collection_id, self._committed)
            self._purge = False

    @contextmanager
    def _failing_to(self, state: IndexState) -> Iterator[None]:
        try:
            yield
        except Exception as fault:
            self.state = state
            known = classify(fault)
            logger.error("the index of %s is %s: %s", self.name, state.value, known or fault)
            raise
