"""A text as a row of numerals, number words, names of months and weekdays, units and signs, in order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import regex

from dragoman.checking.amounts.digits import NUMERAL, VULGAR, read_numeral, split_runs
from dragoman.checking.amounts.lexical.ideographs import find_ideographs
from dragoman.checking.amounts.lexical.lexicon import Lexicon, NumberWord
from dragoman.checking.amounts.lexical.roman import find_roman
from dragoman.checking.amounts.lexical.weekdays import find_short_weekdays
from dragoman.checking.amounts.lexical.words import find_words
from dragoman.checking.amounts.units import SIGNS
from dragoman.deadline import check_each

__all__ = ["Item", "list_items"]

_SIGN = regex.compile(f"[{regex.escape(''.join(SIGNS))}]")
_VULGAR = regex.compile(f"[{''.join(VULGAR)}]")
_CODE = regex.compile(r"[\p{Latin}\p{Cyrillic}\p{Greek}]-?$|\p{Arabic}-$")
_BEGINNING = regex.compile(r"(?:^|[.!?:…\"“„«‘(\[-])[ \"“„«']*$")
_FOLLOWED_BY_C = regex.compile(r"° ?([cfсф])(?!\p{L})")
_AND_A_HALF = regex.compile(r"(?<![\d/.,:-])(\d{1,3}) 1/2(?![\d/])")
_DAY_AND_MONTH = regex.compile(r"(?:0?[1-9]|[12]\d|3[01])\.(?:0?[1-9]|1[0-2])")
_BEFORE_DAY = regex.compile(r"(?:^|[(,-]|\d\. (?:und|oder|bis)|(?<!\p{L})(?:am|vom|zum|bis|den|dem|ab|seit)) ?$")


@dataclass(frozen=True, slots=True)
class Item:
    """What stands at ``start`` to ``end`` of the folded text, with all that it may be."""

    start: int
    end: int
    quantities: tuple[Fraction, ...] = ()
    """Of a numeral in digits."""
    numbers: tuple[NumberWord, ...] = ()
    month: int | None = None
    weekday: int | None = None
    unit: str | None = None
    half: int | None = None
    connector: bool = False
    roman: bool = False
    code: bool = False
    """Digits that belong to a name: COVID-19, A320."""
    capital: bool = False
    """Begins with a capital that no sentence begins with."""
    ideographs: bool = False
    bare: bool = False
    """Perhaps a part of a word, and no number or weekday."""


def list_items(text: str, folded: str, places: Sequence[int], lexicon: Lexicon) -> list[Item]:
    """All items of ``folded``, apart from each other; where two overlap, the one that begins first."""
    short = find_short_weekdays(text, folded, places, lexicon.language)
    items = [Item(start, end, weekday=weekday, bare=True) for start, end, weekday in short]
    items += _list_numerals(folded, lexicon.language)
    if lexicon.language in ("zh", "ja", "yue"):
        items += [
            Item(start, end, (quantity,), ideographs=True, bare=not sure)
            for start, end, quantity, sure in find_ideographs(folded)
        ]
    items += _list_signs(folded)
    if len(text) == len(folded):
        items += [Item(a, b, (Fraction(n),), roman=True) for a, b, n in find_roman(text)]
    for word in check_each(find_words(folded, lexicon)):
        items.append(
            Item(
                word.start,
                word.end,
                numbers=word.numbers,
                month=word.month,
                weekday=word.weekday,
                unit=word.unit,
                half=word.half,
                connector=word.connector,
                capital=word.month is not None and _is_capital(text, places[word.start]),
            )
        )
    return _drop_overlaps(items)


def _is_capital(text: str, place: int) -> bool:
    return text[place].isupper() and not _BEGINNING.search(text, max(0, place - 4), place)


def _drop_overlaps(items: list[Item]) -> list[Item]:
    items.sort(key=lambda token: (token.start, -token.end, not token.quantities))
    apart: list[Item] = []
    for token in items:
        if not apart or token.start >= apart[-1].end:
            apart.append(token)
    return apart


def _is_day_and_month(folded: str, match: regex.Match[str], language: str) -> bool:
    """Whether a numeral of German is a day and a month, and no decimal: am 3.5."""
    if language != "de" or not _DAY_AND_MONTH.fullmatch(match.group()) or not folded.startswith(".", match.end()):
        return False
    return _BEFORE_DAY.search(folded, max(0, match.start() - 8), match.start()) is not None


def _list_numerals(folded: str, language: str) -> list[Item]:
    items = []
    for match in check_each(NUMERAL.finditer(folded)):
        quantities = read_numeral(match.group())
        if quantities and not _is_day_and_month(folded, match, language):
            code = _CODE.search(folded, max(0, match.start() - 2), match.start()) is not None
            items.append(Item(match.start(), match.end(), quantities, code=code))
        else:
            start = match.start()
            items += [Item(start + a, start + b, (run,)) for a, b, run in split_runs(match.group())]
    numerals = {numeral.end: numeral for numeral in items}
    for match in _VULGAR.finditer(folded):
        quantity = Fraction(*VULGAR[match.group()])
        whole = numerals.get(match.start())
        wholes = whole.quantities if whole else (Fraction(0),)
        begin = whole.start if whole else match.start()
        items.append(Item(begin, match.end(), tuple(reading + quantity for reading in wholes)))
    items += [
        Item(match.start(), match.end(), (Fraction(2 * int(match.group(1)) + 1, 2),))
        for match in _AND_A_HALF.finditer(folded)
    ]
    return items


def _list_signs(folded: str) -> list[Item]:
    items = []
    for match in _SIGN.finditer(folded):
        sign = match.group()
        degrees = _FOLLOWED_BY_C.match(folded, match.start())
        if degrees:
            unit = "°C" if degrees.group(1) in "cс" else "°F"
            items.append(Item(match.start(), degrees.end(), unit=unit))
        elif sign in SIGNS:
            items.append(Item(match.start(), match.end(), unit=SIGNS[sign]))
    return items
