"""The terms of a language by their skeletons, in memory."""

from __future__ import annotations

import threading
from collections.abc import Mapping

from dragoman.indexes.analysis.transliteration import skeletons

__all__ = ["Heard"]

_LARGEST = 50_000
"""Terms that are listened to at most: the first search for a sound goes through all of them."""


class Heard:
    """Follows a vocabulary that grows; any thread."""

    def __init__(self, vocabulary: Mapping[str, int]) -> None:
        self._vocabulary = vocabulary
        self._terms: dict[str, list[str]] = {}
        self._followed = 0
        self._following = threading.Lock()

    def terms(self, term: str) -> list[str] | None:
        """The terms that share a skeleton with ``term``; None where the vocabulary is too large."""
        if len(self._vocabulary) > _LARGEST:
            return None
        if self._followed < len(self._vocabulary):
            self._follow()
        return [other for form in skeletons(term) for other in self._terms.get(form, ())]

    def _follow(self) -> None:
        with self._following:
            new = list(self._vocabulary)[self._followed :]
            for other in new:
                for form in skeletons(other):
                    self._terms.setdefault(form, []).append(other)
            self._followed += len(new)
