"""A document as callers see it, and as a line that an import takes."""

from __future__ import annotations

import json
from collections.abc import Collection as AnyOf
from dataclasses import dataclass
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from dragoman.engine.core.errors import NotFound, PreconditionFailed
from dragoman.store.models import Document

Generations = AnyOf[int] | None
"""The generations of which something has to be one before it is changed; None: whatever it is."""


@dataclass(frozen=True, slots=True)
class DocumentInfo:
    """A document as stored; ``generation`` is its collection's at the last change of any field."""

    key: int
    collection: str
    id: str
    language: str
    title: str | None
    text: str
    metadata: dict[str, Any] | None
    generation: int


def find_document(session: Session, collection: int, name: str, id: str) -> Document:
    """The row of a document of the collection that is named so.

    Raises:
        NotFound: there is none of this id.
    """
    if "\0" not in id:  # which no id has, and PostgreSQL refuses
        row = session.scalar(
            select(Document).where(Document.collection_id == collection, Document.id == id, Document.deleted.is_(False))
        )
        if row is not None:
            return row
    shown = id if len(id) <= 80 else id[:80] + "..."
    raise NotFound(f"there is no document with id {shown!r} in collection '{name}'")


def document_info(row: Document, collection: str) -> DocumentInfo:
    """A document of its row, in the collection of this name."""
    return DocumentInfo(
        key=row.key,
        collection=collection,
        id=row.id,
        language=row.language,
        title=row.title,
        text=row.text,
        metadata=row.metadata_,
        generation=last_change(row.generation, row.metadata_generation),
    )


def last_change(generation: int, metadata_generation: int | None) -> int:
    """The generation in which any field of a document was written last."""
    return max(generation, metadata_generation or 0)


def document_line(info: DocumentInfo) -> bytes:
    """A document as a line of NDJSON, with its line end."""
    fields = {"id": info.id, "language": info.language, "title": info.title, "text": info.text}
    present: dict[str, Any] = {name: field for name, field in fields.items() if field is not None}
    present["metadata"] = info.metadata or {}  # stated, so that metadata that it has got since go when this is imported
    return json.dumps(present, ensure_ascii=False).encode() + b"\n"


def check_generation(expected: Generations, generation: int, what: str) -> None:
    """
    Raises:
        PreconditionFailed: what is to be changed is of none of the expected generations.
    """
    if expected is not None and generation not in expected:
        raise PreconditionFailed(f"the {what} has changed: its generation is {generation}")
