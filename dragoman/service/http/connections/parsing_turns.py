"""Turns to parse: what many lines arrive in is parsed a little at a time, one connection after the other."""

from __future__ import annotations

import asyncio
import math
from collections import deque
from collections.abc import Callable

_SHARE = 0.2
"""The share of the event loop's time that costly parsing may take, for all connections together."""


class ParsingTurns:
    """Whose turn it is to parse what is costly. Call it from the event loop's thread only."""

    def __init__(self) -> None:
        self._waiting: deque[Callable[[], None]] = deque()
        self._free_at = -math.inf
        self._timer: asyncio.TimerHandle | None = None

    def free(self) -> bool:
        """Whether a connection may parse now without waiting for its turn."""
        return not self._waiting and asyncio.get_running_loop().time() >= self._free_at

    def charge(self, seconds: float) -> None:
        """Costly parsing took so long."""
        self._free_at = max(asyncio.get_running_loop().time(), self._free_at) + seconds / _SHARE

    def wait(self, go_on: Callable[[], None]) -> None:
        """Call ``go_on`` once those before it have had their turns and all costly parsing its share."""
        self._waiting.append(go_on)
        self._await_next()

    def _await_next(self) -> None:
        if self._timer is None and self._waiting:
            self._timer = asyncio.get_running_loop().call_at(self._free_at, self._serve)

    def _serve(self) -> None:
        self._timer = None
        try:
            self._waiting.popleft()()
        finally:
            self._await_next()
