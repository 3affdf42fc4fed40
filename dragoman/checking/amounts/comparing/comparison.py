"""Two sentences that should say the same, compared by their amounts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction

from dragoman.checking.amounts.amount import Amount, Mismatch
from dragoman.checking.amounts.comparing.counting import MOST, pair_counts
from dragoman.checking.amounts.comparing.order import compare_order
from dragoman.checking.amounts.comparing.saying import Side, describe, is_vague, may_lack, name_code, says_little
from dragoman.checking.amounts.comparing.units import compare_eras, compare_halves, compare_units
from dragoman.checking.amounts.units import are_roundings, equals_converted
from dragoman.deadline import check_each

__all__ = ["compare_amounts"]

_DUAL = frozenset({"ar", "he", "sl", "mt"})
"""Languages whose nouns have a form for two."""
_MOST_COMPARED = 40
"""Measures of each side that may be conversions of a third one; sentences have fewer."""
_MOST_PAIRS = 20_000
"""Pairs of two sides that are compared as measures; 140 amounts of each are all compared."""
_INTERVAL = 16
"""Amounts between two looks at the deadline."""


def compare_amounts(source_text: str, source_language: str, target_text: str, target_language: str) -> list[Mismatch]:
    """The amounts of one sentence that the other lacks; an empty list where all agree, or none are written."""
    source, target = Side.read(source_text, source_language), Side.read(target_text, target_language)
    source, target = source.drop_shares(target), target.drop_shares(source)
    source, target = source.drop_whole_days(target), target.drop_whole_days(source)
    all_lost = [amount for amount in check_each(source.amounts, _INTERVAL) if target.lacks(amount)]
    all_added = [amount for amount in check_each(target.amounts, _INTERVAL) if source.lacks(amount)]
    lost, added = _drop_converted(all_lost, target.amounts), _drop_converted(all_added, source.amounts)
    dual = source_language in _DUAL or target_language in _DUAL
    mismatches = _pair_vague(lost, added) + _pair(lost, added, dual=dual)
    if not mismatches:
        said_by_both = [amount for amount in target.amounts if not source.lacks(amount)]
        mismatches = _pair_measures((all_lost, lost), (all_added, added), said_by_both)
    mismatches += compare_units(source.amounts, target.amounts) + compare_halves(source.amounts, target.amounts)
    mismatches += compare_eras(source.amounts, target.amounts)
    mismatches = mismatches or _pair_fractions(source, target)
    if mismatches or max(len(source.amounts), len(target.amounts)) > MOST:
        return mismatches
    converted = [amount for amount in all_lost if amount not in lost], [a for a in all_added if a not in added]
    return pair_counts(source, target, *converted) or compare_order(source, target)


def _pair_fractions(source: Side, target: Side) -> list[Mismatch]:
    """Fractions that differ, where both sides have as many: one in words may be said without a number."""
    ours, theirs = source.fractions, target.fractions
    if len(ours) != len(theirs):
        return []
    our_shares, their_shares = ({share for _, _, share in side} for side in (ours, theirs))
    lost = [part for part in ours if part[2] not in their_shares]
    added = [part for part in theirs if part[2] not in our_shares]
    return [
        Mismatch("number", source.text[a:b], target.text[c:d], (a, b), (c, d))
        for (a, b, _), (c, d, _) in zip(lost, added, strict=False)
    ]


def _drop_converted(amounts: Sequence[Amount], others: Sequence[Amount]) -> list[Amount]:
    """Without those that the other side says in another unit."""
    near = others[: _MOST_PAIRS // max(1, len(amounts))]
    return [amount for amount in check_each(amounts) if not any(_are_converted(amount, other) for other in near)]


def _are_converted(amount: Amount, other_amount: Amount) -> bool:
    return any(
        equals_converted(reading.quantity, reading.unit, other.quantity, other.unit)
        for reading in amount.readings
        if reading.quantity is not None and reading.unit is not None
        for other in other_amount.readings
        if other.quantity is not None
    )


def _pair_measures(
    lost: tuple[Sequence[Amount], Sequence[Amount]],
    added: tuple[Sequence[Amount], Sequence[Amount]],
    both: Sequence[Amount],
) -> list[Mismatch]:
    """Different quantities of one unit, though the other side may have the one or the other in another unit, too.

    Of both sides all that the other lacks, and of that what it doesn't have in another unit. Where it has both, in
    turns or rounded, they agree: ten miles (16 km) and 9.9 miles (16 km). Of what ``both`` sides say they are one
    conversion or the other, rounded: 180 m/s (650 km/h) is not 180 m/s (657 km/h).
    """
    rest = [amount for amount in added[0] if not says_little(amount)][:_MOST_COMPARED]
    mismatches = []
    for source in check_each(lost[0][:_MOST_COMPARED]):
        unit = source.readings[0].unit
        if unit in (None, "month") or says_little(source):
            continue
        same = [other for other in rest if other.readings[0].unit == unit]
        alone = [
            other
            for other in same
            if source in lost[1] or other in added[1] or _are_apart(source, other, both[:_MOST_COMPARED])
        ]
        if alone:
            rest.remove(alone[0])
            mismatches.append(describe(name_code(source), source, alone[0]))
    return mismatches


def _are_apart(source: Amount, other: Amount, both: Iterable[Amount]) -> bool:
    """Whether two are conversions of one that both sides say, and neither is the other rounded."""
    quantities = source.readings[0].quantity, other.readings[0].quantity
    if None in quantities or are_roundings(quantities[0] or Fraction(0), quantities[1] or Fraction(0)):
        return False
    return any(_are_converted(source, shared) and _are_converted(other, shared) for shared in both)


def _pair_vague(lost: list[Amount], added: list[Amount]) -> list[Mismatch]:
    """Thousands against millions."""
    sources, targets = ([amount for amount in side if is_vague(amount)] for side in (lost, added))
    return [
        describe("number", source, target)
        for source, target in zip(sources, targets, strict=False)
        if not _are_loosely_alike(source, target)
    ]


def _are_loosely_alike(source: Amount, target: Amount) -> bool:
    """Lakhs are millions to a translator, and crores are, too."""
    first, second = (max(reading.quantity or Fraction(1) for reading in amount.readings) for amount in (source, target))
    indian = {Fraction(10**5), Fraction(10**7)}
    return bool({first, second} & indian) and max(first, second) <= 100 * min(first, second)


def _pair(lost: list[Amount], added: list[Amount], *, dual: bool) -> list[Mismatch]:
    """A mismatch for each amount that asks for a counterpart, with what stands in its place."""
    lost, added = ([amount for amount in side if not says_little(amount)] for side in (lost, added))
    mismatches = []
    for source in check_each(lost, _INTERVAL):
        target = next((target for target in added if name_code(target) == name_code(source)), None)
        if target is None and may_lack(source, dual=dual):
            continue
        if target is not None:
            added.remove(target)
        mismatches.append(describe(name_code(source), source, target))
    return mismatches + [
        describe(name_code(target), None, target) for target in added if not may_lack(target, dual=dual)
    ]
