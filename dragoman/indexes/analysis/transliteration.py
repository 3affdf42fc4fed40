"""Phonetic matching across scripts, for names that are in no table.

A word is romanised (anyascii). Its *skeleton* keeps only the classes of its consonants, as in Soundex (Russell
1918) but for every letter, since scripts write vowels differently or not at all. Words with the same skeleton
are candidates, weighted by the similarity of their romanisations.
"""

from __future__ import annotations

from bisect import insort
from collections import Counter
from collections.abc import Iterable, Mapping
from difflib import SequenceMatcher
from functools import lru_cache
from heapq import nsmallest

import regex
from anyascii import anyascii

from dragoman.deadline import check_each

VERSION = "1"
SHORTEST_SKELETON = 2
LEAST_SIMILARITY = 0.5
LONGEST_COMPARED = 64
"""The letters of the longest words that are compared: the time grows with their square, and names are shorter."""
_ALTERNATIVES = 50
_CANDIDATES, _COMPARED = 4_000, 500
"""How many words one word is compared with at most: by their letters in any order, and in their own."""
_CHECKED, _CHECKED_PAIRS = 256, 16
"""After so many words, and pairs that are compared, the deadline is asked for."""

SKELETON_SEPARATOR = "\ue004"
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
_OPTIONAL_SOUNDS = {"w": "f", "kh": "k"}
"""Sounds that some scripts omit or write as a vowel; skeletons are built with and without them."""
_CLASSES = {letter: group[0] for group in ("pb", "fv", "kgjcq", "td", "sz", "l", "r", "m", "n") for letter in group}
_SOUND = regex.compile("|".join(_SOUNDS) + "|c(?=[eiy])")
_OPTIONAL = regex.compile("|".join(_OPTIONAL_SOUNDS))
_REPEATED = regex.compile(r"(.)\1+")


@lru_cache(maxsize=65536)
def romanise(word: str) -> str:
    """The word in the letters a to z and digits; empty if it cannot be romanised."""
    return "".join(letter for letter in anyascii(word).lower() if letter.isalnum())


@lru_cache(maxsize=65536)
def skeletons(word: str) -> frozenset[str]:
    """The consonant classes of the romanised word, without repeats, with and without optional sounds.

    Empty for words with digits and for words of fewer than two consonants.
    """
    letters = romanise(word)
    if not letters.isalpha():
        return frozenset()
    forms = set()
    for replacements in (_OPTIONAL_SOUNDS, {}):
        spelling = _OPTIONAL.sub(lambda match, substitutes=replacements: substitutes.get(match[0], ""), letters)
        sounds = _SOUND.sub(lambda match: _SOUNDS.get(match[0], "s"), spelling)
        classes = _REPEATED.sub(r"\1", "".join(_CLASSES.get(letter, "") for letter in sounds))
        if len(classes) >= SHORTEST_SKELETON:
            forms.add(classes)
    return frozenset(forms)


@lru_cache(maxsize=65536)
def sounds(term: str) -> str:
    """The phonetic index entries of a term: ``skeleton SKELETON_SEPARATOR term`` per skeleton, space-separated."""
    return " ".join([f"{skeleton}{SKELETON_SEPARATOR}{term}" for skeleton in sorted(skeletons(term))])


@lru_cache(maxsize=65536)
def similarity(first: str, second: str) -> float:
    """Ratcliff/Obershelp similarity of two words' romanisations, in [0, 1]; symmetric."""
    left, right = sorted((romanise(first), romanise(second)))
    return SequenceMatcher(None, left, right, autojunk=False).ratio()


def alike(term: str, candidates: Iterable[str], least: float, most: int | None = None) -> list[tuple[str, float]]:
    """The candidates whose similarity to ``term`` is at least ``least``, at most ``most``, the most similar first.

    Candidates that cannot be among them are not compared. Of many that can, those of the highest bound are: of the
    :data:`_CANDIDATES` whose lengths are nearest, :data:`_COMPARED`. Words of more than :data:`LONGEST_COMPARED`
    letters are like nothing.

    Raises:
        DeadlinePassed: it took longer than it may.
        WorkCancelled: nobody waits for it any more.
    """
    letters = romanise(term)
    if len(letters) > LONGEST_COMPARED:
        return []
    counts = Counter(letters)
    bounds: list[tuple[float, str]] = []
    for other in check_each(_nearest(len(letters), set(candidates)), _CHECKED):
        bound = _similarity_bound(letters, counts, romanise(other))
        if bound >= least:
            bounds.append((-bound, other))
    bounds.sort()
    ranked: list[tuple[float, str]] = []
    for bound, other in check_each(bounds[:_COMPARED], _CHECKED_PAIRS):
        if most is not None and len(ranked) >= most and bound > ranked[most - 1][0]:
            break
        likeness = similarity(term, other)
        if likeness >= least:
            insort(ranked, (-likeness, other))
    return [(other, -negative) for negative, other in ranked[:most]]


def most_alike(term: str, candidates: Iterable[str]) -> list[tuple[str, float]]:
    """At most 50 candidates most similar to ``term``, with their similarities. All must share a skeleton with it."""
    return alike(term, candidates, LEAST_SIMILARITY, _ALTERNATIVES)


def _nearest(length: int, candidates: set[str]) -> Iterable[str]:
    """The :data:`_CANDIDATES` whose lengths are nearest, of which the most letters can be the same."""
    if len(candidates) <= _CANDIDATES:
        return candidates
    differences = [(abs(len(romanise(other)) - length), other) for other in check_each(candidates, _CHECKED)]
    return [other for _, other in nsmallest(_CANDIDATES, differences)]


def _similarity_bound(letters: str, counts: Mapping[str, int], other: str) -> float:
    """What the similarity of two words is at most: that of their letters in any order."""
    length = len(letters) + len(other)
    if len(other) > LONGEST_COMPARED or not length:
        return 0.0 if length else 1.0
    shared = sum([min(count, other.count(letter)) for letter, count in counts.items()])
    return 2.0 * shared / length
