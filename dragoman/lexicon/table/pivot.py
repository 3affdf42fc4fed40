"""Translation by way of a third language: two tables in a row, looked up term by term."""

from __future__ import annotations

import numpy as np

from dragoman.lexicon.table.aggregation import Floats, Ids, strongest
from dragoman.lexicon.table.table import Entry, Table, Vocabulary

__all__ = ["Pivot"]

_LEAST = 0.01
"""Entries between that are less probable in both directions are left out."""
_MOST = 40
"""Translations of a term, those with the largest product of both probabilities: rare words are probable in one."""
_CACHED_TERMS = 20_000


class Pivot:
    """The translations of ``first`` translated by ``second``, whose source language is the target of ``first``.

    With the terms p of the language between, ``P(t|s) = sum_p P(p|s) P(t|p)`` and ``P(s|t) = sum_p P(s|p) P(p|t)``.
    The origin of an entry is that of the entry of ``second`` that contributes most, plus ``offset``. Thread-safe.
    """

    def __init__(self, first: Table, second: Table, offset: int) -> None:
        """
        Raises:
            ValueError: the tables do not have a language in common.
        """
        if first.target != second.source:
            raise ValueError(f"a table into {first.target} is not followed by one from {second.source}")
        self._first, self._second, self._offset = first, second, offset
        self._cache: dict[str, list[Entry]] = {}

    @property
    def targets(self) -> Vocabulary:
        """The terms of the target language, including those that nothing is translated into."""
        return self._second.targets

    def __contains__(self, term: object) -> bool:
        """Whether a source term has translations."""
        return isinstance(term, str) and bool(self._all(term))

    def translations(self, term: str, best: int | None = None, least_backward: float = 0.0) -> list[Entry]:
        """As :meth:`Table.translations`."""
        return [one for one in self._all(term) if one.p_backward >= least_backward][:best]

    def _all(self, term: str) -> list[Entry]:
        found = self._cache.get(term)
        if found is None:
            if len(self._cache) >= _CACHED_TERMS:
                self._cache.clear()
            found = self._cache[term] = self._composed(term)
        return found

    def _composed(self, term: str) -> list[Entry]:
        between, ahead, back = _probable(self._first, term)
        second, parts = self._second, []
        for middle, *values in zip(between, ahead, back, strict=True):
            number = second.sources.index(self._first.targets[middle])
            if number >= 0:
                parts.append(_entries(second, number, *values))
        if not parts:
            return []
        ids, forward, backward, origins = (np.concatenate(column) for column in zip(*parts, strict=True))
        one = np.zeros(len(ids), np.int64)
        _, targets, forward, backward, origins = strongest(one, ids, forward, backward, origins)
        kept = np.argsort(-forward * backward, kind="stable")[:_MOST]
        kept = kept[np.argsort(-forward[kept], kind="stable")]
        columns = (column[kept].tolist() for column in (targets, forward, backward, origins))
        return [
            Entry(second.targets[target], min(1.0, ahead), min(1.0, back), self._offset + origin)
            for target, ahead, back, origin in zip(*columns, strict=True)
        ]


def _probable(table: Table, term: str) -> tuple[list[int], list[float], list[float]]:
    """The target ids of a term's probable entries, with both probabilities."""
    number = table.sources.index(term)
    if number < 0:
        return [], [], []
    ids, forward, backward, _ = _entries(table, number)
    kept = np.maximum(forward, backward) >= _LEAST
    return ids[kept].tolist(), forward[kept].tolist(), backward[kept].tolist()


def _entries(table: Table, number: int, ahead: float = 1.0, back: float = 1.0) -> tuple[Ids, Floats, Floats, Ids]:
    """The target ids, both probabilities and the origins of the entries of a source term; probabilities multiplied."""
    side = table.by_source
    own = slice(*side.indptr[number : number + 2].tolist())
    return (
        side.ids[own].astype(np.int64),
        side.forward[own] * np.float64(ahead),
        side.backward[own] * np.float64(back),
        side.origins[own].astype(np.int64),
    )
