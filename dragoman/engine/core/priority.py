"""Background work, such as batch jobs: it yields to requests and has a longer timeout for the models."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Condition

_wait_limit: ContextVar[float | None] = ContextVar("dragoman_background", default=None)


@contextmanager
def background(seconds: float) -> Iterator[None]:
    """Mark this thread's work in the block as background work, with a timeout in seconds for the models."""
    before = _wait_limit.set(seconds)
    try:
        yield
    finally:
        _wait_limit.reset(before)


def in_background() -> bool:
    """Whether this thread does background work, which fails and is retried instead of returning degraded results."""
    return _wait_limit.get() is not None


def wait_limit(seconds: float) -> float:
    """The timeout for the models: ``seconds``, or that of the background work."""
    limit = _wait_limit.get()
    return seconds if limit is None else limit


class Traffic:
    """Counts the requests in progress, so that background work can yield to them."""

    def __init__(self) -> None:
        self._changed = Condition()
        self._live = 0

    @contextmanager
    def live(self) -> Iterator[None]:
        """Count the block as a request in progress, unless it is background work."""
        if in_background():
            yield
            return
        self._count(1)
        try:
            yield
        finally:
            self._count(-1)

    def wait_until_idle(self, seconds: float) -> bool:
        """Wait until no request is in progress, for at most this many seconds; returns whether that is so."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._live, seconds)

    def _count(self, more: int) -> None:
        with self._changed:
            self._live += more
            self._publish(self._live)
            if not self._live:
                self._changed.notify_all()

    def _publish(self, live: int) -> None:
        """Tell others how many there are."""
