"""Splitting a text into sentences, and into passages of consecutive sentences, with offsets."""

from __future__ import annotations

from collections.abc import Iterator

import regex

__all__ = ["PASSAGE_LENGTH", "SENTENCE_END", "Span", "grapheme_boundary", "passages", "sentences"]

PASSAGE_LENGTH = 400
"""Maximal length of a passage, in code points."""

SENTENCE_END = regex.compile(
    r"(?<![.!?…;])[.!?…;]++[\p{Pe}\p{Pf}\"']*+\s++|[։۔؟।॥።။។。！？]++[\p{Pe}\p{Pf}\"']*+\s*+|\n++"
)
"""The end of a sentence with the white space after it. Possessive quantifiers keep matching linear in time."""

Span = tuple[int, int]
"""The part ``text[start:end]``, in code points."""


def sentences(text: str, longest: int = PASSAGE_LENGTH) -> list[Span]:
    """The sentences of ``text``, without surrounding white space.

    A sentence longer than ``longest`` is cut at white space in its second half, or else at a grapheme boundary.
    The spans are in order, don't overlap, and cover everything but white space.
    """
    spans: list[Span] = []
    start = 0
    for match in SENTENCE_END.finditer(text):
        spans.extend(_pieces(text, start, match.end(), longest))
        start = match.end()
    spans.extend(_pieces(text, start, len(text), longest))
    return spans


def passages(text: str, longest: int = PASSAGE_LENGTH) -> list[Span]:
    """Passages of consecutive sentences, each of at most ``longest`` code points; see :func:`sentences`."""
    spans: list[Span] = []
    for start, end in sentences(text, longest):
        if spans and end - spans[-1][0] <= longest:
            spans[-1] = (spans[-1][0], end)
        else:
            spans.append((start, end))
    return spans


def grapheme_boundary(text: str, start: int, limit: int) -> int:
    """The last grapheme boundary after ``start`` and up to ``limit``; ``limit`` if there is none."""
    end = start
    for cluster in regex.finditer(r"\X", text[start : limit + 64]):
        if start + cluster.end() > limit:
            break
        end = start + cluster.end()
    return end if end > start else limit


def _pieces(text: str, start: int, end: int, longest: int) -> Iterator[Span]:
    while True:
        while start < end and text[start].isspace():
            start += 1
        while end > start and text[end - 1].isspace():
            end -= 1
        if start == end:
            return
        if end - start <= longest:
            yield start, end
            return
        cut = _cut_position(text, start, start + longest)
        last = cut
        while text[last - 1].isspace():
            last -= 1
        yield start, last
        start = cut


def _cut_position(text: str, start: int, limit: int) -> int:
    for position in range(limit, start + (limit - start) // 2, -1):
        if text[position].isspace():
            return position
    return grapheme_boundary(text, start, limit)
