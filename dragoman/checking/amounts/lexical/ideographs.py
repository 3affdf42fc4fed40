"""Numbers in Chinese and Japanese characters, and digits with 万 and 億 among them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from fractions import Fraction
from importlib.resources import files

import regex

__all__ = ["find_ideographs"]

_ONES = {sign: place % 10 for place, sign in enumerate("〇一二三四五六七八九零壱弐参肆伍陸柒捌玖")} | {
    "两": 2, "兩": 2, "壹": 1, "贰": 2, "叁": 3, "貳": 2, "參": 3, "０": 0,
}  # fmt: skip
_TENS = {"十": 10, "百": 100, "千": 1000, "拾": 10, "佰": 100, "仟": 1000, "廿": 20, "卅": 30}
_MYRIADS = {"万": 10**4, "萬": 10**4, "億": 10**8, "亿": 10**8, "兆": 10**12}
_SIGNS = "".join([*_ONES, *_TENS, *_MYRIADS])
_MORE = f"(?:[多余餘](?=[{''.join(_MYRIADS)}]))?"
"""*More than*, between a number and what it counts: 三百多万."""
_NUMERAL = regex.compile(
    rf"(?:\d[\d,.]{{0,30}} ?{_MORE})?[{_SIGNS}](?:(?:\d{{0,12}}|{_MORE})[{_SIGNS}]){{0,30}}"
    rf"(?:(?<=[{''.join(_MYRIADS)}])\d{{1,12}})?"
)
_LISTS = json.loads((files("dragoman.checking.amounts") / "data" / "ideographs.json").read_text(encoding="utf-8"))
_COUNTERS = regex.compile(r" ?\L<counters>", counters=_LISTS["counters"])
"""What is counted; a sign by itself is a number before these alone."""
_NOT_NUMBERS = regex.compile(r"\L<words>", words=_LISTS["words"])
_FIRST = regex.compile("月一[日号號]")
"""A one that is a day of a month; elsewhere it is an article."""
_BEFORE = "第之の"
_FORMAL = "壱弐参肆伍陸柒捌玖壹贰叁貳參拾佰仟"
"""Signs of which other words are made: of の参加 the second is no three."""
_VAGUE_BEFORE = "数數幾几多好若何"
_SEVERAL, _SCALES = "数數幾几", "百千万萬億亿"
"""*Hundreds* and more: 数百, 数十万."""


def find_ideographs(folded: str) -> Iterator[tuple[int, int, Fraction, bool]]:
    """Start, end and quantity of numbers that have a sign other than a digit, and whether they surely are numbers."""
    skipped = {place for match in _NOT_NUMBERS.finditer(folded) for place in range(*match.span())}
    for match in _NUMERAL.finditer(folded):
        start, end = match.span()
        numeral = match.group()
        vague = start and folded[start - 1] in _VAGUE_BEFORE
        if vague and not (len(numeral) < 3 and numeral[-1] in _SCALES and folded[start - 1] in _SEVERAL):
            continue
        quantity = read_ideographs(regex.sub("[ ,多余餘]", "", numeral))
        if quantity is None or (numeral == "一" and not _FIRST.match(folded, max(0, start - 1))):
            continue
        sure = not vague and (end - start > 2 or skipped.isdisjoint(range(start, end)))
        if len(numeral) == 1:
            before = "第" if numeral in _FORMAL else _BEFORE
            counted = _COUNTERS.match(folded, end) or (start and folded[start - 1] in before)
            sure = sure and bool(counted)
        yield start, end, quantity, sure


def read_ideographs(numeral: str) -> Fraction | None:
    """The number that the signs make; signs of ones alone are read as digits."""
    if all(sign in _ONES for sign in numeral):
        digits = [_ONES[sign] for sign in numeral]
        return Fraction(int("".join(map(str, digits)))) if len(digits) != 2 else None
    total, section, pending = Fraction(0), Fraction(0), ""
    for sign in numeral:
        if sign in _MYRIADS:
            section += _read_pending(pending)
            if not section and total:
                total *= _MYRIADS[sign]
            else:
                total += (section or 1) * _MYRIADS[sign]
            section, pending = Fraction(0), ""
        elif sign in _TENS:
            section += (_read_pending(pending) or 1) * _TENS[sign]
            pending = ""
        elif sign in _ONES:
            pending += str(_ONES[sign])
        else:
            pending += sign
    return total + section + _read_pending(pending)


def _read_pending(digits: str) -> Fraction:
    whole, _, decimals = digits.partition(".")
    decimals = "".join(sign for sign in decimals if sign.isdecimal())
    return Fraction(int((whole or "0") + decimals), 10 ** len(decimals)) if whole or decimals else Fraction(0)
