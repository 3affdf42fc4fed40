"""Maps database exceptions to the errors that callers get."""

from __future__ import annotations

import sqlite3

from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from dragoman.engine.core.errors import DISK_FULL, Conflict, ServiceError, StorageFull, Unavailable, classifies

_CHANGED = "another request changed the same thing at the same time"


@classifies(PoolTimeout)
def _no_connection(fault: PoolTimeout) -> ServiceError:
    return Unavailable("the database has no free connection")


@classifies(DBAPIError)
def _of_the_driver(fault: DBAPIError) -> ServiceError | None:
    return _sqlite(fault.orig) or _postgresql(fault.orig, fault.connection_invalidated)


@classifies(Exception)
def _of_a_copy(fault: Exception) -> ServiceError | None:
    """psycopg's own faults come from COPY, which SQLAlchemy does not wrap."""
    return _postgresql(fault)


def _sqlite(fault: BaseException | None) -> ServiceError | None:
    if not isinstance(fault, sqlite3.Error):
        return None
    code = getattr(fault, "sqlite_errorcode", 0) & 0xFF
    if code == sqlite3.SQLITE_FULL:
        return StorageFull(DISK_FULL)
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return Unavailable("the database is busy with another writer")
    if code in (sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY):
        return Unavailable("the database file cannot be read or written")
    if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
        return Unavailable("the database file is damaged")
    if isinstance(fault, sqlite3.IntegrityError):
        return Conflict(_CHANGED)
    return None


def _postgresql(fault: BaseException | None, invalidated: bool = False) -> ServiceError | None:
    """The error for an exception of psycopg, by its SQLSTATE; a lost connection has none."""
    if not type(fault).__module__.startswith("psycopg"):
        return None
    state: str | None = getattr(fault, "sqlstate", None)
    if state in ("53100", "54000"):
        return StorageFull(DISK_FULL)
    kinds = {kind.__name__ for kind in type(fault).__mro__}
    lost = state is None and bool(kinds & {"OperationalError", "InterfaceError"})
    if invalidated or lost:
        return Unavailable("the database cannot be reached")
    if state is None:
        return None
    if state == "25006":
        return Unavailable("the database is read-only now")
    return next((kind(message) for class_, (kind, message) in _SQLSTATES.items() if state.startswith(class_)), None)


_SQLSTATES: dict[str, tuple[type[ServiceError], str]] = {
    "08": (Unavailable, "the database cannot be reached"),
    "23": (Conflict, _CHANGED),
    "40": (Unavailable, "the database rolled back the change because of a concurrent one; try again"),
    "53": (Unavailable, "the database has no resources left"),
    "57": (Unavailable, "the database cannot be reached"),
    "58": (Unavailable, "the database cannot read or write its files"),
    "XX": (Unavailable, "the database is damaged"),
}
"""The errors by SQLSTATE class, which is its first two characters."""
