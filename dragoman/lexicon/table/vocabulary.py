"""Sorted terms stored in two arrays, for lookups in memory-mapped files."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]
Offsets = NDArray[np.int64]

_REMEMBERED = 1_024
"""Terms of which the ids are remembered: a search asks for each of its words several times."""


class Vocabulary:
    """Distinct terms in code-point order; term ``i`` is the UTF-8 text ``blob[offsets[i]:offsets[i + 1]]``."""

    def __init__(self, blob: Bytes, offsets: Offsets) -> None:
        self.blob = blob
        self.offsets = offsets
        self._bytes = np.ascontiguousarray(blob).data
        self._ends = np.ascontiguousarray(offsets).data
        self._asked: dict[str, int] = {}

    @classmethod
    def from_terms(cls, terms: Sequence[str]) -> Vocabulary:
        """Build from sorted, distinct terms.

        Raises:
            ValueError: if they are not sorted and distinct, or a term is not valid Unicode.
        """
        if any(a >= b for a, b in pairwise(terms)):
            raise ValueError("the terms of a vocabulary must be sorted and distinct")
        encoded = [term.encode() for term in terms]
        offsets = np.zeros(len(encoded) + 1, dtype=np.int64)
        np.cumsum(np.fromiter(map(len, encoded), dtype=np.int64, count=len(encoded)), out=offsets[1:])
        return cls(np.frombuffer(b"".join(encoded), dtype=np.uint8), offsets)

    def index(self, term: str) -> int:
        """The id of ``term``, or -1 for an unknown term. Takes logarithmic time, unless it was asked for lately."""
        position = self._asked.get(term)
        if position is None:
            position = self._find(term)
            if len(self._asked) >= _REMEMBERED:
                self._asked = {}
            self._asked[term] = position
        return position

    def _find(self, term: str) -> int:
        try:
            encoded = term.encode()
        except UnicodeEncodeError:
            return -1
        position = bisect_left(range(len(self)), encoded, key=self._term_bytes)
        return position if position < len(self) and self._term_bytes(position) == encoded else -1

    def place(self, term: str) -> int:
        """The id of the first term that is ``term`` or comes after it; the number of terms if none does."""
        encoded = term.encode(errors="surrogatepass")
        return bisect_left(range(len(self)), encoded, key=self._term_bytes)

    def _term_bytes(self, index: int) -> bytes:
        return bytes(self._bytes[self._ends[index] : self._ends[index + 1]])

    def __contains__(self, term: object) -> bool:
        return isinstance(term, str) and self.index(term) >= 0

    def __getitem__(self, index: int) -> str:
        if not 0 <= index < len(self):
            raise IndexError(f"term {index} of {len(self)}")
        return self._term_bytes(index).decode()

    def __iter__(self) -> Iterator[str]:
        return (self._term_bytes(index).decode() for index in range(len(self)))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Vocabulary)
            and np.array_equal(self.offsets, other.offsets)
            and np.array_equal(self.blob, other.blob)
        )

    __hash__ = None  # type: ignore[assignment]
