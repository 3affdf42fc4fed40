"""Two sentences that should say the same, compared by their amounts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import regex

from dragoman.checking.amounts.amount import Amount, Mismatch, MismatchCode, Reading
from dragoman.checking.amounts.digits import split_runs
from dragoman.checking.amounts.folding import fold_text
from dragoman.checking.amounts.reading import read_amounts
from dragoman.checking.amounts.units import agree, equals_converted

__all__ = ["compare_amounts"]

Key = tuple[str, Fraction | int]
SMALL = 2
"""A number word up to this asks for no counterpart of its own: both, a pair, the other."""
SMALL_ORDINAL = 3
"""Third parties are other ones."""
VAGUE = 100
"""A vague number from this on contradicts another vague one: thousands, millions."""
_DUAL = frozenset({"ar", "he", "sl", "mt"})
"""Languages whose nouns have a form for two."""
_MOST_COMPARED = 200
"""Amounts of a text that one which is lacking is compared with as measures; sentences have fewer."""
_PIECES = regex.compile(r"[\d ]+|\d+:\d+(?::\d+)?")


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
        if any(key in self.keys for reading in amount.readings for key in _list_asked(reading)):
            return False
        pieces = _list_pieces(amount)
        return not (pieces and all(piece in self.keys for piece in pieces))


def compare_amounts(source_text: str, source_language: str, target_text: str, target_language: str) -> list[Mismatch]:
    """The amounts of one sentence that the other lacks; an empty list where all agree, or none are written."""
    source, target = _Side.read(source_text, source_language), _Side.read(target_text, target_language)
    lost = _drop_converted([amount for amount in source.amounts if target.lacks(amount)], target.amounts)
    added = _drop_converted([amount for amount in target.amounts if source.lacks(amount)], source.amounts)
    dual = source_language in _DUAL or target_language in _DUAL
    mismatches = _pair_vague(lost, added) + _pair(lost, added, dual=dual)
    return mismatches + (
        _compare_units(source.amounts, target.amounts) or ([] if mismatches else _pair_counts(source, target))
    )


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


def _pair_vague(lost: list[Amount], added: list[Amount]) -> list[Mismatch]:
    """Thousands against millions."""
    sources, targets = ([amount for amount in side if _is_vague(amount)] for side in (lost, added))
    return [
        _describe("number", source, target)
        for source, target in zip(sources, targets, strict=False)
        if not _are_loosely_alike(source, target)
    ]


def _are_loosely_alike(source: Amount, target: Amount) -> bool:
    """Lakhs are millions to a translator, and crores are, too."""
    first, second = (max(reading.quantity or Fraction(1) for reading in amount.readings) for amount in (source, target))
    indian = {Fraction(10**5), Fraction(10**7)}
    return bool({first, second} & indian) and max(first, second) <= 100 * min(first, second)


def _is_vague(amount: Amount) -> bool:
    return amount.vague and all((reading.quantity or 0) >= VAGUE for reading in amount.readings)


def _pair(lost: list[Amount], added: list[Amount], *, dual: bool) -> list[Mismatch]:
    """A mismatch for each amount that asks for a counterpart, with what stands in its place."""
    lost, added = ([amount for amount in side if not _says_little(amount)] for side in (lost, added))
    mismatches = []
    for source in lost:
        target = next((target for target in added if _name_code(target) == _name_code(source)), None)
        if target is None and _may_lack(source, dual=dual):
            continue
        if target is not None:
            added.remove(target)
        mismatches.append(_describe(_name_code(source), source, target))
    return mismatches + [
        _describe(_name_code(target), None, target) for target in added if not _may_lack(target, dual=dual)
    ]


def _pair_counts(source: _Side, target: _Side) -> list[Mismatch]:
    """Of amounts that both sides have, one that is said less often beside one that is said more often."""
    ours, theirs = _count(source.amounts), _count(target.amounts)
    return [
        _describe("number", ours[lost][-1], theirs[added][-1])
        for lost, added in zip(_list_scarcer(ours, theirs), _list_scarcer(theirs, ours), strict=False)
        if not (ours[lost][-1].spelled and theirs[added][-1].spelled)
    ]


def _list_scarcer(amounts: dict[Fraction, list[Amount]], others: dict[Fraction, list[Amount]]) -> list[Fraction]:
    """The quantities that the others say less often; a single one may be left out, unless digits stand for it."""
    return [
        quantity
        for quantity, said in amounts.items()
        if len(said) > len(others.get(quantity, ())) and (quantity in others or quantity == 1)
        if quantity > 1 or not said[-1].spelled
    ]


def _count(amounts: Sequence[Amount]) -> dict[Fraction, list[Amount]]:
    """The amounts of one quantity, by quantity."""
    counts: defaultdict[Fraction, list[Amount]] = defaultdict(list)
    for amount in amounts:
        quantity = amount.readings[0].quantity
        if quantity is not None and not amount.vague and all(r.quantity == quantity for r in amount.readings):
            counts[quantity].append(amount)
    return dict(counts)


def _says_little(amount: Amount) -> bool:
    """One is an article in many languages, and a half, both or dozens contradict no other number."""
    if amount.vague:
        return True
    if amount.kind == "ordinal" and not amount.spelled:
        return False
    return all(
        amount.spelled and reading.quantity is not None and reading.quantity <= 1 and reading.unit != "month"
        for reading in amount.readings
    )


def _may_lack(amount: Amount, *, dual: bool) -> bool:
    """Whether a translator may leave it unsaid, or say it without a number."""
    quantities = [reading.quantity for reading in amount.readings if reading.quantity is not None]
    code = amount.kind == "ordinal" and not amount.spelled
    if quantities and min(quantities) >= 1 and max(quantities) <= (2 if dual else 1) and not code:
        return True  # the form of a noun or an article says as much
    small = SMALL_ORDINAL if amount.kind == "ordinal" else SMALL
    return amount.spelled and (amount.free or all(quantity <= small for quantity in quantities))


def _name_code(amount: Amount) -> MismatchCode:
    dated = any(reading.month or reading.weekday or reading.unit == "month" for reading in amount.readings)
    return "date" if dated else "number"


def _describe(code: MismatchCode, source: Amount | None, target: Amount | None) -> Mismatch:
    return Mismatch(
        code=code,
        source=source.text if source else None,
        text=target.text if target else None,
        source_span=(source.start, source.end) if source else None,
        target_span=(target.start, target.end) if target else None,
    )


def _compare_units(sources: Sequence[Amount], targets: Sequence[Amount]) -> list[Mismatch]:
    """Equal quantities with a unit on each side that nothing on the other agrees with."""
    ours, theirs = _sort_by_quantity(sources), _sort_by_quantity(targets)
    mismatches = []
    for quantity, measures in ours.items():
        others = theirs.get(quantity, {})
        alone = [unit for unit in measures if not any(agree(unit, other) for other in others)]
        other_alone = [other for other in others if not any(agree(unit, other) for unit in measures)]
        for unit, other in zip(alone, other_alone, strict=False):
            mismatches.append(_describe("unit", measures[unit], others[other]))
    return mismatches


def _sort_by_quantity(amounts: Sequence[Amount]) -> dict[Fraction, dict[str, Amount]]:
    """The amounts that have a unit, by quantity and by unit."""
    measures: dict[Fraction, dict[str, Amount]] = {}
    for amount in amounts:
        for reading in amount.readings:
            if reading.quantity is not None and reading.unit not in (None, "month"):
                measures.setdefault(reading.quantity, {}).setdefault(reading.unit, amount)
    return measures


def _list_keys(amount: Amount) -> Iterator[Key]:
    """All that an amount says."""
    for reading in amount.readings:
        yield from _list_asked(reading)
    yield from _list_pieces(amount)


def _list_asked(reading: Reading) -> Iterator[Key]:
    """What the other side has to say: of a month a month, whatever its number is said of elsewhere."""
    if reading.unit == "month" and reading.quantity is not None:
        yield "month", int(reading.quantity)
    elif reading.quantity is not None:
        yield "quantity", reading.quantity
    if reading.month is not None:
        yield "month", reading.month
    if reading.weekday is not None:
        yield "weekday", reading.weekday
    if reading.minute is not None:
        yield "minute", reading.minute


def _list_pieces(amount: Amount) -> list[Key]:
    """The runs of digits apart, of a time or of groups between spaces: 10:30 is a score as well."""
    if amount.text.isdecimal() or (amount.kind != "time" and " " not in amount.text):
        return []
    folded = fold_text(amount.text)
    if not _PIECES.fullmatch(folded):
        return []
    return [("quantity", quantity) for _, _, quantity in split_runs(folded)]
