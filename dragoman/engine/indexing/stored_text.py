"""The texts of documents as searches read them: the beginning, and parts of long ones where they are needed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from dragoman.deadline import check
from dragoman.engine.indexing.sources import TextSource

BEGINNING = 20_000
"""How much is read of the text of each document, in code points; a longer one is read in parts."""

METADATA = 100_000
"""How much metadata a document may have to be shown in hits, in characters of JSON."""

PIECE = 1_000_000
"""How much of a long text is in memory at a time, in code points."""


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
    source: TextSource = field(repr=False, compare=False)
    metadata: str = ""
    """Its JSON; empty if there is none, or if it has more than :data:`METADATA` characters."""
    metadata_chars: int = 0
    """How long that is."""

    def length(self) -> int:
        """How long the text is, in code points; 0 if the document has changed since it was read."""
        return len(self.text) if self.complete else self.source.text_length(self.key, self.generation)

    def part(self, start: int, end: int) -> str:
        """The text from ``start`` to ``end``, in code points; empty if the document has changed since it was read."""
        if self.complete or end <= len(self.text):
            return self.text[start:end]
        return self.source.text_part(self.key, self.generation, start, end)

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
