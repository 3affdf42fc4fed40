"""What a tagger finds, readable without torch."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Tag:
    """A part of a text with its label; `score` is the least probability of it among its words."""

    text: str
    start: int
    end: int
    label: str
    score: float
