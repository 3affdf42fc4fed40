"""Texts with their words: queries and documents, each analysed once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

from dragoman.lexicon.text.tokens import Analysis, Token


@dataclass(frozen=True)
class AnalysedText:
    """A text in one language; it is analysed when its words are first asked for, and only then."""

    text: str
    language: str
    analysis: Callable[[str], Analysis] = field(repr=False)

    @cached_property
    def tokens(self) -> list[Token]:
        """Its words in order."""
        return self.analysis(self.language).tokens(self.text)
