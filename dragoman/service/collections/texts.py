"""The texts of documents as searches read them: the beginning, and parts of long ones where they are needed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from sqlalchemy import ColumnElement, func, select

from dragoman.deadline import check
from dragoman.store.database import Store
from dragoman.store.models import Document

BEGINNING = 20_000
"""How much is read of the text of each document, in code points; a longer one is read in parts."""

PIECE = 1_000_000
"""How much of a long text is in memory at a time, in code points."""

_CHUNK = 100

_BEGINNINGS = select(
    Document.key,
    Document.id,
    Document.language,
    Document.title,
    Document.generation,
    func.substr(Document.text, 1, BEGINNING + 1),
).where(Document.deleted.is_(False))

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class StoredText:
    """A document with its text, or with the beginning of a long one."""

    key: int
    id: str
    language: str
    title: str | None
    generation: int
    text: str
    """At most :data:`BEGINNING` code points."""
    complete: bool
    """Whether ``text`` is the whole text."""
    store: Store = field(repr=False, compare=False)

    def length(self) -> int:
        """How long the text is, in code points; 0 if the document has changed since it was read."""
        return len(self.text) if self.complete else self._asked(func.length(Document.text)) or 0

    def part(self, start: int, end: int) -> str:
        """The text from ``start`` to ``end``, in code points; empty if the document has changed since it was read."""
        if self.complete or end <= len(self.text):
            return self.text[start:end]
        return self._asked(func.substr(Document.text, start + 1, end - start)) or ""

    def pieces(self, length: int) -> Iterator[tuple[int, str]]:
        """The whole text in parts of ``length`` code points at most, each with its offset."""
        start, held = 0, self.text
        while held:
            for first in range(0, len(held), length):
                check()
                yield start + first, held[first : first + length]
            last = self.complete or (start > 0 and len(held) < PIECE)
            start += len(held)
            held = "" if last else self.part(start, start + PIECE)

    def _asked(self, column: ColumnElement[T]) -> T | None:
        statement = select(column).where(
            Document.key == self.key, Document.generation == self.generation, Document.deleted.is_(False)
        )
        with self.store.read() as session:
            return session.scalar(statement)


def stored_texts(store: Store, keys: Sequence[int]) -> dict[int, StoredText]:
    """Documents by their database keys, each with the beginning of its text; deleted ones are left out."""
    texts: dict[int, StoredText] = {}
    with store.read() as session:
        for start in range(0, len(keys), _CHUNK):
            check()
            chosen = Document.key.in_(keys[start : start + _CHUNK])
            for row in session.execute(_BEGINNINGS.where(chosen)):
                key, id, language, title, generation, text = row
                complete = len(text) <= BEGINNING
                texts[key] = StoredText(key, id, language, title, generation, text[:BEGINNING], complete, store)
    return texts
