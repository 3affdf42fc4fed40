"""Places in texts, counted in code points as everywhere here, or in UTF-16 code units as JavaScript, Java and C# do."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from typing import Literal, Protocol

import numpy as np

from dragoman.deadline import check_each

Unit = Literal["codepoint", "utf16"]
"""What a request may have offsets counted in."""
_BASIC = 0xFFFF
"""The last code point that is one code unit; those above are two."""


class Span(Protocol):
    """A part of an answer that is a place in a text."""

    start: int
    end: int


class Utf16:
    """Counts the places of one text in UTF-16 code units."""

    def __init__(self, *pieces: str) -> None:
        """The text, or its beginning, in pieces that follow each other."""
        pairs, length = [np.empty(0, np.int64)], 0
        for piece in pieces:
            if not piece.isascii():
                points = np.frombuffer(piece.encode("utf-32-le", "surrogatepass"), np.dtype("<u4"))
                pairs.append(np.flatnonzero(points > _BASIC) + length)
            length += len(piece)
        self._pairs = np.concatenate(pairs)
        """The places of the code points that are two code units."""

    def of(self, place: int) -> int:
        """The code units before a place, which is given in code points."""
        return place + bisect_left(self._pairs, place)

    def count(self, spans: Iterable[Span]) -> None:
        """Count where these begin and end in code units; each must be given once."""
        for span in check_each(spans, 100):
            span.start, span.end = self.of(span.start), self.of(span.end)
