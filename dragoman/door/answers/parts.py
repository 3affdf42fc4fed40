"""What answers consist of: the evidence of hits, the checks of translations, and how a query was understood."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Highlight:
    """A part of a document that matched: ``document[field][start:end]``, in code points of that field."""

    field: str
    start: int
    end: int
    match: str
    """table, identical, sound, spelling or meaning."""
    document_term: str
    query_term: str
    probability: float | None = None
    """P(query term | document term); None for meaning."""
    table: str | None = None
    version: int | None = None


@dataclass(frozen=True, slots=True)
class Gloss:
    """A content word of a document and its best translations into the query's language."""

    field: str
    start: int
    end: int
    translations: list[str]


@dataclass(frozen=True, slots=True)
class Entity:
    """A name in a document."""

    text: str
    label: str
    score: float
    field: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Scores:
    """The score of each stage; None where it did not run."""

    first_stage: float
    rerank: float | None = None
    dense: float | None = None
    late: float | None = None


@dataclass(frozen=True, slots=True)
class Contribution:
    """What one query term adds to a document's first-stage score."""

    query_term: str
    tf: float
    df: float
    idf: float
    weight: float
    score: float


@dataclass(frozen=True, slots=True)
class QueryWord:
    """A word of a query."""

    text: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class AttentionWord:
    """A word of a document that is linked with a word of the query."""

    field: str
    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Attention:
    """How tables link a query and a document: ``weights`` has a row a query word, a column a document word."""

    direction: str
    query_words: list[QueryWord]
    document_words: list[AttentionWord]
    weights: list[list[float]]


@dataclass(frozen=True, slots=True)
class Place:
    """A part of a text, in code points."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class CheckReason:
    """Why a sentence is not ``ok``, with what stands in the source and in the translation."""

    code: str
    source: str | None = None
    text: str | None = None


@dataclass(frozen=True, slots=True)
class CheckedSentence:
    """A sentence's translation, None if it failed, and what the check of it says."""

    text: str | None
    source: Place
    status: str
    reasons: list[CheckReason] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class CheckedTranslation:
    """A translated text; a sentence that failed stands in it as in the source."""

    text: str
    sentences: list[CheckedSentence] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class AlignedCheck:
    """Sentences of a text and of its translation that belong together, and what the check of them says."""

    source: Place
    translation: Place
    status: str
    reasons: list[CheckReason] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Snippet:
    """A part of a document's text."""

    text: str
    start: int


@dataclass(frozen=True, slots=True)
class Total:
    """How many documents there are to be found; with ``gte`` there are more."""

    value: int
    relation: str


@dataclass(frozen=True, slots=True)
class FacetCount:
    """How many of the documents to be found have a value."""

    value: Any
    count: int


@dataclass(frozen=True, slots=True)
class Query:
    """The query as it was understood."""

    text: str
    language: str
    detected: bool
    language_probability: float


@dataclass(frozen=True, slots=True)
class TableUsed:
    """A table version that an answer used."""

    name: str
    version: int


@dataclass(frozen=True, slots=True)
class Translation:
    """How a query was translated: ``terms`` as in the HTTP answer, ``oov`` by language what no table has."""

    tables: list[TableUsed] = field(default_factory=list)
    terms: list[dict[str, Any]] = field(default_factory=list)
    oov: dict[str, list[str]] = field(default_factory=dict)
    names: list[str] = field(default_factory=list)
    ignored: list[str] = field(default_factory=list)
    must: list[dict[str, Any]] = field(default_factory=list)
    """What each required text became, by language, as in the HTTP answer; ``must_not`` what each excluded one did."""
    must_not: list[dict[str, Any]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Degraded:
    """A stage that did less than requested, and why."""

    stage: str
    reason: str
    collection: str | None = None
    """The collection that it is about, where it is about one."""
    missing_share: float | None = None
    """The share of the collection's documents that the stage did without, about."""
