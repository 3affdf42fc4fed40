"""Term dictionaries: term ids that all indexes of the process share, so a query's terms are looked up once."""

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
"""The id of every term that no document has had so far."""

_MAX_TERMS = 500_000
"""Maximal number of terms of a language; an index with more uses Lucene alone."""
_MAX_PHONETIC_TERMS = 50_000
"""Maximal size of the phonetic index; the first phonetic search indexes all terms."""


class TermDictionary:
    """The ids of one language's terms, from 1 on. Terms are only added. Thread-safe."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._extending = threading.Lock()
        self._phonetic = PhoneticIndex(self._numbers)

    def __len__(self) -> int:
        return len(self._numbers)

    def sharing_skeleton(self, term: str) -> list[str] | None:
        """The terms that share a skeleton with ``term``; None if the dictionary is too large to search."""
        return None if len(self._numbers) > _MAX_PHONETIC_TERMS else self._phonetic.terms(term)

    def numbers(self, terms: Iterable[str], count: int) -> NDArray[np.int32]:
        """The ids of ``count`` terms; :data:`NOTHING` for unknown ones."""
        return np.fromiter(map(self._numbers.get, terms, repeat(NOTHING)), np.int32, count)

    def extended(self, terms: Sequence[str]) -> NDArray[np.int32] | None:
        """The ids of the terms, adding unknown ones; None if the dictionary would become too large."""
        known = self._numbers
        with self._extending:
            for term in terms:
                if term not in known:
                    if len(known) >= _MAX_TERMS:
                        return None
                    known[term] = len(known) + 1
        return np.fromiter(map(known.__getitem__, terms), np.int32, len(terms))


@cache
def term_dictionary(language: str) -> TermDictionary:
    """The shared :class:`TermDictionary` of a language."""
    return TermDictionary()
