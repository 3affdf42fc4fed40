"""What a sentence stands under: the lines before that go on with it, or that announce it, may deny what it says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import regex

from dragoman.lexicon.text.passages import Span

__all__ = ["Frame", "find_frames"]

_LINES = 8
"""That are read as one sentence."""
_END = regex.compile(r"[.!?…;|。！？；｡؟؛۔։।॥።]\p{P}*$")
_COLON = regex.compile(r"[:：]\p{P}*$")
_BULLET = regex.compile(r"[-*+•–—·▪]\s|[(（]?(?:\p{N}{1,3}|\p{L})[.)）、](?:\s|$)")
_UNPUNCTUATED = frozenset({"lo", "th"})
"""Languages whose sentences end without punctuation, so that a line that has none is whole."""


@dataclass(frozen=True, slots=True)
class Frame:
    """Where the sentence begins that a piece of a text is the end of, and whether a colon announces it."""

    start: int
    announced: bool = False
    in_list: bool = False
    """Whether it is in a list."""
    lines: int = 1
    """From ``start`` on."""


def find_frames(text: str, spans: Sequence[Span], language: str) -> list[Frame]:
    """The frame of each sentence of a text.

    A line without punctuation at its end goes on in the next one, but for a heading, which an empty line follows.
    """
    frames: list[Frame] = []
    for place, (start, end) in enumerate(spans):
        in_list = _BULLET.match(text, start, end) is not None
        if place == 0:
            frames.append(Frame(start, in_list=in_list))
            continue
        before, gap = text[slice(*spans[place - 1])], text[spans[place - 1][1] : start]
        frames.append(_follow(frames[-1], before, gap, Frame(start, in_list=in_list), language))
    return frames


def _follow(last: Frame, before: str, gap: str, bare: Frame, language: str) -> Frame:
    """The frame of a sentence after another one, ``before``; ``bare`` is what it has by itself."""
    in_line = "\n" not in gap
    in_list = bare.in_list or (last.in_list and in_line)
    if _COLON.search(before):
        return Frame(bare.start, True, in_list)
    if last.in_list and in_list:
        return Frame(bare.start, last.announced, in_list)
    if _END.search(before) or gap.count("\n") > 1 or (language in _UNPUNCTUATED and not in_line):
        return Frame(bare.start, in_list=in_list)
    if last.lines >= _LINES:
        return Frame(bare.start, last.announced, in_list, 2)
    return Frame(last.start, last.announced, in_list, last.lines + 1)
