"""The Lucene index of one collection: where it lies, and how it is kept in step with the database.

The database is written first; the index follows. A Lucene commit carries the generation of the database that
it holds, so that after a crash exactly what came later is added again, and nothing is lost or twice.
"""

from __future__ import annotations

import logging
import shutil
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from threading import Condition, RLock
from uuid import uuid4

from dragoman.deadline import DeadlinePassed, WorkCancelled
from dragoman.engine.core.errors import NotFound, Unavailable, classify
from dragoman.engine.indexing.feed import Feed, indexed_documents
from dragoman.engine.indexing.lucene import builds
from dragoman.engine.indexing.lucene.builds import AnyIndex, IndexState, OpenIndex
from dragoman.engine.indexing.lucene.document_writer import DocumentWriter
from dragoman.engine.indexing.sources import CollectionRecord, SourceDocument, Unindexed, UnindexedList
from dragoman.indexes.documents import IndexRow
from dragoman.indexes.errors import IndexClosed, IndexCorrupt
from dragoman.indexes.lucene.lucene_index import IndexedDocument
from dragoman.indexes.lucene.searched_index import SearchedIndex
from dragoman.indexes.lucene.sharded_index import open_index

logger = logging.getLogger("dragoman")

_WAIT_SECONDS = 30.0
_POLL_SECONDS = 0.1
_COMMIT_WAIT_SECONDS = 1.0
"""How long a commit waits for whoever writes."""

Progress = Callable[[int], None]


class CollectionIndex:
    """The index of one collection; all methods may be called from any thread.

    Lucene's lock would take a file descriptor. That of the data directory keeps other processes out.
    """

    def __init__(
        self,
        feed: Feed,
        unindexed: UnindexedList,
        directory: Path,
        record: CollectionRecord,
        analysis_seconds: float,
        pool: Executor,
    ) -> None:
        """``analysis_seconds`` is the longest analysis of one document; ``pool`` searches the parts of the index."""
        self._feed = feed
        self._pool = pool
        self.unindexed = unindexed
        self.directory = directory
        self._record = record
        self.name = record.name
        self._writing = RLock()
        self._users = Condition()
        self._opened: OpenIndex | None = None
        self._writer = DocumentWriter(unindexed, analysis_seconds, lambda: self._deleted or self._closing)
        self._searched: frozenset[str] = frozenset()
        """The languages of the index that is searched while another is built."""
        self._applied = -1
        self._committed = -1
        self._searchable, self._changes = -1, 0
        self._applied_again = False
        """Whether documents of generations before the last commit were indexed after it."""
        self._purge = True
        self._damaged = False
        self._deleted = False
        self._closing = False
        self.created = True
        """Whether its collection is there; false while that is being created, so that nobody waits for it."""
        self.behind = False
        """Whether the database has deletions that nobody has applied yet."""
        self.rebuilding = False
        """Whether one of an earlier analysis, or in other parts, is searched until the new one is built."""
        self.state = IndexState.BUILDING

    @property
    def generation(self) -> int:
        """The generation of the collection up to which this index has all changes; -1 before it is open."""
        return self._applied

    @property
    def searched(self) -> tuple[int, int]:
        """The generation that searches see, and a number that is another one once they see another state.

        An odd number: the state is just changing.
        """
        return self._searchable, self._changes

    @property
    def shards(self) -> int:
        """The number of its parts; 0 before it is open."""
        opened = self._opened
        return opened.index.shards if opened is not None else 0

    @property
    def languages(self) -> tuple[str, ...]:
        """Languages of the documents that this index holds or once held."""
        return tuple(sorted(self._writer.languages.keys() | self._searched))

    @contextmanager
    def use(self, *, filtered: bool = False) -> Iterator[SearchedIndex]:
        """The open index, which stays open until the block ends.

        Raises:
            Unavailable: it is not open, because it is being built or could not be; or it is to be ``filtered``, and is
                of a version that had no fields of metadata.
        """
        with self._users:
            opened = self._opened
            if opened is None:
                raise Unavailable(f"the index is {self.state.value}, so the collection cannot be searched yet")
            if filtered and not builds.has_attributes(opened.index):
                raise Unavailable("its metadata is being indexed, so it cannot be filtered yet")
            opened.users += 1
        try:
            yield opened.index
            if opened.index.damage is not None and self.state is IndexState.READY:
                self.state = IndexState.STALE  # the other parts serve on until it is built anew
        except IndexCorrupt:
            self._damaged = True
            self.state = IndexState.FAILED
            raise
        except IndexClosed:
            self.state = IndexState.STALE
            raise
        finally:
            opened.leave()

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Hold the right to change this collection, in the database and in the index.

        Raises:
            Unavailable: the index is being built, or broken and cannot be opened again.
            NotFound: the collection was deleted.
        """
        while self.state is IndexState.BUILDING or self.rebuilding or not self._writing.acquire(timeout=_POLL_SECONDS):
            if self.state is IndexState.BUILDING or self.rebuilding:
                raise Unavailable("the index of this collection is being built; try again when it is ready")
        try:
            with self.holding():
                if self.state is not IndexState.READY:
                    self.open()
                yield
        finally:
            self._writing.release()

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

    def analyse(self, documents: Sequence[IndexedDocument]) -> tuple[list[IndexRow], dict[int, str]]:
        """The analysed documents, and by key the reason for each that cannot be analysed; see :func:`isolate`.

        Raises:
            NotFound: the collection was deleted meanwhile.
        """
        try:
            return self._writer.analyse(documents)
        except WorkCancelled:
            if not self._deleted:
                raise
            raise NotFound("the collection has been deleted") from None

    def apply(self, rows: Sequence[IndexRow], generation: int) -> None:
        """Index what the database has just committed as ``generation``; call it inside :meth:`writing`."""
        with self._failing_to(IndexState.STALE):
            if generation == self._applied + 1:
                self.unindexed.put(self._writer.write(self._index(), self._feed.select(rows)))
                self._applied = generation
            else:  # something was deleted meanwhile
                self._follow()

    def follow(self, seconds: float = -1.0) -> None:
        """Apply what the database has and this index has not, if the right to write can be had within ``seconds``.

        Otherwise it is done later: nothing that is deleted in the database is shown meanwhile.
        """
        self.behind = True
        if not self._writing.acquire(timeout=seconds):
            return
        try:
            if self.state is IndexState.READY and not self._deleted:
                self.catch_up()
        finally:
            self._writing.release()

    def catch_up(self) -> None:
        """Apply what the database has and this index has not; call it inside :meth:`writing`."""
        with self._failing_to(IndexState.STALE):
            self._follow()
            self._refresh()

    def retry(self, entry: Unindexed) -> bool:
        """Try a document again that could not be indexed; returns whether it is indexed now.

        Raises:
            Unavailable, NotFound: as :meth:`writing`.
        """
        try:
            rows, faults = self.analyse(indexed_documents(self._feed.source.documents([entry.key])))
        except DeadlinePassed:  # the request's; others are tried before it next time
            rows, faults = [], {entry.key: entry.reason}
        with self.writing():
            if not self.unindexed.holds(entry):
                return False
            with self._failing_to(IndexState.STALE):
                faults |= self._writer.write(self._index(), rows)
            self._applied_again = True
            self.unindexed.put(faults, [row.key for row in rows])
        return not faults

    def refresh(self) -> None:
        """Make what was applied searchable; an index that is being built anew has all of it when it is ready."""
        if not self.rebuilding:
            with self._writing, self._failing_to(IndexState.STALE):
                self._refresh()

    def publish(self) -> None:
        """As :meth:`refresh`, also for processes that read commits: those tell by the generation whether one is the
        newest, and documents that are tried again have none of their own."""
        if not self.rebuilding:
            with self._writing:
                with self._failing_to(IndexState.STALE):
                    self._refresh()
                    self._commit(self._index())
                self._purge_tombstones()

    def commit(self) -> None:
        """Make the index durable where it has changed, then forget the documents deleted before.

        If somebody else writes for long, nothing is done: the next commit has it.
        """
        if not self._writing.acquire(timeout=-1 if self._closing else _COMMIT_WAIT_SECONDS):
            return
        try:
            if self._opened is None or self.state is not IndexState.READY:
                return
            if self._applied <= self._committed and not self._applied_again:
                return
            with self._failing_to(IndexState.STALE):
                self._commit(self._index())
            self._purge_tombstones()
        finally:
            self._writing.release()

    def open(self) -> None:
        """Open the index and bring it up to date, or build it anew where it is missing, damaged or of another layout or
        analysis; one of another analysis serves on until then. Nothing to do where it is open and up to date; one that
        lacks changes serves on until a newer one is open, and where that fails.

        Raises:
            Exception: what building it failed with; ``state`` is then ``failed``, or ``stale`` as it was.
        """
        with self._writing:
            if self._deleted or (self._opened is not None and self.state is IndexState.READY):
                return
            serving = self._opened is not None and not self._damaged
            self.state = IndexState.STALE if serving else IndexState.BUILDING
            with self._failing_to(IndexState.STALE if serving else IndexState.FAILED):
                if serving and self._index().damage is not None:
                    self._serve_until_built()
                    return
                if serving:
                    self._index().stop_writing()  # a Lucene directory has one writer; searches go on
                else:
                    self._replace()
                self._record = self._feed.source.collection(self._record.id)
                index, outdated = None, ""
                if not self._damaged:
                    index, outdated = builds.open_build(self.directory, self._record, self._pool)
                if index is None:
                    self.rebuild()
                    return
                if outdated:
                    self._writer.languages = builds.languages(index)
                    self._applied = self._committed = index.generation
                    self._install(index)
                    self._serve_until_built()
                    return
                self._writer.languages = builds.languages(index)
                try:
                    self._catch_up(index)
                except BaseException:
                    index.close()
                    raise
                self._install(index)
            self._purge_tombstones()

    def reshape(self) -> None:
        """Build the index anew where it is to have another number of parts; the present one serves meanwhile."""
        with self.holding():
            self._record = self._feed.source.collection(self._record.id)
            if self.state is not IndexState.READY or self._index().shards == self._record.shards:
                return
            self.rebuilding = True
            try:
                self.rebuild()
            finally:
                self.rebuilding = False

    def rebuild(self, progress: Progress | None = None) -> None:
        """Build the index anew and swap it in; the old one serves on. ``progress`` gets the number of documents."""
        with self._writing:
            name = uuid4().hex[:12]
            target = self.directory / name
            target.mkdir(parents=True)
            generations = self._applied, self._committed, self._applied_again
            previous, self._writer.languages = self._writer.languages, {}
            self._searched = frozenset(previous)
            index: AnyIndex | None = None
            try:
                index = open_index(target, self._pool, self._record.shards)
                self._catch_up(index, progress, after=-1)
                builds.point_to(self.directory, name)
            except BaseException:
                self._applied, self._committed, self._applied_again = generations
                self._writer.languages, self._searched = previous, frozenset()
                if index is not None:
                    index.close()
                shutil.rmtree(target, ignore_errors=True)
                raise
            self._damaged = False
            self._install(index)
            self._searched, self.rebuilding = frozenset(), False
            logger.info("the index of %s is built", self.name)
            builds.remove_others(self.directory, name)
            self._purge = True
            self._purge_tombstones()

    def _serve_until_built(self) -> None:
        self.rebuilding = True
        self.state = IndexState.STALE
        self.rebuild()

    def close(self) -> None:
        """Commit what is not yet committed, and close."""
        self._closing = True
        with self._writing:
            try:
                self.commit()
            except Exception as fault:
                logger.warning("the index of %s was closed without a commit: %s", self.name, fault)
            self._replace()

    def stop(self) -> None:
        """Let analysis under way end soon, as the service ends."""
        self._closing = True

    def destroy(self) -> None:
        """Close the index of a deleted collection and remove it from the disk."""
        self._deleted = True
        with self._writing:
            self._replace()
            shutil.rmtree(self.directory, ignore_errors=True)

    def _index(self) -> AnyIndex:
        if self._opened is None:
            raise Unavailable("the index is closed")
        return self._opened.index

    def _follow(self) -> None:
        self.behind = False
        self._applied = self._feed.replay(self._record.id, self._applied, partial(self._apply, self._index()))

    def _apply(self, index: AnyIndex, documents: Sequence[SourceDocument]) -> None:
        self._purge = self._writer.apply(index, documents) or self._purge

    def _catch_up(self, index: AnyIndex, progress: Progress | None = None, after: int | None = None) -> None:
        start = index.generation if after is None else after
        self._applied = self._feed.replay(self._record.id, start, partial(self._apply, index), progress)
        if after is not None or self._applied > start:
            self._commit(index)
        self._committed = self._applied
        index.refresh()

    def _commit(self, index: AnyIndex) -> None:
        index.commit(self._applied, builds.metadata(self._record.uid, self._writer.languages))
        self._committed = self._applied
        self._applied_again = False

    def _refresh(self) -> None:
        with self._changing():
            self._index().refresh()

    @contextmanager
    def _changing(self) -> Iterator[None]:
        """What is searched becomes another in the block."""
        self._changes += 1
        try:
            yield
        finally:
            self._searchable = self._applied
            self._changes += 1

    def _install(self, index: AnyIndex) -> None:
        with self._changing():
            self._replace(OpenIndex(index, self._users))
        self.state = IndexState.READY

    def _replace(self, new: OpenIndex | None = None) -> None:
        """Put another index into use, or none, and close the present one when the last of its users has left."""
        with self._users:
            opened, self._opened = self._opened, new
        if opened is not None:
            if not opened.wait(_WAIT_SECONDS):
                logger.warning("the index of %s is closed while it is searched", self.name)
            opened.index.close()

    def _purge_tombstones(self) -> None:
        if self._purge:
            self._feed.purge(self._record.id, self._committed)
            self._purge = False

    @contextmanager
    def _failing_to(self, state: IndexState) -> Iterator[None]:
        try:
            yield
        except Exception as fault:
            self.state = IndexState.STALE if self.rebuilding else state
            logger.error("the index of %s is %s: %s", self.name, self.state.value, classify(fault) or fault)
            raise
