"""Windows of a context that is longer than a row, so that each part of it is read with the whole question."""

from __future__ import annotations

from collections.abc import Iterator

OVERLAP = 64
"""Subwords that neighbouring windows share, more than an answer has."""


def windows(length: int, room: int, overlap: int = OVERLAP) -> Iterator[tuple[int, int]]:
    """[start, end) of windows of at most `room` subwords that cover `length`, of like size.

    Raises:
        ValueError: if there is no room.
    """
    if room < 1:
        raise ValueError("there is no room for a context")
    if length <= room:
        yield 0, length
        return
    overlap = min(overlap, room // 2)
    count = -(-(length - overlap) // (room - overlap))
    for index in range(count):
        start = round(index * (length - room) / (count - 1))
        yield start, start + room
