"""Builds hits: documents with the evidence for their match."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

from dragoman.indexes.explanation import explain, rarity
from dragoman.indexes.passages import Span
from dragoman.lexicon.query import IDENTICAL, TRANSLITERATED, Alternative, TermGroup, TranslatedQuery
from dragoman.lexicon.text.tokens import Token
from dragoman.service.collections.changes import indexed_text
from dragoman.service.collections.service import DocumentInfo
from dragoman.service.query.translation import Translated, query_term, significant
from dragoman.service.schemas.search import (
    Contribution,
    ExplainedHit,
    Fusion,
    Highlight,
    Hit,
    MatchKind,
    RankedBy,
    Scores,
    SearchRequest,
    TextField,
)
from dragoman.service.search.ranked import Part, RankedDocument, Retrieval
from dragoman.service.search.snippets import Match, Matcher, Window, best_window, inside, sentence_window

_WITHOUT_TABLE: dict[int, MatchKind] = {IDENTICAL: "identical", TRANSLITERATED: "sound"}


def add_hits(search: Retrieval) -> None:
    """Give the documents of a search their hits."""
    request = search.request
    parts = {(part.collection.key, part.translated.language): part for part in search.parts}
    evidence: dict[int, Evidence] = {}
    for rank, one in enumerate(search.documents, 1):
        part = one.part or parts.get((one.collection.key, one.stored.language))
        sentence = one.passage.sentence if one.passage is not None else None
        if part is None:  # dense search alone found it, in a collection that was not searched by words
            shown = Shown(sentence_window(one.stored.text, sentence or (0, 0)))
        else:
            if id(part) not in evidence:
                evidence[id(part)] = Evidence(request.query, part, request.explain)
            shown = evidence[id(part)].of(one.stored, one.whole.tokens, sentence)
        if sentence is not None:
            shown.highlights = _in_order([_meaning(request.query, one.stored, sentence), *shown.highlights])
        one.hit = _hit(rank, one, shown, request)


@dataclass(slots=True)
class Shown:
    """What is shown of a document: the window of its text, the matches, and what they add to its BM25 score."""

    window: Window
    highlights: list[Highlight] = field(default_factory=list)
    contributions: list[Contribution] = field(default_factory=list)


class Evidence:
    """Finds the evidence in the documents of one BM25 ranking."""

    def __init__(self, text: str, part: Part, explained: bool) -> None:
        query, statistics = part.translated.query, part.statistics
        self._text = text
        self._translated = part.translated
        self._statistics = statistics
        self._explained = explained
        self._form: Literal["term", "word"] = "word" if query.method == "smt" else "term"
        self._matcher = Matcher(_as_evidence(part.translated), self._form)
        self._importance = [group.weight * rarity(group, statistics, query.method == "psq") for group in query.groups]

    def of(self, document: DocumentInfo, tokens: Sequence[Token], sentence: Span | None) -> Shown:
        """That in a document with these ``tokens``; the window has the sentence, and the best matches beside it."""
        title, text = document.title or "", document.text
        own = _after(tokens, len(indexed_text(document.title, text)) - len(text))
        matches = self._matcher.matches(own)
        around = Window(*sentence) if sentence and sentence[1] else None
        window = best_window(text, own, matches, self._importance, around=around)
        in_title = self._matcher.matches(token for token in tokens if token.end <= len(title))
        highlights = [
            *(self._highlight("title", title, match) for match in in_title),
            *(self._highlight("text", text, match) for match in inside(matches, window)),
        ]
        return Shown(window, highlights, self._contributions(tokens) if self._explained else [])

    def _highlight(self, field: TextField, text: str, match: Match) -> Highlight:
        group = self._translated.query.groups[match.group]
        member = None
        if self._translated.view is not None and match.origin not in _WITHOUT_TABLE:
            member = self._translated.view.members[match.origin]
        return Highlight(
            field=field,
            start=match.start,
            end=match.end,
            match=_WITHOUT_TABLE.get(match.origin, "table"),
            document_term=text[match.start : match.end],
            query_term=query_term(self._text, group),
            probability=significant(match.probability),
            table=member.name if member else None,
            version=member.version if member else None,
        )

    def _contributions(self, tokens: Sequence[Token]) -> list[Contribution]:
        indexed = [token.word if self._form == "word" else token.term for token in tokens if token.term]
        translated = self._translated
        scores = explain(translated.query, self._statistics, Counter(indexed), len(indexed), translated.bm25)
        return [
            Contribution(query_term=query_term(self._text, group), **asdict(score))
            for group, score in zip(translated.query.groups, scores, strict=True)
        ]


def _hit(rank: int, one: RankedDocument, shown: Shown, request: SearchRequest) -> Hit:
    stored = one.stored
    fields: dict[str, Any] = {
        "rank": rank,
        "id": stored.id,
        "collection": one.collection.name,
        "language": stored.language,
        "score": one.score,
        "scores": _scores(one),
        "title": stored.title,
        "snippet": stored.text[shown.window.start : shown.window.end],
        "snippet_start": shown.window.start,
        "highlights": shown.highlights,
    }
    if not request.explain:
        return Hit(**fields)
    if request.method == "hybrid":
        fields["fusion"] = _fusion(one)
    return ExplainedHit(**fields, contributions=shown.contributions)


def _fusion(one: RankedDocument) -> Fusion:
    fused = {"bm25": one.bm25, "dense": one.dense} | ({} if one.late is None else {"late": one.late})
    return Fusion(
        **{
            stage: None if found is None or found.weight is None else RankedBy(**asdict(found))
            for stage, found in fused.items()
        }
    )


def _meaning(query: str, document: DocumentInfo, sentence: Span) -> Highlight:
    field: TextField = "text" if sentence[1] else "title"
    text = document.text if sentence[1] else document.title or ""
    start, end = sentence if sentence[1] else (0, len(text))
    return Highlight(
        field=field,
        start=start,
        end=end,
        match="meaning",
        document_term=text[start:end],
        query_term=query,
        probability=None,
        table=None,
        version=None,
    )


def _in_order(highlights: list[Highlight]) -> list[Highlight]:
    """Those of the title, then those of the text, each by start; of those that start together the first one first."""
    return sorted(highlights, key=lambda one: (one.field == "text", one.start))


def _scores(one: RankedDocument) -> Scores:
    scores = Scores(first_stage=one.first_stage, rerank=one.rerank)
    if one.dense is not None:
        scores.dense = one.dense.score
    if one.late is not None:
        scores.late = one.late.score
    return scores


def _after(tokens: Sequence[Token], start: int) -> Sequence[Token]:
    """The tokens from ``start`` on, with offsets relative to it."""
    if not start:
        return tokens
    return [Token(t.word, t.term, t.start - start, t.end - start) for t in tokens if t.start >= start]


def _as_evidence(translated: Translated) -> TranslatedQuery:
    """The query with P(query term | document term) as the weights; ``smt`` queries have other weights."""
    if translated.query.method != "smt" or translated.view is None:
        return translated.query
    surface = translated.view.surface

    def group_as_evidence(group: TermGroup) -> TermGroup:
        backward = {entry.term: entry.p_backward for entry in surface.translations(group.query_word)}
        alternatives = [Alternative(a.term, backward.get(a.term, a.weight), a.origin) for a in group.alternatives]
        return replace(group, alternatives=alternatives)

    return replace(translated.query, groups=[group_as_evidence(group) for group in translated.query.groups])
