"""The words of a statement beside those of a sentence: which of them the other has, as it is or by the tables."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import lru_cache

import regex

from dragoman.checking.amounts import Amount, read_amounts
from dragoman.deadline import check_each
from dragoman.engine.tables.snapshot import Snapshot
from dragoman.engine.tables.views import PivotView, View
from dragoman.indexes.analysis.languages import analyser
from dragoman.indexes.analysis.transliteration import LONGEST_COMPARED, romanise, similarity
from dragoman.lexicon.phrases import units
from dragoman.lexicon.text.function_words import folded_function_words
from dragoman.lexicon.text.tokens import Analysis, Token

__all__ = ["AMOUNT", "AnalysedText", "Linker", "Word"]

AMOUNT = "#"
"""Stands for a number, date or measure in a sequence of words: amounts are compared by value."""
_LEAST_PROBABILITY = 0.02
"""P(translation | word) from which on an entry links two words; the tail of a trained table links any two."""
_TRANSLATIONS = 30
_LEAST_ALIKE = 0.75
"""Similarity of the romanised forms from which on two words are one name."""
_SHORTEST_ALIKE = 4
_CAPITAL = regex.compile(r"\p{Lu}")
_NOUNS_CAPITALISED = frozenset({"de", "lb"})
_CHECKED = 16


@dataclass(frozen=True, slots=True)
class Word:
    """A content word of a text, or a phrase that the tables have."""

    form: str
    """Folded."""
    terms: frozenset[str]
    """Its index terms."""
    start: int
    end: int
    name: bool
    """Whether it is written as a name. In languages that write all nouns so, or none, no word is."""


@dataclass(frozen=True, slots=True)
class AnalysedText:
    """A statement or sentence: its content words apart from its amounts, and all of it in a row."""

    text: str
    language: str
    words: Sequence[Word]
    amounts: Sequence[Amount]
    sequence: Sequence[str]
    """The folded words, function words too; :data:`AMOUNT` in the place of each amount."""
    names: frozenset[str]
    """The folded words that are written as names."""

    @property
    def terms(self) -> frozenset[str]:
        """All index terms of its content words."""
        return frozenset(term for word in self.words for term in word.terms)


class Linker:
    """Finds the words of one text in another, by the tables of one snapshot."""

    def __init__(self, analysis: Callable[[str], Analysis], snapshot: Snapshot) -> None:
        self._analysis, self._snapshot = analysis, snapshot
        self._translations: dict[tuple[str, str, str], frozenset[str]] = {}

    def analyse(self, text: str, language: str, other: str) -> AnalysedText:
        """The words of a text; where its language writes words as several, those that tables into ``other`` have."""
        tokens = self._analysis(language).tokens(text)
        amounts = read_amounts(text, language)
        apart = [token for token in tokens if not _inside(token, amounts)]
        aside = folded_function_words(language)
        names = _names(text, language, tokens)
        content = [token for token in apart if token.term and token.word not in aside]
        if analyser(language).syllables and (view := self._view(language, other)) is not None:
            content = list(units(content, view.analysed))
        words = [
            Word(
                token.word,
                frozenset({token.term, *(term for term in token.further if term.isalnum())}),
                token.start,
                token.end,
                token.word in names,
            )
            for token in content
        ]
        return AnalysedText(text, language, words, amounts, _sequence(tokens, amounts), names)

    def links(self, text: AnalysedText, other: AnalysedText, *, sound: bool = True) -> list[bool]:
        """Which words of a text the other one has: as they are, translated or, with ``sound``, alike in sound."""
        terms, forms = other.terms, frozenset(word.form for word in other.words)
        linked = [
            word.form in forms
            or (
                bool(word.terms & terms)
                if text.language == other.language
                else self._is_translated(word, text.language, other.language, terms)
            )
            for word in check_each(text.words, _CHECKED)
        ]
        if not sound or all(linked):
            return linked
        return [
            is_linked or _sounds_like_any(word, other.words) for word, is_linked in zip(text.words, linked, strict=True)
        ]

    def has_tables(self, language: str, other: str) -> bool:
        """Whether words can be compared: in one language, or by tables."""
        return language == other or self._view(language, other) is not None

    def _view(self, language: str, other: str) -> View | PivotView | None:
        return None if language == other else self._snapshot.view(language, other)

    def _is_translated(self, word: Word, language: str, other: str, terms: Collection[str]) -> bool:
        return any(
            translation in terms or (" " in translation and all(part in terms for part in translation.split(" ")))
            for term in word.terms
            for translation in self._translate(term, language, other)
        )

    def _translate(self, term: str, language: str, other: str) -> frozenset[str]:
        key = (term, language, other)
        if key not in self._translations:
            view = self._view(language, other)
            entries = [] if view is None else view.analysed.translations(term, best=_TRANSLATIONS)
            probable = [entry.term for entry in entries if entry.p_forward >= _LEAST_PROBABILITY]
            self._translations[key] = frozenset(probable)
        return self._translations[key]


def _inside(token: Token, amounts: Sequence[Amount]) -> bool:
    return any(amount.start < token.end and token.start < amount.end for amount in amounts)


def _sequence(tokens: Sequence[Token], amounts: Sequence[Amount]) -> list[str]:
    row = [(token.start, token.word) for token in tokens if not _inside(token, amounts)]
    return [word for _, word in sorted([*row, *((amount.start, AMOUNT) for amount in amounts)])]


def _names(text: str, language: str, tokens: Sequence[Token]) -> frozenset[str]:
    """The words with a capital that does not come from their place: the first word counts if the second has one too."""
    if language in _NOUNS_CAPITALISED:
        return frozenset()
    aside = folded_function_words(language)
    capital = [bool(_CAPITAL.match(text, token.start)) and token.word not in aside for token in tokens]
    if len(capital) > 1 and not capital[1]:
        capital[0] = False
    return frozenset(token.word for token, written in zip(tokens, capital, strict=True) if written)


def _sounds_like_any(word: Word, others: Sequence[Word]) -> bool:
    letters = _romanise(word.form)
    return len(letters) >= _SHORTEST_ALIKE and any(
        _may_be_alike(letters, _romanise(other.form)) and similarity(word.form, other.form) >= _LEAST_ALIKE
        for other in check_each(others, _CHECKED)
    )


def _may_be_alike(first: str, second: str) -> bool:
    """Whether the lengths of two words allow so large a similarity."""
    return 2 * min(len(first), len(second)) >= _LEAST_ALIKE * (len(first) + len(second))


@lru_cache(maxsize=16_384)
def _romanise(form: str) -> str:
    return romanise(form) if len(form) <= LONGEST_COMPARED else ""
