"""The rows of collections that searches name, which are not read again while nobody has changed the database."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from sqlalchemy import Row, bindparam, select, union_all

from dragoman.store.database import Store
from dragoman.store.models import Alias, Collection
from dragoman.store.recent import Recent

_KEPT_ROWS = 1_000
"""Rows of collections that are kept of those that searches named last."""

_ALL: Any = select(Collection.__table__).order_by(Collection.name)
_NAMES: Any = bindparam("names", expanding=True)
_NAMED: Any = union_all(
    select(Collection.__table__, Collection.name.label("asked")).where(Collection.name.in_(_NAMES)),
    select(Collection.__table__, Alias.name.label("asked"))
    .join(Alias, Alias.collection_id == Collection.id)
    .where(Alias.name.in_(_NAMES)),
)
"""By names and aliases in one statement: an alias may become a name meanwhile."""


class CollectionRows:
    """Reads them, of all keys. Thread-safe."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._recent: Recent[tuple[str, ...] | None, Sequence[Row[Any]]] = Recent(
            store.commits, _KEPT_ROWS, lambda rows: 1 + len(rows)
        )

    def read_all(self) -> Sequence[Row[Any]]:
        """All collections by name."""
        return self._recent.get([None], self._read)[None]

    def find(self, names: Iterable[str]) -> Sequence[Row[Any]]:
        """Those of some names or aliases, each with the one that was ``asked``; without those that there are not."""
        asked = tuple(names)
        return self._recent.get([asked], self._read)[asked]

    def _read(self, asked: Sequence[tuple[str, ...] | None]) -> dict[tuple[str, ...] | None, Sequence[Row[Any]]]:
        return {
            names: self._store.rows(_ALL, {}) if names is None else self._store.rows(_NAMED, {"names": names})
            for names in asked
        }
