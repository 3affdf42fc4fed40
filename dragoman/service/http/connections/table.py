"""All open connections of a server: their limit, their timers, and the bytes of answers that they hold."""

from __future__ import annotations

import logging
import resource
from dataclasses import dataclass
from typing import Protocol

from dragoman.engine.settings import Settings
from dragoman.service.http.connections.parsing_turns import ParsingTurns

logger = logging.getLogger("dragoman")

RESERVED = 32
"""Connections above the limit that are still accepted, for the probes; whatever else they ask for gets 503."""
_MOST = 4_096
_FEWEST = 16
_FILES_WANTED = 65_536
_STALLED_SECONDS = 0.25
"""A client that has not read for this long may lose its answer if all answers together hold too much."""


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """The limits of a server's connections; seconds and bytes."""

    most: int
    head_seconds: float
    send_seconds: float
    slowest: int
    """Bytes per second of an answer."""
    unsent_bytes: int

    @classmethod
    def of(cls, settings: Settings) -> ConnectionLimits:
        """Without a setting the most connections are half of the files that this process may open."""
        most = settings.server.connections or min(
            max(resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 2, _FEWEST), _MOST
        )
        return cls(
            most,
            settings.server.request_head_seconds,
            settings.server.send_idle_seconds,
            settings.requests.body_bytes_per_second,
            settings.server.unsent_bytes,
        )


class OpenConnection(Protocol):
    """What the table needs of a connection."""

    expected_by: float
    """When its next request has to be there, in the loop's time; infinite while one is under way."""

    def unsent(self) -> int:
        """Bytes of its answer that the client has not taken."""

    def seconds_left(self, now: float) -> float:
        """Seconds that the client may go on without reading; ``send_seconds`` while it reads."""

    def drop(self) -> None:
        """Close it at once."""


class Connections:
    """The open connections of one server. Call it from the event loop's thread only."""

    def __init__(self, limits: ConnectionLimits) -> None:
        self.limits = limits
        self.parsing = ParsingTurns()
        self._all: set[OpenConnection] = set()
        self._waiting: dict[OpenConnection, None] = {}
        """Those without a request under way, in the order in which they began to wait."""

    def __len__(self) -> int:
        return len(self._all)

    def enter(self, connection: OpenConnection) -> bool:
        """A connection was accepted; returns whether it is within the limit.

        Where it is not, those that have waited longest without a request make room.
        """
        self._all.add(connection)
        self.make_room(len(self._all) - self.limits.most)
        return len(self._all) <= self.limits.most

    @property
    def full(self) -> bool:
        """Whether there are more connections than even the reserve allows."""
        return len(self._all) > self.limits.most + RESERVED

    def make_room(self, count: int) -> None:
        """Close so many connections that wait without a request, if there are as many."""
        while count > 0 and self._waiting:
            connection = next(iter(self._waiting))
            self.leave(connection)
            connection.drop()
            count -= 1

    def wait(self, connection: OpenConnection) -> None:
        """A connection waits for a request from now on."""
        self._waiting.pop(connection, None)
        if connection in self._all:
            self._waiting[connection] = None

    def work(self, connection: OpenConnection) -> None:
        """A request of this connection is under way."""
        self._waiting.pop(connection, None)

    def leave(self, connection: OpenConnection) -> None:
        """A connection is closed."""
        self._all.discard(connection)
        self._waiting.pop(connection, None)

    def sweep(self, now: float) -> None:
        """Close all whose time is over, and those that hold too much."""
        for connection in [
            connection for connection in self._all if now >= connection.expected_by or connection.seconds_left(now) <= 0
        ]:
            connection.drop()
        self.limit_unsent(now)

    def limit_unsent(self, now: float) -> None:
        """Close connections whose clients don't read, worst first, while answers hold more than they may."""
        holding = [(connection, size) for connection in self._all if (size := connection.unsent())]
        over = sum(size for _, size in holding) - self.limits.unsent_bytes
        if over <= 0 or len(holding) == 1:
            return
        stalled = [(connection.seconds_left(now), size, connection) for connection, size in holding]
        stalled = [stall for stall in stalled if stall[0] <= self.limits.send_seconds - _STALLED_SECONDS]
        for _, size, connection in sorted(stalled, key=lambda stall: (stall[0], -stall[1])):
            if over <= 0:
                break
            logger.warning("a client that does not read its answer lost it: answers hold too much memory")
            connection.drop()
            over -= size


def raise_file_limit() -> None:
    """Let this process open as many files as the system allows it to."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    limit = _FILES_WANTED if hard == resource.RLIM_INFINITY else min(hard, _FILES_WANTED)
    if soft != resource.RLIM_INFINITY and soft < limit:
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))
