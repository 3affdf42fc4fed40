"""What a statement and a sentence deny: the one of both that does alone cannot say what the other says."""

from __future__ import annotations

from itertools import takewhile
from unicodedata import normalize

from dragoman.engine.qa.judging.denying import denies, is_denying, surely_denies
from dragoman.engine.qa.judging.implicit import count_implicit
from dragoman.engine.qa.judging.words import AnalysedText, Word
from dragoman.lexicon.text.tokens import fold

__all__ = ["deny_apart", "differs_by_denial", "is_opposed"]

_LEAST_SAME = 2
"""Content words that have to be there on both sides beside what denies."""
_LEAST_ALIKE = 2
_INFLECTED_BEFORE = frozenset({"ar", "he", "sw"})
"""Languages whose verbs change at their beginning, so that forms of one word may have the ending alone in common."""
_LIGHT = {"hi": frozenset(fold(word, "hi") for word in ("कर", "किया", "किए", "किये", "की", "दिया", "दिए", "दिये", "दी"))}
"""Verbs that finish another and say little of their own: which one does may change with a denial."""


def is_opposed(statement: AnalysedText, sentence: AnalysedText) -> bool:
    """Whether one of both denies, or may deny, so that the sentence does not say the statement."""
    return _count_denials(statement) != _count_denials(sentence)


def deny_apart(statement: AnalysedText, sentence: AnalysedText) -> bool:
    """Whether one of both surely denies, and the other surely does not."""
    said, written = (surely_denies(_compose(text), text.language) for text in (statement, sentence))
    return said is not None and written is not None and said != written


def differs_by_denial(statement: AnalysedText, sentence: AnalysedText) -> bool:
    """Whether one of two texts in one language denies what the other says in the same words, up to their form."""
    if not deny_apart(statement, sentence):
        return False
    ours, theirs = _not_denying(statement), _not_denying(sentence)
    same = statement.terms & sentence.terms
    return len(same) >= _LEAST_SAME and all(
        any(_are_alike(word, other, statement.language) for other in others)
        for words, others in ((ours, theirs), (theirs, ours))
        for word in words
    )


def _count_denials(text: AnalysedText) -> tuple[bool, int]:
    """Whether a text has a *not*, and how many words that deny by their meaning. Neither makes up for the other."""
    return denies(_compose(text), text.language), count_implicit(_compose(text), text.language)


def _compose(text: AnalysedText) -> str:
    """The text with letters and accents as one, as words that deny are listed."""
    return normalize("NFC", text.text)


def _not_denying(text: AnalysedText) -> list[Word]:
    """The content words but for those that deny and are nothing else, and for light verbs."""
    light = _LIGHT.get(text.language, frozenset())
    return [word for word in text.words if word.form not in light and not is_denying(word.form, text.language)]


def _are_alike(word: Word, other: Word, language: str) -> bool:
    """Whether two words are forms of one: by an index term, or by how most of the shorter one begins.

    An ending in common says nothing: bought and sold, or opened and closed, have it in many languages.
    """
    if word.terms & other.terms:
        return True
    shorter = min(len(word.form), len(other.form))
    shared = _count_same(word.form, other.form)
    if language in _INFLECTED_BEFORE:
        shared = max(shared, _count_same(word.form[::-1], other.form[::-1]))
    return shared >= max(_LEAST_ALIKE, shorter / 2)


def _count_same(first: str, second: str) -> int:
    """How many letters both begin with."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(first, second, strict=False)))
