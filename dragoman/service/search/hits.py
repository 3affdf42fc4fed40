"""Builds hits: documents with the evidence for their match."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from dragoman.indexes.explanation import Statistics, explain, rarity
from dragoman.indexes.passages import Span
from dragoman.lexicon.query import IDENTICAL, TRANSLITERATED, Alternative, TermGroup, TranslatedQuery
from dragoman.lexicon.text.tokens import Analysis, Token
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
    Scores,
    SearchRequest,
    TextField,
)
from dragoman.service.search.fusion import Answer
from dragoman.service.search.snippets import Match, Matcher, Window, best_window, inside, sentence_window

_WITHOUT_TABLE: dict[int, MatchKind] = {IDENTICAL: "identical", TRANSLITERATED: "sound"}


@dataclass(frozen=True, slots=True)
class Found:
    """A document's rank and scores in the response."""

    rank: int
    score: float
    first_stage: float
    dense: float | None = None
    late: float | None = None
    fusion: Fusion | None = None
    rerank: float | None = None
    sentence: Span | None = None
    """The sentence that dense search found it by, ``text[start:end]``; (0, 0) for the title. None if by words alone."""


class HitBuilder:
    """Builds the hits of one collection in one language from their documents."""

    def __init__(
        self,
        text: str,
        collection: str,
        translated: Translated,
        statistics: Statistics,
        analysis: Analysis,
        explained: bool,
    ) -> None:
        self._text = text
        self._collection = collection
        self._translated = translated
        self._statistics = statistics
        self._analysis = analysis
        self._explained = explained
        self._form: Literal["term", "word"] = "word" if translated.query.method == "smt" else "term"
        self._matcher = Matcher(_as_evidence(translated), self._form)
        structured = translated.query.method == "psq"
        self._importance = [group.weight * rarity(group, statistics, structured) for group in translated.query.groups]

    def hit(self, found: Found, document: DocumentInfo) -> Hit:
        """The hit of one document; its snippet has the sentence found, and the best matches that fit beside it."""
        title, text = document.title or "", document.text
        whole = indexed_text(document.title, text)
        tokens = self._analysis.tokens(whole)
        own = _after(tokens, len(whole) - len(text))
        matches = self._matcher.matches(own)
        around = Window(*found.sentence) if found.sentence and found.sentence[1] else None
        window = best_window(text, own, matches, self._importance, around=around)
        in_title = self._matcher.matches(token for token in tokens if token.end <= len(title))
        highlights = [
            *(self._highlight("title", title, match) for match in in_title),
            *(self._highlight("text", text, match) for match in inside(matches, window)),
        ]
        contributions = self._contributions(tokens) if self._explained else None
        return _hit(found, self._text, self._collection, document, window, highlights, contributions)

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
            Contribution(
                query_term=query_term(self._text, group),
                tf=score.tf,
                df=score.df,
                idf=score.idf,
                weight=score.weight,
                score=score.score,
            )
            for group, score in zip(translated.query.groups, scores, strict=True)
        ]


def hits_of(
    request: SearchRequest, answer: Answer, documents: Mapping[int, DocumentInfo], analysis: Callable[[str], Analysis]
) -> list[Hit]:
    """The hits of a ranking, by the ``documents`` by key; those deleted or replaced meanwhile are left out."""
    builders: dict[int, HitBuilder] = {}
    hits: list[Hit] = []
    for place in answer.places:
        document = documents.get(place.key)
        if document is None:
            continue
        passage = place.passage
        if passage is not None and document.generation != passage.generation:
            if place.part is None:
                continue  # just replaced: the passage no longer exists
            passage = None
        found = Found(
            len(hits) + 1,
            place.score,
            place.first_stage,
            dense=place.dense,
            late=place.late,
            fusion=place.fusion,
            rerank=place.rerank,
            sentence=passage.sentence if passage else None,
        )
        part = place.part or answer.part(place.collection.key, document.language)
        if part is None:
            hits.append(hit_by_meaning(found, request.query, place.collection.name, document, request.explain))
            continue
        builder = builders.get(id(part))
        if builder is None:
            builder = builders[id(part)] = HitBuilder(
                request.query,
                part.collection.name,
                part.translated,
                part.statistics,
                analysis(part.translated.language),
                request.explain,
            )
        hits.append(builder.hit(found, document))
    return hits


def hit_by_meaning(found: Found, query: str, collection: str, document: DocumentInfo, explained: bool) -> Hit:
    """The hit of a document that only dense search found, in a collection that was not searched by words."""
    window = sentence_window(document.text, found.sentence or (0, 0))
    return _hit(found, query, collection, document, window, [], [] if explained else None)


def _hit(
    found: Found,
    query: str,
    collection: str,
    document: DocumentInfo,
    window: Window,
    highlights: list[Highlight],
    contributions: list[Contribution] | None,
) -> Hit:
    """The hit of a document; with ``contributions`` an explained hit."""
    if found.sentence is not None:
        highlights = _in_order([_meaning(query, document, found.sentence), *highlights])
    hit = Hit(
        rank=found.rank,
        id=document.id,
        collection=collection,
        language=document.language,
        score=found.score,
        scores=_scores(found),
        title=document.title,
        snippet=document.text[window.start : window.end],
        snippet_start=window.start,
        highlights=highlights,
    )
    if contributions is None:
        return hit
    explained = ExplainedHit(**{name: getattr(hit, name) for name in hit.model_fields_set}, contributions=contributions)
    if found.fusion is not None:
        explained.fusion = found.fusion
    return explained


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


def _scores(found: Found) -> Scores:
    scores = Scores(first_stage=found.first_stage, rerank=found.rerank)
    if found.dense is not None:
        scores.dense = found.dense
    if found.late is not None:
        scores.late = found.late
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
