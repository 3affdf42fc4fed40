"""The numbers of a sentence as an English translation writes them."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import regex

from dragoman.backbone.constraints.phrases import Phrase
from dragoman.checking.amounts import Amount, read_amounts

_WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_ORDINALS = ("", "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
_SCALES = {1_000: "thousand", 1_000_000: "million", 1_000_000_000: "billion", 1_000_000_000_000: "trillion"}
_GROUPED = 10_000
"""From here on digits are grouped for certain; years are not."""
_MOST_DECIMALS = 6
_DIGITS = regex.compile(r"\p{Nd}+(?:[.,٫٬'’]\p{Nd}+)*")
_TIME = regex.compile(r"\p{Nd}{1,2}[:.h]\p{Nd}{2}")


def list_amounts(text: str, language: str, target: str) -> Iterator[Phrase]:
    """The amounts of a text in digits; none into another language than English, where writing differs more."""
    if target != "en":
        return
    for amount in read_amounts(text, language):
        if not amount.spelled:
            yield from _write(amount)


def _write(amount: Amount) -> Iterator[Phrase]:
    runs = [_to_ascii(run) for run in _DIGITS.findall(amount.text)]
    if not runs:
        return
    if _TIME.fullmatch(amount.text.strip()):
        yield Phrase((_to_ascii(amount.text.strip()).replace("h", ":").replace(".", ":"),), "amount")
        return
    quantity = next((reading.quantity for reading in amount.readings if reading.quantity is not None), None)
    if quantity is None or len(runs) > 1:
        for run in runs:  # a date, or a range: its parts
            yield Phrase(_write_quantity(Fraction(int(run)), False) if run.isdecimal() else (run,), "amount")
        return
    yield Phrase(_write_scaled(quantity, runs[0], amount.kind == "ordinal"), "amount")


def _write_scaled(quantity: Fraction, run: str, ordinal: bool) -> tuple[str, ...]:
    """The forms of a quantity whose digits are ``run``; ``2 Millionen`` is 2 million, and 2,000,000."""
    for scale, word in _SCALES.items():
        small = quantity / scale
        if not run.isdecimal() and small.denominator == 1 and str(small).replace(".", "") != run:
            continue
        if 1 <= small < 1000 and _write_decimal(small).replace(".", ",") == run.replace(".", ","):
            return (f"{_write_decimal(small)} {word}", *_write_quantity(quantity, False))
    return _write_quantity(quantity, ordinal)


def _write_quantity(quantity: Fraction, ordinal: bool) -> tuple[str, ...]:
    if quantity.denominator != 1:
        return (_write_decimal(quantity),)
    whole = int(quantity)
    forms = [str(whole)] if abs(whole) < _GROUPED else [f"{whole:,}"]
    if ordinal:
        forms += [f"{whole}{_ending(whole)}", *([_ORDINALS[whole]] if 0 < whole < len(_ORDINALS) else [])]
    elif 1_000 <= whole < _GROUPED:
        forms.append(f"{whole:,}")
    elif 0 <= whole < len(_WORDS):
        forms.append(_WORDS[whole])
    return tuple(forms)


def _write_decimal(quantity: Fraction) -> str:
    """The shortest decimal number; rounded where it has none."""
    return f"{float(quantity):.{_MOST_DECIMALS}f}".rstrip("0").rstrip(".")


def _ending(whole: int) -> str:
    if whole % 100 in (11, 12, 13):
        return "th"
    return {1: "st", 2: "nd", 3: "rd"}.get(whole % 10, "th")


def _to_ascii(digits: str) -> str:
    return "".join(str(int(sign)) if sign.isdecimal() else sign for sign in digits)
