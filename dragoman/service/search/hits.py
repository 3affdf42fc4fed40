"""Builds hits: documents with the evidence for their match."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from dragoman.indexes.dense import DenseHit
from dragoman.indexes.explanation import Statistics, explain, rarity
from dragoman.indexes.passages import PASSAGE_LENGTH, passages
from dragoman.lexicon.query import IDENTICAL, Alternative, TermGroup, TranslatedQuery
from dragoman.lexicon.text.tokens import Analysis, Token
from dragoman.service.collections.changes import indexed_text
from dragoman.service.collections.service import DocumentInfo
from dragoman.service.query.translation import Translated, query_term, significant
from dragoman.service.schemas.search import Contribution, ExplainedHit, Fusion, Highlight, Hit, Scores
from dragoman.service.search.snippets import Match, Matcher, Window, best_window, inside


@dataclass(frozen=True, slots=True)
class Found:
    """A document's rank and scores in the response."""

    rank: int
    score: float
    first_stage: float
    fusion: Fusion | None = None
    rerank: float | None = None


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

    def hit(self, found: Found, document: DocumentInfo, passage: Window | None = None) -> Hit:
        """The hit of one document; its snippet is the ``passage``, or without one the best matching window."""
        whole = indexed_text(document.title, document.text)
        tokens = self._analysis.tokens(whole)
        own = _after(tokens, len(whole) - len(document.text))
        matches = self._matcher.matches(own)
        window = passage or best_window(document.text, own, matches, self._importance)
        highlights = [self._highlight(document.text, match) for match in inside(matches, window)]
        contributions = self._contributions(tokens) if self._explained else None
        return plain_hit(found, self._collection, document, window, highlights, contributions)

    def _highlight(self, text: str, match: Match) -> Highlight:
        group = self._translated.query.groups[match.group]
        member = None
        if self._translated.view is not None and match.origin > IDENTICAL:
            member = self._translated.view.members[match.origin]
        return Highlight(
            start=match.start,
            end=match.end,
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


def plain_hit(
    found: Found,
    collection: str,
    document: DocumentInfo,
    window: Window,
    highlights: list[Highlight],
    contributions: list[Contribution] | None,
) -> Hit:
    """The hit of a document; with ``contributions`` an explained hit."""
    hit = Hit(
        rank=found.rank,
        id=document.id,
        collection=collection,
        language=document.language,
        score=found.score,
        scores=Scores(first_stage=found.first_stage, rerank=found.rerank),
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


def passage_window(text: str, hit: DenseHit) -> Window:
    """The best passage's position in the text; if the title matched best, that of the first passage."""
    if hit.end:
        return Window(hit.start, hit.end)
    return Window(*next(iter(passages(text[: 2 * PASSAGE_LENGTH])), (0, 0)))


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
