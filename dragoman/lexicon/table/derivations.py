"""Words that are made of a table's words by a regular ending, as the table has many: *baker* of *bake*."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from weakref import WeakKeyDictionary

from dragoman.deadline import check_each
from dragoman.lexicon.table.table import Table

__all__ = ["is_derived"]

_LONGEST = 4
"""Letters of an ending."""
_STEM = 4
"""The least letters of what it is joined to."""
_LEAST = 3
"""An ending is regular that so many of the terms looked at have, of those whose beginning is a term as well."""
_BLOCKS, _BLOCK = 20, 1_000
"""How many terms are looked at; those that begin alike are neighbours."""
_ENDINGS: WeakKeyDictionary[Table, frozenset[str]] = WeakKeyDictionary()


def is_derived(word: str, tables: Iterable[Table]) -> bool:
    """Whether the source side of a table has a folded word without a regular ending."""
    for table in check_each(tables):
        endings = _ENDINGS.get(table)
        if endings is None:
            endings = _ENDINGS[table] = _regular_endings(table)
        if any(word[size:] in endings and word[:size] in table for size in _stems(word)):
            return True
    return False


def _regular_endings(table: Table) -> frozenset[str]:
    count = len(table.sources)
    counts: Counter[str] = Counter()
    for block in check_each(range(0, count, max(_BLOCK, count // _BLOCKS))):
        terms = {table.sources[place] for place in range(block, min(block + _BLOCK, count))}
        counts.update(term[size:] for term in terms if " " not in term for size in _stems(term) if term[:size] in terms)
    return frozenset(ending for ending, frequency in counts.items() if frequency >= _LEAST)


def _stems(word: str) -> range:
    return range(max(_STEM, len(word) - _LONGEST), len(word))
