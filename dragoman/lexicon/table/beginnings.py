"""The terms of a table that begin as something typed does, whether marks of letters were typed or not."""

from __future__ import annotations

from collections.abc import Iterator

from dragoman.deadline import check_each
from dragoman.lexicon.table.vocabulary import Vocabulary
from dragoman.lexicon.text.plain_letters import plain_letter, written_letters

__all__ = ["begin_ranges"]

_LAST = "\U0010ffff"
_MOST = 100
"""Beginnings that are gone on with: in any language few of what could be written are words."""


def begin_ranges(terms: Vocabulary, begun: str, language: str) -> list[tuple[str, int, int]]:
    """The beginnings that a folded one may stand for, each with the places of its terms: from, and to before.

    What is typed itself comes first. A letter without marks stands for those with marks, and the other way round.
    """
    live: list[dict[str, tuple[int, int]]] = [{} for _ in range(len(begun) + 1)]
    live[0] = {"": (0, len(terms))}
    for place in check_each(range(len(begun))):
        for prefix in list(live[place])[:_MOST]:
            for size, letter in _letters(begun, place, language):
                first, last = terms.place(prefix + letter), terms.place(prefix + letter + _LAST)
                if first < last:
                    live[place + size][prefix + letter] = first, last
    ranges = [(prefix, *span) for prefix, span in live[-1].items()]
    return sorted(ranges, key=lambda entry: entry[0] != begun)


def _letters(begun: str, place: int, language: str) -> Iterator[tuple[int, str]]:
    """What may be written for what is typed from a place on, with the number of characters that it was typed as."""
    letter, written = begun[place], written_letters(language)
    yield 1, letter
    if (plain := plain_letter(letter)) != letter and plain.isascii():
        yield 1, plain
    for size in (1, 2):
        if len(typed := begun[place : place + size]) == size:
            yield from ((size, other) for other in written.get(typed, ()))
