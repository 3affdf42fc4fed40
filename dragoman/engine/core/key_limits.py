"""What a key is limited to. Whatever is done for it on a thread sees no other collections and tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from dragoman.engine.core.errors import Forbidden


@dataclass(frozen=True, slots=True)
class KeyLimits:
    """The limits of one key, which never change; the database says which collections it has."""

    key_id: str
    collections: bool
    """Whether it sees only the collections that it was given."""
    tables: frozenset[str] | None
    """The tables that it sees; None for all."""


_limits: ContextVar[KeyLimits | None] = ContextVar("dragoman_key_limits", default=None)


@contextmanager
def limited_to(limits: KeyLimits | None) -> Iterator[None]:
    """Do the block's work within the limits of a key; None for no limits."""
    token = _limits.set(limits)
    try:
        yield
    finally:
        _limits.reset(token)


def current_limits() -> KeyLimits | None:
    """The limits within which this thread works; None for no limits."""
    return _limits.get()


def table_limits() -> frozenset[str] | None:
    """The tables that may be seen; None for all."""
    limits = _limits.get()
    return None if limits is None else limits.tables


def sees_table(name: str) -> bool:
    """Whether a table may be seen; one that may not is as if it were not there."""
    tables = table_limits()
    return tables is None or name in tables


def check_table(name: str) -> None:
    """
    Raises:
        Forbidden: a table of this name may not be made.
    """
    if not sees_table(name):
        raise Forbidden(f"the API key is limited to other tables than {name[:64]!r}")


def check_new_name(name: str, granted: Iterable[str] | None) -> None:
    """
    Raises:
        Forbidden: a collection or alias of this name may not be made; ``granted`` are the key's names, None for all.
    """
    if granted is not None and name not in granted:
        raise Forbidden(f"the API key is limited to other collections than {name[:64]!r}")
