"""Answers as a whole: hits, rankings, answers to questions and translations, each a sequence where it is one."""

from __future__ import annotations

import html
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, overload

from dragoman.door.answers.parts import (
    AlignedCheck,
    Attention,
    CheckedSentence,
    CheckedTranslation,
    CheckReason,
    Contribution,
    Degraded,
    Entity,
    FacetCount,
    Gloss,
    Highlight,
    Query,
    Scores,
    Snippet,
    Total,
    Translation,
)
from dragoman.door.answers.reading import to_frame

if TYPE_CHECKING:
    from pandas import DataFrame


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
