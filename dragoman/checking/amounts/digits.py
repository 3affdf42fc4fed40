"""Numbers in digits, with the separators of every locale."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import regex

__all__ = ["NUMERAL", "read_numeral", "split_runs"]

LONGEST_RUN = 40
"""Digits of a run that is read; of a longer one each piece of this length is read apart."""
NUMERAL = regex.compile(
    r"""\d{1,3}(?:([ '٬])\d{3})(?:\1\d{3}){0,9}(?!\d)(?:[.,٫]\d{1,40}(?![\d.,]\d))?
    | \d{1,40}(?:[.,٫٬·]\d{1,40}){0,12}
    | (?<![\w.,٫])[.٫]\d{1,40}(?![.,]?\d)""",
    regex.VERBOSE,
)
"""A numeral in folded text; grouping by spaces asks for groups of three."""
VULGAR = {"½": (1, 2), "¼": (1, 4), "¾": (3, 4), "⅓": (1, 3), "⅔": (2, 3), "⅛": (1, 8), "⅜": (3, 8), "⅝": (5, 8),
          "⅞": (7, 8), "⅕": (1, 5), "⅖": (2, 5), "⅗": (3, 5), "⅘": (4, 5), "⅙": (1, 6), "⅚": (5, 6)}  # fmt: skip

_RUN = regex.compile(r"\d{1,40}")
_GROUPED = regex.compile(r"\d{1,3}([.,٬·' ])\d{3}(?:\1\d{3})*(?:[.,٫]\d+)?|\d{1,2}([,٬])(?:\d{2}\2)+\d{3}(?:[.٫]\d+)?")
_DECIMAL = regex.compile(r"\d*[.,٫·]\d+")


def read_numeral(numeral: str) -> tuple[Fraction, ...]:
    """What ``numeral``, in folded text, may mean: ``1.200`` is 1200 or 6/5; nothing for a list such as ``1.2.3``."""
    if numeral.isdecimal():
        return (Fraction(int(numeral)),)
    quantities = []
    if grouping := _GROUPED.fullmatch(numeral):
        separator = grouping.group(1) or grouping.group(2)
        whole, _, decimals = _split_decimals(numeral, separator)
        digits = "".join(_RUN.findall(whole))
        if not (separator in ".," and numeral.startswith("0")):
            quantities.append(_read_decimal(digits, decimals))
    if _DECIMAL.fullmatch(numeral):
        whole, decimals = regex.split(r"[.,٫·]", numeral)
        quantities.append(_read_decimal(whole, decimals))
    return tuple(dict.fromkeys(quantities))


def _split_decimals(numeral: str, separator: str) -> tuple[str, str, str]:
    for sign in ".,٫":
        if sign != separator and sign in numeral:
            return numeral.partition(sign)
    return numeral, "", ""


def _read_decimal(whole: str, decimals: str) -> Fraction:
    return Fraction(int((whole or "0") + decimals), 10 ** len(decimals))


def split_runs(text: str) -> Iterator[tuple[int, int, Fraction]]:
    """Every run of digits in folded ``text``: start, end and quantity."""
    for run in _RUN.finditer(text):
        yield run.start(), run.end(), Fraction(int(run.group()))
