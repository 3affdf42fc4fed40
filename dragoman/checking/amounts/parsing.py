"""Items put together: numbers of several words, their units, and times of day."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from fractions import Fraction

import regex

from dragoman.checking.amounts.lexicon import Lexicon
from dragoman.checking.amounts.lexing import Item
from dragoman.checking.amounts.spelled import Sum
from dragoman.checking.amounts.units import SIGNS

__all__ = ["Quantity", "find_unit", "read_quantity"]

_NEAR = regex.compile(r"[ \-]{0,2}")
_BEFORE_UNIT = regex.compile(
    r"(?:-?(?:st|nd|rd|th|er|e|ème|º|ª|o|a|οσ|η|ο|ου|ησ|й|я|е|го|ый|ой|му|м|х|ти|та|и|inci|nci|uncu|वीं|वें|वी))?"
    r"[多余餘几幾]?[ \-.]{0,2}(?:of |de |d'|di )?"
)
"""Endings of ordinals in digits, and a space."""
_MOST_WORDS = 30
"""Of one number."""


@dataclass
class Quantity:
    """A number that has been read, before its unit."""

    start: int
    end: int
    quantities: tuple[Fraction, ...]
    following: int
    """The token after it."""
    ordinal: bool = False
    vague: bool = False
    spelled: bool = True
    decade: bool = False
    roman: bool = False
    code: bool = False


def read_quantity(items: Sequence[Item], index: int, folded: str, lexicon: Lexicon) -> Quantity | None:
    """The longest number that begins at token ``index``."""
    first = items[index]
    if first.roman:
        return Quantity(first.start, first.end, first.quantities, index + 1, roman=True)
    if first.code:
        return Quantity(first.start, first.end, first.quantities, index + 1, spelled=False, code=True)
    if first.quantities:
        readings = [_grow(items, index, folded, lexicon, quantity) for quantity in first.quantities]
        longest = max(reading.following for reading in readings)
        sums = tuple(reading.quantities[0] for reading in readings if reading.following == longest)
        best = next(reading for reading in readings if reading.following == longest)
        best.quantities = tuple(dict.fromkeys(sums))
        best.vague = best.vague or first.bare
        best.spelled = first.ideographs and not any(sign.isdecimal() for sign in folded[first.start : first.end])
        return best
    return _grow(items, index, folded, lexicon, None) if first.numbers else None


def _grow(items: Sequence[Item], index: int, folded: str, lexicon: Lexicon, numeral: Fraction | None) -> Quantity:
    total = Sum()
    start, end = items[index].start, items[index].end
    if numeral is None:
        total = _add_item(total, items[index], lexicon) or total
    else:
        total.add_numeral(numeral)
    following = index + 1
    cursor, reached = following, end
    while cursor < min(len(items), index + _MOST_WORDS):
        token = items[cursor]
        if not _NEAR.fullmatch(folded, reached, token.start):
            break
        if token.connector and not token.numbers:
            cursor, reached = cursor + 1, token.end
            continue
        if token.numbers and total.numeral and token.unit is not None:
            break  # 8 cents
        if token.numbers:
            grown = _add_item(total, token, lexicon)
        elif lexicon.scale_first and total.vague and token.quantities and cursor == index + 1:
            grown = Sum(total=total.quantity * token.quantities[0], scale=total.scale, empty=False)  # milioni 108
        else:
            grown = _add_digits(total, items, cursor, folded) if cursor == following else None
        if grown is None:
            break
        total, end = grown, token.end
        cursor, reached, following = cursor + 1, token.end, cursor + 1
    return Quantity(
        start,
        end,
        (total.quantity,),
        following,
        ordinal=total.ended,
        vague=total.vague,
        decade=any(word.decade for token in items[index:following] for word in token.numbers),
    )


def _add_item(total: Sum, token: Item, lexicon: Lexicon) -> Sum | None:
    grown = copy(total)
    return grown if all(grown.add(word, lexicon) for word in token.numbers) else None


def _add_digits(total: Sum, items: Sequence[Item], index: int, folded: str) -> Sum | None:
    """Digits go on with a number where nothing stands between, or where a scale follows them: 3억5000, 2만 5천."""
    token, before = items[index], items[index - 1]
    if not token.quantities or token.roman or total.scale is None:
        return None
    following = items[index + 1] if index + 1 < len(items) else None
    joined = token.start == before.end and not folded[before.start].isascii()
    scaled = (
        following is not None
        and following.numbers
        and following.numbers[0].scale
        and following.numbers[0].quantity < total.scale
        and _NEAR.fullmatch(folded, token.end, following.start)
    )
    grown = copy(total)
    return grown if (joined or scaled) and grown.add_numeral(token.quantities[0]) else None


def find_unit(items: Sequence[Item], quantity: Quantity, index: int, folded: str) -> tuple[Item | None, Item | None]:
    """The unit before and the unit after a number that begins at token ``index``."""
    before = after = None
    if index and items[index - 1].unit and _NEAR.fullmatch(folded, items[index - 1].end, quantity.start):
        before = items[index - 1]
    if quantity.following < len(items):
        token = items[quantity.following]
        ending = folded[quantity.end : token.start].endswith("-") and token.end - token.start == 1
        if token.unit and not ending and _BEFORE_UNIT.fullmatch(folded, quantity.end, token.start):
            after = token
    if after is not None and after.start > quantity.end and (folded[after.start] in SIGNS or after.unit == "%"):
        following = items[quantity.following + 1] if quantity.following + 1 < len(items) else None
        if following is not None and following.quantities and following.start <= after.end + 1:
            after = None  # 2020 $50
    return before, after
