"""All amounts of a text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

import regex

from dragoman.checking.amounts.amount import Amount, AmountKind, Reading
from dragoman.checking.amounts.folding import fold_with_places
from dragoman.checking.amounts.lexicon import Lexicon, load_lexicon
from dragoman.checking.amounts.lexing import Item, list_items
from dragoman.checking.amounts.parsing import Quantity, find_unit, read_quantity
from dragoman.checking.amounts.units import CURRENCIES, SIGNS

__all__ = ["read_amounts"]

_DECADE = regex.compile(r"(?:'?s|-?ern?|-?(?:х|ых|ті|ти|те)|'?(?:lar|ler|lı|li))(?!\p{L})| ?[年년]?[代대](?!表)|ها")
"""What follows a decade in digits."""
_CLOCK = regex.compile(r"(?:[:：]|(?<=\d)h)(\d{2})(?:[:：]\d{2})?(?![\d.,:])")
_ERAS = {"令和": 2018, "平成": 1988, "昭和": 1925, "大正": 1911, "明治": 1867, "民国": 1911, "民國": 1911}
_BEFORE_ONLY = CURRENCIES | {"%"}
_UNIT_FIRST = frozenset({"sw", "vi", "th", "id", "ms", "lo", "km"})
"""Languages that write hour, day or year before the number as well."""


def read_amounts(text: str, language: str) -> list[Amount]:
    """The amounts of ``text`` in order, apart from each other; ``language`` is an ISO 639-1 code and settles words."""
    lexicon = load_lexicon(language)
    folded, places = fold_with_places(text)
    items = list_items(text, folded, lexicon)
    amounts = []
    for start, end, kind, readings, spelled, vague in _read_items(items, folded, lexicon):
        begin, stop = places[start], places[end - 1] + 1
        amounts.append(Amount(begin, stop, kind, readings, text[begin:stop], spelled=spelled, vague=vague))
    return amounts


Extract = tuple[int, int, AmountKind, tuple[Reading, ...], bool, bool]


def _read_items(items: Sequence[Item], folded: str, lexicon: Lexicon) -> Iterator[Extract]:
    index = reached = 0
    while index < len(items):
        token = items[index]
        clock = _read_clock(items, index, folded)
        if clock is not None:
            end, minute, following = clock
            half = _find_half(items, index, following, folded)
            yield token.start, end, "time", _list_times(minute, half), False, False
            index = following
            continue
        quantity = read_quantity(items, index, folded, lexicon)
        if token.month is not None and not _is_plain_word(token, items, index, folded, lexicon):
            readings = (Reading(month=token.month), *_list_others(token, quantity))
            yield token.start, token.end, "date", readings, len(readings) > 1, False
            index += 1
        elif token.weekday is not None:
            readings = (Reading(weekday=token.weekday), *_list_others(token, quantity))
            yield token.start, token.end, "date", readings, len(readings) > 1, False
            index += 1
        elif quantity is not None:
            amount = _read_measure(items, index, quantity, folded, lexicon, reached)
            if amount is not None:
                yield amount
                reached = amount[1]
            index = quantity.following
        else:
            index += 1


def _list_others(token: Item, quantity: Quantity | None) -> tuple[Reading, ...]:
    """What a month or a weekday means besides: Τρίτη is the third, too."""
    if quantity is None or not token.numbers:
        return ()
    return tuple(Reading(quantity=reading) for reading in quantity.quantities)


def _is_plain_word(token: Item, items: Sequence[Item], index: int, folded: str, lexicon: Lexicon) -> bool:
    """Whether a word that is a month's name as well stands where no date is: may, march."""
    if folded[token.start : token.end].rstrip(".") not in lexicon.plain:
        return False
    near = [items[place] for place in (index - 1, index + 1) if 0 <= place < len(items)]
    return not any(
        other.quantities and not other.roman and max(other.start - token.end, token.start - other.end) <= 4
        for other in near
    )


def _read_clock(items: Sequence[Item], index: int, folded: str) -> tuple[int, int, int] | None:
    """End, minute of the day and next token of a time with a colon."""
    token = items[index]
    if not token.quantities or token.roman or not folded[token.start : token.end].isdecimal():
        return None
    match = _CLOCK.match(folded, token.end)
    hour = int(token.quantities[0]) if token.end - token.start <= 2 else 99
    if match is None or hour > 24 or int(match.group(1)) > 59:
        return None
    following = index + 1
    while following < len(items) and items[following].start < match.end():
        following += 1
    return match.end(), hour * 60 + int(match.group(1)), following


def _find_half(items: Sequence[Item], index: int, following: int, folded: str) -> int | None:
    """The half of the day that is named beside a time."""
    for place in (following, index - 1, following + 1):
        if 0 <= place < len(items) and items[place].half is not None:
            gap = (
                items[place].start - items[following - 1].end
                if place >= following
                else items[index].start - items[place].end
            )
            if gap <= 12:
                return items[place].half
    return None


def _list_times(minute: int, half: int | None) -> tuple[Reading, ...]:
    minutes = [minute] if minute >= 780 or (minute < 60 and half is None) else [minute % 720, minute % 720 + 720]
    if half is not None and len(minutes) > 1:
        minutes = minutes[1:] if half else minutes[:1]
    return tuple(Reading(minute=time) for time in minutes)


def _read_measure(
    items: Sequence[Item], index: int, quantity: Quantity, folded: str, lexicon: Lexicon, reached: int
) -> Extract | None:
    before, after = find_unit(items, quantity, index, folded)
    unit, start, end = None, quantity.start, quantity.end
    if (
        before is not None
        and before.start >= reached
        and (
            before.unit in _BEFORE_ONLY
            or folded[before.start : before.end] in SIGNS
            or lexicon.language in _UNIT_FIRST
            or before.unit in ("century", "decade")
        )
    ):
        unit, start = before.unit, before.start
        if unit == "mo" and lexicon.language == "vi":
            unit = "month"
    if after is not None and (unit is None or after.unit == "century"):
        unit, end = after.unit, after.end
        quantity.following += 1
    if quantity.roman and unit != "century" and quantity.end - quantity.start < 2:
        return None
    quantities = _list_quantities(quantity, unit, folded, lexicon)
    readings = tuple(Reading(quantity=reading, unit=unit) for reading in quantities)
    half = _find_half(items, index, quantity.following, folded)
    if unit == "clock" or (half is not None and quantities[0] <= 24 and unit in (None, "h")):
        readings += _list_times(int(quantities[0] * 60), half) if quantities[0] <= 24 else ()
    return start, end, _name_kind(quantity, unit, readings), readings, quantity.spelled, quantity.vague


def _list_quantities(quantity: Quantity, unit: str | None, folded: str, lexicon: Lexicon) -> tuple[Fraction, ...]:
    """All that the number may mean as a year: 96 after 1995-, 90s, the years of Thai and Japanese eras."""
    quantities = list(quantity.quantities)
    if quantity.roman or quantities[0].denominator != 1:
        return tuple(quantities)
    first = int(quantities[0])
    decade = quantity.decade or unit == "decade" or _DECADE.match(folded, quantity.end) is not None
    if decade and 10 <= first < 100 and first % 10 == 0:
        quantities.append(Fraction(1900 + first))
    written = folded[quantity.start : quantity.end]
    if len(written) == 2 and (
        pair := regex.search(r"(?<!\d)(\d{2})\d{2}[-/]$", folded[max(0, quantity.start - 6) : quantity.start])
    ):
        quantities.append(Fraction(int(pair.group(1)) * 100 + first))
    if lexicon.language == "th" and 2300 <= first <= 2650:
        quantities.append(Fraction(first - 543))
    era = folded[max(0, quantity.start - 2) : quantity.start]
    if era in _ERAS:
        quantities.append(Fraction(_ERAS[era] + first))
    return tuple(quantities)


def _name_kind(quantity: Quantity, unit: str | None, readings: tuple[Reading, ...]) -> AmountKind:
    if any(reading.minute is not None for reading in readings):
        return "time"
    if unit in ("%", "‰"):
        return "percent"
    if unit in CURRENCIES:
        return "money"
    if unit == "month":
        return "date"
    if unit == "century" or quantity.ordinal or quantity.roman:
        return "ordinal"
    return "measure" if unit is not None else "number"
