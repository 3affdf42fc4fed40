"""What a check says of a translated sentence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["Check", "Code", "Reason", "Status"]

Status = Literal["ok", "draft", "failed"]
"""``ok``: all that was checked holds. ``draft``: numbers, names and a glossary's terms hold, the rest may not.
``failed``: not to be shown as a translation."""
Code = Literal["number", "date", "unit", "name", "length", "coverage", "meaning", "glossary"]


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a sentence is not ``ok``."""

    code: Code
    source: str | None = None
    """What stands in the source; None where nothing there is meant, or all of it."""
    text: str | None = None
    """What stands in the translation."""


@dataclass(frozen=True, slots=True)
class Check:
    """A sentence's status, with a reason for each thing that does not hold."""

    status: Status
    reasons: tuple[Reason, ...] = ()
