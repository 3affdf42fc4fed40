"""Several shards that are asked at a time; those that fail or are late are left out of the answer."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Executor, Future, wait
from contextlib import suppress
from functools import partial
from typing import Generic, NamedTuple, TypeVar

from dragoman.deadline import check, remaining
from dragoman.indexes.errors import IndexClosed, IndexCorrupt, ShardLate

__all__ = ["ShardGroup", "Unsearched", "shard_of"]

_LONGEST_SECONDS = 30.0
_SHARE_OF_TIME = 0.75
"""Of the time that is left, what a late shard may take: the answer has to be made of what the others found."""
_POLL_SECONDS = 0.1
_REST_SECONDS = 10.0
"""How long a shard that was late is not asked: else each round of a search would wait for it."""
_MASK = (1 << 64) - 1

S = TypeVar("S")
T = TypeVar("T")


class Unsearched(NamedTuple):
    """A part of an index that did not answer: the share of the documents that it has, and why."""

    share: float
    fault: Exception


def shard_of(key: int, shards: int) -> int:
    """The shard of a document: SplitMix64's finaliser (Steele, Lea & Flood 2014) of its key, modulo ``shards``."""
    mixed = key & _MASK
    mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9 & _MASK
    mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EB & _MASK
    return (mixed ^ (mixed >> 31)) % shards


class ShardGroup(Generic[S]):
    """Shards that hold the documents of one index by their keys. Thread-safe."""

    def __init__(self, shards: Sequence[S], pool: Executor, faults: tuple[type[Exception], ...]) -> None:
        """``pool`` runs their work; ``faults`` are what a shard may raise by itself, and not for the question."""
        self.shards = shards
        self._pool = pool
        self._faults = faults
        self._resting: dict[int, float] = {}
        """Until when shards that were late are not asked."""
        self.damage: Exception | None = None
        """What was wrong with a shard that could not answer and never will."""

    def ask(
        self,
        ask: Callable[[S, int], T],
        only: Collection[int] | None = None,
        late: Callable[[S, T], None] | None = None,
    ) -> tuple[dict[int, T], dict[int, Exception]]:
        """The answers of shards by their positions, and the faults of the others. ``late`` gets what comes too late.

        Raises:
            Exception: what the first shard raised, where none answered.
            WorkCancelled: nobody waits for it any more.
        """
        positions = list(range(len(self.shards))) if only is None else sorted(only)
        if len(self.shards) == 1:
            return {position: ask(self.shards[position], position) for position in positions}, {}
        now = time.monotonic()
        awake = [position for position in positions if self._resting.get(position, 0.0) <= now] or positions
        futures: dict[int, Future[T]] = {}
        try:
            for position in awake:
                futures[position] = self._pool.submit(ask, self.shards[position], position)
            _wait(list(futures.values()), remaining(_LONGEST_SECONDS) * _SHARE_OF_TIME)
            answers, faults = self._collect(futures)
            if futures and not answers:
                raise next(iter(faults.values()))
        except BaseException:
            self._abandon(futures, late)
            raise
        self._abandon({position: futures[position] for position in faults}, late)
        return answers, faults | {position: ShardLate(position) for position in positions if position not in awake}

    @property
    def whole(self) -> bool:
        """Whether no shard is known to be damaged or late."""
        return self.damage is None and (not self._resting or max(self._resting.values()) <= time.monotonic())

    def list_unsearched(self, faults: Mapping[int, Exception]) -> tuple[Unsearched, ...]:
        """The shards that did not answer."""
        return tuple(Unsearched(1 / len(self.shards), fault) for _, fault in sorted(faults.items()))

    def spread(self, changes: Collection[T], key: Callable[[T], int]) -> dict[int, list[T]]:
        """What is for each shard, by its position, of documents or what else has their keys."""
        if len(self.shards) == 1:
            return {0: list(changes)} if changes else {}
        spread: dict[int, list[T]] = {}
        for change in changes:
            spread.setdefault(shard_of(key(change), len(self.shards)), []).append(change)
        return spread

    def _collect(self, futures: Mapping[int, Future[T]]) -> tuple[dict[int, T], dict[int, Exception]]:
        answers: dict[int, T] = {}
        faults: dict[int, Exception] = {}
        for position, future in futures.items():
            fault: BaseException | None = future.exception() if future.done() else ShardLate(position)
            if fault is None:
                answers[position] = future.result()
            elif isinstance(fault, Exception) and isinstance(fault, (*self._faults, ShardLate)):
                faults[position] = fault
            else:
                raise fault
            if isinstance(fault, ShardLate):
                self._resting[position] = time.monotonic() + _REST_SECONDS
            if isinstance(fault, (IndexCorrupt, IndexClosed)):
                self.damage = fault
        return answers, faults

    def _abandon(self, futures: Mapping[int, Future[T]], late: Callable[[S, T], None] | None) -> None:
        """Nobody takes the answers of these: what is not begun is not done, and ``late`` gets what comes."""
        for position, future in futures.items():
            if not future.cancel() and late is not None:
                future.add_done_callback(partial(self._give_back, late, self.shards[position]))

    def _give_back(self, end: Callable[[S, T], None], shard: S, future: Future[T]) -> None:
        if future.exception() is None:
            with suppress(*self._faults):
                end(shard, future.result())


def _wait(futures: Sequence[Future[T]], seconds: float) -> None:
    """Wait until all are done, or for ``seconds``, as long as somebody waits for the answer."""
    while futures and seconds > 0:
        futures = list(wait(futures, min(seconds, _POLL_SECONDS)).not_done)
        seconds -= _POLL_SECONDS
        check()
