"""Term dictionaries: a number for each term, the same in all indexes of the process.

So a query's terms are looked up once for all indexes.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from functools import cache
from itertools import repeat

import numpy as np
from numpy.typing import NDArray

from dragoman.indexes.analysis.phonetic import PhoneticIndex

__all__ = ["NOTHING", "TermDictionary", "term_dictionary"]

NOTHING = 0
"""The number of every term that no document has held so far."""

_MOST = 500_000
"""Terms of a language that get numbers; an index with more is left to Lucene."""
_MOST_PHONETIC = 50_000
"""Terms in the phonetic index: the first search for a sound goes through all of them."""


class TermDictionary:
    """The numbers of one language's terms, from 1 on. They grow and never change; any thread."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._extending = threading.Lock()
        self._phonetic = PhoneticIndex(self._numbers)

    def __len__(self) -> int:
        return len(self._numbers)

    def sharing_skeleton(self, term: str) -> list[str] | None:
        """The terms that share a skeleton with ``term``; None where there are too many terms to go through."""
        return None if len(self._numbers) > _MOST_PHONETIC else self._phonetic.terms(term)

    def numbers(self, terms: Iterable[str], count: int) -> NDArray[np.int32]:
        """The numbers of ``count`` terms."""
        return np.fromiter(map(self._numbers.get, terms, repeat(NOTHING)), np.int32, count)

    def extended(self, terms: Sequence[str]) -> NDArray[np.int32] | None:
        """The numbers of the terms, new ones for those that have none; None where there are too many."""
        known = self._numbers
        with self._extending:
            for term in terms:
                if term not in known:
                    if len(known) >= _MOST:
                        return None
                    known[term] = len(known) + 1
        return np.fromiter(map(known.__getitem__, terms), np.int32, len(terms))


@cache
def term_dictionary(language: str) -> TermDictionary:
    """The one :class:`TermDictionary` of a language."""
    return TermDictionary()
