"""The order of two amounts in one expression: a score, a ratio or a range. 3:2 is not 2:3, and 5-7 is not 7-5."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import regex

from dragoman.checking.amounts.amount import Amount, Mismatch
from dragoman.checking.amounts.comparing.saying import Side, list_asked, list_pieces, name_code
from dragoman.checking.amounts.digits import RANGES
from dragoman.checking.amounts.folding import fold_text
from dragoman.deadline import check_each

__all__ = ["compare_order"]

_JOINING = ": 対 比 对 對 zu к προσ contra hasta contre tegen do ต่อ مقابل по حتی وحتی والی"
_PHRASES = {"jusqu'à", "के मुकाबले"}
_WORDS = (RANGES - frozenset("or oder ou o или".split())) | set(_JOINING.split()) | _PHRASES  # noqa: SIM905
"""What stands between two amounts whose order counts; five or six are six or five."""
_JOINT = regex.compile(
    r"(?:[年月日岁歲歳时時点點]|[ap]\.? ?m\.?(?=[ -])|uhr|heures?|horas?|ч\.?|час\p{L}{0,4}|बजे|صباحا|مساء)? ?\L<words>"
    r"(?: [\p{L}\p{M}]{1,3}| ?(?:[上下]午|午[前後]))?",
    words=[*_WORDS],
)
"""With the unit or the half of the day of the first one, or an article of the second: 1999年至2016年, έως το 2014."""
_LONGEST_JOINT = 14
"""Code points between two amounts, with spaces."""
_WITHIN = regex.compile(r"[年月]?[.,]? ?(?:(?:of|de|del|di) )?")
"""What stands between parts of one date."""
_HOURS = frozenset({"clock", "h"})


@dataclass(frozen=True)
class _End:
    """What stands before or after a joint: an amount, or a date or a time of several, each by all that it may say."""

    amounts: tuple[Amount, ...]
    parts: tuple[frozenset[Hashable], ...]

    @classmethod
    def read(cls, amounts: Sequence[Amount]) -> _End:
        parts = [_list_meanings(amount) for amount in amounts]
        if len(parts) > 1 and _is_time(amounts[0], amounts[-1]):
            parts = [frozenset.intersection(*parts)]  # what each says of the whole
        return cls(tuple(amounts), tuple(parts))

    def agrees(self, other: _End) -> bool:
        """Whether all parts of the one that has fewer are parts of the other."""
        fewer, more = sorted((self.parts, other.parts), key=len)
        return all(any(part & said for said in more) for part in fewer)

    def is_negative(self) -> bool:
        """Whether it may be below zero: -7 to -5 is -5 to -7."""
        return any((reading.quantity or 0) < 0 for amount in self.amounts for reading in amount.readings)


@dataclass(frozen=True)
class _Couple:
    """Two ends of one expression."""

    first: _End
    second: _End
    code_of: Amount
    start: int
    end: int

    def equals(self, other: _Couple) -> bool:
        """Whether both may say the same, in the same order."""
        return self.first.agrees(other.first) and self.second.agrees(other.second)

    def reverses(self, other: _Couple) -> bool:
        """Whether each first end is the other's second one."""
        return self.first.agrees(other.second) and self.second.agrees(other.first)


def compare_order(source: Side, target: Side) -> list[Mismatch]:
    """The couples of the source that the target has the other way round, and not as they are.

    What only one side has in one expression is not compared: *2:3 verloren* may be *two goals to three*.
    """
    ours, theirs = list(_list_couples(source)), list(_list_couples(target))
    alone = [couple for couple in theirs if not any(couple.equals(other) for other in ours)]
    mismatches = []
    for couple in check_each(ours):
        if any(couple.equals(other) for other in theirs):
            continue
        reversed_one = next((other for other in alone if couple.reverses(other)), None)
        if reversed_one is not None:
            alone.remove(reversed_one)
            mismatches.append(_describe(source, couple, target, reversed_one))
    return mismatches


def _describe(source: Side, couple: _Couple, target: Side, other: _Couple) -> Mismatch:
    spans = (couple.start, couple.end), (other.start, other.end)
    texts = source.text[couple.start : couple.end], target.text[other.start : other.end]
    return Mismatch(name_code(couple.code_of), *texts, *spans)


def _list_couples(side: Side) -> Iterator[_Couple]:
    """Ends that are joined to one other; of three in a row, as in a date, the order is the language's."""
    ends = [_End.read(group) for group in _group(side)]
    joined = [_are_joined(side.text, first.amounts[-1], second.amounts[0]) for first, second in pairwise(ends)]
    for place, is_joined in enumerate(joined):
        alone = not (place and joined[place - 1]) and not (place + 1 < len(joined) and joined[place + 1])
        first, second = ends[place : place + 2]
        if is_joined and alone and not (first.is_negative() and second.is_negative()):
            code_of = next((amount for amount in first.amounts if name_code(amount) == "date"), first.amounts[0])
            yield _Couple(first, second, code_of, first.amounts[0].start, second.amounts[-1].end)
    for amount in side.amounts:  # 21:15 is read as a time
        pieces = list_pieces(amount) if ":" in amount.text else []
        if len(pieces) == 2:
            first, second = (_End((amount,), (frozenset([piece]),)) for piece in pieces)
            yield _Couple(first, second, amount, amount.start, amount.end)


def _group(side: Side) -> Iterator[list[Amount]]:
    """The amounts, those of one date or of one time together: *June 1990*, 10時30分."""
    group: list[Amount] = []
    for amount in side.amounts:
        if group and not _belong(side.text, group[-1], amount):
            yield group
            group = []
        group.append(amount)
    if group:
        yield group


def _belong(text: str, first: Amount, second: Amount) -> bool:
    if second.start - first.end > _LONGEST_JOINT:
        return False
    gap = fold_text(text[first.end : second.start])
    if _is_time(first, second):
        return not gap.strip()
    return (name_code(first) == "date" or name_code(second) == "date") and _WITHIN.fullmatch(gap) is not None


def _is_time(first: Amount, second: Amount) -> bool:
    """Whether they are an hour and its minutes."""
    return first.readings[0].unit in _HOURS and second.readings[0].unit == "min"


def _are_joined(text: str, first: Amount, second: Amount) -> bool:
    """Whether two amounts are ends of one expression; what is between two is between them in either order."""
    if not 0 < second.start - first.end <= _LONGEST_JOINT:
        return False
    return _JOINT.fullmatch(fold_text(text[first.end : second.start]).strip()) is not None


def _list_meanings(amount: Amount) -> frozenset[Hashable]:
    """All that an amount may say; the pieces of a time say it together."""
    keys: set[Hashable] = {key for reading in amount.readings for key in list_asked(reading)}
    if pieces := list_pieces(amount):
        keys.add(tuple(pieces))
    return frozenset(keys)
