"""Terms gathered one by one as bytes, and sorted as such: a list of strings takes several times their size."""

from __future__ import annotations

from array import array

import numpy as np
from numpy.typing import NDArray

from dragoman.lexicon.table.vocabulary import Bytes, Offsets, Vocabulary

Records = NDArray[np.int32]

_CACHED_TERMS = 1 << 14
_DEPTH = 7
"""Bytes of each term that are compared at a time; an eighth says how many of them the term has."""
_CHUNK = 1 << 13


class TermRecords:
    """Terms in the order in which they came. One that comes again may have a record of its own."""

    def __init__(self) -> None:
        self._blob = bytearray()
        self._ends = array("q", [0])
        self._recent: dict[str, int] = {}

    def add(self, term: str) -> int:
        """The number of a record of this term.

        Raises:
            ValueError: it is not valid Unicode.
        """
        record = self._recent.get(term)
        if record is None:
            if len(self._recent) >= _CACHED_TERMS:
                self._recent.clear()
            record = self._recent[term] = self.append(term)
        return record

    def append(self, term: str) -> int:
        """The number of a new record of this term; raises as :meth:`add`."""
        self._blob += term.encode()
        self._ends.append(len(self._blob))
        return len(self._ends) - 2

    def arrays(self) -> tuple[Bytes, Offsets]:
        """The bytes of all records, and where each begins and ends. Nothing can be added afterwards."""
        self._recent.clear()
        return np.frombuffer(self._blob, np.uint8), np.frombuffer(self._ends, np.int64)

    def sort(self) -> SortedTerms:
        """The terms in code-point order. Nothing can be added afterwards."""
        return SortedTerms(*self.arrays())


class SortedTerms:
    """The order of recorded terms. ``first`` has for each record the first one of the same term."""

    def __init__(self, blob: Bytes, offsets: Offsets) -> None:
        self._blob, self._offsets = blob, offsets
        order, equal = _sort_records(blob, offsets)
        self._order = order[~equal]
        """One record of each term, in the order of the terms."""
        self.first = np.empty(len(order), np.int32)
        self.first[order] = np.repeat(self._order, np.diff(np.flatnonzero(~equal), append=len(order)))

    def ranks(self) -> Records:
        """The number of each record's term in the order of all terms."""
        ranks = np.empty(len(self.first), np.int32)
        ranks[self._order] = np.arange(len(self._order), dtype=np.int32)
        return ranks[self.first]

    def firsts(self, ranks: NDArray[np.integer]) -> Records:
        """The first records of the terms with these numbers, which :meth:`ranks` gives."""
        records: Records = self._order[ranks]
        return records

    def containing(self, character: str) -> NDArray[np.bool_]:
        """Whether each recorded term has an ASCII character."""
        places = np.flatnonzero(self._blob == ord(character))
        return np.diff(np.searchsorted(places, self._offsets)) > 0

    def vocabulary(self, used: NDArray[np.integer]) -> tuple[Vocabulary, Records]:
        """The vocabulary of the terms of some first records, and the number in it of each of these records."""
        selected = np.zeros(len(self.first), bool)
        selected[used] = True
        chosen = self._order[selected[self._order]]
        ranks = np.zeros(len(self.first), np.int32)
        ranks[chosen] = np.arange(len(chosen), dtype=np.int32)
        return gather_terms(self._blob, self._offsets, chosen), ranks[used]


def _sort_records(blob: Bytes, offsets: Offsets) -> tuple[Records, NDArray[np.bool_]]:
    """The records in the order of their terms, equal ones as they came, and whether each has the term before it."""
    count = len(offsets) - 1
    order = np.arange(count, dtype=np.int32)
    equal = np.zeros(count, bool)
    places, groups = order.copy(), np.zeros(count, np.int32)
    depth = 0
    while len(places):
        rows = order[places]
        keys = _keys(blob, offsets, rows, depth)
        by = np.argsort(keys, kind="stable") if depth == 0 else np.lexsort((keys, groups))
        order[places] = rows[by]
        keys, groups = keys[by], groups[by]
        begins = np.ones(len(keys), bool)
        begins[1:] = (keys[1:] != keys[:-1]) | (groups[1:] != groups[:-1])
        groups = np.cumsum(begins, dtype=np.int32)
        whole = (keys & np.uint64(0xFF)) < _DEPTH  # the terms end here
        equal[places] = whole & ~begins
        tied = ~whole & (np.bincount(groups)[groups] > 1)
        places, groups = places[tied], groups[tied]
        depth += _DEPTH
    return order, equal


def _keys(blob: Bytes, offsets: Offsets, rows: Records, depth: int) -> NDArray[np.uint64]:
    """The next bytes of each term as one number, which sorts as they do."""
    keys = np.empty(len(rows), np.uint64)
    steps = np.arange(_DEPTH + 1)
    for start in range(0, len(rows), _CHUNK):
        chunk = rows[start : start + _CHUNK]
        begins = offsets[chunk] + depth
        left = np.clip(offsets[chunk + 1] - begins, 0, _DEPTH)
        places = begins[:, None] + steps
        block = np.where(steps < left[:, None], blob[np.minimum(places, max(len(blob) - 1, 0))] if len(blob) else 0, 0)
        block[:, _DEPTH] = left
        keys[start : start + _CHUNK] = block.astype(np.uint8).view(">u8")[:, 0]
    return keys


def gather_terms(blob: Bytes, offsets: Offsets, rows: Records) -> Vocabulary:
    """The terms of these records in their order."""
    ends = np.zeros(len(rows) + 1, np.int64)
    for start in range(0, len(rows), _CHUNK):
        chunk = rows[start : start + _CHUNK]
        ends[start + 1 : start + 1 + len(chunk)] = offsets[chunk + 1] - offsets[chunk]
    np.cumsum(ends, out=ends)
    gathered = np.empty(int(ends[-1]), np.uint8)
    for start in range(0, len(rows), _CHUNK):
        chunk = rows[start : start + _CHUNK]
        first, last = ends[start], ends[start + len(chunk)]
        sizes = offsets[chunk + 1] - offsets[chunk]
        moved = np.repeat(offsets[chunk] - ends[start : start + len(chunk)], sizes)
        gathered[first:last] = blob[moved + np.arange(first, last)]
    return Vocabulary(gathered, ends)
