"""Names that no table knows, met by their sound across scripts.

A word is romanised (anyascii), and its *skeleton* keeps only the classes of its consonants, as in Soundex
(Russell 1918) but for every letter: vowels are written differently, or not at all, from script to script. Words
with the same skeleton are candidates; how alike their romanisations are says how much a candidate counts.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import SequenceMatcher
from functools import lru_cache

import regex
from anyascii import anyascii

VERSION = "1"
SHORTEST_SKELETON = 2
LEAST_SIMILARITY = 0.5
_ALTERNATIVES = 50

BETWEEN = "\ue004"
"""Private-use character between a skeleton and the term it belongs to."""

_SOUNDS = {
    "sch": "s",
    "tch": "k",
    "dzh": "k",
    "zh": "k",
    "gh": "k",
    "sh": "s",
    "ch": "k",
    "ph": "f",
    "th": "t",
    "ck": "k",
    "qu": "k",
    "x": "ks",
}
_UNSURE = {"w": "f", "kh": "k"}
"""Sounds that one script writes and another leaves out or writes as a vowel: with and without them."""
_CLASSES = {letter: group[0] for group in ("pb", "fv", "kgjcq", "td", "sz", "l", "r", "m", "n") for letter in group}
_SOUND = regex.compile("|".join(_SOUNDS) + "|c(?=[eiy])")
_DOUBTFUL = regex.compile("|".join(_UNSURE))
_REPEATED = regex.compile(r"(.)\1+")


@lru_cache(maxsize=65536)
def romanised(word: str) -> str:
    """The word in the letters a to z and digits; empty where nothing of it can be romanised."""
    return "".join(letter for letter in anyascii(word).lower() if letter.isalnum())


@lru_cache(maxsize=65536)
def skeletons(word: str) -> frozenset[str]:
    """The consonant classes of the romanised word, repeats joined, with and without its doubtful sounds.

    Empty for words with digits and for those of fewer than two consonants.
    """
    letters = romanised(word)
    if not letters.isalpha():
        return frozenset()
    found = set()
    for doubtful in (_UNSURE, {}):
        sure = _DOUBTFUL.sub(lambda match, kept=doubtful: kept.get(match[0], ""), letters)
        sounds = _SOUND.sub(lambda match: _SOUNDS.get(match[0], "s"), sure)
        classes = _REPEATED.sub(r"\1", "".join(_CLASSES.get(letter, "") for letter in sounds))
        if len(classes) >= SHORTEST_SKELETON:
            found.add(classes)
    return frozenset(found)


@lru_cache(maxsize=65536)
def sounds(term: str) -> str:
    """What an index keeps of an index term's sound: ``skeleton BETWEEN term`` per skeleton, space-separated."""
    return " ".join([f"{form}{BETWEEN}{term}" for form in sorted(skeletons(term))])


@lru_cache(maxsize=65536)
def similarity(first: str, second: str) -> float:
    """Ratcliff/Obershelp similarity of two words' romanisations, in [0, 1]; symmetric."""
    left, right = sorted((romanised(first), romanised(second)))
    return SequenceMatcher(None, left, right, autojunk=False).ratio()


def most_alike(term: str, candidates: Iterable[str]) -> list[tuple[str, float]]:
    """The candidates most like ``term``, at most 50, each with its similarity; all share a skeleton with it."""
    near = [(other, similarity(term, other)) for other in set(candidates)]
    near = [(other, value) for other, value in near if value >= LEAST_SIMILARITY]
    return sorted(near, key=lambda item: (-item[1], item[0]))[:_ALTERNATIVES]
