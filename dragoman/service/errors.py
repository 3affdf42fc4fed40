"""The closed set of errors that callers can meet, each with its one HTTP status and one error body."""

from __future__ import annotations

import errno
import sqlite3
from typing import ClassVar

from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from dragoman.indexes.errors import IndexFault
from dragoman.indexes.jvm import JvmUnavailable
from dragoman.lexicon.languages import UnknownLanguage


class ServiceError(Exception):
    """A fault that is answered with its own status; ``str(error)`` is the message that the caller reads."""

    status: ClassVar[int] = 500
    error_type: ClassVar[str] = "internal"
    headers: ClassVar[dict[str, str]] = {}


class MalformedBody(ServiceError):
    """A body that cannot be parsed: the message says where."""

    status = 400
    error_type = "malformed_body"


class Unauthorized(ServiceError):
    status = 401
    error_type = "unauthorized"
    headers: ClassVar[dict[str, str]] = {"WWW-Authenticate": "Bearer"}


class Forbidden(ServiceError):
    status = 403
    error_type = "forbidden"


class NotFound(ServiceError):
    status = 404
    error_type = "not_found"


class MethodNotAllowed(ServiceError):
    status = 405
    error_type = "method_not_allowed"


class NotAcceptable(ServiceError):
    status = 406
    error_type = "not_acceptable"


class UploadTooSlow(ServiceError):
    status = 408
    error_type = "timeout"
    headers: ClassVar[dict[str, str]] = {"Connection": "close"}


class Conflict(ServiceError):
    """What exists already, or is in use, stands in the way."""

    status = 409
    error_type = "conflict"


class TooLarge(ServiceError):
    status = 413
    error_type = "too_large"


class UnsupportedMedia(ServiceError):
    status = 415
    error_type = "unsupported_media_type"


class InvalidRequest(ServiceError):
    """A value that is not allowed: the message names the field or the line."""

    status = 422
    error_type = "validation"


class TooManyRequests(ServiceError):
    status = 429
    error_type = "overloaded"
    headers: ClassVar[dict[str, str]] = {"Retry-After": "1"}


class InternalError(ServiceError):
    """A fault of the service itself; the message holds nothing of its cause."""


class Unavailable(ServiceError):
    """Something that the service needs is not there now: the database, or an index being built."""

    status = 503
    error_type = "unavailable"
    headers: ClassVar[dict[str, str]] = {"Retry-After": "2"}


class ClientGone(Unavailable):
    """Nobody waits for the answer any more."""


class StorageFull(ServiceError):
    status = 507
    error_type = "storage_full"


ERRORS: tuple[type[ServiceError], ...] = (
    MalformedBody,
    Unauthorized,
    Forbidden,
    NotFound,
    MethodNotAllowed,
    NotAcceptable,
    UploadTooSlow,
    Conflict,
    TooLarge,
    UnsupportedMedia,
    InvalidRequest,
    TooManyRequests,
    InternalError,
    Unavailable,
    StorageFull,
)

_BY_STATUS = {error.status: error for error in ERRORS}
_FULL = "no space is left on the disk that holds the data; what was acknowledged before is kept"
_CHANGED = "another request changed the same thing at the same time"


def from_status(status: int, message: str) -> ServiceError:
    """The error of the closed set that has this status (400 for another 4xx, 500 for all else)."""
    kind = _BY_STATUS.get(status, MalformedBody if 400 <= status < 500 else InternalError)
    return kind(message)


def classify(fault: BaseException) -> ServiceError | None:
    """The error to answer with for a fault of another library, or None when it is unexpected."""
    seen: set[int] = set()
    cause: BaseException | None = fault
    while cause is not None and id(cause) not in seen:
        seen.add(id(cause))
        if (known := _classify_one(cause)) is not None:
            return known
        cause = cause.__cause__ or cause.__context__
    return None


def _classify_one(fault: BaseException) -> ServiceError | None:
    if isinstance(fault, ServiceError):
        return fault
    if isinstance(fault, UnknownLanguage):
        return InvalidRequest(str(fault))
    if isinstance(fault, IndexFault):
        return Unavailable("the index of a collection is damaged or closed, and is being mended")
    if isinstance(fault, JvmUnavailable):
        return Unavailable(str(fault))
    if isinstance(fault, OSError) and fault.errno in (errno.ENOSPC, errno.EDQUOT):
        return StorageFull(_FULL)
    if "No space left on device" in str(fault):
        return StorageFull(_FULL)
    if isinstance(fault, PoolTimeout):
        return Unavailable("the database has no free connection")
    if isinstance(fault, DBAPIError):
        return _classify_sqlite(fault.orig) or _classify_postgresql(fault.orig, fault.connection_invalidated)
    if isinstance(fault, Exception):
        return _classify_postgresql(fault)  # of a COPY, which SQLAlchemy knows nothing of
    return None


def _classify_sqlite(fault: BaseException | None) -> ServiceError | None:
    if not isinstance(fault, sqlite3.Error):
        return None
    code = getattr(fault, "sqlite_errorcode", 0) & 0xFF
    if code == sqlite3.SQLITE_FULL:
        return StorageFull(_FULL)
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return Unavailable("the database is busy with another writer")
    if code in (sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY):
        return Unavailable("the database file cannot be read or written")
    if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
        return Unavailable("the database file is damaged")
    if isinstance(fault, sqlite3.IntegrityError):
        return Conflict(_CHANGED)
    return None


def _classify_postgresql(fault: BaseException | None, invalidated: bool = False) -> ServiceError | None:
    """The error for one of psycopg's, which is told by its SQLSTATE; a lost connection has none."""
    if not type(fault).__module__.startswith("psycopg"):
        return None
    state: str | None = getattr(fault, "sqlstate", None)
    if state in ("53100", "54000"):
        return StorageFull(_FULL)
    kinds = {kind.__name__ for kind in type(fault).__mro__}
    lost = state is None and bool(kinds & {"OperationalError", "InterfaceError"})
    if invalidated or lost:
        return Unavailable("the database cannot be reached")
    if state is None:
        return None
    if state == "25006":
        return Unavailable("the database takes no changes now: it is read-only")
    return next((kind(message) for class_, (kind, message) in _SQLSTATES.items() if state.startswith(class_)), None)


_SQLSTATES: dict[str, tuple[type[ServiceError], str]] = {
    "08": (Unavailable, "the database cannot be reached"),
    "23": (Conflict, _CHANGED),
    "40": (Unavailable, "the database undid this for another change; try again"),
    "53": (Unavailable, "the database has no resources left"),
    "57": (Unavailable, "the database cannot be reached"),
    "58": (Unavailable, "the database cannot read or write its files"),
    "XX": (Unavailable, "the database is damaged"),
}
"""The errors of classes of SQLSTATE, by their first characters."""
