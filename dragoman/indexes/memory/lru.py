"""A bounded cache that keeps what was used recently."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Generic, TypeVar

__all__ = ["LruCache"]

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class LruCache(Generic[K, V]):
    """An approximate LRU cache in two generations: when the younger is full, it becomes the older, and that is dropped.

    What is looked up moves to the younger generation, so that everything used since the last change of
    generations survives the next. Reading and writing cost what a dictionary costs; threads may do both, and at
    worst something is forgotten early.

    Args:
        entries: how many entries a generation holds at most.
        weight: how much the entries of a generation may weigh, as told to :meth:`put`.
    """

    def __init__(self, entries: int, weight: int | None = None) -> None:
        self._entries = entries
        self._limit = weight
        self._weight = 0
        self._young: dict[K, V] = {}
        self._old: dict[K, V] = {}

    def get(self, key: K) -> V | None:
        """The value, or None if it is not known (any more)."""
        found = self._young.get(key)
        if found is None:
            found = self._old.get(key)
            if found is not None:
                self.put(key, found)
        return found

    def put(self, key: K, value: V, weight: int = 0) -> None:
        """Remember ``value``, which must not be None."""
        if len(self._young) >= self._entries or (self._limit is not None and self._weight > self._limit):
            self._old, self._young, self._weight = self._young, {}, 0
        self._young[key] = value
        self._weight += weight

    def __len__(self) -> int:
        return len(self._young) + len(self._old)
