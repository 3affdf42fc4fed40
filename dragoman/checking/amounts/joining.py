"""Amounts that are read together: ends of a range, a century and its decade, hours and their minutes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Literal

import regex

from dragoman.checking.amounts.amount import AmountKind, Reading
from dragoman.checking.amounts.dates import DECADE
from dragoman.checking.amounts.digits import AND, RANGES, is_between, read_scale
from dragoman.checking.amounts.measures import find_sign
from dragoman.checking.amounts.units import CURRENCIES, convert

__all__ = ["Extract", "Freedom", "join_amounts"]

Freedom = Literal["exact", "written", "spelled", "free", "vague"]
"""How much a translator may leave out; what is exact is a number that no article says."""
Extract = tuple[int, int, AmountKind, tuple[Reading, ...], Freedom]
_FEW, _MANY = (10, 12, 100, 1000, 10**4, 10**5), tuple(10**power for power in (3, 6, 9, 12))
_OF = regex.compile(r" (?:\p{L}{1,3} )?|-")
"""What stands between tens and thousands."""
_AND_SMALLER = regex.compile(r"[ ,\-]{0,2}(?:(?:and|und|y|et|e|и|και|و|और|en|och|og|con|com) ?)?")
"""Between a measure and what is left of it: 2 hours and 30 minutes, 5 feet 11 inches."""
_SMALLER = {"h": ("min",), "min": ("s",), "ft": ("in",), "lb": ("oz",), "y": ("mo",), "wk": ("d",), "m": ("cm",)}
_HUNDREDTHS = frozenset({"cent", "penny", "kopeck"})


def join_amounts(extracts: Iterable[Extract], folded: str) -> Iterator[Extract]:
    """All that belongs together, put together."""
    joined = _share_units(_join_decades(extracts, folded), folded)
    return _add_smaller(_multiply_vague(joined, folded), folded)


def _join_decades(extracts: Iterable[Extract], folded: str) -> Iterator[Extract]:
    """``20 世纪 30 年代`` is the 1930s."""
    century: Extract | None = None
    for extract in extracts:
        start, end, kind, readings, freedom = extract
        if century is not None:
            last = readings[0].quantity
            if last is not None and last < 100 and start - century[1] <= 1 and DECADE.search(folded, start, end + 3):
                whole = (century[3][0].quantity or 0) * 100 - 100 + last
                extract = (century[0], end, kind, (Reading(quantity=Fraction(whole)),), freedom)
            else:
                yield century
            century = None
        if extract[3][0].unit == "century" and len(extract[3]) == 1:
            century = extract
        else:
            yield extract
    if century is not None:
        yield century


def _share_units(extracts: Iterable[Extract], folded: str) -> Iterator[Extract]:
    """Of ``40-50 %`` both are percents, as of ``40 and 50 %``, and of ``5-6 thousand`` both may be thousands."""
    before: Extract | None = None
    for extract in extracts:
        if before is not None:
            unit = extract[3][0].unit
            gap = folded[before[1] : extract[0]].strip()
            if " " in gap and (extract[3][0].quantity or 0) < 0:
                gap = gap.rpartition(" ")[0]  # minus
            exact = extract[4] != "vague" or folded[extract[0]].isdecimal()
            bare = exact and all(_is_bare(reading) for reading in before[3])
            between = is_between(folded, before[0], gap)
            listed = not between and gap in AND and unit is not None and not _is_year(before[3][0])
            joined = bare and (gap in RANGES or between or listed)
            if joined and unit is not None:
                sign = find_sign(folded, before[0], before[1], unit)[0]
                readings = tuple(
                    replace(reading, unit=unit, quantity=sign * reading.quantity)
                    for reading in before[3]
                    if reading.quantity is not None
                )
                if readings:  # nine of 9 to 10 h; 9:00 is a time whatever follows
                    before = (*before[:2], extract[2], readings, before[4])
            if joined and not listed:
                before = (*before[:3], before[3] + _multiply_first(before, extract, folded), before[4])
            yield before
        before = extract
    if before is not None:
        yield before


def _is_year(reading: Reading) -> bool:
    return reading.quantity is None or 1000 <= reading.quantity <= 2100


def _multiply_first(first: Extract, last: Extract, folded: str) -> tuple[Reading, ...]:
    """What the first end of a range is where it shares the thousands of the last one."""
    quantity = last[3][0].quantity
    scale = read_scale(folded[last[0] : last[1]], quantity) if quantity else None
    return tuple(
        replace(reading, quantity=reading.quantity * scale)
        for reading in first[3]
        if scale and quantity and reading.quantity and 0 < reading.quantity * scale < quantity
    )


def _multiply_vague(extracts: Iterable[Extract], folded: str) -> Iterator[Extract]:
    """Tens of thousands are ten thousand, about."""
    before: Extract | None = None
    for extract in extracts:
        if before is not None:
            few, many = (part[3][0].quantity or Fraction(0) for part in (before, extract))
            scaled = few in _FEW and few < many in _MANY and before[4] == extract[4] == "vague"
            if scaled and _OF.fullmatch(folded, before[1], extract[0]):
                readings = tuple(replace(reading, quantity=few * many) for reading in extract[3][:1])
                extract = (before[0], *extract[1:3], readings, "vague")
            else:
                yield before
        before = extract
    if before is not None:
        yield before


def _add_smaller(extracts: Iterable[Extract], folded: str) -> Iterator[Extract]:
    """2 hours and 30 minutes are two and a half hours, too, and 17 o'clock 30 minutes are a time."""
    before: Extract | None = None
    for extract in extracts:
        if before is not None:
            if _AND_SMALLER.fullmatch(folded, before[1], extract[0]):
                whole = _list_wholes(before[3], extract[3][0])
                before = (*before[:3], (*before[3], *whole), before[4])
                extract = (*extract[:3], (*extract[3], *whole), extract[4])
            yield before
        before = extract
    if before is not None:
        yield before


def _list_wholes(larger: tuple[Reading, ...], smaller: Reading) -> tuple[Reading, ...]:
    """What a measure and the smaller one after it are together."""
    first = larger[0]
    if smaller.quantity is None or first.quantity is None:
        return ()
    if first.unit in ("clock", "h") and smaller.unit in ("min", None) and 0 < smaller.quantity < 60:
        hours = [reading.minute for reading in larger if reading.minute is not None and not reading.minute % 60]
        if first.unit == "h" and first.quantity <= 24 and smaller.unit == "min":
            hours.append(int(first.quantity) * 60)
        times = [Reading(minute=hour + int(smaller.quantity)) for hour in dict.fromkeys(hours)]
        if first.unit == "clock":
            return tuple(times)
        return (*times, Reading(quantity=first.quantity + smaller.quantity / 60, unit="h")) if smaller.unit else ()
    if smaller.unit in _HUNDREDTHS and first.unit in CURRENCIES - _HUNDREDTHS and smaller.quantity < 100:
        return (Reading(quantity=first.quantity + smaller.quantity / 100, unit=first.unit),)
    if smaller.unit not in _SMALLER.get(first.unit or "", ()):
        return ()
    rest = convert(smaller.quantity, smaller.unit, first.unit)
    return (Reading(quantity=first.quantity + rest, unit=first.unit),) if rest is not None and rest < 1 else ()


def _is_bare(reading: Reading) -> bool:
    """Whether a reading is a number alone, or a time of day that may be one."""
    return reading in (Reading(quantity=reading.quantity), Reading(minute=reading.minute))
