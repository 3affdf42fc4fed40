"""Texts with their words: queries and documents, each analysed once."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from dragoman.deadline import check_each
from dragoman.lexicon.text.tokens import Analysis, Token

_KEPT = 400_000
"""Characters of the texts whose words are kept: about 24 MB."""

Places = Mapping[str, Sequence[int]]
"""The places of the words of a text that have a term, in order, by the term."""


class RecentWords:
    """The words of the texts that were asked for last: a document is a hit of many queries. Thread-safe.

    Words follow from the text and its language alone, so that they need not be forgotten when a document changes.
    """

    def __init__(self, characters: int = _KEPT) -> None:
        self._characters = self._left = characters
        self._texts: dict[tuple[str, str], list[Token]] = {}
        self._places: dict[tuple[str, str], Places] = {}
        """Of texts whose words are kept, once they were asked for."""
        self._lock = threading.Lock()

    def tokens(self, text: str, analysis: Analysis) -> list[Token]:
        """The words of ``text``, which nobody may change."""
        key = (analysis.language, text)
        with self._lock:
            tokens = self._texts.pop(key, None)
            if tokens is not None:
                self._texts[key] = tokens
                return tokens
        tokens = analysis.tokens(text)
        if len(text) <= self._characters:
            with self._lock:
                if self._texts.setdefault(key, tokens) is tokens:
                    self._left -= len(text)
                while self._left < 0:
                    oldest = next(iter(self._texts))
                    self._left += len(oldest[1])
                    del self._texts[oldest]
                    self._places.pop(oldest, None)
        return tokens

    def places(self, text: str, analysis: Analysis) -> Places | None:
        """Where the terms of ``text`` are; None if its words are not kept."""
        key = (analysis.language, text)
        with self._lock:
            places, tokens = self._places.get(key), self._texts.get(key)
        if tokens is None or places is not None:
            return places
        places = _list_places(tokens)
        with self._lock:
            if key in self._texts:
                self._places[key] = places
        return places


def _list_places(tokens: Sequence[Token]) -> Places:
    places: dict[str, list[int]] = {}
    for place, token in enumerate(check_each(tokens, 1000)):
        if token.term:
            for term in {token.term, *token.further} if token.further else (token.term,):
                places.setdefault(term, []).append(place)
    return places


@dataclass(frozen=True)
class AnalysedText:
    """A text in one language; it is analysed when its words are first asked for, and only then."""

    text: str
    language: str
    analysis: Callable[[str], Analysis] = field(repr=False)
    recent: RecentWords | None = field(default=None, repr=False, compare=False)
    """Where its words are looked for, and kept."""

    @property
    def tokens(self) -> list[Token]:
        """Its words in order."""
        tokens: list[Token] | None = self.__dict__.get("_tokens")
        if tokens is None:  # no cached_property: that of Python 3.11 analyses all texts of all threads one by one
            analysis = self.analysis(self.language)
            tokens = self.recent.tokens(self.text, analysis) if self.recent is not None else analysis.tokens(self.text)
            self.__dict__["_tokens"] = tokens
        return tokens

    @property
    def places(self) -> Places | None:
        """Where its terms are, if that is kept."""
        return None if self.recent is None else self.recent.places(self.text, self.analysis(self.language))

    def without_words(self) -> AnalysedText:
        """The same text without its words, which are many."""
        return AnalysedText(self.text, self.language, self.analysis, self.recent)
