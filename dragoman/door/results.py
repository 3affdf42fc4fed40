"""What the door returns: plain records whose attributes have the names of the HTTP fields."""

from __future__ import annotations

import html
import types
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, is_dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar, Union, get_args, get_origin, get_type_hints, overload

if TYPE_CHECKING:
    from pandas import DataFrame

T = TypeVar("T")


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
class Hit:
    """A document that a search returns."""

    rank: int
    id: str
    collection: str
    language: str
    score: float
    scores: Scores
    snippet: str
    snippet_start: int
    title: str | None = None
    metadata: dict[str, Any] = field(default_factory=dict)
    highlights: list[Highlight] = field(default_factory=list)
    gloss: list[Gloss] | None = None
    entities: list[Entity] | None = None
    collapsed: int | None = None
    snippet_translation: CheckedTranslation | None = None
    snippets: list[Snippet] | None = None
    contributions: list[Contribution] | None = None
    fusion: dict[str, Any] | None = None
    attention: Attention | None = None
    relevance: float | None = None
    """The probability that the document answers the query; None from a service that does not say it."""
    weak: bool = False

    def _repr_html_(self) -> str:
        title = f"<b>{html.escape(self.title)}</b> · " if self.title else ""
        about = html.escape(f"{self.collection}/{self.id} · {self.language} · {self.score:.3f}")
        return f"<div><p>{title}<small>{about}</small><br>{self._mark_snippet()}</p></div>"

    def _mark_snippet(self) -> str:
        """The snippet with its highlights as HTML."""
        parts, place = [], 0
        within = [highlight for highlight in self.highlights if highlight.field == "text"]
        for highlight in sorted(within, key=lambda highlight: (highlight.start, -highlight.end)):
            start, end = highlight.start - self.snippet_start, highlight.end - self.snippet_start
            if start < place or end > len(self.snippet):
                continue
            source = "" if highlight.table is None else f" ({highlight.table}@{highlight.version})"
            title = html.escape(f"{highlight.query_term}: {highlight.match}{source}", quote=True)
            marked = f'<mark title="{title}">{html.escape(self.snippet[start:end])}</mark>'
            parts += [html.escape(self.snippet[place:start]), marked]
            place = end
        return "".join(parts) + html.escape(self.snippet[place:])


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


@dataclass(frozen=True, slots=True)
class SearchResults(Sequence[Hit]):
    """The hits of a search, best first, with the evidence; a sequence of them."""

    request_id: str
    query: Query
    method: str
    hits: list[Hit]
    translation: Translation
    total: Total
    next: str | None = None
    facets: dict[str, list[FacetCount]] | None = None
    rerank: dict[str, Any] | None = None
    degraded: list[Degraded] = field(default_factory=list)
    truncated: list[str] = field(default_factory=list)
    suggestions: list[dict[str, Any]] = field(default_factory=list)
    timings_ms: dict[str, float | None] = field(default_factory=dict)
    found: str | None = None
    """good, weak or none; None from a service that does not say it."""

    @overload
    def __getitem__(self, place: int) -> Hit: ...
    @overload
    def __getitem__(self, place: slice) -> list[Hit]: ...
    def __getitem__(self, place: int | slice) -> Hit | list[Hit]:
        return self.hits[place]

    def __len__(self) -> int:
        return len(self.hits)

    def __iter__(self) -> Iterator[Hit]:
        return iter(self.hits)

    def to_frame(self) -> DataFrame:
        """A row a hit: rank, score, id, collection, language, title, snippet."""
        return to_frame(self.hits, ("rank", "score", "id", "collection", "language", "title", "snippet"))

    def _repr_html_(self) -> str:
        notes = [f"{degraded.stage}: {degraded.reason}" for degraded in self.degraded]
        notes += [f"in no table for {language}: {', '.join(words)}" for language, words in self.translation.oov.items()]
        footnotes = "".join(f"<p><small>{html.escape(note)}</small></p>" for note in notes)
        return "".join(hit._repr_html_() for hit in self.hits) + footnotes or "<p>no hits</p>"


@dataclass(frozen=True, slots=True)
class Ranked:
    """A text in a ranking; ``index`` is its place among the texts that were given."""

    index: int
    score: float
    """The probability that the text answers the query, in [0, 1]."""
    text: str


@dataclass(frozen=True, slots=True)
class Tag:
    """A part ``text[start:end]`` of a text with its label."""

    text: str
    start: int
    end: int
    label: str
    score: float


@dataclass(frozen=True, slots=True)
class AnswerDocument:
    """The document that holds an answer."""

    id: str
    collection: str
    language: str


@dataclass(frozen=True, slots=True)
class Answer:
    """A span of a text that answers a question, with the sentence around it."""

    text: str
    start: int
    end: int
    score: float
    sentence: str = ""
    sentence_start: int = 0
    document: AnswerDocument | None = None
    gloss: list[Gloss] | None = None
    translation: CheckedTranslation | None = None


@dataclass(frozen=True, slots=True)
class Answers(Sequence[Answer]):
    """The answers of a question, best first; a sequence of them."""

    request_id: str
    query: Query
    answers: list[Answer]
    model: str
    no_answer: float | None = None
    """The probability that nothing that was read answers the question; None where the reader failed."""
    passages: list[Hit] | None = None
    degraded: list[Degraded] = field(default_factory=list)
    truncated: list[str] = field(default_factory=list)
    found: str | None = None
    """good, weak or none; None where the reader failed."""

    @overload
    def __getitem__(self, place: int) -> Answer: ...
    @overload
    def __getitem__(self, place: slice) -> list[Answer]: ...
    def __getitem__(self, place: int | slice) -> Answer | list[Answer]:
        return self.answers[place]

    def __len__(self) -> int:
        return len(self.answers)


@dataclass(frozen=True, slots=True)
class Judgement:
    """Whether texts say a statement (``true``), deny it (``false``) or neither (``unknown``)."""

    request_id: str
    query: Query
    model: str
    label: str = "unknown"
    probability: float | None = None
    """None where nothing was found, or the reader failed."""
    evidence: dict[str, Any] | None = None
    passages: list[Hit] | None = None
    degraded: list[Degraded] = field(default_factory=list)
    truncated: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Translations:
    """Translated texts, in the order of the given ones."""

    texts: list[str]
    """A sentence that failed its check stands as in the source."""
    model: str
    quality: dict[str, Any] | None = None
    truncated: list[int] | None = None
    sentences: list[list[CheckedSentence]] = field(default_factory=list)
    degraded: list[Degraded] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class TranslationCheck:
    """A translation's check: the worst status of its sentences, all reasons, and each sentence."""

    status: str
    reasons: list[CheckReason] = field(default_factory=list)
    sentences: list[AlignedCheck] = field(default_factory=list)
    degraded: list[Degraded] = field(default_factory=list)


def read(kind: type[T], answer: Mapping[str, Any]) -> T:
    """The record of an answer. Fields that the record lacks are left out: a newer service may say more."""
    kinds: Any = kind
    types_of = _types(kinds)
    return kind(**{name: _read(types_of[name], content) for name, content in answer.items() if name in types_of})


@cache
def _types(kind: Any) -> dict[str, Any]:
    hints = get_type_hints(kind)
    return {field.name: hints[field.name] for field in fields(kind)}


def _read(annotation: Any, content: Any) -> Any:
    if content is None:
        return None
    if get_origin(annotation) in (Union, types.UnionType):
        return _read(next(member for member in get_args(annotation) if member is not type(None)), content)
    if get_origin(annotation) is list and is_dataclass(get_args(annotation)[0]):
        return [read(get_args(annotation)[0], part) for part in content]
    if is_dataclass(annotation) and isinstance(annotation, type):
        return read(annotation, content)
    return content


def to_frame(records: Sequence[Any], columns: Sequence[str] | None = None) -> DataFrame:
    """A row a record, in columns named as its attributes.

    Raises:
        ModuleNotFoundError: pandas is not installed.
    """
    import pandas

    return pandas.DataFrame([asdict(record) for record in records], columns=columns)
