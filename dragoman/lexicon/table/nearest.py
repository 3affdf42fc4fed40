"""The terms of a vocabulary that are spelt nearly as a word is.

The distance is Levenshtein's with transpositions of neighbours (optimal string alignment), as in Lucene's fuzzy
queries. It is computed for all candidates at once, within a band around the diagonal.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dragoman.deadline import check_each
from dragoman.lexicon.table.vocabulary import Vocabulary

__all__ = ["NearTerm", "most_edits", "nearest"]

Characters = NDArray[np.uint32]

_BLOCK = 8_192
"""Candidates that are compared at a time; what is computed for them fits into a processor's cache."""
_SHORT, _LONG = 5, 10
"""From so many letters on one edit is looked for, and two. With 4 and 8, twice as many real words that a table lacks
were taken for others (:mod:`dragoman.engine.query.spelling` says on which words they were chosen)."""
_LONGEST = 40
"""Longer words are no words that were misspelt."""


class NearTerm(NamedTuple):
    """A term, its place in the vocabulary, and how many edits make it of a word."""

    place: int
    term: str
    distance: int


def most_edits(word: str) -> int:
    """How many edits may lie between a word and what was meant: none below five letters, one up to nine, or two.

    None either in a word with a digit: another number is another thing.
    """
    if len(word) < _SHORT or len(word) > _LONGEST or any(map(str.isdigit, word)):
        return 0
    return 1 if len(word) < _LONG else 2


def nearest(terms: Vocabulary, word: str, most: int) -> list[NearTerm]:
    """The single words among ``terms`` within ``most`` edits of ``word`` that begin as it does, nearest first.

    Raises:
        DeadlinePassed: it takes too long.
    """
    if not word or most < 1 or not len(terms):
        return []
    first, last = terms.place(word[0]), terms.place(chr(min(ord(word[0]) + 1, 0x10FFFF)))
    characters, starts = _characters(terms, first, last)
    lengths = np.diff(starts)
    likely = np.flatnonzero(np.abs(lengths - len(word)) <= most)
    near: list[NearTerm] = []
    for begin in check_each(range(0, len(likely), _BLOCK)):
        block = likely[begin : begin + _BLOCK]
        columns = _columns(characters, starts[block], len(word) + most)
        distances = _distances(word, columns, lengths[block], most)
        for candidate in np.flatnonzero(distances <= most).tolist():
            place = first + int(block[candidate])
            near.append(NearTerm(place, terms[place], int(distances[candidate])))
    return sorted((term for term in near if " " not in term.term), key=lambda term: (term.distance, term.term))


def _characters(terms: Vocabulary, first: int, last: int) -> tuple[Characters, NDArray[np.int64]]:
    """The code points of the terms from ``first`` to before ``last``, and where each of them starts."""
    offsets = terms.offsets[first : last + 1]
    text = terms.blob[offsets[0] : offsets[-1]]
    characters = np.frombuffer(text.tobytes().decode().encode("utf-32-le"), np.uint32)
    starts = offsets - offsets[0]
    if len(characters) < len(text):  # some take several bytes; all but the first of these begin with 10
        begun = np.zeros(len(text) + 1, np.int64)
        np.cumsum((text & 0xC0) != 0x80, out=begun[1:])
        starts = begun[starts]
    return characters, starts


def _columns(characters: Characters, starts: NDArray[np.int64], length: int) -> Characters:
    """The first letters of some terms, ``(length, terms)``; what is after the end of one is not compared."""
    places = starts[None, :] + np.arange(length)[:, None]
    return np.asarray(characters[np.minimum(places, len(characters) - 1)])


def _distances(word: str, columns: Characters, lengths: NDArray[np.int64], most: int) -> NDArray[np.uint8]:
    """The distance of each candidate from ``word``, or ``most + 1`` where it is larger."""
    size, count = columns.shape
    cap = np.uint8(most + 1)
    previous = np.repeat(np.minimum(np.arange(size + 1), cap).astype(np.uint8)[:, None], count, axis=1)
    before = previous
    for i, letter in enumerate(word, 1):
        low, high = max(1, i - most), min(size, i + most)
        differs = columns[low - 1 : high] != ord(letter)
        band = np.minimum(previous[low - 1 : high] + differs, previous[low : high + 1] + np.uint8(1))
        current = np.full_like(previous, cap)
        current[0] = min(i, int(cap))
        if i > 1:
            swaps = max(2, low)
            swapped = (columns[swaps - 1 : high] == ord(word[i - 2])) & (columns[swaps - 2 : high - 1] == ord(letter))
            with_swap = np.where(swapped, before[swaps - 2 : high - 1] + np.uint8(1), cap)
            band[swaps - low :] = np.minimum(band[swaps - low :], with_swap)
        for j in range(low, high + 1):
            np.minimum(band[j - low], current[j - 1] + np.uint8(1), out=current[j])
        np.minimum(current, cap, out=current)
        before, previous = previous, current
    return np.asarray(previous[lengths, np.arange(count)])
