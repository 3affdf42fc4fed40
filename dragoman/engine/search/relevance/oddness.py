"""How unlike writing the letters of a query are: random ones fall into many rare subwords."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Mapping
from functools import lru_cache

from dragoman.engine.models.encoding import COMPARED_SUBWORDS, EncodedQuery

LEVELS: Mapping[str, tuple[float, float]] = {
    "LATIN": (3.3, 5.8),
    "CYRILLIC": (3.1, 7.3),
    "GREEK": (3.7, 8.5),
    "ARABIC": (3.8, 8.3),
    "DEVANAGARI": (3.8, 9.5),
    "BENGALI": (4.5, 10.6),
    "TELUGU": (4.1, 10.3),
    "THAI": (3.4, 10.3),
    "CJK": (7.4, 10.2),
    "HIRAGANA": (6.0, 8.8),
    "KATAKANA": (7.6, 10.8),
    "HANGUL": (8.0, 11.7),
}
"""What a letter adds to the surprisal of a text's subwords, by script: in questions, means of 27 languages, and at
random. Letters of other scripts are not counted."""
_ASSUMED = 5
"""So many usual letters are counted with those of a query, or short names would be as odd as random letters."""


def oddness(text: str, encoded: EncodedQuery) -> float:
    """How far a query's letters are from usual ones, 0, to random ones, 1, by the surprisal of its subwords.

    0 where that is not known: for an encoder without surprisals, and of long queries, whose rare subwords alone are
    there.
    """
    if len(encoded.weights) >= COMPARED_SUBWORDS:
        return 0.0
    excess, distance, letters = 0.0, 0.0, 0
    for weight, (start, end) in zip(encoded.weights.tolist(), encoded.offsets, strict=True):
        levels = [level for letter in text[start:end] if (level := _levels(letter)) is not None]
        if levels:
            excess += weight - math.fsum(usual for usual, _ in levels)
            distance += math.fsum(at_random - usual for usual, at_random in levels)
            letters += len(levels)
    return excess / distance * letters / (letters + _ASSUMED) if letters else 0.0


@lru_cache(maxsize=4096)
def _levels(letter: str) -> tuple[float, float] | None:
    if not (letter.isalpha() or unicodedata.category(letter).startswith("M")):
        return None
    return LEVELS.get(unicodedata.name(letter, "").partition(" ")[0])
