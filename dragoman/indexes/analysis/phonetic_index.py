"""A phonetic index: finds the terms of a language that sound like a given term, by their skeletons."""

from __future__ import annotations

import threading
from collections.abc import Collection

from dragoman.deadline import check_each
from dragoman.indexes.analysis.transliteration import alike, skeletons

__all__ = ["PhoneticIndex"]

_CHECKED = 256
"""After so many new terms the deadline is asked for."""


class PhoneticIndex:
    """An index of ``vocabulary``, to which terms may be appended. Thread-safe."""

    def __init__(self, vocabulary: Collection[str]) -> None:
        self._vocabulary = vocabulary
        self._terms: dict[str, list[str]] = {}
        self._indexed = 0
        self._indexing = threading.Lock()

    def terms(self, term: str) -> list[str]:
        """The terms that share a skeleton with ``term``."""
        if self._indexed < len(self._vocabulary):
            self._index_new()
        return [other for skeleton in skeletons(term) for other in self._terms.get(skeleton, ())]

    def similar(self, term: str, least: float) -> dict[str, float]:
        """The :meth:`terms` with a similarity to ``term`` of at least ``least``, highest first."""
        return dict(alike(term, self.terms(term), least))

    def _index_new(self) -> None:
        with self._indexing:
            new = list(self._vocabulary)[self._indexed :]
            for other in check_each(new, _CHECKED):
                for skeleton in skeletons(other):
                    self._terms.setdefault(skeleton, []).append(other)
                self._indexed += 1
