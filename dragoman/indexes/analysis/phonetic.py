"""A phonetic index: the terms of a language by their skeletons, to find those that sound like another."""

from __future__ import annotations

import threading
from collections.abc import Collection

from dragoman.indexes.analysis.transliteration import similarity, skeletons

__all__ = ["PhoneticIndex"]


class PhoneticIndex:
    """Follows a collection of terms, which may grow at its end. Safe from any thread."""

    def __init__(self, vocabulary: Collection[str]) -> None:
        self._vocabulary = vocabulary
        self._terms: dict[str, list[str]] = {}
        self._indexed = 0
        self._indexing = threading.Lock()

    def terms(self, term: str) -> list[str]:
        """The terms that share a skeleton with ``term``."""
        if self._indexed < len(self._vocabulary):
            self._index_new()
        return [other for form in skeletons(term) for other in self._terms.get(form, ())]

    def similar(self, term: str, least: float) -> dict[str, float]:
        """Those of :meth:`terms` with at least such a similarity to ``term``, which is given with each."""
        alike = {other: similarity(term, other) for other in dict.fromkeys(self.terms(term))}
        return {other: value for other, value in alike.items() if value >= least}

    def _index_new(self) -> None:
        with self._indexing:
            new = list(self._vocabulary)[self._indexed :]
            for other in new:
                for form in skeletons(other):
                    self._terms.setdefault(form, []).append(other)
            self._indexed += len(new)
