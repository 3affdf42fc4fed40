"""How fast things were done lately, and so when one that is refused now should come again."""

from __future__ import annotations

from collections import deque
from statistics import median
from threading import Lock

_REMEMBERED = 15
_LEAST_SECONDS, _MOST_SECONDS = 1.0, 60.0


class Pace:
    """The seconds that an item took lately. Safe from any thread."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._seconds: deque[float] = deque(maxlen=_REMEMBERED)
        self._spent = 0.0

    def note(self, items: int, seconds: float) -> None:
        """Note that this many items were finished after so long; with none, the time counts for the next ones."""
        with self._lock:
            self._spent += seconds
            if items:
                self._seconds.append(self._spent / items)
                self._spent = 0.0

    def wait(self, items: int) -> float:
        """The seconds that this many items will take, between 1 and 60; 1 before any was done.

        The median counts: one item that took long, as loading a model does, says little of the next.
        """
        with self._lock:
            each = median(self._seconds) if self._seconds else 0.0
        return min(max(_LEAST_SECONDS, items * each), _MOST_SECONDS)
