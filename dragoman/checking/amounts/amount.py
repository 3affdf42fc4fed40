"""What an amount is: a span of text and all that it may mean."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

__all__ = ["Amount", "AmountKind", "Era", "Mismatch", "MismatchCode", "Reading"]

AmountKind = Literal["number", "ordinal", "date", "time", "percent", "money", "measure"]
Era = Literal["BC", "AD"]
MismatchCode = Literal["number", "date", "unit"]


@dataclass(frozen=True)
class Reading:
    """One meaning of an amount: a quantity with its unit, parts of a date, or a time of day."""

    quantity: Fraction | None = None
    unit: str | None = None
    """Canonical: ``m``, ``kg``, ``USD``, ``%``, ``°C``; None where none is written or it is not read."""
    year: int | None = None
    month: int | None = None
    day: int | None = None
    weekday: int | None = None
    """Monday is 1, as in ISO 8601."""
    minute: int | None = None
    """Minutes since midnight."""


@dataclass(frozen=True)
class Amount:
    """A number, date or measure at ``text[start:end]``, in code points; several readings where it is ambiguous."""

    start: int
    end: int
    kind: AmountKind
    readings: tuple[Reading, ...]
    text: str
    spelled: bool = False
    """Written in words or part of a name, so that a translator is free to say the same without a number."""
    free: bool = False
    """A Roman numeral of a name or a part of a fraction: asks for no counterpart, and contradicts another number."""
    vague: bool = False
    """Asks for no counterpart: dozens, hundreds of, a few thousand."""
    exact: bool = False
    """Digits that no article stands for: a day of a month, a score, a code."""
    era: Era | None = None
    """Where one is written."""


@dataclass(frozen=True)
class Mismatch:
    """An amount of one side that the other doesn't have, or has as something else; spans are code points."""

    code: MismatchCode
    source: str | None
    text: str | None
    source_span: tuple[int, int] | None
    target_span: tuple[int, int] | None
