"""Work that nobody waits for, such as a batch job's: it gives way to requests and waits longer for the models."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Condition

_wait_limit: ContextVar[float | None] = ContextVar("dragoman_background", default=None)


@contextmanager
def background(seconds: float) -> Iterator[None]:
    """What this thread does in the block is background work, which waits so many seconds for the models."""
    before = _wait_limit.set(seconds)
    try:
        yield
    finally:
        _wait_limit.reset(before)


def in_background() -> bool:
    """Whether this thread does background work: it is not degraded to be quick, it fails and is tried again."""
    return _wait_limit.get() is not None


def wait_limit(seconds: float) -> float:
    """How long to wait for the models: ``seconds``, or what background work was given."""
    given = _wait_limit.get()
    return seconds if given is None else given


class Traffic:
    """Counts the requests that are being answered, so that background work can let them pass."""

    def __init__(self) -> None:
        self._changed = Condition()
        self._live = 0

    @contextmanager
    def live(self) -> Iterator[None]:
        """The block answers a request, unless it is background work."""
        if in_background():
            yield
            return
        with self._changed:
            self._live += 1
        try:
            yield
        finally:
            with self._changed:
                self._live -= 1
                self._changed.notify_all()

    def give_way(self, seconds: float) -> None:
        """Wait until no request is being answered, so many seconds at most."""
        with self._changed:
            self._changed.wait_for(lambda: not self._live, seconds)
