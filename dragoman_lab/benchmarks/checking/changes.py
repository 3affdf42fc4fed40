"""Sentences with one amount changed: a digit, a month, a weekday, a unit or a number word.

What is changed is chosen by lists of its own and by the words of CLDR, not by what the reader of amounts reads.
"""

from __future__ import annotations

import json
import random
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import regex

__all__ = ["Change", "make_changes", "turn_round"]

_NUMERAL = regex.compile(r"\d+(?:[.,٫٬]\d+)*")
_ENGLISH_NUMBERS = [
    "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve", "thirteen", "fourteen",
    "fifteen", "sixteen", "seventeen", "eighteen", "nineteen", "twenty", "thirty", "forty", "fifty", "sixty", "seventy",
    "eighty", "ninety",
]  # fmt: skip
_ENGLISH_SCALES = ["hundred", "thousand", "million", "billion", "trillion"]
_ENGLISH_ORDINALS = ["third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth", "eleventh", "twelfth"]
_ENGLISH_UNITS = (
    ["kilometers", "meters", "miles", "feet", "inches", "centimeters"],
    ["kilometres", "metres", "miles", "feet", "inches"],
    ["km", "cm", "mm"], ["kg", "lb"], ["kilograms", "pounds", "tons", "grams"],
    ["seconds", "minutes", "hours", "days", "weeks", "months", "years"],
    ["percent", "kilometers"], ["dollars", "euros", "yen"], ["%", " km"], ["$", "€", "£"],
)  # fmt: skip

_COUPLE = regex.compile(r"(?<![\p{L}\d.,:/–-])(\d{1,4})(:|-|–| to )(\d{1,4})(?![:/–-]?\d|[.,]\d)")
"""Two numbers in one expression: a score, a ratio or a range."""


@dataclass(frozen=True)
class Change:
    """A sentence with ``before`` replaced by ``after``, which means something else."""

    kind: str
    text: str
    before: str
    after: str


def make_changes(text: str, language: str, chance: random.Random) -> Iterator[Change]:
    """At most one change of each kind in ``text``."""
    for kind, change in _KINDS.items():
        changes = list(change(text, language, chance))
        if changes:
            start, end, after = chance.choice(changes)
            yield Change(kind, text[:start] + after + text[end:], text[start:end], after)


def turn_round(text: str) -> Change | None:
    """The first score, ratio or range in digits of a text the other way round; None where it has none."""
    for match in _COUPLE.finditer(text):
        first, joint, second = match.groups()
        if int(first) != int(second):
            after = f"{second}{joint}{first}"
            return Change("order", text[: match.start()] + after + text[match.end() :], match.group(), after)
    return None


Replacements = Iterator[tuple[int, int, str]]


def _change_digits(text: str, language: str, chance: random.Random) -> Replacements:
    """Another digit in place of one; never one that only follows a decimal sign, never a zero in front."""
    for match in _NUMERAL.finditer(text):
        place = match.start() + chance.randrange(len(match.group()))
        while not text[place].isdecimal():
            place -= 1
        digit = unicodedata.digit(text[place])
        zero = chr(ord(text[place]) - digit)
        other = chance.choice([n for n in range(1, 10) if n != digit])
        yield place, place + 1, chr(ord(zero) + other)


def _change_words(words: list[str]) -> Callable[[str, random.Random], Replacements]:
    pattern = regex.compile(r"(?<![\p{L}\p{M}])\L<words>(?![\p{L}\p{M}])", flags=regex.IGNORECASE, words=words)

    def change(text: str, chance: random.Random) -> Replacements:
        for match in pattern.finditer(text):
            other = chance.choice([word for word in words if word != match.group().lower()])
            yield match.start(), match.end(), other.title() if match.group()[0].isupper() else other

    return change


@cache
def _read_words(language: str) -> dict[str, dict[str, object]]:
    path = files("dragoman.checking.amounts") / "data" / f"{language}.json"
    return dict(json.loads(path.read_text(encoding="utf-8"))) if path.is_file() else {}


@cache
def _make_changer(language: str, table: str) -> list[Callable[[str, random.Random], Replacements]]:
    if language == "en" and table == "numbers":
        return [_change_words(words) for words in (_ENGLISH_NUMBERS, _ENGLISH_SCALES, _ENGLISH_ORDINALS)]
    entries = _read_words(language).get(table, {})
    meanings: dict[object, str] = {}
    for word, meaning in sorted(entries.items(), key=lambda entry: -len(entry[0])):
        if len(word) >= (4 if table != "numbers" else 3) and _is_clear(word, meaning, table):
            meanings.setdefault(meaning, word)
    words = list(meanings.values())
    return [_change_words(words)] if len(words) > 1 else []


def _is_clear(word: str, meaning: object, table: str) -> bool:
    if word in ("march", "mars", "sept", "mart", "ocak", "ekim", "marc"):
        return False
    return table != "numbers" or (isinstance(meaning, int) and 3 <= meaning <= 99 and " " not in word)


def _change_table(table: str) -> Callable[[str, str, random.Random], Replacements]:
    def change(text: str, language: str, chance: random.Random) -> Replacements:
        for changer in _make_changer(language, table):
            yield from changer(text, chance)

    return change


def _change_unit(text: str, language: str, chance: random.Random) -> Replacements:
    """Another unit after a numeral, in English."""
    if language != "en":
        return
    for units in _ENGLISH_UNITS:
        signs = regex.compile(r"(?<=\d[ -]?)\L<units>(?!\p{L})|(?<!\p{L})[$€£](?=\d)", units=units)
        for match in signs.finditer(text):
            if match.group() in units:
                yield match.start(), match.end(), chance.choice([unit for unit in units if unit != match.group()])


_KINDS = {
    "digits": _change_digits,
    "month": _change_table("months"),
    "weekday": _change_table("weekdays"),
    "unit": _change_unit,
    "number word": _change_table("numbers"),
}
