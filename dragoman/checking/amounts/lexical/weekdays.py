"""Weekdays that are written short, where no other word is written so: Do., Sat., (土). German ones begin words, too."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import regex

__all__ = ["find_short_weekdays"]

_SHORT = {
    "de": regex.compile(r"(?<!\p{L})(?:(mo)|(di)|(mi)|(do)|(fr)|(sa)|(so))\.(?=,| ?[-)]| \d{1,2}\. ?[\p{L}\d])"),
    "en": regex.compile(
        r"(?<!\p{L})(?:(mon)|(tues?)|(wed)|(thu(?:rs?)?)|(fri)|(sat)|(sun))\."
        r"(?=,| ?[-)]| (?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec))"
    ),
    "ja": regex.compile(r"(?<=[(（])(?:(月)|(火)|(水)|(木)|(金)|(土)|(日))(?=[)）・])"),
}
"""The groups are the days from Monday on."""
_COMPOUND = {
    "de": regex.compile(
        r"(?<!\p{L})(?:(montag)|(dienstag)|(mittwoch)|(donnerstag)|(freitag)|(samstag)|(sonntag))s(?=\p{L}{4})"
    )
}
"""At the beginning of a word: Sonntagszeitung; Montagewerk has none."""


def find_short_weekdays(text: str, folded: str, places: Sequence[int], language: str) -> Iterator[tuple[int, int, int]]:
    """Start and end in ``folded`` and weekday of abbreviations and beginnings; small letters are other words."""
    for patterns in (_SHORT, _COMPOUND):
        for match in patterns[language].finditer(folded) if language in patterns else ():
            if not text[places[match.start()]].islower():
                yield match.start(), match.end(), match.lastindex or 0
