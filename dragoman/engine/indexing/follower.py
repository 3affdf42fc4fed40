"""The follower: keeps indexes of collections in step with the documents that they are made from, in the background."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from threading import Condition, Event, Thread
from typing import Protocol

from dragoman.engine.core.errors import ClientDisconnected, NotFound, NotInstalled, classify
from dragoman.engine.core.turns import waiting_for_models

logger = logging.getLogger("dragoman")

_POLL_SECONDS = 0.2
_PAUSES = (5.0, 300.0)
"""The first pause after a fault and the longest, in seconds, of an index that has none of its own."""


class FollowedIndex(Protocol):
    """What a follower keeps in step: the indexes of one kind. Collections go by their ids.

    Every method may be called from any thread, for one collection by several at a time.
    """

    def open(self, collection: int) -> None:
        """Make ready to apply changes; called before each :meth:`apply`, so cheap where nothing is to be done.

        Raises:
            NotFound: the collection has been deleted.
        """

    def apply(self, collection: int) -> bool:
        """Apply some of the changes, few enough that other collections can wait; returns whether none is left.

        Raises:
            NotFound: the collection has been deleted.
        """

    def save(self, *, force: bool = False) -> Collection[int]:
        """Make durable what was applied, where that is due or with ``force``; returns the collections that lag."""
        return ()

    def drop(self, collection: int, uid: str) -> None:
        """Remove the index of a deleted collection."""
        return


@dataclass(slots=True, eq=False)
class _Turn:
    """A collection that is not in step, in the queue."""

    due: float = 0.0
    """When its changes may be applied, by the monotonic clock."""
    pause: float = 0.0
    """How long it waits since it failed; 0 if it has changed since."""
    waiting: int = 0
    """How many threads wait for it."""
    changed: bool = True
    """Whether it has changed since :attr:`begun`."""
    begun: bool = False
    """Whether some changes were applied, and others are left."""
    busy: bool = False
    failed: bool = False
    """Whether its last try failed: others then come before it, whoever waits for it."""


class Follower:
    """Follows the changes of collections. Every method may be called from any thread.

    Collections take turns; first come those that somebody waits for. One that fails is tried again after a pause,
    which doubles with each fault, or at once when it changes; it delays no other.
    """

    def __init__(
        self,
        index: FollowedIndex,
        done: str,
        *,
        threads: int = 1,
        save_seconds: float | None = None,
        pauses: tuple[float, float] | None = None,
    ) -> None:
        """Follow nothing yet.

        Args:
            index: what is kept in step.
            done: what is done with documents, for messages: "embedded".
            threads: how many collections may be worked on at a time.
            save_seconds: how often a separate thread asks the index to save; None if there is nothing to save.
            pauses: the first pause after a fault and the longest, in seconds, if not the usual ones.
        """
        self._index = index
        self._done = done
        self._most_threads = threads
        self._save_seconds = save_seconds
        self._pauses = pauses or _PAUSES
        self._state = Condition()
        self._queue: dict[int, _Turn] = {}
        self._waiting = 0
        """How many threads wait."""
        self._threads: list[Thread] = []
        self._saver: Thread | None = None
        self._ended = False
        """Whether nothing is applied any more."""
        self._closing = Event()
        self.following = False
        """Whether changes are applied in the background, and not only where somebody waits for them."""

    @property
    def closing(self) -> bool:
        """Whether the service is stopping: an index then leaves off by raising something."""
        return self._closing.is_set()

    def start(self, collections: Iterable[int]) -> None:
        """Follow changes from now on, and apply what these collections lack."""
        self.following = True
        lacking = list(collections)  # it may take a while to find out
        with self._state:
            self._start_saver()
            for collection in lacking:
                self._enqueue(collection)

    def follow(self, collection: int) -> None:
        """Documents of a collection have changed: apply that in the background."""
        if self.following:
            with self._state:
                self._enqueue(collection)

    def wait(self, collections: Iterable[int], seconds: float, cancelled: Callable[[], bool] | None = None) -> None:
        """Bring collections in step before others, and wait for that.

        Returns as soon as each is in step or has failed, or after ``seconds``, or when the follower ends.

        Raises:
            ClientDisconnected: ``cancelled()``.
        """
        until = time.monotonic() + seconds
        with waiting_for_models(), self._state:
            turns = {id: turn for id in collections if (turn := self._enqueue(id)) is not None}
            self._waiting += 1
            for turn in turns.values():
                turn.waiting += 1
            try:
                while any(self._queue.get(id) is turn and not turn.pause for id, turn in turns.items()):
                    if cancelled is not None and cancelled():
                        raise ClientDisconnected("the client disconnected")
                    if (left := until - time.monotonic()) <= 0:
                        break
                    self._state.wait(min(left, _POLL_SECONDS))
            finally:
                self._waiting -= 1
                for turn in turns.values():
                    turn.waiting -= 1

    def run(self, collection: int, progress: Callable[[], None] | None = None) -> None:
        """Bring a collection in step on this thread, and save it; ``progress`` is called after each step.

        Raises:
            NotFound: the collection has been deleted.
        """
        in_step = False
        while not in_step:
            self._index.open(collection)
            in_step = self._index.apply(collection)
            self._index.save(force=in_step)
            if progress is not None:
                progress()

    def drop(self, collection: int, uid: str) -> None:
        """Remove the index of a deleted collection; whoever waits for it waits no longer."""
        with self._state:
            self._queue.pop(collection, None)
            self._state.notify_all()
        self._index.drop(collection, uid)

    def stop(self) -> None:
        """End the threads, and save nothing; a later start of the service goes on."""
        self._closing.set()
        self._end()
        for thread in (*self._threads, self._saver):
            if thread is not None:
                thread.join()

    def close(self) -> None:
        """End the threads, and save."""
        self.stop()
        self._index.save(force=True)

    def _enqueue(self, collection: int) -> _Turn | None:
        """The turn of a collection, due now; None if the follower has ended. Called with the state held."""
        if self._ended:
            return None
        turn = self._queue.setdefault(collection, _Turn())
        turn.changed, turn.due, turn.pause = True, 0.0, 0.0
        self._start_saver()
        if len(self._threads) < min(self._most_threads, len(self._queue)):
            self._threads.append(Thread(target=self._work, name="dragoman-follower", daemon=True))
            self._threads[-1].start()
        self._state.notify_all()
        return turn

    def _start_saver(self) -> None:
        if self._saver is None and self._save_seconds is not None and not self._ended:
            self._saver = Thread(target=self._save, args=(self._save_seconds,), name="dragoman-saver", daemon=True)
            self._saver.start()

    def _work(self) -> None:
        while (taken := self._take()) is not None:
            collection, turn = taken
            try:
                self._index.open(collection)
                in_step = self._index.apply(collection)
            except NotFound:  # deleted meanwhile
                self._settle(collection, turn, in_step=True)
            except Exception as fault:
                self._postpone(collection, turn, fault)
            else:
                self._settle(collection, turn, in_step)

    def _take(self) -> tuple[int, _Turn] | None:
        """The next collection whose changes are to be applied, once one is due; None when nothing is any more."""
        with self._state:
            while not self._ended:
                now = time.monotonic()
                awaited = next(self._due(now, awaited=True), None) if self._waiting else None
                if (taken := awaited or next(self._due(now), None)) is not None:
                    turn = taken[1]
                    turn.changed = turn.changed and turn.begun
                    turn.begun = turn.busy = True
                    return taken
                self._state.wait(min((turn.due - now for turn in self._queue.values() if not turn.busy), default=None))
        return None

    def _due(self, now: float, awaited: bool = False) -> Iterator[tuple[int, _Turn]]:
        """The collections that may be worked on, in their order; not all are looked at where the first will do."""
        for id, turn in self._queue.items():
            if not turn.busy and turn.due <= now and ((turn.waiting and not turn.failed) or not awaited):
                yield id, turn

    def _settle(self, collection: int, turn: _Turn, in_step: bool) -> None:
        """Let the others take their turns before this one, which is over if the collection is in step."""
        with self._state:
            turn.busy, turn.failed, turn.begun = False, False, not in_step
            if self._queue.get(collection) is turn:  # not dropped meanwhile
                del self._queue[collection]
                if turn.changed or not in_step:
                    self._queue[collection] = turn
            self._state.notify_all()

    def _postpone(self, collection: int, turn: _Turn, fault: Exception) -> None:
        """Try a collection again later, or at once if it has changed meanwhile; never if only a restart can help."""
        with self._state:
            if self._ended:
                return
            turn.busy, turn.failed, turn.begun = False, True, False
            if self._queue.get(collection) is turn:  # behind the others, so that it delays none of them
                del self._queue[collection]
                self._queue[collection] = turn
            if not turn.changed:
                first, most = self._pauses
                turn.pause = min(2 * turn.pause, most) if turn.pause else first
                turn.due = time.monotonic() + turn.pause
            self._state.notify_all()
        if isinstance(fault, NotInstalled):
            logger.warning("no documents are %s until the service starts again: %s", self._done, fault)
            self._end()
        elif (cause := classify(fault)) is not None:
            logger.warning("documents of a collection are not %s now: %s", self._done, cause)
        else:
            logger.error("documents of a collection could not be %s", self._done, exc_info=fault)

    def _end(self) -> None:
        with self._state:
            self._ended = True
            self._queue.clear()
            self._state.notify_all()

    def _save(self, seconds: float) -> None:
        while not self._closing.wait(seconds):
            try:
                lagging = self._index.save()
            except Exception:
                logger.exception("what was %s could not be saved", self._done)
                continue
            with self._state:
                for collection in lagging:
                    if collection not in self._queue:
                        self._enqueue(collection)
