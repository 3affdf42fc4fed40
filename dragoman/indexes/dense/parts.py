"""What a dense index keeps of passages beside their vectors: rows of bytes for their sentences and subwords."""

from __future__ import annotations

from array import array
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dragoman.lexicon.text.passages import Span

__all__ = ["PassageRows", "Sentences", "to_8_bits"]

Vectors = NDArray[np.float32]
Bytes = NDArray[np.uint8]


def to_8_bits(vectors: Vectors) -> NDArray[np.int8]:
    """Vectors (rows, width), each divided by its largest component and rounded; the length of a vector is lost."""
    scales = np.abs(vectors).max(1, keepdims=True, initial=0).clip(1e-12) / 127
    codes: NDArray[np.int8] = np.rint(vectors / scales).astype(np.int8)
    return codes


class PassageRows:
    """Rows of ``size`` bytes by the passage's id, in one buffer that only grows; most passages have several."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._runs: dict[int, tuple[int, int]] = {}
        """A passage's first row and the number of its rows."""
        self._bytes = bytearray()

    def add(self, passages: Sequence[int], counts: Sequence[int], rows: Bytes) -> None:
        """Add the rows (rows, size) of passages, ``counts`` of each."""
        row = len(self._bytes) // max(self.size, 1)
        for passage, count in zip(passages, counts, strict=True):
            if count:
                self._runs[passage] = (row, count)
                row += count
        self._bytes += np.ascontiguousarray(rows).data.cast("B") if rows.size else b""

    @property
    def nbytes(self) -> int:
        """The size of all rows, with those of deleted passages."""
        return len(self._bytes)

    def run(self, passage: int) -> tuple[int, int]:
        """The number of the passage's first row in the buffer, and of its rows."""
        return self._runs.get(passage, (0, 0))

    def rows(self, passages: Sequence[int]) -> Bytes:
        """The rows (rows, size) of all passages, in order."""
        view = memoryview(self._bytes)
        try:
            views = [view[start * self.size : (start + count) * self.size] for start, count in map(self.run, passages)]
            joined = b"".join(views)
            for part in views:
                part.release()
        finally:
            view.release()  # or the buffer could not grow
        return np.frombuffer(joined, np.uint8).reshape(-1, self.size)

    def counts(self, passages: Sequence[int]) -> NDArray[np.int64]:
        """The number of rows of each passage."""
        return np.array([self.run(passage)[1] for passage in passages], np.int64)


class Sentences:
    """The sentences of passages that have several: spans, and unit vectors in 8 bits."""

    def __init__(self, width: int) -> None:
        self._rows = PassageRows(width)
        self._spans = array("q")

    def add(
        self, passages: Sequence[int], counts: Sequence[int], spans: Sequence[Span], codes: NDArray[np.int8]
    ) -> None:
        """Add ``counts`` sentences of each passage, with their spans and :func:`to_8_bits` of their vectors."""
        self._rows.add(passages, counts, codes.view(np.uint8))
        self._spans.extend(place for span in spans for place in span)

    def best(self, passages: Sequence[int], vector: Vectors) -> list[Span | None]:
        """The span of each passage's sentence with the largest cosine; None for one that is a single sentence."""
        runs = [self._rows.run(passage) for passage in passages]
        codes = self.codes(passages).astype(np.float32)
        lengths = np.sqrt(np.einsum("ij,ij->i", codes, codes)).clip(1e-12)
        cosines = (np.einsum("ij,j->i", codes, vector) / lengths).tolist()
        spans: list[Span | None] = []
        row = 0
        for start, count in runs:
            if count:
                of_passage = cosines[row : row + count]
                best = start + of_passage.index(max(of_passage))
                spans.append((self._spans[2 * best], self._spans[2 * best + 1]))
            else:
                spans.append(None)
            row += count
        return spans

    def spans(self, passage: int) -> list[Span]:
        """The spans of a passage's sentences."""
        start, count = self._rows.run(passage)
        places = self._spans[2 * start : 2 * (start + count)].tolist()
        return list(zip(places[::2], places[1::2], strict=True))

    def codes(self, passages: Sequence[int]) -> NDArray[np.int8]:
        """The vectors in 8 bits (sentences, width) of all passages, in order."""
        return self._rows.rows(passages).view(np.int8)
