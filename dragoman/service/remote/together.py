"""Queries of many requests in one message: those that come while one is under way wait for it, and go together.

Both processes then pay for one message instead of many, and the model reads the queries in one pass.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Hashable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

from dragoman.engine.core.errors import Unavailable

__all__ = ["Entry", "Together", "fail", "follow"]

_MOST = 32
"""Most items of a message."""
_WAIT_SECONDS = 0.02
"""How long an item waits for another message: that may be one that takes long, or hangs."""


@dataclass(frozen=True, slots=True)
class Entry:
    """An item, the future of its result, how long whoever asks waits for that, and the id of that request."""

    content: Any
    future: Future[Any]
    seconds: float
    request: str | None = None


@dataclass(slots=True)
class _Line:
    """The items of one kind: how many messages are under way, and what waits."""

    under_way: int = 0
    waiting: list[Entry] = field(default_factory=list)
    timer: asyncio.TimerHandle | None = None


class Together:
    """Sends items, those of one kind together; used on the thread of one event loop."""

    def __init__(self, send: Callable[[Any, Sequence[Entry]], Coroutine[Any, Any, None]]) -> None:
        """``send`` sends a message of a kind, and is done when all futures of its items are."""
        self._send = send
        self._lines: dict[Hashable, _Line] = {}
        self._stopped = False

    def add(self, kind: Hashable, entry: Entry) -> None:
        """Send an item of a kind now, or soon with others."""
        line = self._lines.setdefault(kind, _Line())
        line.waiting.append(entry)
        if not line.under_way or len(line.waiting) >= _MOST:
            self._flush(kind, line)
        elif line.timer is None:
            line.timer = asyncio.get_running_loop().call_later(_WAIT_SECONDS, self._flush, kind, line)

    def stop(self) -> list[Entry]:
        """Send nothing any more; returns what waits."""
        self._stopped = True
        return [entry for line in self._lines.values() for entry in line.waiting]

    def _flush(self, kind: Hashable, line: _Line) -> None:
        """Send what waits, but for what nobody waits for any more."""
        if line.timer is not None:
            line.timer.cancel()
            line.timer = None
        entries = [entry for entry in line.waiting if not entry.future.cancelled()]
        line.waiting = []
        if entries:
            line.under_way += 1
            sending = asyncio.get_running_loop().create_task(self._send(kind, entries))
            follow(sending, [entry.future for entry in entries])
            sending.add_done_callback(lambda _: self._note_end(kind, line))
        elif not line.under_way:
            self._lines.pop(kind, None)

    def _note_end(self, kind: Hashable, line: _Line) -> None:
        line.under_way -= 1
        if not line.under_way and not self._stopped:
            self._flush(kind, line)


def follow(sending: asyncio.Task[None], futures: Sequence[Future[Any]]) -> None:
    """Cancel a message under way once all of its futures are cancelled, on whatever thread; none is left at its end."""
    loop = asyncio.get_running_loop()

    def note(_: Future[Any]) -> None:
        if all(future.cancelled() for future in futures):
            loop.call_soon_threadsafe(sending.cancel)

    for future in futures:
        future.add_done_callback(note)
    sending.add_done_callback(lambda _: fail(futures, Unavailable("the service is stopping")))


def fail(futures: Sequence[Future[Any]], fault: Exception) -> None:
    """Give those that are not done a fault."""
    for future in futures:
        if not future.done() and future.set_running_or_notify_cancel():
            future.set_exception(fault)
