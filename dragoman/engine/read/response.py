"""What a reader gets of a document."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from dragoman.engine.core.answer import Answer, Degraded, left_out
from dragoman.engine.query.response import QueryRead, TableUsed, Translation
from dragoman.engine.search.response import Highlight, TextField


@dataclass(slots=True, kw_only=True)
class ReadDocument(Answer):
    """The document as stored, with its whole text."""

    id: str
    collection: str
    language: str
    title: str | None
    text: str
    metadata: dict[str, Any] | None
    generation: int


@dataclass(slots=True, kw_only=True)
class GlossTranslation(Answer):
    """A translation of a word, and the version of a table that has it."""

    term: str
    probability: float
    """P(translation | word), of the tables in use together, as highlights have it."""
    table: str
    version: int
    by_way_of: list[TableUsed] = field(default_factory=left_out)
    """Only where two tables in a row have it: those from the document's language to a third one."""


@dataclass(slots=True, kw_only=True)
class WordGloss(Answer):
    """A content word, ``document[field][start:end]`` in code points of that field, with its best translations."""

    field: TextField
    start: int
    end: int
    translations: list[GlossTranslation]
    """The three best at most, the best one first."""


@dataclass(slots=True, kw_only=True)
class Sentence(Answer):
    """A sentence, ``document[field][start:end]`` in code points of that field, without white space around it.

    One of more than 400 code points is cut into several.
    """

    field: TextField
    start: int
    end: int


@dataclass(slots=True, kw_only=True)
class ReadResponse(Answer):
    """A document for a reader. Offsets are code points of the title or the text, or as the request says."""

    request_id: str
    document: ReadDocument
    highlights: list[Highlight]
    """All matches of the query, those of the title first, each as in a hit of a search; empty without a query."""
    gloss: list[WordGloss]
    """The content words that the tables have, those of the title first, with translations into the reader's language;
    empty if the document is in that language."""
    sentences: list[Sentence]
    """The title as one, or several where it is long, then the sentences of the text; together all but white space."""
    degraded: list[Degraded]
    truncated: list[str]
    """Which list ends before the document does, because the answer would be too large, and where."""
    query: QueryRead | None = field(default_factory=left_out)
    """Only with a query."""
    translation: Translation | None = field(default_factory=left_out)
    """Only with a query."""
