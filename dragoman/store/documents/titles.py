"""Titles by how they begin: each document has its title folded, and the database an index of these."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import select

from dragoman.deadline import check
from dragoman.store.database import Store
from dragoman.store.models import Document

_LAST = "\U0010ffff"
_ROWS = 32
"""Titles that are read at a time: many documents may share one."""


def complete_titles(store: Store, collection: int, begun: str, most: int) -> list[str]:
    """At most ``most`` different titles of a collection whose keys begin as ``begun``, in the order of the keys.

    Raises:
        DeadlinePassed: it takes too long.
    """
    titles: dict[str, str] = {}
    after: str | None = None
    while begun and len(titles) < most:
        check()
        rows = _read(store, collection, begun, after)
        for row in rows:
            titles.setdefault(row.title_key, row.title)
        if len(rows) < _ROWS:
            break
        after = rows[-1].title_key
    return list(titles.values())[:most]


def _read(store: Store, collection: int, begun: str, after: str | None) -> Sequence[Any]:
    """The next titles that begin so, after a key; a whole page of one key leads to the key after it."""
    key = Document.title_key
    statement = (
        select(key, Document.title)
        .where(Document.collection_id == collection, Document.deleted.is_(False))
        .where(key >= begun if after is None else key > after, key < begun + _LAST)
        .order_by(key, Document.key)
        .limit(_ROWS)
    )
    return store.rows(statement, {})
