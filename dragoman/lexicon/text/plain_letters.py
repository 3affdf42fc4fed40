"""Letters that are typed without marks that folding keeps: ``ł`` as ``l``, Vietnamese ``ằ`` as ``a``."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping
from functools import lru_cache

from dragoman.lexicon.text.tokens import fold

__all__ = ["plain_letter", "plain_text", "written_letters"]

_STROKES = {"ł": "l", "đ": "d", "ð": "d", "ø": "o", "ħ": "h", "ŧ": "t", "ı": "i", "þ": "th", "æ": "ae", "œ": "oe"}
"""Letters that Unicode does not decompose."""
_LATIN = (*range(0x00DF, 0x0250), *range(0x1E00, 0x1F00))
_MARKED = frozenset(map(chr, _LATIN))


def plain_letter(letter: str) -> str:
    """A letter as it is typed without marks; any other character is what it was."""
    return _STROKES.get(letter) or unicodedata.normalize("NFD", letter)[0]


def plain_text(text: str) -> str:
    """A folded text as it is typed without marks of Latin letters."""
    return (
        text if text.isascii() else "".join([plain_letter(letter) if letter in _MARKED else letter for letter in text])
    )


@lru_cache(maxsize=256)
def written_letters(language: str) -> Mapping[str, Iterable[str]]:
    """By what is typed without marks, the letters that folding in a language keeps as they are."""
    letters: dict[str, list[str]] = {}
    for letter in map(chr, _LATIN):
        plain = plain_letter(letter)
        if plain != letter and plain.isascii() and fold(letter, language) == letter:
            letters.setdefault(plain, []).append(letter)
    return letters
