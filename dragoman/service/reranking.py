"""Documents scored by the reranker for a query, across languages, with what the active tables say."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

from dragoman.lexicon.text import Analysis, Token
from dragoman.ranking.about import MartAbout
from dragoman.ranking.attention import NO_LINKS, TranslationReference, Words
from dragoman.service.background import in_background
from dragoman.service.bridges import bridges, linked_words
from dragoman.service.errors import Unavailable
from dragoman.service.scoring import Asked, Pending, Scores, Scoring, Text
from dragoman.service.tables_registry import Snapshot
from dragoman.service.worker import Gone

__all__ = ["Document", "Reranking", "sigmoid"]


class Document(NamedTuple):
    """A document to score: its text and language."""

    text: str
    language: str


class Reranking:
    """Scores documents of any languages for a query. Safe from any thread."""

    def __init__(self, scoring: Scoring, analysis: Callable[[str], Analysis]) -> None:
        self._scoring = scoring
        self._analysis = analysis

    def about(self, gone: Gone | None = None, seconds: float | None = None) -> MartAbout:
        """The model that scores, had within so many seconds.

        Raises:
            Unavailable: there is none, or it cannot be reached.
        """
        return self._scoring.about(gone, seconds)

    def begin(
        self,
        query: str,
        language: str,
        documents: Sequence[Document],
        snapshot: Snapshot,
        seconds: float,
        gone: Gone | None = None,
    ) -> Pending:
        """Have documents scored with the tables of one snapshot.

        Raises:
            Unavailable: in background work, a table for these languages cannot be served now.
            ServiceError: see :meth:`Scoring.begin`.
        """
        about = self._scoring.about(gone, seconds)
        pending = self._scoring.begin(self._asked(query, language, documents, snapshot, about), seconds)
        return replace(pending, finish=lambda: _checked(pending.finish(), about))

    def _asked(
        self, query: str, language: str, documents: Sequence[Document], snapshot: Snapshot, about: MartAbout
    ) -> Asked:
        tokens = self._analysis(language).tokens(query)
        found = [_words(self._analysis(document.language).tokens(document.text)) for document in documents]
        terms: dict[str, set[str]] = {}
        for document, words in zip(documents, found, strict=True):
            terms.setdefault(document.language, set()).update(filter(None, words.terms))
        references: dict[str, TranslationReference] = {}
        for target, own in terms.items():
            if in_background() and (lacking := snapshot.lacking(language, target)) is not None:
                raise Unavailable(f"a table that is needed cannot be served now: {lacking}")
            view = snapshot.views.get((language, target))
            asked = linked_words(query, tokens, language, view) if target != language else tokens
            references[target] = TranslationReference(
                _words(asked),
                view.analysed if view is not None else None,
                direction=about.direction,
                beside=bridges(asked, target, view, self._analysis, own) if target != language else None,
            )
        links = [
            NO_LINKS if about.placebo else references[document.language].links(words)
            for document, words in zip(documents, found, strict=True)
        ]
        texts = [Text(document.text, words.spans) for document, words in zip(documents, found, strict=True)]
        return Asked(Text(query, _words(tokens).spans), texts, links)


def _checked(scores: Scores, linked: MartAbout) -> Scores:
    """The scores, unless they are of a model that reads tables otherwise than that which links were made for.

    Raises:
        Unavailable: they are.
    """
    if (scores.about.direction, scores.about.placebo) != (linked.direction, linked.placebo):
        raise Unavailable("the worker holds another model now, which reads tables otherwise: ask again")
    return scores


def sigmoid(value: float) -> float:
    """1 / (1 + exp(-value)), for any value."""
    return 1 / (1 + math.exp(-value)) if value >= 0 else math.exp(value) / (1 + math.exp(value))


def _words(tokens: Sequence[Token]) -> Words:
    return Words([token.term for token in tokens], [(token.start, token.end) for token in tokens])
