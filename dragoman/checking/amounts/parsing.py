"""Items put together: numbers of several words, their units, and times of day."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from fractions import Fraction

import regex

from dragoman.checking.amounts.lexical.lexicon import Lexicon
from dragoman.checking.amounts.lexical.spelled import Sum
from dragoman.checking.amounts.lexing import Item
from dragoman.checking.amounts.units import SIGNS, SPEEDS, classify

__all__ = ["Quantity", "find_half_more", "find_speed", "find_unit", "read_quantity"]

_NEAR = regex.compile(r"[ \-]{0,2}")
_BEFORE_UNIT = regex.compile(
    r"(?:-?(?:st|nd|rd|th|er|e|ème|º|ª|o|a|οσ|η|ο|ου|ησ|й|я|е|го|ый|ой|му|м|х|ти|та|и|inci|nci|uncu|वीं|वें|वी))?"
    r"(?: ?[多余餘几幾+]| से(?: भी)? (?:अधिक|ज़्यादा|ज्यादा|कम)| ?กว่า|-plus|-odd| or (?:more|so)| o más| ou plus| oder mehr"
    r"| и более| ή περισσότερ\p{L}+)?[ \-.]{0,2}(?:of |de |d'|di )?"
)
"""Endings of ordinals in digits, *more*, and a space."""
_WORD_BETWEEN = regex.compile(
    r" (?!(?:this|that|next|last|each|every|per|dieses|jedes|letzten|cette|chaque|este|esta|cada|этого|каждый|каждые) )"
    r"[\p{L}\p{M}]{3,14} "
)
"""An adjective between a number and a time: los tres últimos años. On May 1 this year is none."""
_AND_HALF = regex.compile(r" (?:y|et|e|i|and an?|och en|og en) ")
"""Between a unit and the half of one more: un año y medio, two years and a half."""
_PER = regex.compile(r" ?/ ?| ?(?:[\p{L}\p{M}']{1,5}[ ']){0,2}(?:ال|ที่)?")
"""Between a length and a time that make a speed: km/h, kilómetros por hora."""
_PER_SECOND = regex.compile(
    r" ?/ ?| (?:per|pro|por|par|pr\.?|je|each|every|in der|à la|a la|al|i|na|za|в|за|на|το|ανα|την|في|प्रति) (?:ال)?"
    r"| ?ต่อ ?"
)
"""The same before a second or a minute, which is also what comes next: after 26 miles the second runner."""
_BEFORE_LENGTH = {
    time: regex.compile(rf"(?:{words})[^\d,.，。、]{{0,3}}$")
    for time, words in (
        ("h", "时速|時速|每小时|每小時|毎時|시속|saatte"),
        ("min", "分速|每分钟|每分鐘|毎分|분속|dakikada"),
        ("s", "秒速|每秒|毎秒|초속|saniyede"),
    )
}
"""Before a length that makes a speed, by its time."""
_LONGEST_BEFORE = 12
_LEAST_SCALE = 10**6
_DECIMAL_SIGNS = dict.fromkeys("en zh ja ko th hi bn mr ta te he yue".split(), ".") | dict.fromkeys(  # noqa: SIM905
    "de fr es pt it ru uk be bg nl pl cs sk el sv da nb fi tr".split(),  # noqa: SIM905
    ",",
)
"""Of languages that write one sign alone; Arabic has both."""
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
        quantities = _choose_readings(first.quantities, items, index, folded, lexicon)
        readings = [_grow(items, index, folded, lexicon, quantity) for quantity in quantities]
        longest = max(reading.following for reading in readings)
        sums = tuple(reading.quantities[0] for reading in readings if reading.following == longest)
        best = next(reading for reading in readings if reading.following == longest)
        best.quantities = tuple(dict.fromkeys(sums))
        best.vague = best.vague or first.bare
        best.spelled = first.ideographs and not any(sign.isdecimal() for sign in folded[first.start : first.end])
        return best
    return _grow(items, index, folded, lexicon, None) if first.numbers else None


def _choose_readings(
    quantities: tuple[Fraction, ...], items: Sequence[Item], index: int, folded: str, lexicon: Lexicon
) -> tuple[Fraction, ...]:
    """Before a million or more a single sign is read as the language has it: 1.716 billion, 2.500 millones."""
    numeral, scale = items[index], items[index + 1] if index + 1 < len(items) else None
    if len(quantities) < 2 or scale is None or not scale.numbers or scale.numbers[0].quantity < _LEAST_SCALE:
        return quantities
    sign = _DECIMAL_SIGNS.get(lexicon.language)
    if sign is None or not _NEAR.fullmatch(folded, numeral.end, scale.start):
        return quantities
    return (min(quantities) if sign in folded[numeral.start : numeral.end] else max(quantities),)


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
        grown: Sum | None
        if token.numbers and cursor == following and _is_half_of_one(total, token):
            grown = Sum(current=Fraction(1, 2), empty=False)  # eine halbe Million
        elif token.numbers:
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


def _is_half_of_one(total: Sum, token: Item) -> bool:
    return total.quantity == 1 and not total.numeral and len(token.numbers) == 1 and token.numbers[0].quantity == 0.5


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
        if token.unit and token.month is None and not ending:
            near = _BEFORE_UNIT.fullmatch(folded, quantity.end, token.start) is not None
            timed = classify(token.unit) == "time" and not quantity.vague and token.end - token.start > 2
            if near or (timed and _WORD_BETWEEN.fullmatch(folded, quantity.end, token.start)):
                after = token
    if after is not None and after.start > quantity.end and folded[after.start] in SIGNS:
        following = items[quantity.following + 1] if quantity.following + 1 < len(items) else None
        gap = "" if following is None else folded[after.end : following.start]
        if following is not None and following.quantities and gap in (("",) if after.unit == "%" else ("", " ")):
            after = None  # 2020 $50
    return before, after


def find_half_more(items: Sequence[Item], index: int, folded: str) -> int | None:
    """The place of the half that is added to the measure before token ``index``: dos años y medio."""
    if not index:
        return None
    for place in range(index, min(len(items), index + 3)):
        words = items[place].numbers
        if len(words) == 1 and words[0].quantity == Fraction(1, 2):
            following = items[place + 1] if place + 1 < len(items) else None
            scaled = following and following.numbers and _NEAR.fullmatch(folded, items[place].end, following.start)
            gap = folded[items[index - 1].end : items[place].start]
            joined = _AND_HALF.fullmatch(gap) or (gap == " " and folded.startswith("с ", items[place].start))
            return place if joined and not scaled else None
    return None


def find_speed(items: Sequence[Item], index: int, place: int, folded: str) -> str | None:
    """The speed of a length whose number is token ``index`` and whose unit is the token before ``place``."""
    length, start = items[place - 1], items[index].start
    for time, before in _BEFORE_LENGTH.items():
        if (length.unit or "", time) in SPEEDS and before.search(folded, max(0, start - _LONGEST_BEFORE), start):
            return SPEEDS[length.unit or "", time]
    for following in items[place : place + 2]:  # the l of à l'heure may be litres
        time = "h" if following.unit == "clock" else following.unit or ""
        between = _PER if time == "h" else _PER_SECOND
        if (length.unit or "", time) in SPEEDS and between.fullmatch(folded, length.end, following.start):
            return SPEEDS[length.unit or "", time]
    return None
