"""Secrets that all processes over one database share, each made when it is first asked for."""

from __future__ import annotations

import secrets
from contextlib import suppress

from sqlalchemy.exc import IntegrityError

from dragoman.store.database import Store
from dragoman.store.models import Secret

_BYTES = 32


def shared_secret(store: Store, name: str) -> bytes:
    """The secret of a name."""
    with suppress(IntegrityError), store.write() as session:  # another process may make it at the same time
        if session.get(Secret, name) is None:
            session.add(Secret(name=name, content=secrets.token_bytes(_BYTES)))
    return read_secret(store, name)


def read_secret(store: Store, name: str) -> bytes:
    """The secret of a name, which another process has made."""
    with store.read() as session:
        return session.get_one(Secret, name).content
