"""How unlike writing the letters of a query are: random ones fall into many rare subwords."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Mapping
from functools import lru_cache

from dragoman.engine.models.encoding import COMPARED_SUBWORDS, EncodedQuery

USUAL: Mapping[str, float] = {
    "LATIN": 3.3,
    "CYRILLIC": 3.1,
    "GREEK": 3.7,
    "ARABIC": 3.8,
    "DEVANAGARI": 3.8,
    "BENGALI": 4.5,
    "TELUGU": 4.1,
    "THAI": 3.4,
    "CJK": 7.4,
    "HIRAGANA": 6.0,
    "KATAKANA": 7.6,
    "HANGUL": 8.0,
}
"""What a letter adds to the surprisal of a text's subwords, by script: means of questions in 27 languages. Letters of
other scripts are not counted."""
_ASSUMED = 5
"""So many usual letters are counted with those of a query, or short names would be as odd as random letters."""


def oddness(text: str, encoded: EncodedQuery) -> float:
    """By how much a letter of a query adds to the surprisal of its subwords more than usual, in nats.

    0 where that is not known: for an encoder without surprisals, and of long queries, whose rare subwords alone are
    there.
    """
    if len(encoded.weights) >= COMPARED_SUBWORDS:
        return 0.0
    excess, letters = 0.0, 0
    for weight, (start, end) in zip(encoded.weights.tolist(), encoded.offsets, strict=True):
        usual = [level for letter in text[start:end] if (level := _usual(letter)) is not None]
        if usual:
            excess += weight - math.fsum(usual)
            letters += len(usual)
    return excess / (letters + _ASSUMED)


@lru_cache(maxsize=4096)
def _usual(letter: str) -> float | None:
    if not (letter.isalpha() or unicodedata.category(letter).startswith("M")):
        return None
    return USUAL.get(unicodedata.name(letter, "").partition(" ")[0])
