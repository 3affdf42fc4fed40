"""All amounts of a text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

import regex

from dragoman.checking.amounts.amount import Amount, AmountKind, Reading
from dragoman.checking.amounts.dates import is_dated, is_day, is_plain_word, list_others, list_quantities
from dragoman.checking.amounts.eras import find_era
from dragoman.checking.amounts.folding import fold_with_places
from dragoman.checking.amounts.joining import Extract, Freedom, join_amounts
from dragoman.checking.amounts.lexical.lexicon import Lexicon, load_lexicon
from dragoman.checking.amounts.lexing import Item, list_items
from dragoman.checking.amounts.measures import (
    find_compound_unit,
    find_feet,
    find_scaled_currency,
    find_sign,
    find_split_decimal,
    find_unit_after,
    find_unit_before,
    is_joined,
)
from dragoman.checking.amounts.parsing import Quantity, find_half_more, find_speed, read_quantity
from dragoman.checking.amounts.times import (
    find_half,
    find_quarters,
    list_clock_hours,
    list_times,
    read_clock,
    read_half_hour,
    read_hours_and_minutes,
    read_quarter,
)
from dragoman.checking.amounts.units import CURRENCIES

__all__ = ["read_amounts"]

_SHORT_SCALE = regex.compile(r"(?:m|k|bn|b)(?![\p{L}\p{N}²³])")
_SHORT_SCALES = {"m": 10**6, "k": 10**3, "bn": 10**9, "b": 10**9}
_HALF_AFTER = regex.compile(
    r"半|반|ครึ่ง| [\p{L}\p{M}]+ (?:y medi[oa]|et demie?|e mei[oa]|e mezz[oa]|ونصف)(?![\p{L}\p{M}])"
)
"""After a number, or after what is counted: 5 capturas y media."""
_FRACTION = regex.compile(r"分[之の] ?$")
_HUNDREDS = regex.compile(r"1[0-9]00'?s(?!\p{L})")
"""A century: the 1700s are the 18th."""
_RANGE_OF_MONTHS = regex.compile(r" ?[-~至到] ?\d{1,2} ?月")


def read_amounts(text: str, language: str) -> list[Amount]:
    """The amounts of ``text`` in order, apart from each other; ``language`` is an ISO 639-1 code and settles words."""
    lexicon = load_lexicon(language)
    folded, places = fold_with_places(text)
    items = list_items(text, folded, places, lexicon)
    amounts = []
    for start, end, kind, readings, freedom in join_amounts(_read_items(items, folded, lexicon), folded):
        begin, stop = places[start], places[end - 1] + 1
        if text[stop - 1] == "." and stop - begin > 1:
            stop -= 1
        amounts.append(
            Amount(
                begin,
                stop,
                kind,
                readings,
                text[begin:stop],
                spelled=freedom not in ("written", "exact"),
                free=freedom == "free",
                vague=freedom == "vague",
                exact=freedom == "exact",
                era=find_era(folded, start, end),
            )
        )
    return amounts


def _read_items(items: Sequence[Item], folded: str, lexicon: Lexicon) -> Iterator[Extract]:
    index = reached = 0
    while index < len(items):
        token = items[index]
        whole = _read_whole(token, folded, lexicon.language)
        if whole is not None:
            yield whole
            while index < len(items) and items[index].start < whole[1]:
                index += 1
            continue
        half_hour = read_half_hour(items, index, folded, lexicon.language)
        half_hour = half_hour or read_quarter(items, index, folded, lexicon.language)
        if half_hour is not None:
            last, minute, hour = half_hour
            half = find_half(items, index, last + 1, folded)
            yield token.start, items[last].end, "time", (*list_times(minute, half), *hour), "spelled"
            index = last + 1
            continue
        clock = read_clock(items, index, folded)
        if clock is not None:
            end, minute, lasting, following = clock
            half = find_half(items, index, following, folded)
            yield token.start, end, "time", (*list_times(minute, half), *lasting), "written"
            index = following
            continue
        quantity = None if _names_unit(items, index, folded) else read_quantity(items, index, folded, lexicon)
        counted = quantity is not None and bool(token.numbers) and quantity.following > index + 1
        if token.month is not None and not counted and not is_plain_word(token, items, index, folded, lexicon):
            readings = (Reading(month=token.month), *list_others(token, quantity))
            yield token.start, token.end, "date", readings, "spelled" if len(readings) > 1 else "written"
            index += 1
        elif token.weekday is not None and not counted:
            readings = (Reading(weekday=token.weekday), *list_others(token, quantity))
            freedom: Freedom = "vague" if token.bare else "spelled" if len(readings) > 1 else "written"
            yield token.start, token.end, "date", readings, freedom
            index += 1
        elif quantity is not None:
            amount = _read_measure(items, index, quantity, folded, lexicon, reached)
            if amount is not None:
                yield amount
                reached = amount[1]
            index = quantity.following
        else:
            if token.unit in ("decade", "century") and not _has_number_after(items, index):
                yield token.start, token.end, "measure", (Reading(quantity=Fraction(1), unit=token.unit),), "vague"
            index += 1


def _read_whole(token: Item, folded: str, language: str) -> Extract | None:
    """What is written as one: feet and inches, a decimal with its unit in the middle, quarters of an hour."""
    feet = find_feet(folded, token.start) if token.quantities else None
    if feet is not None:
        return token.start, feet[0], "measure", (Reading(quantity=feet[1], unit="ft"),), "written"
    split = find_split_decimal(folded, token.start) if token.quantities else None
    if split is not None:
        end, quantity, unit = split
        kind: AmountKind = "money" if unit in CURRENCIES else "measure"
        return token.start, end, kind, (Reading(quantity=quantity, unit=unit),), "written"
    quarters = find_quarters(folded, token.start, language)
    if quarters is not None:
        end, readings = quarters
        return token.start, end, "measure", readings, "vague" if readings[0].quantity == 15 else "spelled"
    return None


def _has_number_after(items: Sequence[Item], index: int) -> bool:
    following = items[index + 1] if index + 1 < len(items) else None
    return bool(following and (following.quantities or following.numbers) and following.start - items[index].end <= 2)


def _names_unit(items: Sequence[Item], index: int, folded: str) -> bool:
    """Whether a word that is a number, too, is the unit of the digits after it: năm 2020 is a year and not five."""
    token, following = items[index], items[index + 1] if index + 1 < len(items) else None
    if not token.numbers or token.unit is None or following is None or not following.quantities:
        return False
    return folded[token.end : following.start].isspace()


def _read_measure(
    items: Sequence[Item], index: int, quantity: Quantity, folded: str, lexicon: Lexicon, reached: int
) -> Extract | None:
    unit, start, end = None, quantity.start, quantity.end
    before = find_unit_before(items, quantity, index, folded, reached, lexicon)
    if before is not None:
        unit, start = before.unit, before.start
        if unit == "mo" and lexicon.language == "vi":
            unit = "month"
    scaled = find_scaled_currency(folded, quantity.end)
    if scaled is not None:
        return _read_scaled(quantity, scaled, items)
    after = None if quantity.code else find_unit_after(items, quantity, index, folded)
    if after is not None and (unit is None or after.unit == "century"):
        unit, end = after.unit, after.end
        quantity.following = items.index(after, quantity.following) + 1
        if (half_more := find_half_more(items, quantity.following, folded)) is not None:
            return _read_half_more(quantity, start, items, half_more, unit)
        unit = find_speed(items, index, quantity.following, folded) or unit
    unit = unit or find_compound_unit(quantity, folded, lexicon)
    if quantity.roman and unit != "century" and quantity.end - quantity.start < 2:
        return None
    quantities = list_quantities(quantity, unit, folded, lexicon)
    if _HALF_AFTER.match(folded, end):
        quantities += tuple(reading + Fraction(1, 2) for reading in quantities)
    signs = (1,) if quantity.code else find_sign(folded, quantity.start, end, unit)
    quantities = tuple(sign * reading for sign in signs for reading in quantities)
    if signs[0] < 0 and start == quantity.start and folded[start - 1 : start] == "-":
        start -= 1
    readings = tuple(Reading(quantity=reading, unit=unit) for reading in quantities)
    if multiplier := _SHORT_SCALE.match(folded, quantity.end):
        factor = _SHORT_SCALES[multiplier.group().strip()]
        readings += tuple(
            Reading(quantity=reading * factor, unit=unit if unit in CURRENCIES else None) for reading in quantities
        )
    half = find_half(items, index, quantity.following, folded)
    if unit == "clock" or (half is not None and quantities[0] <= 24 and unit in (None, "h")):
        hours = [quantity for quantity in quantities if quantity <= 24]
        readings += tuple(time for hour in hours for time in list_times(int(hour * 60), half))
    if unit is None and _RANGE_OF_MONTHS.match(folded, quantity.end):
        readings = tuple(Reading(quantity=reading, unit="month") for reading in quantities)
    if lexicon.language == "zh" and folded.startswith("成", end):
        readings += tuple(Reading(quantity=reading * 10, unit="%") for reading in quantities)
    readings += list_clock_hours(quantities, unit) + read_hours_and_minutes(folded[quantity.start : quantity.end])
    if unit is None and quantity.end - quantity.start <= 2 and is_dated(folded, quantity.start, quantity.end):
        readings += tuple(Reading(month=int(reading)) for reading in quantities if 1 <= reading <= 12)
    if unit is None and _HUNDREDS.match(folded, quantity.start):
        readings += (Reading(quantity=quantities[0] / 100 + 1),)  # as a century it would be so many years, too
    fraction = _FRACTION.search(folded, max(0, start - 3), start) is not None
    freedom = _name_freedom(quantity, unit, fraction=fraction)
    dated = unit in (None, "d") and is_day(items, index, quantity.following, folded)
    if freedom == "written" and (dated or unit == "month" or (unit is None and is_joined(folded, start, end))):
        freedom = "exact"
    return start, end, _name_kind(quantity, unit, readings), readings, freedom


def _read_scaled(quantity: Quantity, scaled: tuple[int, int, str], items: Sequence[Item]) -> Extract:
    """*325 M€* and *3 Md$*."""
    end, scale, currency = scaled
    while quantity.following < len(items) and items[quantity.following].start < end:
        quantity.following += 1
    readings = tuple(Reading(quantity=reading * scale, unit=currency) for reading in quantity.quantities)
    return quantity.start, end, "money", readings, "written"


def _read_half_more(quantity: Quantity, start: int, items: Sequence[Item], place: int, unit: str | None) -> Extract:
    """*Un año y medio* is one and a half, and *dos años y medio* may be said as two. Half past three is a time."""
    quantity.following = place + 1
    readings = tuple(Reading(quantity=reading + Fraction(1, 2), unit=unit) for reading in quantity.quantities)
    if unit == "h":
        hours = [int(hour) for hour in quantity.quantities if hour <= 24]
        readings += tuple(time for hour in hours for time in list_times(hour * 60 + 30, None))
    freedom: Freedom = "vague"  # as an article alone
    if quantity.quantities != (Fraction(1),):
        readings += tuple(Reading(quantity=reading) for reading in quantity.quantities)
        freedom = _name_freedom(quantity, unit, fraction=False)
    return start, items[place].end, _name_kind(quantity, unit, readings[:1]), readings, freedom


def _name_freedom(quantity: Quantity, unit: str | None, *, fraction: bool) -> Freedom:
    if quantity.vague:
        return "vague"
    covid = quantity.code and quantity.quantities[0] == 19
    if (quantity.roman and unit != "century") or fraction or covid:
        return "free"
    return "spelled" if quantity.spelled or quantity.roman else "written"


def _name_kind(quantity: Quantity, unit: str | None, readings: tuple[Reading, ...]) -> AmountKind:
    if readings[-1].minute is not None and unit in (None, "clock", "h") and (unit or readings[0].quantity is None):
        return "time"
    if unit in ("%", "‰"):
        return "percent"
    if unit in CURRENCIES:
        return "money"
    if unit == "month":
        return "date"
    if unit == "century" or quantity.ordinal or quantity.roman or quantity.code:
        return "ordinal"
    return "measure" if unit is not None else "number"
