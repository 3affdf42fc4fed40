"""What an amount says, and how much a translator may leave out of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import regex

from dragoman.checking.amounts.amount import Amount, Mismatch, MismatchCode, Reading
from dragoman.checking.amounts.digits import split_runs
from dragoman.checking.amounts.folding import fold_text, fold_with_places
from dragoman.checking.amounts.fractions import list_fractions
from dragoman.checking.amounts.reading import read_amounts
from dragoman.deadline import check_each

__all__ = [
    "Key",
    "Side",
    "describe",
    "is_article",
    "is_vague",
    "list_asked",
    "list_keys",
    "list_pieces",
    "may_lack",
    "name_code",
    "says_little",
]

Key = tuple[str, Fraction | int]
SMALL = 2
"""A number word up to this asks for no counterpart of its own: both, a pair, the other."""
SMALL_ORDINAL = 3
"""Third parties are other ones."""
VAGUE = 100
"""A vague number from this on contradicts another vague one: thousands, millions."""
_PIECES = regex.compile(r"[\d ]+|\d+:\d+(?::\d+)?|\d+ ?h ?\d+|\d+ ?(?:'|ft\.?|feet|foot)[ -]?\d+ ?\D{1,6}")
_GROUPED = regex.compile(r"\d{1,3}(?: \d{3})+")
"""One number, or several beside one another: 4 700."""
_WHOLE_DAY = regex.compile(
    r"(?<![\d.,:])0{1,2}(?:(?::00|[时時点點])? ?[-~至到] ?24(?::00)?[时時点點]| ?(?:-|bis) ?24 uhr"
    r"|:00 ?(?:[-~]|to|bis|à|a|до) ?24:00)"
)
"""From 0 to 24 o'clock: who names the day need not say so. 0 to 24 hours may be how long something takes."""


@dataclass
class Side:
    """The amounts of one sentence and all that they may mean."""

    text: str
    amounts: list[Amount]
    keys: set[Key]
    asked: set[Key]
    """What the other side has to say: ``keys`` without the pieces of amounts."""
    fractions: list[tuple[int, int, Fraction]]

    @classmethod
    def read(cls, text: str, language: str) -> Side:
        amounts = read_amounts(text, language)
        fractions = list_fractions(text, language)
        asked = {key for amount in check_each(amounts) for reading in amount.readings for key in list_asked(reading)}
        keys = asked.union(*(list_pieces(amount) for amount in check_each(amounts)))
        halves = [Fraction(1, 2)] if ("quantity", Fraction(1, 2)) in keys else []
        shares = {fraction for _, _, fraction in fractions}.union(halves)
        percents: set[Key] = {("percent", 100 * share) for share in shares}  # a quarter is 25%
        return cls(text, amounts, keys | percents, asked, fractions)

    def drop_shares(self, other: Side) -> Side:
        """Without the parts of fractions in digits or signs that the other side says otherwise: 1/3 as a third."""
        written = {share for share, _, _ in other._list_written()}
        places = {
            place
            for share, start, end in self._list_written()
            if share not in written and ("percent", 100 * share) in other.keys
            for place in range(start, end)
        }
        return replace(self, amounts=[amount for amount in self.amounts if amount.start not in places])

    def _list_written(self) -> list[tuple[Fraction, int, int]]:
        """Fractions of which both numbers are read as amounts."""
        return [(share, a, b) for a, b, share in self.fractions if {"/", "分"} & set(self.text[a:b])]

    def lacks(self, amount: Amount) -> bool:
        """Whether nothing here means what ``amount`` does."""
        if any(key in self.keys for reading in amount.readings for key in list_asked(reading)):
            return False
        pieces = list_pieces(amount)
        if amount.readings[0].unit == "ft":  # two railways are no two feet
            return not (pieces and self._list_in_digits().issuperset(pieces))
        if not pieces or not self.asked.issuperset(pieces):
            return True
        return _GROUPED.fullmatch(fold_text(amount.text)) is not None and not self._has_in_order(pieces)

    def _list_in_digits(self) -> set[Key]:
        """What amounts in digits mean."""
        return {key for amount in self.amounts if not amount.spelled for r in amount.readings for key in list_asked(r)}

    def _has_in_order(self, pieces: Sequence[Key]) -> bool:
        """Whether numbers stand here one after the other: 747-400 is 747 400, and 700 4-kilowatt is no 4 700."""
        said = iter(sorted(self.amounts, key=lambda amount: amount.start))
        return all(any(piece in set(list_keys(amount)) for amount in said) for piece in pieces)

    def drop_whole_days(self, other: Side) -> Side:
        """Without the hours of whole days, where the other side does not say them."""
        if not _WHOLE_DAY.search(fold_text(other.text)) and ("quantity", Fraction(24)) in other.keys:
            return self
        folded, places = fold_with_places(self.text)
        days = [(places[day.start()], places[day.end() - 1]) for day in _WHOLE_DAY.finditer(folded)]
        amounts = [amount for amount in self.amounts if not any(start <= amount.start <= end for start, end in days)]
        return replace(self, amounts=amounts)


def list_keys(amount: Amount) -> Iterator[Key]:
    """All that an amount says."""
    for reading in amount.readings:
        yield from list_asked(reading)
    yield from list_pieces(amount)


def list_asked(reading: Reading) -> Iterator[Key]:
    """What the other side has to say: of a month a month, whatever its number is said of elsewhere."""
    if reading.unit == "month" and reading.quantity is not None:
        yield "month", int(reading.quantity)
    elif reading.quantity is not None:
        yield "quantity", reading.quantity
        if reading.unit == "%":
            yield "percent", reading.quantity
    if reading.month is not None:
        yield "month", reading.month
    if reading.weekday is not None:
        yield "weekday", reading.weekday
    if reading.minute is not None:
        yield "minute", reading.minute


def list_pieces(amount: Amount) -> list[Key]:
    """The runs of digits apart, of a time or of groups between spaces: 10:30 is a score as well."""
    if amount.text.isdecimal() or (amount.kind != "time" and not {" ", "'"} & set(amount.text)):
        return []
    folded = fold_text(amount.text)
    if not _PIECES.fullmatch(folded):
        return []
    return [("quantity", quantity) for _, _, quantity in split_runs(folded)]


def is_vague(amount: Amount) -> bool:
    return amount.vague and all((reading.quantity or 0) >= VAGUE for reading in amount.readings)


def is_article(amount: Amount) -> bool:
    """Whether it is a one in words."""
    return amount.spelled and not amount.vague and all(reading.quantity == 1 for reading in amount.readings)


def says_little(amount: Amount) -> bool:
    """One is an article in many languages, and a half, both or dozens contradict no other number."""
    if amount.vague:
        return True
    if amount.kind == "ordinal" and not amount.spelled:
        return False
    return all(
        amount.spelled and reading.quantity is not None and 0 < reading.quantity <= 1 and reading.unit != "month"
        for reading in amount.readings
    )


def may_lack(amount: Amount, *, dual: bool) -> bool:
    """Whether a translator may leave it unsaid, or say it without a number."""
    first = amount.readings[0].quantity
    quantities = [reading.quantity for reading in amount.readings if reading.quantity is not None]
    exact = amount.exact and all(reading.unit in (None, "d", "month") for reading in amount.readings)
    exact |= not amount.spelled and (amount.kind == "ordinal" or _is_time(amount))
    if first is not None and 1 <= first <= (2 if dual else 1) and not exact:
        return True  # the form of a noun or an article says as much
    small = SMALL_ORDINAL if amount.kind == "ordinal" else SMALL
    return amount.spelled and (amount.free or all(quantity <= small for quantity in quantities))


def _is_time(amount: Amount) -> bool:
    """Whether it is a time of day, and no hour that minutes follow."""
    return amount.readings[0].unit != "h" and any(reading.minute is not None for reading in amount.readings)


def name_code(amount: Amount) -> MismatchCode:
    reading = amount.readings[0]
    dated = reading.month or reading.weekday or reading.unit == "month"
    return "date" if dated else "number"


def describe(code: MismatchCode, source: Amount | None, target: Amount | None) -> Mismatch:
    return Mismatch(
        code=code,
        source=source.text if source else None,
        text=target.text if target else None,
        source_span=(source.start, source.end) if source else None,
        target_span=(target.start, target.end) if target else None,
    )
