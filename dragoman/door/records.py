"""What the door says of documents, collections and tables, in records with the names of the HTTP fields."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from dragoman.door.answers.parts import Degraded, Highlight, Query, TableUsed, Translation


@dataclass(frozen=True, slots=True)
class Document:
    """A document as stored."""

    id: str
    collection: str
    language: str
    text: str
    title: str | None = None
    metadata: dict[str, Any] | None = None
    generation: int = 0
    """That of the collection in which it was changed last; ``if_match`` takes it."""


@dataclass(frozen=True, slots=True)
class DocumentPage:
    """Some documents of a collection, and the cursor of the next ones; ``next`` is None if there are none."""

    documents: list[Document]
    total: int
    next: str | None = None


@dataclass(frozen=True, slots=True)
class RejectedLine:
    """A document or an entry that was not taken, and why; ``line`` counts from 1."""

    line: int
    reason: str
    id: str | None = None


@dataclass(frozen=True, slots=True)
class Imported:
    """What came of adding documents."""

    accepted: int
    replaced: int
    rejected: list[RejectedLine]
    generation: int


@dataclass(frozen=True, slots=True)
class CollectionInfo:
    """A collection: ``index`` and ``embeddings`` as in the HTTP answer."""

    name: str
    language: str
    documents: int
    generation: int
    index: dict[str, Any]
    created_at: str
    description: str | None = None
    embeddings: dict[str, Any] | None = None
    entities: dict[str, Any] | None = None
    shards: int = 1
    """Parts that the index is to have; ``index["shards"]`` says how many it has."""


@dataclass(frozen=True, slots=True)
class FieldStatistics:
    """A field of documents' metadata: a dotted path, how many have it, by type, and some of its values."""

    field: str
    documents: int
    types: dict[str, int]
    examples: list[Any]


@dataclass(frozen=True, slots=True)
class Statistics:
    """What a collection holds; ``fields`` are those of ``fields_from`` documents."""

    documents: int
    generation: int
    languages: dict[str, int]
    fields: list[FieldStatistics]
    fields_from: int
    fields_left_out: int
    bytes: dict[str, int]


@dataclass(frozen=True, slots=True)
class TableVersion:
    """One version of a table."""

    version: int
    active: bool
    checksum: str
    kind: str
    weight: float
    format: str
    source_terms: int
    entries: int
    rejected: int
    pruned: int
    written_forms: bool
    created_at: str
    created_by: str | None = None


@dataclass(frozen=True, slots=True)
class TableInfo:
    """A table with all its versions, oldest first."""

    name: str
    source: str
    target: str
    versions: list[TableVersion]
    active_version: int | None = None


@dataclass(frozen=True, slots=True)
class Uploaded:
    """A table version as it was stored; with ``dry_run``, as it would be."""

    name: str
    source: str
    target: str
    version: int
    checksum: str
    source_terms: int
    entries: int
    rejected: list[RejectedLine]
    rejected_total: int
    warnings: list[RejectedLine]
    warnings_total: int
    detected: dict[str, Any]
    active: bool
    kind: str
    weight: float
    dry_run: bool
    pruned: int = 0
    header: list[str] | None = None


@dataclass(frozen=True, slots=True)
class TermTranslation:
    """A translation of a term that was looked up."""

    term: str
    probability: float
    """P(this translation | the term)"""
    inverse_probability: float
    """P(the term | this translation)"""


@dataclass(frozen=True, slots=True)
class TableTranslations:
    """What one table of a pair of languages has for a term: the active version, or else the newest."""

    name: str
    version: int
    active: bool
    kind: str
    translations: list[TermTranslation]
    matched: list[str] = field(default_factory=list)
    translations_total: int = 0


@dataclass(frozen=True, slots=True)
class PairTranslations:
    """What all tables between two languages have for a term: the active ones first, then the others, each by name."""

    tables: list[TableTranslations]
    degraded: list[Degraded] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Term:
    """A term in a table version, and its translations, the most probable first."""

    term: str
    folded: str
    language: str
    version: int
    translations: list[TermTranslation]
    matched: list[str] = field(default_factory=list)
    translations_total: int = 0


@dataclass(frozen=True, slots=True)
class Completion:
    """A title, or a term of a table with what was typed before it."""

    text: str
    kind: str
    """``title`` or ``term``."""
    translation: str | None = None


@dataclass(frozen=True, slots=True)
class Correction:
    """Another spelling of a word that no table has: the whole text with it, the word, and what it becomes."""

    text: str
    word: str
    correction: str


@dataclass(frozen=True, slots=True)
class Suggested:
    """At most ten completions of what was typed, and other spellings."""

    request_id: str
    completions: list[Completion]
    spelling: list[Correction]


@dataclass(frozen=True, slots=True)
class GlossTranslation:
    """A translation of a document's word, and the version of a table that has it."""

    term: str
    probability: float
    """P(translation | word)"""
    table: str
    version: int
    by_way_of: list[TableUsed] = field(default_factory=list)
    """Where two tables in a row have it, those from the document's language to a third one."""


@dataclass(frozen=True, slots=True)
class WordGloss:
    """A content word ``document[field][start:end]`` and its best translations into the reader's language."""

    field: str
    start: int
    end: int
    translations: list[GlossTranslation]


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence ``document[field][start:end]``."""

    field: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class ReadDocument:
    """A whole document with all matches of a query, glosses and sentences."""

    request_id: str
    document: Document
    highlights: list[Highlight]
    gloss: list[WordGloss]
    sentences: list[Sentence]
    query: Query | None = None
    translation: Translation | None = None
    degraded: list[Degraded] = field(default_factory=list)
    truncated: list[str] = field(default_factory=list)
