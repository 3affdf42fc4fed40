"""How a database is opened: a folder of this machine, or a service over HTTP."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from dragoman.door.database import Database
from dragoman.engine.core.errors import InvalidRequest
from dragoman.installation import require

if TYPE_CHECKING:
    from dragoman.door.asynchronous import AsyncDatabase


def open(folder: str | Path | None = None, **settings: Any) -> Database:
    """A database in a folder, which is made if it is missing; without one, in memory and on a temporary disk.

    The folder is that of ``dragoman serve --data-dir``: the same database, indexes and tables. One process has it at a
    time. ``settings`` are those of docs/settings.md, in lower case; the environment's are left alone.

    >>> import dragoman
    >>> with dragoman.open() as db:
    ...     db.collections()
    []

    Raises:
        Conflict: another process has the folder open; :func:`connect` is the way to a service.
        InvalidRequest: a setting is unknown or not allowed.
        MissingPart: the part ``search`` is not installed; the message names the command that brings it.
        ServiceError: Java or Lucene is not installed, or the folder cannot be used.
    """
    if folder is not None and (not str(folder) or "://" in str(folder)):
        raise InvalidRequest(f"{str(folder)!r} is no folder; dragoman.connect is the way to a service")
    require("search", "dragoman.open")
    from dragoman.door.embedded import in_folder

    return Database(in_folder(None if folder is None else Path(folder), settings))


def connect(url: str, key: str | None = None, *, seconds: float = 600.0) -> Database:
    """The database of a service at ``url``, such as ``http://127.0.0.1:8080``; ``key`` is an API key.

    A request takes at most ``seconds``. Nothing is sent before the first call.
    """
    from dragoman.door.remote import Remote

    return Database(Remote(url, key, seconds))


def connect_async(url: str, key: str | None = None, *, seconds: float = 600.0) -> AsyncDatabase:
    """As :func:`connect`, for an event loop: all methods are coroutines."""
    from dragoman.door.asynchronous import AsyncDatabase
    from dragoman.door.remote import AsyncRemote

    return AsyncDatabase(AsyncRemote(url, key, seconds))
