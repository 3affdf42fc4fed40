"""A sentence and its translation as all parts of a check read them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from dragoman.checking.knowledge import Knowledge
from dragoman.lexicon.text.function_words import folded_function_words
from dragoman.lexicon.text.tokens import Token

__all__ = ["Pair", "Side"]


@dataclass(frozen=True)
class Side:
    """One of the two texts with its words."""

    text: str
    language: str
    tokens: list[Token]

    @cached_property
    def content(self) -> list[Token]:
        """The words that carry meaning."""
        aside = folded_function_words(self.language)
        return [token for token in self.tokens if token.term and token.word not in aside]

    @cached_property
    def terms(self) -> frozenset[str]:
        """Index terms of all words."""
        return frozenset(term for token in self.tokens for term in (token.term, *token.further) if term)

    @cached_property
    def words(self) -> list[str]:
        """The distinct words of content, as they are written."""
        return list(dict.fromkeys(self.text[token.start : token.end] for token in self.content))


@dataclass(frozen=True)
class Pair:
    """A source sentence and its translation."""

    source: Side
    target: Side

    @classmethod
    def read(cls, source: str, translation: str, knowledge: Knowledge) -> Pair:
        """Both texts, split into words."""
        sides = (source, knowledge.source), (translation, knowledge.target)
        first, second = (Side(text, language, knowledge.analysis(language).tokens(text)) for text, language in sides)
        return cls(first, second)

    def invert(self) -> Pair:
        """The translation as the source."""
        return Pair(self.target, self.source)
