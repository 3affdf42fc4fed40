"""The follower, with a small index in memory: nothing is lost, nobody waits for ever, whatever fails and whenever."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from threading import Condition, Event, Thread

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.engine.core.errors import ClientDisconnected, NotFound, NotInstalled, Unavailable
from dragoman.engine.indexing.feed import Feed, KeyFilter
from dragoman.engine.indexing.follower import FollowedIndex, Follower
from dragoman.engine.indexing.sources import CollectionRecord, SourceDocument, Version, Versions

LONG = 60.0
"""Seconds within which what a test waits for comes true, unless the follower is broken."""
QUICK = (0.001, 0.004)


class Documents:
    """Documents in memory: their generations, by collection and key; those deleted stay, as tombstones."""

    def __init__(self, collections: Sequence[int]) -> None:
        self._lock = threading.Lock()
        self._versions: dict[int, dict[int, Version]] = {collection: {} for collection in collections}

    def write(self, collection: int, key: int, deleted: bool = False) -> None:
        with self._lock:
            versions = self._versions[collection]
            versions[key] = Version(key, self._generation(collection) + 1, deleted)

    def remove(self, collection: int) -> None:
        with self._lock:
            del self._versions[collection]

    def present(self, collection: int) -> dict[int, int]:
        with self._lock:
            versions = self._versions.get(collection, {}).values()
            return {version.key: version.generation for version in versions if not version.deleted}

    def collection(self, collection: int) -> CollectionRecord:
        with self._lock:
            if collection not in self._versions:
                raise NotFound("the collection has been deleted")
            return CollectionRecord(collection, str(collection), "", self._generation(collection), 0, None, False)

    def changes(self, collection: int, after: int) -> Iterator[Sequence[SourceDocument]]:
        """Two documents a batch."""
        while changes := self.versions(collection, after).changes[:2]:
            yield [SourceDocument(each.key, each.generation, "sw", None, "", each.deleted) for each in changes]
            after = changes[-1].generation

    def versions(self, collection: int, after: int) -> Versions:
        generation = self.collection(collection).generation
        with self._lock:
            versions = sorted(self._versions.get(collection, {}).values(), key=lambda version: version.generation)
        return Versions(generation, None, [version for version in versions if version.generation > after])

    def _generation(self, collection: int) -> int:
        return max((version.generation for version in self._versions[collection].values()), default=0)

    collections = documents = generations = purge = None  # type: ignore[assignment]


class MemoryIndex:
    """Has the generations of documents by key, and fails as often as it is told."""

    def __init__(self, source: Documents, keys: KeyFilter | None = None) -> None:
        self._feed = Feed(source, keys)  # type: ignore[arg-type]
        self.changed = Condition()
        self.applied: dict[int, dict[int, int]] = {}
        self._pending: dict[int, list[SourceDocument]] = {}
        self._generations: dict[int, int] = {}
        self._saved: dict[int, tuple[int, dict[int, int]]] = {}
        self.faults: list[Exception] = []
        """What the next calls raise."""
        self.applying: list[int] = []
        """The collections in the order of their turns."""

    def open(self, collection: int) -> None:
        with self.changed:
            self.applied.setdefault(collection, {})
            self._generations.setdefault(collection, -1)

    def apply(self, collection: int) -> bool:
        """Takes in all changes, and applies one of them."""
        with self.changed:
            self.applying.append(collection)
            if self.faults:
                raise self.faults.pop()
            pending = self._pending.setdefault(collection, [])
            after = self._generations[collection]
            self._generations[collection] = self._feed.replay(collection, after, pending.extend)
            if pending:
                document = pending.pop(0)
                self.applied[collection].pop(document.key, None)
                if not document.deleted:
                    self.applied[collection][document.key] = document.generation
            self.changed.notify_all()
            return not pending

    def save(self, *, force: bool = False) -> list[int]:
        with self.changed:
            for collection, pending in self._pending.items():
                if not pending:
                    self._saved[collection] = (self._generations[collection], dict(self.applied[collection]))
        return []

    def drop(self, collection: int, uid: str) -> None:
        with self.changed:
            for state in (self.applied, self._pending, self._generations, self._saved):
                state.pop(collection, None)  # type: ignore[attr-defined]

    def crash(self) -> None:
        """Forget what was not saved."""
        with self.changed:
            self._pending.clear()
            self._generations = {collection: generation for collection, (generation, _) in self._saved.items()}
            self.applied = {collection: dict(applied) for collection, (_, applied) in self._saved.items()}

    def wait(self, condition: Callable[[], bool]) -> bool:
        with self.changed:
            return self.changed.wait_for(condition, LONG)


class ScriptedIndex:
    """Lets a test see and steer each turn."""

    def __init__(self, apply: Callable[[int], bool], saves: Sequence[list[int] | Exception] = ()) -> None:
        """``saves`` are the outcomes of the first calls of :meth:`save`."""
        self.apply = apply
        self._saves = list(saves)

    def open(self, collection: int) -> None: ...

    def save(self, *, force: bool = False) -> list[int]:
        lagging = self._saves.pop(0) if self._saves else []
        if isinstance(lagging, Exception):
            raise lagging
        return lagging

    def drop(self, collection: int, uid: str) -> None: ...


@contextmanager
def following(index: FollowedIndex, **options: object) -> Iterator[Follower]:
    follower = Follower(index, "followed", **{"pauses": QUICK, **options})  # type: ignore[arg-type]
    follower.start([])
    try:
        yield follower
    finally:
        follower.close()


def waiter(follower: Follower, collections: Sequence[int]) -> Thread:
    thread = Thread(target=follower.wait, args=(collections, 10 * LONG), daemon=True)
    thread.start()
    return thread


def ended(thread: Thread) -> bool:
    thread.join(LONG)
    return not thread.is_alive()


COLLECTIONS = (1, 2, 3)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("write"), st.sampled_from(COLLECTIONS), st.integers(0, 5)),
        st.tuples(st.just("delete"), st.sampled_from(COLLECTIONS), st.integers(0, 5)),
        st.tuples(st.just("fault"), st.sampled_from([Unavailable("busy"), ValueError("broken")]), st.integers(1, 3)),
        st.tuples(st.sampled_from(["wait", "drop"]), st.sampled_from(COLLECTIONS), st.none()),
        st.tuples(st.sampled_from(["close", "crash"]), st.none(), st.none()),
    ),
    max_size=30,
)


@settings(max_examples=150, deadline=None)
@given(STEPS, st.sampled_from([1, 3]), st.sampled_from([None, lambda key: key % 2 == 0]))
def test_whatever_happens_the_index_has_at_last_what_the_source_has(
    steps: list[tuple[str, object, int]], threads: int, keys: KeyFilter | None
) -> None:
    source = Documents(COLLECTIONS)
    index = MemoryIndex(source, keys)
    dropped: set[int] = set()
    waiting: list[Thread] = []

    def begin() -> Follower:
        follower = Follower(index, "followed", threads=threads, save_seconds=0.001, pauses=QUICK)
        follower.start([collection for collection in COLLECTIONS if collection not in dropped])
        return follower

    follower = begin()
    try:
        for deed, subject, count in steps:
            if subject in dropped:
                continue
            if deed in ("write", "delete"):
                source.write(subject, count, deed == "delete")  # type: ignore[arg-type]
                follower.follow(subject)  # type: ignore[arg-type]
            elif deed == "fault":
                with index.changed:
                    index.faults = [subject] * count  # type: ignore[list-item]
            elif deed == "wait":
                waiting.append(waiter(follower, [subject, 1]))  # type: ignore[list-item]
            elif deed == "drop":
                dropped.add(subject)  # type: ignore[arg-type]
                source.remove(subject)  # type: ignore[arg-type]
                follower.drop(subject, "")  # type: ignore[arg-type]
            else:
                follower.close() if deed == "close" else follower.stop()
                if deed == "crash":
                    index.crash()
                follower = begin()
        expected = {
            collection: {key: at for key, at in source.present(collection).items() if keys is None or keys(key)}
            for collection in COLLECTIONS
            if collection not in dropped
        }
        for collection, versions in expected.items():
            assert index.wait(lambda c=collection, v=versions: index.applied.get(c, {}) == v)  # type: ignore[misc]
        assert all(ended(thread) for thread in waiting)
    finally:
        follower.close()
    assert follower._queue == {} and not any(thread.is_alive() for thread in follower._threads)


def test_a_collection_that_somebody_waits_for_comes_first() -> None:
    order: list[int] = []
    begun, go_on = Event(), Event()

    def apply(collection: int) -> bool:
        order.append(collection)
        begun.set()
        assert go_on.wait(LONG)
        return order.count(collection) >= 2

    with following(ScriptedIndex(apply)) as follower:
        for collection in (1, 2, 3):
            follower.follow(collection)
        assert begun.wait(LONG)
        thread = waiter(follower, [3])
        with follower._state:
            assert follower._state.wait_for(lambda: follower._queue[3].waiting == 1, LONG)
        go_on.set()
        assert ended(thread)
    assert order[:3] == [1, 3, 3]


@pytest.mark.parametrize("outcomes", [[True, True], [False, True, True], [Unavailable("busy"), True]])
def test_what_changes_during_a_turn_is_applied_in_another(outcomes: list[bool | Exception]) -> None:
    """Also where the turn leaves something to the next, and at once where it fails."""
    turns: list[int] = []
    begun, go_on, last = Event(), Event(), Event()

    def apply(collection: int) -> bool:
        turns.append(collection)
        begun.set()
        assert go_on.wait(LONG)
        if len(turns) == len(outcomes):
            last.set()
        if isinstance(outcome := outcomes[len(turns) - 1], Exception):
            raise outcome
        return outcome

    with following(ScriptedIndex(apply), pauses=(3600.0, 3600.0)) as follower:
        follower.follow(1)
        assert begun.wait(LONG)
        follower.follow(1)
        go_on.set()
        assert last.wait(LONG)
    assert turns == [1] * len(outcomes)


def test_no_collection_has_two_turns_at_a_time() -> None:
    turns: list[int] = []
    begun, go_on, other = Event(), Event(), Event()

    def apply(collection: int) -> bool:
        turns.append(collection)
        (begun if collection == 1 else other).set()
        return collection == 2 or go_on.wait(LONG)

    with following(ScriptedIndex(apply), threads=2) as follower:
        follower.follow(1)
        assert begun.wait(LONG)
        follower.follow(1)
        follower.follow(2)
        assert other.wait(LONG)
        assert turns == [1, 2]
        go_on.set()


def test_the_pause_doubles_with_each_fault_until_a_change_comes() -> None:
    pauses: list[float] = []
    changed = Event()

    def apply(collection: int) -> bool:
        pauses.append(follower._queue[collection].pause)
        if len(pauses) < 6:
            raise ValueError("broken")
        changed.set()
        return True

    with following(ScriptedIndex(apply)) as follower:
        follower.follow(1)
        assert changed.wait(LONG)
        assert pauses == [0.0, 0.001, 0.002, 0.004, 0.004, 0.004]
        follower.wait([1], LONG)
        assert pauses[6:] in ([0.0], [0.0, 0.0])


def test_a_collection_that_fails_delays_no_other_and_keeps_nobody_waiting() -> None:
    def apply(collection: int) -> bool:
        if collection == 1:
            raise Unavailable("busy")
        return True

    with following(ScriptedIndex(apply), pauses=(3600.0, 3600.0)) as follower:
        assert ended(waiter(follower, [1, 2]))
        assert set(follower._queue) == {1}


def test_two_threads_work_on_two_collections() -> None:
    both = threading.Barrier(2)

    def apply(collection: int) -> bool:
        both.wait(LONG)
        return True

    with following(ScriptedIndex(apply), threads=2) as follower:
        assert ended(waiter(follower, [1, 2]))


@pytest.mark.parametrize("waiting", [False, True])
def test_a_collection_that_fails_and_changes_all_the_time_delays_no_other(waiting: bool) -> None:
    done = Event()

    def apply(collection: int) -> bool:
        if collection == 1 and not done.is_set():
            follower.follow(1)
            raise Unavailable("not now")
        done.set()
        return True

    with following(ScriptedIndex(apply)) as follower:
        follower.follow(1)
        thread = waiter(follower, [1]) if waiting else None
        follower.follow(2)
        assert done.wait(LONG)
        assert thread is None or ended(thread)


def test_without_what_must_be_installed_it_ends(caplog: pytest.LogCaptureFixture) -> None:
    def apply(collection: int) -> bool:
        raise NotInstalled("no model")

    with following(ScriptedIndex(apply)) as follower:
        assert ended(waiter(follower, [1, 2, 3]))
        (thread,) = follower._threads
        assert ended(thread)
        follower.wait([1], LONG)
    assert [record.message for record in caplog.records] == [
        "no documents are followed until the service starts again: no model"
    ]


@pytest.mark.parametrize("how", ["drop", "stop"])
def test_nobody_waits_for_what_is_dropped_or_after_the_end(how: str) -> None:
    begun, go_on = Event(), Event()

    def apply(collection: int) -> bool:
        begun.set()
        assert go_on.wait(LONG)
        return False

    with following(ScriptedIndex(apply)) as follower:
        thread = waiter(follower, [1])
        assert begun.wait(LONG)
        ending = Thread(target=follower.stop if how == "stop" else lambda: follower.drop(1, ""))
        ending.start()
        assert ended(thread)
        go_on.set()
        assert ended(ending)


def test_a_client_who_leaves_waits_no_longer() -> None:
    go_on = Event()
    with following(ScriptedIndex(lambda collection: go_on.wait(LONG))) as follower:
        with pytest.raises(ClientDisconnected):
            follower.wait([1], LONG, lambda: True)
        assert follower._queue[1].waiting == 0
        go_on.set()


def test_an_index_that_lags_when_it_is_saved_is_brought_in_step_after_a_fault_too() -> None:
    brought = Event()

    def apply(collection: int) -> bool:
        assert collection == 7
        brought.set()
        return True

    with following(ScriptedIndex(apply, saves=[OSError(28, "No space left"), [7]]), save_seconds=0.001):
        assert brought.wait(LONG)


def test_a_command_brings_a_collection_in_step_on_its_own_thread() -> None:
    source = Documents([1])
    for key in range(4):
        source.write(1, key)
    source.write(1, 2, deleted=True)
    index = MemoryIndex(source)
    follower = Follower(index, "followed")
    progress: list[int] = []
    follower.run(1, lambda: progress.append(len(index.applied[1])))
    assert index.applied[1] == source.present(1)
    assert progress == [1, 2, 3, 3]
    assert follower._threads == []
    follower.follow(1)  # it does not follow
    assert follower._queue == {}
    index.crash()
    assert index.applied[1] == source.present(1)  # saved
