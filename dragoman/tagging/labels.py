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
    spans: list[Span] = []
    begun: tuple[int, str] | None = None
    for place, label in enumerate([*labels, OUTSIDE]):
        prefix, _, kind = label.partition("-")
        if begun is not None and (prefix != "I" or kind != begun[1]):
            spans.append(Span(begun[0], place, begun[1]))
            begun = None
        if begun is None and prefix in ("B", "I"):
            begun = place, kind
    return spans


def span_f1(gold: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]]) -> float:
    """The F1 of spans with their labels over all sentences; 0 where neither side has one."""
    right = total = 0
    for expected_labels, predicted_labels in zip(gold, predicted, strict=True):
        expected_spans, predicted_spans = set(spans(expected_labels)), set(spans(predicted_labels))
        right += len(expected_spans & predicted_spans)
        total += len(expected_spans) + len(predicted_spans)
    return 2 * right / total if total else 0.0


def accuracy(gold: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]]) -> float:
    """The share of words with the right label."""
    right = sum(
        a == b
        for expected_labels, predicted_labels in zip(gold, predicted, strict=True)
        for a, b in zip(expected_labels, predicted_labels, strict=True)
    )
    return right / max(1, sum(map(len, gold)))
