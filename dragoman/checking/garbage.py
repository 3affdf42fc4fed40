"""What is no translation at all: nothing, the source itself, words without end."""

from __future__ import annotations

import regex

from dragoman.checking.check import Reason
from dragoman.checking.sentence import Pair

__all__ = ["check_garbage"]

_LETTERS = regex.compile(r"\p{L}+")
_FEW = 3
"""Words that may be the same in both languages."""
_SAME = 0.8
_REPEATED = regex.compile(r"(?s)(\b.{2,60}?)(?:[\s,.;]*\1){3}")
_NOT_LATIN = frozenset(
    {"ar", "fa", "ur", "he", "hi", "bn", "mr", "ta", "te", "th", "zh", "ja", "ko", "ru", "uk", "bg", "el", "am"}
)
"""Languages whose words are written in other letters."""
_LATIN = frozenset(
    {"en", "de", "fr", "es", "it", "pt", "nl", "sv", "da", "no", "nb", "nn", "fi", "et", "lv", "lt", "pl", "cs", "sk"}
    | {"sl", "hr", "hu", "ro", "tr", "az", "vi", "id", "ms", "sw", "so", "ha", "yo", "ig", "zu", "rw", "tl", "ca"}
    | {"gl", "eu", "is", "ga", "cy", "mt", "sq"}
)


def check_garbage(pair: Pair) -> Reason | None:
    """The reason why the translation is none, whatever it says."""
    source, target = pair.source, pair.target
    if not _LETTERS.search(target.text) and _LETTERS.search(source.text):
        return Reason("length", None, target.text.strip() or None)
    if _REPEATED.search(target.text) and not _REPEATED.search(source.text):
        return Reason("length", None, target.text)
    if source.language == target.language:
        return None
    words = [word.casefold() for word in source.words]
    copied = {word.casefold() for word in target.words}
    if len(words) > _FEW and sum(word in copied for word in words) >= _SAME * len(words):
        return Reason("coverage", source.text, target.text)
    if _is_in_other_letters(target.text, target.language):
        return Reason("coverage", None, target.text)
    return None


def _is_in_other_letters(text: str, language: str) -> bool:
    """Whether most of a text cannot be of its language, by its letters."""
    letters = regex.findall(r"\p{L}", text)
    latin = len(regex.findall(r"\p{Latin}", text))
    if len(letters) < 2 * _FEW:
        return False
    return latin * 10 > 9 * len(letters) if language in _NOT_LATIN else latin * 2 < len(letters) and language in _LATIN
