"""Word segmentation of scripts that are written without spaces."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

import regex

from dragoman.deadline import check_each
from dragoman.lexicon.text.folding import IGNORABLE, fold, folded_words

Segmenter = Callable[[str], list[tuple[int, int]]]
"""Takes a *folded* run of one unspaced script, and returns the (start, end) of its words, in order and without
overlap. Text outside these spans is not indexed."""

UNSPACED_LETTERS = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}ー\uFF70\uFF9E\uFF9F"
_IDEOGRAPHIC = r"\p{Han}\p{Hiragana}\p{Katakana}ー\uFF70\uFF9E\uFF9F"
_EXTENDED_BY = rf"[\p{{M}}\uFF9E\uFF9F{IGNORABLE}]"


def _run(scripts: str) -> str:
    letter = rf"[[[{scripts}]&&[\p{{L}}\p{{Nl}}]]--[\uFF9E\uFF9F]]"
    inner = rf"[[{letter}||[\p{{M}}\uFF9E\uFF9F]]--[{IGNORABLE}]]"
    return rf"{letter}{inner}*+(?:[{IGNORABLE}]++{inner}++)*+"


RUN = "|".join(_run(s) for s in (_IDEOGRAPHIC, r"\p{Thai}", r"\p{Lao}", r"\p{Khmer}", r"\p{Myanmar}"))
"""Pattern of a maximal run of one unspaced script; Chinese characters and kana count as one script."""

_CLUSTER = regex.compile(
    rf".{_EXTENDED_BY}*+(?:(?=[\u0E32\u0EB2])(?<=[\u0E4D\u0ECD]{_EXTENDED_BY}*).{_EXTENDED_BY}*+)*+", regex.S
)
"""A character with its marks; Thai and Lao AM are one cluster in either spelling."""
_IDEOGRAPH = regex.compile(rf"[{_IDEOGRAPHIC}]", regex.V1)
_PLAIN_HAN = re.compile("[\u4e00-\u9fff]+")
"""Characters that stay one character in folding and take no marks."""
_CHECKED_EVERY = 16_384
_CHARACTER = regex.compile(r"[ー\u3099\u309A]|\p{M}")


def by_character(run: str) -> list[tuple[int, int]]:
    """The default segmentation: each Chinese character or kana (with its voicing and length marks) is a word; a run
    of another script is one word."""
    if not _IDEOGRAPH.match(run):
        return [(0, len(run))]
    starts = [i for i, character in enumerate(run) if i == 0 or not _CHARACTER.match(character)]
    return list(zip(starts, [*starts[1:], len(run)], strict=True))


class LongestMatch:
    """Greedy longest match, left to right, against a vocabulary of folded words.

    Without a match, a Chinese character or kana is a word, and characters of other scripts form one word up to
    the next match. No word ends before a combining mark.
    """

    def __init__(self, vocabulary: Iterable[str]) -> None:
        letters = regex.compile(rf"[{UNSPACED_LETTERS}]", regex.V1)
        self._words = frozenset(word for word in vocabulary if letters.match(word) and " " not in word)
        self._longest = max(map(len, self._words), default=1)

    def __call__(self, run: str) -> list[tuple[int, int]]:
        """The (start, end) of the words of a folded run; they cover the run."""
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


def _fold_run(run: str, language: str) -> tuple[str, Sequence[int]]:
    """The folded run, and for each folded character its end in the original run."""
    cache = folded_words(language)
    folded: list[str] = []
    ends_at: list[int] = []
    end = 0
    for cluster in check_each(_CLUSTER.findall(run), _CHECKED_EVERY):
        end += len(cluster)
        piece = cache.get(cluster) or fold(cluster, language)
        folded.append(piece)
        if len(piece) == 1:
            ends_at.append(end)
        else:
            ends_at.extend([end] * len(piece))
    return "".join(folded), ends_at


def segment_run(run: str, language: str, segment: Segmenter) -> list[tuple[int, int]]:
    """Segment an unfolded run: fold it, call ``segment``, and map the spans back to the run.

    No word begins or ends between a character and its marks.

    Raises:
        ValueError: if ``segment`` returns words that overlap or lie outside the run.
    """
    if len(run) == 1 and segment is by_character:
        return [(0, 1)] if fold(run, language) else []
    if _PLAIN_HAN.fullmatch(run):
        text: str = fold(run, language)
        ends_at: Sequence[int] = range(1, len(run) + 1)
    else:
        text, ends_at = _fold_run(run, language)
    starts_at = [0, *ends_at]
    spans: list[tuple[int, int]] = []
    previous = last = 0
    for start, end in segment(text):
        if not previous <= start < end <= len(text):
            raise ValueError(
                f"the segmenter returned the span ({start}, {end}) after position {previous} of {len(text)}"
            )
        previous = end
        first, last = max(last, starts_at[start]), ends_at[end - 1]
        if first < last:
            spans.append((first, last))
    return spans
