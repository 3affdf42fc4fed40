"""Other names of collections. An alias may stand wherever a collection is named, and be moved to another at once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from sqlalchemy import delete, select, text
from sqlalchemy.orm import Session

from dragoman.engine.core.errors import Conflict, InvalidRequest, NotFound
from dragoman.engine.core.names import check_name, is_name
from dragoman.store.collections.granted import check_name_is_given, is_visible, visible_collections
from dragoman.store.database import Store
from dragoman.store.models import Alias, Collection

_NAMES_LOCK = 7_203_915_002


@dataclass(frozen=True, slots=True)
class AliasInfo:
    """An alias, and the name of the collection that it stands for."""

    alias: str
    collection: str


class Aliases:
    """The aliases of a database. Every method may be called from any thread."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def all(self) -> list[AliasInfo]:
        """All aliases by name."""
        with self._store.read() as session:
            visible = visible_collections(session)
            rows = session.execute(
                select(Alias.name, Collection.id, Collection.name.label("collection"))
                .join(Collection, Collection.id == Alias.collection_id)
                .order_by(Alias.name)
            )
            return [AliasInfo(row.name, row.collection) for row in rows if visible is None or row.id in visible]

    def get(self, alias: str) -> AliasInfo:
        """One alias.

        Raises:
            NotFound: there is none of this name.
        """
        with self._store.read() as session:
            if (row := find_by_aliases(session, [alias]).get(alias)) is None:
                raise _no_alias(alias)
            return AliasInfo(alias, row.name)

    def put(self, alias: str, collection: str) -> AliasInfo:
        """Let an alias stand for a collection, from the next request on; what it stood for before is left alone.

        Raises:
            InvalidRequest: the name is not allowed.
            NotFound: there is no such collection.
            Conflict: there is a collection of this name.
        """
        try:
            check_name(alias)
        except ValueError as fault:
            raise InvalidRequest(f"alias: {fault}") from fault
        with self._store.write() as session:
            hold_names(session)
            check_name_is_given(session, alias)
            if session.scalar(select(Collection.id).where(Collection.name == alias)) is not None:
                raise Conflict(f"there is a collection named '{alias}' already")
            row = find_collection(session, collection, lock=True)
            if row is None:
                raise NotFound(f"collection: there is no collection named {collection[:64]!r}")
            session.merge(Alias(name=alias, collection_id=row.id))
            return AliasInfo(alias, row.name)

    def delete(self, alias: str) -> None:
        """Delete an alias; its collection is left alone.

        Raises:
            NotFound: there is none of this name.
        """
        with self._store.write() as session:
            hold_names(session)
            usable = alias if find_by_aliases(session, [alias]) else None
            gone = session.execute(delete(Alias).where(Alias.name == usable).returning(Alias.name)).all()
        if not gone:
            raise _no_alias(alias)


def find_collection(session: Session, name: str, *, lock: bool = False) -> Collection | None:
    """The row of the collection that has a name, or that an alias of this name stands for, if it may be seen."""
    if not is_name(name):
        return None
    statement = select(Collection).where(Collection.name == name)
    row = session.scalar(statement.with_for_update() if lock else statement)
    if row is None:
        return find_by_aliases(session, [name], lock=lock).get(name)
    return row if is_visible(session, row) else None


def find_by_aliases(session: Session, names: Iterable[str], *, lock: bool = False) -> dict[str, Collection]:
    """The rows of collections by those of the names that are aliases, without those that may not be seen."""
    usable = [name for name in names if is_name(name)]
    statement = (
        select(Alias.name, Collection)
        .join(Collection, Collection.id == Alias.collection_id)
        .where(Alias.name.in_(usable))
    )
    rows = session.execute(statement.with_for_update(of=Collection) if lock else statement) if usable else ()
    visible = visible_collections(session)
    return {alias: row for alias, row in rows if visible is None or row.id in visible}


def hold_names(session: Session) -> None:
    """Keep names from being given by other transactions until this one ends, so that none is an alias and a collection.

    SQLite has one writer at a time anyway.
    """
    if session.get_bind().dialect.name == "postgresql":
        session.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _NAMES_LOCK})


def check_no_alias(session: Session, name: str) -> None:
    """
    Raises:
        Conflict: there is an alias of this name.
    """
    if session.get(Alias, name) is not None:
        raise Conflict(f"there is an alias named '{name}' already")


def check_name_of(session: Session, row: Collection | None, name: str) -> None:
    """
    Raises:
        Conflict: the name is an alias, which may have been moved meanwhile.
        NotFound: the collection is gone, or is called otherwise.
    """
    if row is not None and row.name == name:
        return
    if session.get(Alias, name) is not None:
        raise Conflict(f"'{name}' is an alias, which stands for another collection now")
    raise NotFound(f"there is no collection named {name[:64]!r}")


def check_no_target(session: Session, collection: int) -> None:
    """
    Raises:
        Conflict: an alias stands for the collection.
    """
    alias = session.scalar(select(Alias.name).where(Alias.collection_id == collection).order_by(Alias.name).limit(1))
    if alias is not None:
        raise Conflict(f"the alias '{alias}' stands for this collection: delete it, or let it stand for another")


def _no_alias(alias: str) -> NotFound:
    return NotFound(f"there is no alias named {alias[:64]!r}")
