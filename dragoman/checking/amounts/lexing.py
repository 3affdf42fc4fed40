"""A text as a row of numerals, number words, names of months and weekdays, units and signs, in order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import regex

from dragoman.checking.amounts.digits import NUMERAL, VULGAR, read_numeral, split_runs
from dragoman.checking.amounts.ideographs import find_ideographs
from dragoman.checking.amounts.lexicon import Lexicon, NumberWord
from dragoman.checking.amounts.roman import find_roman
from dragoman.checking.amounts.units import SIGNS
from dragoman.checking.amounts.words import find_words
from dragoman.deadline import check_each

__all__ = ["Item", "list_items"]

_SIGN = regex.compile(f"[{regex.escape(''.join(SIGNS))}]")
_VULGAR = regex.compile(f"[{''.join(VULGAR)}]")
_CODE = regex.compile(r"[\p{Latin}\p{Cyrillic}\p{Greek}]-?$|\p{Arabic}-$")
_BEGINNING = regex.compile(r"(?:^|[.!?:…\"“„«‘(\[-])[ \"“„«']*$")
_FOLLOWED_BY_C = regex.compile(r"° ?([cfсф])(?!\p{L})")


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
    """Perhaps a part of a word, and no number."""


def list_items(text: str, folded: str, places: Sequence[int], lexicon: Lexicon) -> list[Item]:
    """All items of ``folded``, apart from each other; where two overlap, the one that begins first."""
    items = _list_numerals(folded)
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


def _list_numerals(folded: str) -> list[Item]:
    items = []
    for match in check_each(NUMERAL.finditer(folded)):
        quantities = read_numeral(match.group())
        if quantities:
            code = _CODE.search(folded, max(0, match.start() - 2), match.start()) is not None
            items.append(Item(match.start(), match.end(), quantities, code=code))
        else:
            start = match.start()
            items += [Item(start + a, start + b, (run,)) for a, b, run in split_runs(match.group())]
    for match in _VULGAR.finditer(folded):
        quantity = Fraction(*VULGAR[match.group()])
        if items and items[-1].end == match.start():
            whole = items.pop()
            items.append(
                Item(whole.start, match.end(), tuple(whole_part + quantity for whole_part in whole.quantities))
            )
        else:
            items.append(Item(match.start(), match.end(), (quantity,)))
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
