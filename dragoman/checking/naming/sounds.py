"""How alike names of two scripts sound, in Latin letters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from difflib import SequenceMatcher

import regex

from dragoman.checking.knowledge import Knowledge
from dragoman.checking.naming.names import WORD
from dragoman.checking.sentence import Pair
from dragoman.deadline import check_each

__all__ = ["UNSPACED", "measure_sound"]

UNSPACED = frozenset({"zh", "ja", "th", "lo", "km", "my"})
LONGEST = 40
"""Letters of a name that are compared."""
_VOWELS = regex.compile("[aeiouyhw]+")
_WINDOW = 9
"""Signs of a script without spaces that one name takes at most."""
_KATAKANA = regex.compile(r"[\p{Katakana}ー]{2,}")
_PARTICLES = regex.compile("^(?:[وفبكل]?ال|لل|[وبلكف])(?=.{3})")
"""What Arabic writes at the beginning of a word: the article, *and*, *in*, *to*."""
_SOUNDS: Mapping[str, tuple[tuple[str, str], ...]] = {
    "ja": (
        ("th", "s"),
        ("v", "b"),
        ("l", "r"),
        ("f", "h"),
        ("ts", "t"),
        ("ch", "t"),
        ("c", "k"),
        ("q", "k"),
        ("x", "ks"),
    ),
    "ar": (
        ("p", "b"),
        ("v", "f"),
        ("ch", "sh"),
        ("g", "j"),
        ("gh", "j"),
        ("c", "k"),
        ("q", "k"),
        ("x", "ks"),
        ("z", "s"),
    ),
    "el": (("mp", "b"), ("nt", "d"), ("gk", "g"), ("ck", "k"), ("c", "k"), ("q", "k"), ("x", "ks"), ("z", "s")),
    "ru": (("ck", "k"), ("c", "k"), ("q", "k"), ("x", "ks"), ("ts", "s"), ("z", "s")),
}
"""Sounds that a language does not tell apart, or writes otherwise than English does."""
_ABJADS = frozenset({"ar", "fa", "ur", "he"})
_BARE = 0.85
"""What consonants that are the same count where vowels are not written."""
_LEAST = 0.4
"""How alike the consonants must be for the rest to be looked at."""
_DOUBLE = regex.compile(r"(.)\1+")


def measure_sound(name: str, pair: Pair, knowledge: Knowledge) -> float:
    """How alike the name and the nearest word of the other side are in Latin letters, in [0, 1]."""
    romanise = knowledge.romanise
    if romanise is None:
        return 0.0
    letters = romanise(name.removesuffix("'s").removesuffix("’s")[:LONGEST])
    if len(letters) < 2:
        return 0.0
    language = pair.target.language if pair.target.language != "en" else pair.source.language
    candidates = {romanise(word[:LONGEST]) for word in WORD.findall(pair.target.text)}
    if pair.target.language == "ar":
        candidates |= {romanise(_PARTICLES.sub("", word)[:LONGEST]) for word in WORD.findall(pair.target.text)}
    elif pair.target.language == "ja":
        candidates = set(_list_katakana(pair.target.text, len(letters), knowledge))
    elif pair.target.language in UNSPACED:
        candidates |= set(_list_windows(pair.target.text, len(letters), knowledge))
    return max((_sound_alike(letters, other, language) for other in check_each(candidates, 100) if other), default=0.0)


def _list_katakana(text: str, length: int, knowledge: Knowledge) -> Iterator[str]:
    """Runs of katakana, their beginnings and their ends, and words in Latin letters."""
    romanise = knowledge.romanise
    assert romanise is not None
    yield from (romanise(word) for word in regex.findall(r"\p{Latin}+", text))
    for run in _KATAKANA.findall(text):
        for part in {
            run,
            *(run[:end] for end in range(2, len(run))),
            *(run[start:] for start in range(1, len(run) - 1)),
        }:
            letters = romanise(part[:LONGEST])
            if part == run or 0.7 * length <= len(letters) <= 2 * length:
                yield letters


def _list_windows(text: str, length: int, knowledge: Knowledge) -> Iterator[str]:
    """Runs of signs that are about as long in Latin letters as a name of this ``length``."""
    romanise = knowledge.romanise
    assert romanise is not None
    signs = [romanise(sign) if sign.isalpha() else "" for sign in text]
    for start in range(len(signs)):
        for end in range(start + 1, min(start + _WINDOW, len(signs)) + 1):
            if not signs[end - 1]:
                break
            window = "".join(signs[start:end])
            if 0.6 * length <= len(window) <= 1.7 * length:
                yield window


def _sound_alike(first: str, second: str, language: str) -> float:
    left, right = _consonants(first, language), _consonants(second, language)
    matcher = SequenceMatcher(None, left, right, autojunk=False)
    if matcher.real_quick_ratio() < _LEAST or matcher.quick_ratio() < _LEAST:
        return 0.0
    whole = SequenceMatcher(None, first, second, autojunk=False).ratio()
    if min(len(left), len(right)) < 2:
        return whole
    skeleton = matcher.ratio()
    both = max(whole, (whole + skeleton) / 2)
    return max(both, _BARE * skeleton) if language in _ABJADS and min(len(left), len(right)) > 2 else both


def _consonants(letters: str, language: str) -> str:
    """The consonants, each as the language has it."""
    for written, sound in _SOUNDS.get(language, ()):
        letters = letters.replace(written, sound)
    return str(_DOUBLE.sub(r"\1", _VOWELS.sub("", letters)))
