"""Turns: what callers share so that none of them, however much it asks for, keeps the others waiting."""

from __future__ import annotations

import time
from collections import OrderedDict, deque
from collections.abc import Callable, Hashable, Iterator
from concurrent.futures import Future, wait
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from threading import Lock

from dragoman.deadline import pause
from dragoman.engine.core.errors import ClientDisconnected, OutOfTime

_POLL_SECONDS = 0.2
_RETURN_SECONDS = 10.0
"""How long a thread waits to go on after the models, should it hold what those need whose turn it is."""


class Turns:
    """A number of turns, of which one caller holds only some at a time. Safe from any thread.

    A free turn goes to the caller who holds the fewest, and of those to the one who was served longest ago; so a caller
    with many requests gets no more than one with a single one.
    """

    def __init__(self, most: int, of_caller: int) -> None:
        """``most`` turns at a time, ``of_caller`` of them for the same caller."""
        self._most, self._of_caller = most, of_caller
        self._held: dict[Hashable, int] = {}
        self._waiting: OrderedDict[Hashable, deque[Future[None]]] = OrderedDict()
        self._lock = Lock()

    def take(self, caller: Hashable) -> Future[None]:
        """A turn, once the future is done; then :meth:`give_back` ends it."""
        turn: Future[None] = Future()
        with self._lock:
            self._waiting.setdefault(caller, deque()).append(turn)
        self._serve()
        return turn

    def take_anyway(self, caller: Hashable) -> None:
        """A turn now, though none may be free."""
        with self._lock:
            self._held[caller] = self._held.get(caller, 0) + 1

    def give_back(self, caller: Hashable) -> None:
        """End a turn."""
        with self._lock:
            self._held[caller] -= 1
            if not self._held[caller]:
                del self._held[caller]
        self._serve()

    def withdraw(self, caller: Hashable, turn: Future[None]) -> None:
        """Give up a turn, whether its time has come or not."""
        with self._lock:
            queue = self._waiting.get(caller, deque())
            still = turn in queue
            if still:
                queue.remove(turn)
                if not queue:
                    del self._waiting[caller]
        if not still:
            self.give_back(caller)

    def waiting(self) -> int:
        """How many turns are waited for."""
        with self._lock:
            return sum(map(len, self._waiting.values()))

    def _serve(self) -> None:
        while (turn := self._next()) is not None:
            turn.set_result(None)

    def _next(self) -> Future[None] | None:
        with self._lock:
            taken = sum(min(held, self._of_caller) for held in self._held.values())  # more, where one went on anyway
            if taken >= self._most or not self._waiting:
                return None
            caller = min(self._waiting, key=lambda waiting_caller: self._held.get(waiting_caller, 0))
            if self._held.get(caller, 0) >= self._of_caller:
                return None
            queue = self._waiting[caller]
            turn = queue.popleft()
            if queue:
                self._waiting.move_to_end(caller)
            else:
                del self._waiting[caller]
            self._held[caller] = self._held.get(caller, 0) + 1
            return turn


@dataclass(frozen=True, slots=True)
class Turn:
    """A turn that a caller's thread holds."""

    turns: Turns
    caller: Hashable


_turn: ContextVar[Turn | None] = ContextVar("dragoman_turn", default=None)
_served: ContextVar[Hashable] = ContextVar("dragoman_served", default=None)


@contextmanager
def hold_turn(turn: Turn) -> Iterator[None]:
    """Note in the block that this thread holds a turn."""
    token = _turn.set(turn)
    try:
        yield
    finally:
        _turn.reset(token)


@contextmanager
def on_behalf_of(caller: Hashable) -> Iterator[None]:
    """Note in the block for whom work is done that takes no turn to compute."""
    token = _served.set(caller)
    try:
        yield
    finally:
        _served.reset(token)


def caller() -> Hashable:
    """Whose turn it is on this thread, or for whom it works without one; None outside of requests."""
    turn = _turn.get()
    return _served.get() if turn is None else turn.caller


@contextmanager
def turn(turns: Turns, seconds: float, cancelled: Callable[[], bool] | None = None) -> Iterator[None]:
    """One of ``turns`` for the block; while the thread waits for it, ``seconds`` at most, it leaves its own to others.

    Raises:
        OutOfTime: it did not come in time.
        ClientDisconnected: ``cancelled()``.
    """
    whose, until = caller(), time.monotonic() + seconds
    coming = turns.take(whose)
    try:
        with waiting_for_models():
            while not wait([coming], _POLL_SECONDS).done:
                if cancelled is not None and cancelled():
                    raise ClientDisconnected("the client disconnected")
                if time.monotonic() >= until:
                    raise OutOfTime("the service has too much to do: the request waited too long for its turn")
        yield
    finally:
        turns.withdraw(whose, coming)


@contextmanager
def waiting_for_models() -> Iterator[None]:
    """Leave this thread's turn to others in the block, and let its time count for no deadline but the models' own."""
    turn = _turn.get()
    with pause():
        if turn is None:
            yield
            return
        turn.turns.give_back(turn.caller)
        try:
            yield
        finally:
            again = turn.turns.take(turn.caller)
            if not wait([again], _RETURN_SECONDS).done:
                turn.turns.take_anyway(turn.caller)
                turn.turns.withdraw(turn.caller, again)
