"""Numbers in digits, with the separators of every locale."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction

import regex

__all__ = ["AND", "NUMERAL", "RANGES", "is_between", "read_numeral", "read_scale", "split_runs"]

LONGEST_RUN = 40
"""Digits of a run that is read; of a longer one each piece of this length is read apart."""
NUMERAL = regex.compile(
    r"""\d{1,3}(?:([ '٬])\d{3})(?:\1\d{3}){0,9}(?!\d)(?:[.,٫]\d{1,40}(?![\d.,]\d))?
    | \d{1,40}(?:[.,٫٬·]\d{1,40}){0,12}
    | (?<![\w.,٫])[.٫]\d{1,40}(?![.,]?\d)""",
    regex.VERBOSE,
)
"""A numeral in folded text; grouping by spaces asks for groups of three."""
RANGES = frozenset(
    "- ~ to до bis à a al εωσ ωσ μεχρι से تا الی 至 到 から 에서 ถึง tot till til ile or oder ou o или".split()  # noqa: SIM905
)
"""What stands between the ends of a range."""
_BETWEEN = regex.compile(r"(?<!\p{L})(?:between|entre|zwischen|tra|fra|tussen|между|μεταξυ|بین) $")
AND = frozenset("and et y e und en и και و और และ と 和 och og ve i".split())  # noqa: SIM905
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
            if numeral.endswith(f"{separator}000") and digits != "1000":  # nobody writes 8 so; 1,000 kg are one exactly
                return tuple(quantities)
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


def read_scale(written: str, quantity: Fraction) -> Fraction | None:
    """What a number in folded text, with words or signs for thousands, is multiplied by: 1000 of ``6 thousand``."""
    numeral = NUMERAL.search(written)
    if numeral is None:
        signs = [_SCALE_SIGNS[sign] for sign in written if sign in _SCALE_SIGNS]
        return _divide(quantity, signs[-1:] or (10**9, 10**6, 1000, 100))
    scales = [quantity / reading for reading in read_numeral(numeral.group()) if reading]
    return next((scale for scale in scales if scale in _SCALES), None)


def is_between(folded: str, start: int, gap: str) -> bool:
    """Whether a number at ``start`` is the first end of a range whose other one is after ``gap``: between 5 and 6."""
    return gap in AND and _BETWEEN.search(folded, max(0, start - 12), start) is not None


_SCALE_SIGNS = {"百": 100, "千": 1000, "万": 10**4, "萬": 10**4, "億": 10**8, "亿": 10**8}
_SCALES = frozenset(10**power for power in (2, 3, 4, 5, 6, 7, 8, 9, 12))


def _divide(quantity: Fraction, scales: Iterable[int]) -> Fraction | None:
    """The first scale that divides ``quantity``."""
    return next((Fraction(scale) for scale in scales if quantity > scale and quantity % scale == 0), None)
