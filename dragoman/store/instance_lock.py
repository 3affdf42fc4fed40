"""Allows only one instance of the service per PostgreSQL database.

An instance tracks only its own changes. Changes by another instance would be missing from its indexes and snapshots,
and on startup it would remove uploads that the other one is still building. So every connection of an instance holds
a mark: a shared advisory lock, which PostgreSQL releases when the connection ends for any reason. While another
instance's mark exists, a connection is refused. The database also records the last instance that used it. So an
instance that lost its connections to another one does not continue with stale data.

The locks belong to a session: a pooler in between, such as PgBouncer, has to use session pooling.
"""

from __future__ import annotations

import os
import secrets
import socket
import time
from collections.abc import Callable
from typing import Any

from sqlalchemy import Engine, event

from dragoman.engine.core.errors import Unavailable

_GATE = 7_203_915_002
_MARKS = 720_391_503
_POLL_SECONDS = 0.2
_SERVER_KEEPALIVES = {"tcp_keepalives_idle": "30", "tcp_keepalives_interval": "10", "tcp_keepalives_count": "3"}
"""Seconds, seconds and count until the server drops a client whose machine has failed, and its mark with it."""

_OTHERS = """
    SELECT coalesce(nullif(activity.application_name, ''), 'process ' || locks.pid)
    FROM pg_locks AS locks LEFT JOIN pg_stat_activity AS activity ON activity.pid = locks.pid
    WHERE locks.locktype = 'advisory' AND locks.objsubid = 2 AND locks.classid = %s AND locks.objid <> %s
      AND locks.database = (SELECT oid FROM pg_database WHERE datname = current_database())
    LIMIT 1"""


class DatabaseTaken(Unavailable):
    """Another instance uses the database, or has used it since this one did."""


class DatabaseClaim:
    """The mark of this instance, set on each of its connections."""

    def __init__(self) -> None:
        self.instance_id = 1 + secrets.randbelow(2**31 - 1)
        self.name = instance_name()
        self.recorded = False
        """Whether the database has recorded this instance as the last one."""

    def mark(self, connection: Any) -> None:
        """Mark a new psycopg connection, which holds the mark until it is closed.

        Raises:
            DatabaseTaken: another instance uses the database, or has used it since this one did.
        """
        with connection.transaction():
            for setting, amount in _SERVER_KEEPALIVES.items():
                connection.execute("SELECT set_config(%s, %s, false)", (setting, amount))
            connection.execute("SELECT pg_advisory_xact_lock(%s)", (_GATE,))
            other = connection.execute(_OTHERS, (_MARKS, self.instance_id)).fetchone()
            if other is not None:
                raise DatabaseTaken(f"the database is in use by another instance ({other[0]})")
            if self.recorded:
                last = connection.execute("SELECT number, name FROM service_instance").fetchone()
                if last is None or last[0] != self.instance_id:
                    raise DatabaseTaken(
                        "another instance has used the database since "
                        f"({last[1] if last else 'unknown'}); restart this one"
                    )
            connection.execute("SELECT pg_advisory_lock_shared(%s, %s)", (_MARKS, self.instance_id))


def instance_name() -> str:
    """The application name of this process in PostgreSQL."""
    return f"dragoman process {os.getpid()} on {socket.gethostname()}"[:63]


def mark_connections(engine: Engine, claim: DatabaseClaim) -> None:
    """Mark every connection that the engine opens from now on."""

    @event.listens_for(engine, "do_connect")
    def connect(dialect: Any, _record: Any, arguments: list[Any], options: dict[str, Any]) -> Any:
        connection = dialect.connect(*arguments, **options)
        try:
            claim.mark(connection)
        except BaseException:
            connection.close()
            raise
        return connection


def retry_while_taken(work: Callable[[], None], seconds: float) -> None:
    """Run ``work`` and retry while the database is in use: the marks of a killed instance last a moment longer.

    Raises:
        DatabaseTaken: it is still in use after this many seconds.
    """
    until = time.monotonic() + seconds
    while True:
        try:
            work()
            return
        except DatabaseTaken:
            if time.monotonic() >= until:
                raise
        time.sleep(_POLL_SECONDS)
