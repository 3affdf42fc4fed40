"""A bounded cache of recently used entries."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Generic, TypeVar

__all__ = ["LruCache"]

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class LruCache(Generic[K, V]):
    """An approximate LRU cache with two generations: a full young generation replaces the old one.

    A lookup moves an entry to the young generation, so everything used since the last replacement survives the
    next one. Lookups and insertions cost as much as in a dictionary. Threads may share the cache; a race can at
    worst evict an entry early.

    Args:
        entries: the maximal number of entries of a generation.
        weight: the maximal total weight of a generation; weights are given to :meth:`put`.
    """

    def __init__(self, entries: int, weight: int | None = None) -> None:
        self._entries = entries
        self._limit = weight
        self._weight = 0
        self._young: dict[K, V] = {}
        self._old: dict[K, V] = {}

    def get(self, key: K) -> V | None:
        """The cached value, or None."""
        found = self._young.get(key)
        if found is None:
            found = self._old.get(key)
            if found is not None:
                self.put(key, found)
        return found

    def put(self, key: K, value: V, weight: int = 0) -> None:
        """Cache ``value``, which must not be None."""
        if len(self._young) >= self._entries or (self._limit is not None and self._weight > self._limit):
            self._old, self._young, self._weight = self._young, {}, 0
        self._young[key] = value
        self._weight += weight

    def __len__(self) -> int:
        return len(self._young) + len(self._old)
