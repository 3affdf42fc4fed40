"""Translation by way of a third language: two tables in a row, looked up term by term."""

from __future__ import annotations

from collections.abc import Container

import numpy as np

from dragoman.lexicon.table.aggregation import Floats, Ids, strongest
from dragoman.lexicon.table.table import Entry, Table

__all__ = ["Composed", "Fallback", "Pivot"]

_LEAST = 0.01
"""Entries of the first table that are less probable in both directions are left out."""
_MOST = 40
"""Translations of a term, those with the largest product of both probabilities: rare words are probable in one."""
_CACHED_TERMS = 4_096
"""Of all pivots that share a cache."""

Composed = dict[tuple[object, str], tuple[Entry, ...]]
"""A cache of the entries of pivots, by pivot and term. It holds no table, so that files are let go with their pivot."""


class Pivot:
    """The translations of ``first`` translated by ``second``, whose source language is the target of ``first``.

    With the terms p of the language between, ``P(t|s) = sum_p P(p|s) P(t|p)`` and ``P(s|t) = sum_p P(s|p) P(p|t)``.
    The origin of an entry is that of the entry of ``second`` that contributes most, plus ``offset``. Thread-safe.
    """

    def __init__(self, first: Table, second: Table, offset: int, cache: Composed | None = None) -> None:
        """``cache`` may be shared with other pivots.

        Raises:
            ValueError: the tables do not have a language in common.
        """
        if first.target != second.source:
            raise ValueError(f"a table into {first.target} is not followed by one from {second.source}")
        self._first, self._second, self._offset = first, second, offset
        self._cache: Composed = {} if cache is None else cache
        self._key = object()  # the pivot itself would be held by the cache that it holds

    @property
    def source_tables(self) -> tuple[Table, ...]:
        """The tables that have the terms of the source language."""
        return (self._first,)

    @property
    def target_tables(self) -> tuple[Table, ...]:
        """The tables that have the terms of the target language."""
        return (self._second,)

    @property
    def targets(self) -> Container[str]:
        """The terms of the target language, including those that nothing is translated into."""
        return self._second.targets

    def __contains__(self, term: object) -> bool:
        """Whether a source term has translations."""
        return isinstance(term, str) and bool(self.translations(term, 1))

    def translations(self, term: str, best: int | None = None, least_backward: float = 0.0) -> list[Entry]:
        """As :meth:`Table.translations`."""
        return [entry for entry in self._entries(term) if entry.p_backward >= least_backward][:best]

    def _entries(self, term: str) -> tuple[Entry, ...]:
        key = (self._key, term)
        entries = self._cache.get(key)
        if entries is None:
            entries = _compose(self._first, self._second, self._offset, term)
            if len(self._cache) >= _CACHED_TERMS:
                self._cache.clear()
            self._cache[key] = entries
        return entries


class Fallback:
    """A table, and for source terms that it does not have a pivot. Thread-safe."""

    def __init__(self, table: Table, pivot: Pivot) -> None:
        self._table, self._pivot = table, pivot

    @property
    def source_tables(self) -> tuple[Table, ...]:
        """The tables that have the terms of the source language."""
        return (self._table, *self._pivot.source_tables)

    @property
    def target_tables(self) -> tuple[Table, ...]:
        """The tables that have the terms of the target language."""
        return (self._table, *self._pivot.target_tables)

    @property
    def targets(self) -> Container[str]:
        """The terms of the table's target language."""
        return self._table.targets

    def __contains__(self, term: object) -> bool:
        """Whether a source term has translations."""
        return term in self._table or term in self._pivot

    def translations(self, term: str, best: int | None = None, least_backward: float = 0.0) -> list[Entry]:
        """As :meth:`Table.translations`."""
        return (self._table if term in self._table else self._pivot).translations(term, best, least_backward)


def _compose(first: Table, second: Table, offset: int, term: str) -> tuple[Entry, ...]:
    """The entries of one term, most probable first."""
    between, ahead, back = _probable(first, term)
    parts = []
    for middle, *values in zip(between, ahead, back, strict=True):
        index = second.sources.index(first.targets[middle])
        if index >= 0:
            parts.append(_entries(second, index, *values))
    if not parts:
        return ()
    ids, forward, backward, origins = (np.concatenate(column) for column in zip(*parts, strict=True))
    single_source = np.zeros(len(ids), np.int64)
    _, targets, forward, backward, origins = strongest(single_source, ids, forward, backward, origins)
    best = np.argsort(-forward * backward, kind="stable")[:_MOST]
    best = best[np.argsort(-forward[best], kind="stable")]
    columns = (column[best].tolist() for column in (targets, forward, backward, origins))
    return tuple(
        Entry(second.targets[target], min(1.0, ahead), min(1.0, back), offset + origin)
        for target, ahead, back, origin in zip(*columns, strict=True)
    )


def _probable(table: Table, term: str) -> tuple[list[int], list[float], list[float]]:
    """The target ids of a term's probable entries, with both probabilities."""
    index = table.sources.index(term)
    if index < 0:
        return [], [], []
    ids, forward, backward, _ = _entries(table, index)
    selected = np.maximum(forward, backward) >= _LEAST
    return ids[selected].tolist(), forward[selected].tolist(), backward[selected].tolist()


def _entries(table: Table, index: int, ahead: float = 1.0, back: float = 1.0) -> tuple[Ids, Floats, Floats, Ids]:
    """The target ids, both probabilities and the origins of the entries of a source term; probabilities multiplied."""
    side = table.by_source
    span = slice(*side.indptr[index : index + 2].tolist())
    return (
        side.ids[span].astype(np.int64),
        side.forward[span] * np.float64(ahead),
        side.backward[span] * np.float64(back),
        side.origins[span].astype(np.int64),
    )
