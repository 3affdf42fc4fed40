"""Chooses further snippets of a text: beside the first one and apart from each other, the best ones first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from dragoman.deadline import check
from dragoman.engine.search.shown.snippets import Match, Window, best_window, inside, window_value
from dragoman.lexicon.text.tokens import Token

_AGAIN = 0.1
"""What a match is worth whose word of the query an earlier snippet shows."""


@dataclass(frozen=True, slots=True)
class Piece:
    """The analysed part of a text that begins at ``start``, in code points; offsets of its matches are in the part.

    The part begins at ``before`` in what the tokens are of.
    """

    start: int
    text: str
    tokens: Sequence[Token]
    matches: Sequence[Match]
    """Those that are shown."""
    valued: Sequence[Match]
    """Those that windows are chosen by: also what is required."""
    before: int = 0

    def has(self, place: int) -> bool:
        """Whether a place of the text is in this part."""
        return self.start <= place < self.start + len(self.text)

    def in_text(self, window: Window) -> Window:
        """Where a window of this part is in the text."""
        return Window(self.start + window.start, self.start + window.end)


def further_windows(
    pieces: Sequence[Piece],
    first: Window,
    groups: Iterable[int],
    importance: Sequence[float],
    count: int,
    length: int,
) -> Iterator[tuple[Piece, Window]]:
    """At most ``count`` windows with matches beside the ``first`` one of the text, which shows ``groups``.

    Each is in code points of its piece. None overlaps another, and each is the best that the earlier ones leave.
    """
    taken, seen = [first], set(groups)
    for _ in range(count):
        worth = [much * (_AGAIN if group in seen else 1.0) for group, much in enumerate(importance)]
        best: tuple[float, Piece, Window] | None = None
        for piece in pieces:
            for gap in _gaps(piece, taken):
                check()
                window = window_within(piece, gap, worth, length)
                near = inside(piece.valued, window)
                if near and (best is None or window_value(near, worth) > best[0]):
                    best = window_value(near, worth), piece, window
        if best is None:
            return
        _, piece, window = best
        seen.update(match.group for match in inside(piece.valued, window))
        taken.append(piece.in_text(window))
        yield piece, window


def window_within(piece: Piece, part: Window, importance: Sequence[float], length: int) -> Window:
    """The best window in a part of a piece, without white space at its ends."""
    matches = [
        match._replace(start=match.start - part.start, end=match.end - part.start)
        for match in inside(piece.valued, part)
    ]
    text = piece.text[part.start : part.end]
    window = best_window(text, piece.tokens, matches, importance, length, before=piece.before + part.start)
    start, end = window.start, window.end
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    return Window(part.start + start, part.start + end)


def _gaps(piece: Piece, taken: Iterable[Window]) -> Iterator[Window]:
    """What windows of the text leave of a piece, in its code points."""
    low, size = 0, len(piece.text)
    for window in sorted(taken, key=lambda window: window.start):
        end = min(window.start - piece.start, size)
        if low < end:
            yield Window(low, end)
        low = max(low, window.end - piece.start)
    if low < size:
        yield Window(low, size)
