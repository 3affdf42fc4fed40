"""Texts with their words: queries and documents, each analysed once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from dragoman.lexicon.text.tokens import Analysis, Token


@dataclass(frozen=True)
class AnalysedText:
    """A text in one language; it is analysed when its words are first asked for, and only then."""

    text: str
    language: str
    analysis: Callable[[str], Analysis] = field(repr=False)

    @property
    def tokens(self) -> list[Token]:
        """Its words in order."""
        tokens: list[Token] | None = self.__dict__.get("_tokens")
        if tokens is None:  # no cached_property: that of Python 3.11 analyses all texts of all threads one by one
            tokens = self.__dict__["_tokens"] = self.analysis(self.language).tokens(self.text)
        return tokens
