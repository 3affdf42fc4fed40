"""Two sentences that should say the same, compared by their amounts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from dragoman.checking.amounts.amount import Amount, Mismatch, MismatchCode, Reading
from dragoman.checking.amounts.digits import split_runs
from dragoman.checking.amounts.folding import fold_text
from dragoman.checking.amounts.reading import read_amounts
from dragoman.checking.amounts.units import agree, equals_converted

__all__ = ["compare_amounts"]

Key = tuple[str, Fraction | int]
SMALL = 12
"""A number word up to this asks for no counterpart of its own: a pair of twins, triplets, both."""


@dataclass
class _Side:
    """The amounts of one sentence and all that they may mean."""

    amounts: list[Amount]
    keys: set[Key]

    @classmethod
    def read(cls, text: str, language: str) -> _Side:
        amounts = read_amounts(text, language)
        return cls(amounts, {key for amount in amounts for key in _list_keys(amount)})

    def lacks(self, amount: Amount) -> bool:
        """Whether nothing here means what ``amount`` does."""
        if any(key in self.keys for reading in amount.readings for key in _list_reading_keys(reading)):
            return False
        pieces = _list_pieces(amount)
        return not (pieces and all(piece in self.keys for piece in pieces))


def compare_amounts(source_text: str, source_language: str, target_text: str, target_language: str) -> list[Mismatch]:
    """The amounts of one sentence that the other lacks; an empty list where all agree, or none are written."""
    source, target = _Side.read(source_text, source_language), _Side.read(target_text, target_language)
    lost = [amount for amount in source.amounts if target.lacks(amount)]
    added = [amount for amount in target.amounts if source.lacks(amount)]
    lost, added = _drop_converted(lost, target.amounts), _drop_converted(added, source.amounts)
    return _pair(lost, added) + _compare_units(source.amounts, target.amounts)


def _drop_converted(amounts: Iterable[Amount], others: Sequence[Amount]) -> list[Amount]:
    """Without those that the other side says in another unit."""
    return [
        amount
        for amount in amounts
        if not any(
            equals_converted(reading.quantity, reading.unit, other.quantity, other.unit)
            for reading in amount.readings
            if reading.quantity is not None and reading.unit is not None
            for other_amount in others[:_MOST_COMPARED]
            for other in other_amount.readings
            if other.quantity is not None
        )
    ]


_MOST_COMPARED = 200
"""Amounts of a text that one which is lacking is compared with as measures; sentences have fewer."""


def _pair(lost: list[Amount], added: list[Amount]) -> list[Mismatch]:
    """A mismatch for each amount that asks for a counterpart, with what stands in its place."""
    mismatches = []
    for source in lost:
        target = next((target for target in added if _kind(target) == _kind(source)), None)
        if target is None and _may_lack(source):
            continue
        if target is not None:
            added.remove(target)
        mismatches.append(_describe(_kind(source), source, target))
    mismatches += [_describe(_kind(target), None, target) for target in added if not _may_lack(target)]
    return mismatches


def _may_lack(amount: Amount) -> bool:
    """Whether a translator may leave it unsaid, or say it without a number."""
    if amount.vague:
        return True
    small = all(reading.quantity is None or reading.quantity <= SMALL for reading in amount.readings)
    return amount.spelled and (small or amount.kind == "ordinal")


def _kind(amount: Amount) -> MismatchCode:
    return "date" if any(reading.month or reading.weekday for reading in amount.readings) else "number"


def _describe(code: MismatchCode, source: Amount | None, target: Amount | None) -> Mismatch:
    return Mismatch(
        code=code,
        source=source.text if source else None,
        text=target.text if target else None,
        source_span=(source.start, source.end) if source else None,
        target_span=(target.start, target.end) if target else None,
    )


def _compare_units(sources: Sequence[Amount], targets: Sequence[Amount]) -> list[Mismatch]:
    """Equal quantities of which each has a unit, and none the same."""
    by_quantity: dict[Fraction, list[tuple[Amount, Reading]]] = {}
    for target in targets:
        for reading in target.readings:
            if reading.quantity is not None:
                by_quantity.setdefault(reading.quantity, []).append((target, reading))
    mismatches = []
    for source in sources:
        if source.readings[0].unit is None:
            continue
        others = [pair for reading in source.readings for pair in by_quantity.get(reading.quantity or Fraction(-1), ())]
        if others and not any(agree(source.readings[0].unit, other.unit) for _, other in others):
            mismatches.append(_describe("unit", source, others[0][0]))
    return mismatches


def _list_keys(amount: Amount) -> Iterator[Key]:
    for reading in amount.readings:
        yield from _list_reading_keys(reading)
    yield from _list_pieces(amount)


def _list_pieces(amount: Amount) -> list[Key]:
    """The runs of digits apart: a list, a score, a date in digits."""
    return [("quantity", quantity) for _, _, quantity in split_runs(fold_text(amount.text))]


def _list_reading_keys(reading: Reading) -> Iterator[Key]:
    if reading.quantity is not None:
        yield "quantity", reading.quantity
        if reading.unit == "month":
            yield "month", int(reading.quantity)
    if reading.month is not None:
        yield "month", reading.month
    if reading.weekday is not None:
        yield "weekday", reading.weekday
    if reading.minute is not None:
        yield "minute", reading.minute
