"""Changes of a collection as a whole: its name, its description and settings, and that it is emptied."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import null, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from dragoman.engine.core.errors import Conflict, NotFound
from dragoman.store.collections.aliases import check_no_alias, hold_names
from dragoman.store.collections.granted import check_name_is_given, note_renamed
from dragoman.store.database import Store
from dragoman.store.documents.info import Generations, check_generation
from dragoman.store.models import Collection, Document


def change_collection(store: Store, id: int, changes: Mapping[str, Any], expected: Generations) -> Collection:
    """The row of a collection with other values in some columns: ``name``, ``description``, ``entities``, ``shards``.

    Raises:
        NotFound: it has been deleted.
        Conflict: another collection has the name, or an alias.
        PreconditionFailed: it is of none of the expected generations.
    """
    try:
        with store.write() as session:
            if "name" in changes:
                hold_names(session)
                check_name_is_given(session, changes["name"])
                check_no_alias(session, changes["name"])
            row = _lock(session, id, expected)
            for column, content in changes.items():
                setattr(row, column, content)
            if "name" in changes:
                note_renamed(session, row)
    except IntegrityError as fault:
        raise Conflict(f"there is a collection named '{changes.get('name')}' already") from fault
    return row


def empty_collection(store: Store, id: int, expected: Generations) -> tuple[Collection, int]:
    """Mark all documents of a collection as deleted, so that its index follows; returns its row and how many.

    Raises:
        NotFound: it has been deleted.
        PreconditionFailed: it is of none of the expected generations.
    """
    with store.write() as session:
        row = _lock(session, id, expected)
        count = row.document_count
        if count:
            row.generation += 1
            row.document_count = 0
            present = (Document.collection_id == id, Document.deleted.is_(False))
            gone = {"deleted": True, "generation": row.generation, "text": "", "title": None, "metadata_": null()}
            session.execute(update(Document).where(*present).values(gone))
    return row, count


def _lock(session: Session, id: int, expected: Generations) -> Collection:
    row = session.scalar(select(Collection).where(Collection.id == id).with_for_update())
    if row is None:
        raise NotFound("the collection has been deleted")
    check_generation(expected, row.generation, "collection")
    return row
