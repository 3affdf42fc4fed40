"""Phonetic matching across scripts, for names that are in no table.

A word is romanised (anyascii). Its *skeleton* keeps only the classes of its consonants, as in Soundex (Russell
1918) but for every letter, since scripts write vowels differently or not at all. Words with the same skeleton
are candidates, weighted by the similarity of their romanisations.
"""

from __future__ import annotations

from bisect import insort
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
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
        form = classes(sounds)
        if len(form) >= SHORTEST_SKELETON:
            forms.add(form)
    return frozenset(forms)


def classes(letters: str) -> str:
    """The classes of the consonants among some letters, without repeats."""
    form: str = _REPEATED.sub(r"\1", "".join(_CLASSES.get(letter, "") for letter in letters))
    return form


@lru_cache(maxsize=65536)
def sounds(term: str) -> str:
    """The phonetic index entries of a term: ``skeleton SKELETON_SEPARATOR term`` per skeleton, space-separated."""
    return " ".join([f"{skeleton}{SKELETON_SEPARATOR}{term}" for skeleton in sorted(skeletons(term))])


@lru_cache(maxsize=65536)
def similarity(first: str, second: str) -> float:
    """Twice the longest common subsequence of two words' romanisations by their lengths, in [0, 1]; symmetric."""
    return _ratio(romanise(first), romanise(second))


def _ratio(first: str, second: str) -> float:
    """By the algorithm of Hyyrö 2004, "Bit-parallel LCS-length computation revisited"."""
    length = len(first) + len(second)
    if not length:
        return 1.0
    places: dict[str, int] = {}
    for place, letter in enumerate(first):
        places[letter] = places.get(letter, 0) | 1 << place
    apart = full = (1 << len(first)) - 1
    for letter in second:
        shared = apart & places.get(letter, 0)
        apart = ((apart + shared) | (apart - shared)) & full
    return 2.0 * (len(first) - apart.bit_count()) / length


def alike(
    term: str,
    candidates: Iterable[str],
    least: float,
    most: int | None = None,
    spell: Callable[[str], str] = romanise,
) -> list[tuple[str, float]]:
    """The candidates whose similarity to ``term`` is at least ``least``, at most ``most``, the most similar first.

    Candidates that cannot be among them are not compared. Of many that can, those of the highest bound are: of the
    :data:`_CANDIDATES` whose lengths are nearest, :data:`_COMPARED`. Words of more than :data:`LONGEST_COMPARED`
    letters are like nothing. ``spell`` gives the letters by which words are compared.

    Raises:
        DeadlinePassed: it took longer than it may.
        WorkCancelled: nobody waits for it any more.
    """
    letters = spell(term)
    if len(letters) > LONGEST_COMPARED:
        return []
    counts = Counter(letters)
    bounds: list[tuple[float, str]] = []
    for other in check_each(_nearest(len(letters), set(candidates), spell), _CHECKED):
        bound = _similarity_bound(letters, counts, spell(other))
        if bound >= least:
            bounds.append((-bound, other))
    bounds.sort()
    ranked: list[tuple[float, str]] = []
    for bound, other in check_each(bounds[:_COMPARED], _CHECKED_PAIRS):
        if most is not None and len(ranked) >= most and bound > ranked[most - 1][0]:
            break
        likeness = _ratio(letters, spell(other))
        if likeness >= least:
            insort(ranked, (-likeness, other))
    return [(other, -negative) for negative, other in ranked[:most]]


def _nearest(length: int, candidates: set[str], spell: Callable[[str], str]) -> Iterable[str]:
    """The :data:`_CANDIDATES` whose lengths are nearest, of which the most letters can be the same."""
    if len(candidates) <= _CANDIDATES:
        return candidates
    differences = [(abs(len(spell(other)) - length), other) for other in check_each(candidates, _CHECKED)]
    return [other for _, other in nsmallest(_CANDIDATES, differences)]


def _similarity_bound(letters: str, counts: Mapping[str, int], other: str) -> float:
    """What the similarity of two words is at most: that of their letters in any order."""
    length = len(letters) + len(other)
    if len(other) > LONGEST_COMPARED or not length:
        return 0.0 if length else 1.0
    shared = sum([min(count, other.count(letter)) for letter, count in counts.items()])
    return 2.0 * shared / length
