"""Units, eras and halves of the day of amounts that are the same quantity."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from fractions import Fraction

from dragoman.checking.amounts.amount import Amount, Mismatch
from dragoman.checking.amounts.comparing.saying import describe
from dragoman.checking.amounts.units import agree
from dragoman.deadline import check_each

__all__ = ["compare_eras", "compare_halves", "compare_units"]

_HALF_DAY, _NIGHT, _NOON = 12 * 60, 5 * 60, 11 * 60
"""Minutes; from the one to the other hour the halves of the day are compared: two at night is a.m., 11 at noon, too."""

_MOST_COMPARED = 100
"""Measures of one quantity that are compared with those of the other side; sentences have fewer."""


def compare_units(sources: Sequence[Amount], targets: Sequence[Amount]) -> list[Mismatch]:
    """Equal quantities with a unit on each side that nothing on the other agrees with."""
    ours, theirs = _sort_by_quantity(sources), _sort_by_quantity(targets)
    mismatches = []
    for quantity, measures in check_each(ours.items()):
        others = theirs.get(quantity, [])
        alone = [said for said in measures if not any(_agree(said, other, quantity) for other in others)]
        other_alone = [other for other in others if not any(_agree(said, other, quantity) for said in measures)]
        if len(measures) == len(others):  # each may stand for one alone
            alone, other_alone = _drop_agreeing(measures, others, quantity)
        mismatches += [describe("unit", said, other) for said, other in zip(alone, other_alone, strict=False)]
    return mismatches


def compare_halves(sources: Sequence[Amount], targets: Sequence[Amount]) -> list[Mismatch]:
    """The same hour, before noon on one side and after it on the other."""
    ours, theirs = _sort_by_minute(sources), _sort_by_minute(targets)
    return [
        describe("number", amount, theirs[other])
        for minute, amount in ours.items()
        if (other := (minute + _HALF_DAY) % (2 * _HALF_DAY)) in theirs and _NIGHT <= minute % _HALF_DAY < _NOON
        if not _may_be(minute, targets) and not _may_be(other, sources)
    ]


def compare_eras(sources: Sequence[Amount], targets: Sequence[Amount]) -> list[Mismatch]:
    """The same year, before Christ on one side alone and after Christ on the other."""
    ours, theirs = _sort_by_year(sources), _sort_by_year(targets)
    return [
        describe("date", min(eras.values(), key=_begin), min(theirs[year].values(), key=_begin))
        for year, eras in ours.items()
        if year in theirs and not eras.keys() & theirs[year].keys()
    ]


def _begin(amount: Amount) -> int:
    return amount.start


def _sort_by_year(amounts: Sequence[Amount]) -> dict[Fraction, dict[str, Amount]]:
    """The amounts with an era by what they may be, and by that."""
    years: defaultdict[Fraction, dict[str, Amount]] = defaultdict(dict)
    for amount in amounts:
        for reading in amount.readings if amount.era else ():
            if reading.quantity is not None:
                years[reading.quantity].setdefault(amount.era or "", amount)
    return years


def _sort_by_minute(amounts: Sequence[Amount]) -> dict[int, Amount]:
    """Times that can be one minute of the day alone."""
    times = [({r.minute for r in amount.readings if r.minute is not None}, amount) for amount in amounts]
    return {minutes.pop(): amount for minutes, amount in times if len(minutes) == 1}


def _may_be(minute: int, amounts: Sequence[Amount]) -> bool:
    return any(reading.minute == minute for amount in amounts for reading in amount.readings)


def _drop_agreeing(
    measures: Sequence[Amount], others: Sequence[Amount], quantity: Fraction
) -> tuple[list[Amount], list[Amount]]:
    """Those of both sides that are left when each is put together with one that agrees, where there is one."""
    alone, rest = [], list(others)
    for said in measures:
        agreeing = [other for other in rest if _agree(said, other, quantity)]
        if agreeing:
            units = _list_units(said, quantity)
            rest.remove(min(agreeing, key=lambda other: not (units & _list_units(other, quantity))))
        else:
            alone.append(said)
    return alone, rest


def _agree(first: Amount, second: Amount, quantity: Fraction) -> bool:
    units, others = _list_units(first, quantity), _list_units(second, quantity)
    return any(agree(unit, other) for unit in units for other in others)


def _list_units(amount: Amount, quantity: Fraction) -> set[str]:
    """The units in which an amount is that quantity."""
    return {r.unit for r in amount.readings if r.quantity == quantity and r.unit not in (None, "month")}


def _sort_by_quantity(amounts: Sequence[Amount]) -> dict[Fraction, list[Amount]]:
    """The amounts that have a unit, by quantity."""
    measures: defaultdict[Fraction, list[Amount]] = defaultdict(list)
    for amount in amounts:
        measured = {r.quantity for r in amount.readings if r.quantity is not None and r.unit not in (None, "month")}
        for quantity in measured if not (amount.vague and measured == {1}) else ():
            if len(measures[quantity]) < _MOST_COMPARED:
                measures[quantity].append(amount)
    return measures
