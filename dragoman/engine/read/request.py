"""What is asked of a document that is read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dragoman.lexicon.text.offsets import Unit


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadQuery:
    """A document to read; :class:`~dragoman.service.read.schemas.ReadRequest` describes the fields."""

    collection: str
    id: str
    reader_language: str
    query: str | None = None
    query_language: str | None = None
    tables: Sequence[str] | None = None
    offsets: Unit = "codepoint"
