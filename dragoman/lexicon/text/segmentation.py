"""Splitting runs of scripts that are written without spaces."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

import regex

from dragoman.lexicon.text.folding import IGNORABLE, fold

Segmenter = Callable[[str], list[tuple[int, int]]]
"""Takes one *folded* run of one unspaced script, returns the words' (start, end) in it, in order, without
overlap; what no pair covers is not indexed."""

UNSPACED_LETTERS = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}ー\uFF70\uFF9E\uFF9F"
_IDEOGRAPHIC = r"\p{Han}\p{Hiragana}\p{Katakana}ー\uFF70\uFF9E\uFF9F"
_EXTENDED_BY = rf"[\p{{M}}\uFF9E\uFF9F{IGNORABLE}]"


def _run(scripts: str) -> str:
    letter = rf"[[[{scripts}]&&[\p{{L}}\p{{Nl}}]]--[\uFF9E\uFF9F]]"
    inner = rf"[[{letter}||[\p{{M}}\uFF9E\uFF9F]]--[{IGNORABLE}]]"
    return rf"{letter}{inner}*+(?:[{IGNORABLE}]++{inner}++)*+"


RUN = "|".join(_run(s) for s in (_IDEOGRAPHIC, r"\p{Thai}", r"\p{Lao}", r"\p{Khmer}", r"\p{Myanmar}"))
"""Pattern of a longest run of one unspaced script; Chinese characters and kana run together."""

_CLUSTER = regex.compile(
    rf".{_EXTENDED_BY}*+(?:(?=[\u0E32\u0EB2])(?<=[\u0E4D\u0ECD]{_EXTENDED_BY}*).{_EXTENDED_BY}*+)*+", regex.S
)
"""A character with its marks; Thai and Lao AM are one, however they are spelled."""
_IDEOGRAPH = regex.compile(rf"[{_IDEOGRAPHIC}]", regex.V1)
_PLAIN_HAN = re.compile("[\u4e00-\u9fff]+")
"""Characters that folding leaves as they are and that take no marks."""
_CHARACTER = regex.compile(r"[ー\u3099\u309A]|\p{M}")


def by_character(run: str) -> list[tuple[int, int]]:
    """The segmentation used where none is given: a Chinese character or kana (with its voicing and length
    marks) is a word; a run of another script is one word whole."""
    if not _IDEOGRAPH.match(run):
        return [(0, len(run))]
    starts = [i for i, character in enumerate(run) if i == 0 or not _CHARACTER.match(character)]
    return list(zip(starts, [*starts[1:], len(run)], strict=True))


class LongestMatch:
    """Greedy longest match, left to right, against a vocabulary of folded words.

    Where nothing matches, a Chinese character or kana stands alone, and characters of the other scripts are
    taken together up to the next match. No word ends before a combining mark.
    """

    def __init__(self, vocabulary: Iterable[str]) -> None:
        letters = regex.compile(rf"[{UNSPACED_LETTERS}]", regex.V1)
        self._words = frozenset(word for word in vocabulary if letters.match(word) and " " not in word)
        self._longest = max(map(len, self._words), default=1)

    def __call__(self, run: str) -> list[tuple[int, int]]:
        """The words' (start, end) in a folded run; they cover it."""
        spans: list[tuple[int, int]] = []
        start = unknown = 0
        ideographic = bool(_IDEOGRAPH.match(run))
        while start < len(run):
            end = self._match(run, start)
            if end is None:
                start = self._next_character(run, start)
                if ideographic:
                    spans.append((unknown, start))
                    unknown = start
                continue
            if unknown < start:
                spans.append((unknown, start))
            spans.append((start, end))
            start = unknown = end
        if unknown < start:
            spans.append((unknown, start))
        return spans

    def _match(self, run: str, start: int) -> int | None:
        for end in range(min(len(run), start + self._longest), start, -1):
            if run[start:end] in self._words and not (end < len(run) and _CHARACTER.match(run[end])):
                return end
        return None

    @staticmethod
    def _next_character(run: str, start: int) -> int:
        end = start + 1
        while end < len(run) and _CHARACTER.match(run[end]):
            end += 1
        return end


def _folded(run: str, language: str) -> tuple[str, Sequence[int]]:
    """A run folded, and where in the run each folded character ends."""
    folded: list[str] = []
    ends_at: list[int] = []
    for cluster in _CLUSTER.finditer(run):
        piece = fold(cluster[0], language)
        folded.append(piece)
        ends_at.extend([cluster.end()] * len(piece))
    return "".join(folded), ends_at


def segmented(run: str, language: str, segment: Segmenter) -> list[tuple[int, int]]:
    """Segment a run as it stands in a text: fold it, call ``segment``, and map the words' ends back.

    A word never begins or ends inside a character with its marks.

    Raises:
        ValueError: if ``segment`` returns words that overlap or lie outside the run.
    """
    text, ends_at = (run, range(1, len(run) + 1)) if _PLAIN_HAN.fullmatch(run) else _folded(run, language)
    starts_at = [0, *ends_at]
    spans: list[tuple[int, int]] = []
    previous = last = 0
    for start, end in segment(text):
        if not previous <= start < end <= len(text):
            raise ValueError(f"segmenter returned the word ({start}, {end}) after {previous} of {len(text)}")
        previous = end
        first, last = max(last, starts_at[start]), ends_at[end - 1]
        if first < last:
            spans.append((first, last))
    return spans
