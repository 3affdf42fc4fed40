"""Words and their states: one vector a word, from the states of its subwords."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import regex
from numpy.typing import NDArray

from dragoman.backbone.sentences import SentenceEncoder
from dragoman.lexicon.text.segmentation import UNSPACED_LETTERS

_UNSPACED = rf"[{UNSPACED_LETTERS}]"
_LETTER = rf"(?:(?!{_UNSPACED})[\p{{L}}\p{{N}}\p{{M}}])"
_RUN = rf"{_LETTER}(?:{_LETTER}|[\u00ad\u200c\u200d](?={_LETTER}))*+"
"""Letters in a row: soft hyphens and joiners stand inside of a word, as in Persian."""
_WORD = regex.compile(
    rf"(?P<unspaced>{_UNSPACED}[{UNSPACED_LETTERS}\p{{M}}]*+)"
    rf"|['’][sS](?!\p{{L}})"
    rf"|\p{{L}}{{1,3}}['’](?=\p{{L}}{{2}})"
    rf"|{_RUN}(?:(?!['’][sS](?!\p{{L}}))[.,’'](?=\p{{N}}|(?<=\p{{L}}.)\p{{L}}){_RUN})*+"
    rf"|[^\s\p{{C}}]",
    regex.V1,
)
Offsets = list[tuple[int, int]]


def word_offsets(text: str, subwords: Sequence[tuple[int, int]]) -> Offsets:
    """Where the words of a text stand: letters and digits in a row, and each other character by itself.

    As in Universal Dependencies, 's is a word of its own, and so is what is elided before another word (l', d').

    Scripts without spaces are divided as the `subwords` (their offsets in the text) divide them.
    """
    starts = {start for start, _ in subwords}
    offsets: Offsets = []
    for match in _WORD.finditer(text):
        if match["unspaced"] is None:
            offsets.append(match.span())
            continue
        begin = match.start()
        for place in range(match.start() + 1, match.end()):
            if place in starts:
                offsets.append((begin, place))
                begin = place
        offsets.append((begin, match.end()))
    return offsets


def word_states(
    encoder: SentenceEncoder, layer: int, texts: Sequence[str], words: Sequence[Offsets] | None = None
) -> tuple[list[Offsets], list[NDArray[np.float32]]]:
    """Where words stand, and a state (words, width) of each: the mean of its subwords' unit states, times √width.

    A word without subwords has the state 0. Without `words` they are those of :func:`word_offsets`.
    """
    tokens = encoder.states(texts, "passage", layer)
    places = (
        list(words)
        if words is not None
        else [word_offsets(text, encoded.offsets) for text, encoded in zip(texts, tokens, strict=True)]
    )
    word_means: list[NDArray[np.float32]] = []
    for offsets, encoded in zip(places, tokens, strict=True):
        states = np.zeros((len(offsets), encoder.width), np.float32)
        starts = np.array([start for start, _ in encoded.offsets], np.int64)
        ends = np.array([end for _, end in encoded.offsets], np.int64)
        for row, (start, end) in zip(states, offsets, strict=True):
            inside = encoded.states[(starts < end) & (ends > start)]
            if len(inside):
                row[:] = inside.mean(0) * encoder.width**0.5
        word_means.append(states)
    return places, word_means
