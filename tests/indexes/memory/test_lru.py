"""The bounded cache."""

from __future__ import annotations

from dragoman.indexes.memory.lru import LruCache


def test_it_is_bounded_and_keeps_what_is_used() -> None:
    memory: LruCache[int, str] = LruCache(entries=10)
    for key in range(1000):
        memory.put(key, str(key))
        assert memory.get(0) == "0"
        assert memory.get(key) == str(key)
        assert len(memory) <= 20
    assert memory.get(500) is None
    assert memory.get(-1) is None


def test_heavy_entries_count_more() -> None:
    memory: LruCache[int, str] = LruCache(entries=1000, weight=100)
    for key in range(50):
        memory.put(key, "x", weight=60)
    assert len(memory) <= 4
    assert memory.get(49) == "x"
