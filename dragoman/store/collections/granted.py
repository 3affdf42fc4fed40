"""The collections that limited keys were given.

A name that a collection had when the key was made, or was later created with, is bound to that collection: it stays
with it when it is renamed, and another one that is renamed so is not opened by it. Any other name waits for a
collection to be created; until then it opens what an alias of this name stands for.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import select, union, update
from sqlalchemy.orm import Session

from dragoman.engine.core.key_limits import check_new_name, current_limits
from dragoman.store.models import Alias, Collection, KeyCollection


def visible_collections(session: Session) -> set[int] | None:
    """The ids of the collections that this thread may see; None for all."""
    limits = current_limits()
    if limits is None or not limits.collections:
        return None
    of_key = KeyCollection.key_id == limits.key_id
    bound = select(KeyCollection.collection_id).where(of_key, KeyCollection.collection_id.is_not(None))
    aliases = (
        select(Alias.collection_id)
        .join(KeyCollection, KeyCollection.name == Alias.name)
        .where(of_key, KeyCollection.collection_id.is_(None))
    )
    return set(session.scalars(union(bound, aliases)))


def is_visible(session: Session, row: Collection) -> bool:
    """Whether this thread may see a collection."""
    visible = visible_collections(session)
    return visible is None or row.id in visible


def check_name_is_given(session: Session, name: str) -> None:
    """
    Raises:
        Forbidden: this thread works for a key that was not given the name, so it may not name anything so.
    """
    limits = current_limits()
    if limits is not None and limits.collections:
        check_new_name(name, names_given(session, limits.key_id))


def names_given(session: Session, key_id: str) -> list[str]:
    """The names of the collections that a key was given, as they are now."""
    names = select(KeyCollection.name).where(KeyCollection.key_id == key_id).order_by(KeyCollection.position)
    return list(session.scalars(names))


def grant(session: Session, key_id: str, names: Sequence[str]) -> None:
    """Give a new key some collections by their names, of which some may not be there yet."""
    ids = {
        row.name: row.id
        for row in session.execute(select(Collection.name, Collection.id).where(Collection.name.in_(names)))
    }
    for position, name in enumerate(dict.fromkeys(names)):
        session.add(KeyCollection(key_id=key_id, position=position, name=name, collection_id=ids.get(name)))


def copy_grants(session: Session, key_id: str, successor: str) -> None:
    """Give a key what another one has."""
    for row in session.scalars(select(KeyCollection).where(KeyCollection.key_id == key_id)).all():
        session.add(
            KeyCollection(key_id=successor, position=row.position, name=row.name, collection_id=row.collection_id)
        )


def bind_created(session: Session, row: Collection) -> None:
    """Give a new collection to the keys that were given its name before it was there."""
    waiting = (KeyCollection.name == row.name, KeyCollection.collection_id.is_(None))
    session.execute(update(KeyCollection).where(*waiting).values(collection_id=row.id))


def note_renamed(session: Session, row: Collection) -> None:
    """Let keys name a collection as it is named now."""
    session.execute(update(KeyCollection).where(KeyCollection.collection_id == row.id).values(name=row.name))


def unbind_deleted(session: Session, collection_id: int) -> None:
    """Let the names of a collection that goes wait for another one that is created so."""
    session.execute(
        update(KeyCollection).where(KeyCollection.collection_id == collection_id).values(collection_id=None)
    )
