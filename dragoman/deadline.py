"""A deadline and a cancellation for a piece of work, known to all that the work calls on its thread.

Whoever begins the work opens a :func:`deadline`; loops over input of a caller's size call :func:`check` on their way.
So a function far below needs no parameter for it, and work without a deadline runs as ever.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

__all__ = ["DeadlinePassed", "WorkCancelled", "check", "check_each", "deadline", "pause", "remaining"]

T = TypeVar("T")

_POLL_SECONDS = 0.1
"""How often whoever cancels is asked; asking may cost more than a step of the work."""


class DeadlinePassed(Exception):
    """The work took longer than it may."""


class WorkCancelled(Exception):
    """Nobody waits for the work any more."""


class _Limit:
    """When to stop; ``outer`` is the limit of the work that this is a part of."""

    __slots__ = ("at", "cancelled", "outer", "poll_at")

    def __init__(self, at: float, cancelled: Callable[[], bool] | None, outer: _Limit | None) -> None:
        self.at = at
        self.cancelled = cancelled
        self.outer = outer
        self.poll_at = 0.0

    def check(self, now: float) -> None:
        if now >= self.at:
            raise DeadlinePassed("it took longer than it may")
        if self.cancelled is not None and now >= self.poll_at:
            self.poll_at = now + _POLL_SECONDS
            if self.cancelled():
                raise WorkCancelled("nobody waits for it any more")
        if self.outer is not None:
            self.outer.check(now)


_limit: ContextVar[_Limit | None] = ContextVar("dragoman_deadline", default=None)


@contextmanager
def deadline(seconds: float, cancelled: Callable[[], bool] | None = None) -> Iterator[None]:
    """Let the block take ``seconds`` at most, and stop it once ``cancelled`` says so; an outer deadline counts too."""
    before = _limit.get()
    token = _limit.set(_Limit(time.monotonic() + seconds, cancelled, before))
    try:
        yield
    finally:
        _limit.reset(token)


@contextmanager
def pause() -> Iterator[None]:
    """Let the time of the block count for no deadline: whoever waits in it for others has a limit of its own."""
    since = time.monotonic()
    try:
        yield
    finally:
        spent = time.monotonic() - since
        limit = _limit.get()
        while limit is not None:
            limit.at += spent
            limit = limit.outer


def check() -> None:
    """Stop the work if it is over; costs a fraction of a microsecond.

    Raises:
        DeadlinePassed: it took longer than it may.
        WorkCancelled: nobody waits for it any more.
    """
    limit = _limit.get()
    if limit is not None:
        limit.check(time.monotonic())


def check_each(steps: Iterable[T], interval: int = 1) -> Iterator[T]:
    """The ``steps`` of a loop, with a :func:`check` before the first and then once every ``interval`` steps."""
    left = 0
    for step in steps:
        if left == 0:
            check()
            left = interval
        left -= 1
        yield step


def remaining(seconds: float) -> float:
    """The seconds that are left, at most ``seconds``; 0 if the deadline has passed."""
    limit = _limit.get()
    now = time.monotonic()
    while limit is not None:
        seconds = min(seconds, limit.at - now)
        limit = limit.outer
    return max(0.0, seconds)
