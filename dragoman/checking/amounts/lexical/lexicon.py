"""The words of a language for numbers, months, weekdays, units and halves of the day, from the files in ``data``."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from importlib.resources import files
from typing import Any

from dragoman.checking.amounts.folding import fold_text

__all__ = ["Lexicon", "NumberWord", "load_lexicon"]

CONTINUOUS = frozenset({"th", "lo", "km", "my", "zh", "ja", "yue", "bo"})
"""Languages written without spaces between words."""
INFLECTED = frozenset(
    "ru uk be bg mk sr hr bs sl pl cs sk lt lv el fi et hu tr az kk ky uz ka hy ta te kn ml".split()  # noqa: SIM905
)
"""Languages whose nouns have many endings, so that beginnings of words are looked up."""


@dataclass(frozen=True)
class NumberWord:
    """What a word adds to a number."""

    quantity: Fraction
    ordinal: bool = False
    vague: bool = False
    decade: bool = False
    """The twenties, years as well as a number."""
    bare: bool = False
    """A common word as well: by itself it asks for no counterpart."""
    dozen: bool = False
    """Multiplies what stands before it, and is an exact number by itself, too."""

    @property
    def scale(self) -> bool:
        """Whether it multiplies what stands before it: hundred, thousand, lakh."""
        return self.dozen or self.quantity in _SCALES


_SCALES = frozenset(Fraction(10) ** power for power in (2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 15, 18))


@dataclass(frozen=True)
class Lexicon:
    """Folded phrases of one language; words of a phrase are joined by a space."""

    language: str
    numbers: Mapping[str, NumberWord]
    months: Mapping[str, int]
    weekdays: Mapping[str, int]
    units: Mapping[str, str]
    stems: Mapping[str, Any]
    """Beginnings of inflected months, weekdays and units, with the kind and what the word means."""
    compounds: Mapping[str, NumberWord]
    """Beginnings of words that hold a number: двухлетний."""
    halves: Mapping[str, int]
    """Words for before noon (0), after noon (12) and night (18)."""
    connectors: frozenset[str]
    prefixes: tuple[str, ...]
    """Particles written as one with the word that follows."""
    endings: frozenset[str]
    """What follows a number that ends in a word: second, -jährig."""
    ignored: frozenset[str]
    """Words that hold a number word and have nothing to do with it."""
    plain: frozenset[str]
    """Names of months that are common words as well."""
    joined: bool
    """Whether number words are written as one."""
    scale_first: bool
    """Whether a thousand stands before what it is multiplied by."""
    reversed: bool
    """Whether ones may stand before tens."""
    continuous: bool
    longest: int
    """Words of the longest phrase; code points where words aren't separated."""


@lru_cache(maxsize=64)
def load_lexicon(language: str) -> Lexicon:
    """The lexicon of ``language``; one without words where there is no file, so that digits alone are read."""
    language = _ALIASES.get(language, language)
    words = _merge(_merge(_merge({}, _read_file("common")), _read_file(language)), _read_extra(language))
    numbers = {phrase: _parse_number(entry) for phrase, entry in words.get("numbers", {}).items()}
    tables = {name: words.get(name, {}) for name in _TABLES}
    continuous = language in CONTINUOUS
    phrases = [*numbers, *(phrase for table in tables.values() for phrase in table)]
    longest = max((len(phrase) if continuous else phrase.count(" ") + 1 for phrase in phrases), default=1)
    return Lexicon(
        language=language,
        numbers=numbers,
        months=tables["months"],
        weekdays=tables["weekdays"],
        units=tables["units"],
        stems=_make_stems(tables) if language in INFLECTED else {},
        compounds={phrase: _parse_number(entry) for phrase, entry in words.get("compounds", {}).items()},
        halves=tables["halves"],
        connectors=frozenset(map(fold_text, words.get("connectors", ()))),
        prefixes=tuple(sorted(map(fold_text, words.get("prefixes", ())), key=len, reverse=True)),
        endings=frozenset(map(fold_text, words.get("endings", ()))),
        ignored=frozenset(map(fold_text, words.get("ignored", ()))),
        plain=frozenset(map(fold_text, words.get("plain", ()))),
        joined=bool(words.get("joined")),
        scale_first=bool(words.get("scale_first")),
        reversed=bool(words.get("reversed")),
        continuous=continuous,
        longest=longest,
    )


_ALIASES = {"tl": "fil", "no": "nb", "nn": "nb", "iw": "he"}
_TABLES = ("months", "weekdays", "units", "halves")
_SHORTEST_STEM = 5


def _make_stems(tables: Mapping[str, Mapping[str, Any]]) -> dict[str, tuple[str, Any]]:
    """Words without their last letters, where what is left says one thing alone."""
    stems: dict[str, tuple[str, Any] | None] = {}
    for name in ("months", "weekdays", "units"):
        for word, meaning in tables[name].items():
            if len(word) >= _SHORTEST_STEM and word.isalpha():
                for cut in range(3 if name == "units" else 2 if name == "months" else 1):
                    stem = word[: max(_SHORTEST_STEM, len(word) - cut)]
                    same = stems.get(stem, (name, meaning)) == (name, meaning)
                    stems[stem] = (name, meaning) if same else None
    return {stem: meaning for stem, meaning in stems.items() if meaning is not None}


def _parse_number(entry: int | str) -> NumberWord:
    """``3``; ``"3o"``, the third; ``"12v"``, dozens; ``"20d"``, the twenties; ``"12x"``, a dozen.

    ``"8b"`` is a number word that is another word as well.
    """
    text = str(entry)
    return NumberWord(
        Fraction(text.rstrip("ovdxb")),
        ordinal="o" in text,
        vague="v" in text,
        decade="d" in text,
        bare="b" in text,
        dozen="x" in text,
    )


def _read_file(name: str) -> dict[str, Any]:
    path = files("dragoman.checking.amounts") / "data" / f"{name}.json"
    if not name.isalpha() or not path.is_file():
        return {}
    return dict(json.loads(path.read_text(encoding="utf-8")))


@lru_cache(maxsize=1)
def _read_extras() -> dict[str, Any]:
    return _read_file("extras")


def _read_extra(language: str) -> dict[str, Any]:
    return dict(_read_extras().get(language, {}))


def _merge(first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, Any]:
    """Both; what the second says holds, and a phrase that is null in it is taken out."""
    merged = dict(first)
    for name, entries in second.items():
        if isinstance(entries, dict):
            folded = {fold_text(phrase): entry for phrase, entry in entries.items()}
            table = {**merged.get(name, {}), **folded}
            merged[name] = {phrase: entry for phrase, entry in table.items() if entry is not None}
        else:
            merged[name] = entries
    return merged
