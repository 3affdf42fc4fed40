"""Labels in the BIO format: the spans they mark, and how well they are found."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

OUTSIDE = "O"


class Span(NamedTuple):
    """Words `start` to `end` (exclusive) that one label marks."""

    start: int
    end: int
    label: str


def spans(labels: Sequence[str]) -> list[Span]:
    """The spans of BIO labels; an I that continues none begins one, as in the evaluation of CoNLL."""
    found: list[Span] = []
    begun: tuple[int, str] | None = None
    for place, label in enumerate([*labels, OUTSIDE]):
        prefix, _, kind = label.partition("-")
        if begun is not None and (prefix != "I" or kind != begun[1]):
            found.append(Span(begun[0], place, begun[1]))
            begun = None
        if begun is None and prefix in ("B", "I"):
            begun = place, kind
    return found


def span_f1(gold: Sequence[Sequence[str]], found: Sequence[Sequence[str]]) -> float:
    """The F1 of spans with their labels over all sentences; 0 where neither side has one."""
    right = total = 0
    for one, other in zip(gold, found, strict=True):
        expected, given = set(spans(one)), set(spans(other))
        right += len(expected & given)
        total += len(expected) + len(given)
    return 2 * right / total if total else 0.0


def accuracy(gold: Sequence[Sequence[str]], found: Sequence[Sequence[str]]) -> float:
    """The share of words with the right label."""
    right = sum(a == b for one, other in zip(gold, found, strict=True) for a, b in zip(one, other, strict=True))
    return right / max(1, sum(map(len, gold)))
