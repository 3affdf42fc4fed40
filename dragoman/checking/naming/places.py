"""Countries, continents, languages and cities that CLDR names in many languages: they are compared by what they are.

``data/place_names.tsv.gz`` is made by ``scripts/place_names.py``. A people, its language and its country are one.
"""

from __future__ import annotations

import gzip
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import regex

from dragoman.checking.naming.folding import fold_name

__all__ = ["UNSPACED", "find_places", "is_place", "is_placed"]

DATA = Path(__file__).with_name("data") / "place_names.tsv.gz"
LONGEST = 4
"""Words of a name."""
_ENDING = 4
"""Letters that a name may have more than the one that is listed: *Spaniards*, *Australians*."""
_STEM = 4
"""Letters at least by which an inflected name is recognised."""
_LEAST = 2
"""Letters of a word that a name of several words may lack."""
UNSPACED = frozenset({"zh", "ja", "th", "lo", "km", "my"})
_SHORT = 5
"""Letters of a name of which none may be lacking: a Greek is no Green."""
_LETTERS = regex.compile(r"[\p{L}\p{M}\p{Nd}]+")
_LATIN = regex.compile(r"^$|\p{Latin}")
_SEEN = 50
"""Lines by which a script is recognised."""
_POSSESSIVE = regex.compile("'s?$")
_ARTICLE = regex.compile("^(?:[وفبكل]?ال|لل)")


@dataclass(frozen=True)
class _Names:
    """Those of one language, folded."""

    places: Sequence[tuple[str, ...]]
    """The names of each place, in the same order in all languages."""
    by_name: Mapping[str, int]
    written: frozenset[str]
    """Those of one word with their marks: without them many words of Hindi are names."""
    by_beginning: Mapping[str, Sequence[tuple[str, int]]]
    """Names of one word by their first :data:`_STEM` letters."""


@lru_cache(maxsize=1)
def _read_lines() -> Mapping[str, Sequence[str]]:
    lines: dict[str, list[str]] = defaultdict(list)
    with gzip.open(DATA, "rt", encoding="utf-8") as file:
        for line in file:
            language, _, names = line.rstrip("\n").partition("\t")
            lines[language].append(names)
    return dict(lines)


@lru_cache(maxsize=64)
def _names(language: str) -> _Names | None:
    lines = _read_lines().get(language)
    if lines is None:
        return None
    if _is_latin(lines):  # what is not listed is written as in English
        lines = [line or other for line, other in zip(lines, _read_lines()["en"], strict=True)]
    places = [
        tuple(dict.fromkeys(fold_name(name).replace("-", " ") for name in line.split("|") if name)) for line in lines
    ]
    written = frozenset(name.casefold() for line in lines for name in line.split("|") if name and " " not in name)
    by_name: dict[str, int] = {}
    by_beginning: dict[str, list[tuple[str, int]]] = defaultdict(list)
    for place, names in enumerate(places):
        for name in names:
            by_name.setdefault(name, place)
            if " " not in name and len(name) >= _STEM:
                by_beginning[name[:_STEM]].append((name, place))
    return _Names(places, by_name, written, by_beginning)


def _is_latin(lines: Sequence[str]) -> bool:
    return all(_LATIN.search(line) for line in lines[:_SEEN])


def find_places(words: Sequence[str], language: str) -> list[int | None]:
    """For each word of a name the place that it is, or is a part of; the longest names come first."""
    names = _names(language)
    places: list[int | None] = [None] * len(words)
    if names is None:
        return places
    folded = [_POSSESSIVE.sub("", fold_name(word)) for word in words]
    start = 0
    while start < len(words):
        for length in range(min(LONGEST, len(words) - start), 0, -1):
            place = _find(" ".join(folded[start : start + length]), names)
            if place is not None:
                places[start : start + length] = [place] * length
                start += length - 1
                break
        start += 1
    return places


def is_place(word: str, language: str) -> bool:
    """Whether a word is the name of a place as it is listed."""
    names = _names(language)
    return names is not None and word.casefold() in names.written


def _find(name: str, names: _Names) -> int | None:
    if (place := names.by_name.get(name)) is not None or " " in name:
        return place
    near = [
        (len(listed), place)
        for listed, place in names.by_beginning.get(name[:_STEM], ())
        if name.startswith(listed[:-1] if len(listed) > _SHORT else listed) and len(name) - len(listed) <= _ENDING
    ]
    return max(near)[1] if near else None


def is_placed(place: int, text: str, language: str) -> bool | None:
    """Whether a text has one of the names of a place, in any form; None where the language's are not known."""
    names = _names(language)
    if names is None or not names.places[place]:
        return None
    folded = fold_name(text)
    words = _LETTERS.findall(folded)
    return any(_stands_in(name, folded, words, language) for name in names.places[place])


def _stands_in(name: str, text: str, words: Sequence[str], language: str) -> bool:
    if language in UNSPACED:
        return name in text or (len(name) > 2 and name[: max(2, (len(name) + 1) // 2)] in text)
    parts = [_ARTICLE.sub("", part) for part in _LETTERS.findall(name)]
    if not any(len(part) > _LEAST for part in parts):  # as UK and U.S.
        return regex.search(rf"(?<!\p{{L}}){regex.escape(name)}(?!\p{{L}})", text) is not None
    parts = [part for part in parts if len(part) > _LEAST]
    return all(any(_is_form(part, _ARTICLE.sub("", word)) for word in words) for part in parts)


def _is_form(part: str, word: str) -> bool:
    """Whether a word is a part of a name with another ending."""
    if len(part) < _STEM:
        return word == part or (len(part) == _STEM - 1 and word.startswith(part) and len(word) <= len(part) + 2)
    stem = part[: max(_STEM, round(0.6 * len(part)))]
    return word.startswith(stem) or (len(stem) > _STEM and stem in word)  # as in a compound
