"""What was read of the database lately, kept as long as nobody has changed the database since."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Hashable, Mapping, Sequence
from threading import Lock
from typing import Any, Generic, TypeVar

from sqlalchemy import Engine

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class CommitCounter:
    """Tells by a number whether an SQLite database may have changed: SQLite counts the commits of all processes.

    PostgreSQL counts none that is as quick to read.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._lock = Lock()
        self._connection: sqlite3.Connection | None = None
        self._connections = 0
        self._countable = engine.dialect.name == "sqlite" and engine.url.database not in (None, "", ":memory:")

    def count(self) -> tuple[int, int] | None:
        """Other numbers after each commit; None where that cannot be told.

        The first counts the connections: what SQLite counts means something to one connection alone.
        """
        if not self._countable:
            return None
        try:
            with self._lock:
                if self._connection is None:
                    self._connection = self._connect()
                    self._connections += 1
                return self._connections, int(self._connection.execute("PRAGMA data_version").fetchone()[0])
        except sqlite3.Error:  # whoever reads the rows learns what is wrong
            self.close()
            return None

    def _connect(self) -> sqlite3.Connection:
        """A connection of its own: the number is that of the commits of all others."""
        arguments, options = self._engine.dialect.create_connect_args(self._engine.url)
        connect: Any = sqlite3.connect
        connection: sqlite3.Connection = connect(
            *arguments, **{**options, "check_same_thread": False, "isolation_level": None}
        )
        return connection

    def close(self) -> None:
        """Let the database go; it is opened again when it is asked for."""
        with self._lock:
            connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()


class Recent(Generic[K, V]):
    """What is read by its key, while no commit is counted. Thread-safe."""

    def __init__(self, commits: CommitCounter, most: int, size: Callable[[V], int] = lambda content: 1) -> None:
        """At most ``most`` together is kept, by ``size``; the oldest goes first."""
        self._commits = commits
        self._most, self._left = most, most
        self._size = size
        self._count: tuple[int, int] | None = None
        self._contents: dict[K, V] = {}
        self._lock = Lock()

    def get(self, keys: Sequence[K], read: Callable[[Sequence[K]], Mapping[K, V]]) -> dict[K, V]:
        """What there is by some keys; ``read`` reads what is not kept."""
        count = self._commits.count()  # before anything is read, so that what is kept is never older
        if count is None:
            return dict(read(keys))
        with self._lock:
            if count != self._count:
                self._contents, self._count, self._left = {}, count, self._most
            present = {key: self._contents[key] for key in keys if key in self._contents}
        missing = [key for key in keys if key not in present]
        if not missing:
            return present
        fresh = read(missing)
        with self._lock:
            if count == self._count:
                for key, content in fresh.items():
                    self._keep(key, content)
        return {**present, **fresh}

    def _keep(self, key: K, content: V) -> None:
        size = self._size(content)
        if key in self._contents or size > self._most:
            return
        self._contents[key] = content
        self._left -= size
        while self._left < 0:
            oldest = next(iter(self._contents))
            self._left += self._size(self._contents.pop(oldest))
