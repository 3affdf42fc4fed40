"""How the terms of a table's entries were written, where that differs from what they are folded to."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dragoman.lexicon.table.file import CorruptTable, read_arrays, write_arrays
from dragoman.lexicon.table.table import Table
from dragoman.lexicon.table.terms import TermRecords, gather_terms
from dragoman.lexicon.table.vocabulary import Bytes, Offsets

__all__ = ["Written", "WrittenForms", "WrittenSide", "entries_from", "entry_number"]

Ids = NDArray[np.int32]

_FORMAT = "dragoman-written"
_FORMAT_VERSION = "1"
_BLOCK = 1 << 16


@dataclass(frozen=True, slots=True)
class WrittenSide:
    """The terms of one side. Entries are numbered as the table has them, in the order of its source terms.

    ``entries`` are, ascending, those whose term was written otherwise than it is folded. The text of the i-th of them
    is ``blob[offsets[records[i]]:offsets[records[i] + 1]]``.
    """

    entries: Ids
    records: Ids
    blob: Bytes
    offsets: Offsets

    def __len__(self) -> int:
        return len(self.entries)

    def text(self, place: int) -> str:
        """What the entry ``entries[place]`` was written as."""
        record = int(self.records[place])
        return self.blob[self.offsets[record] : self.offsets[record + 1]].tobytes().decode()

    def of(self, entry: int) -> str | None:
        """How the term of one entry was written; None if as it is folded."""
        place = int(np.searchsorted(self.entries, entry))
        return self.text(place) if place < len(self.entries) and self.entries[place] == entry else None

    def between(self, first: int, last: int) -> list[str | None]:
        """As :meth:`of`, of the entries from ``first`` to before ``last``."""
        forms: list[str | None] = [None] * (last - first)
        begin, end = np.searchsorted(self.entries, (first, last)).tolist()
        texts: dict[int, str] = {}
        for place, record in enumerate(self.records[begin:end].tolist(), begin):
            if record not in texts:
                texts[record] = self.text(place)
            forms[int(self.entries[place]) - first] = texts[record]
        return forms

    def blocks(self) -> Iterator[NDArray[np.generic]]:
        """Arrays that are the same for the same terms of the same entries, in whatever order they were recorded."""
        yield self.entries
        for first in range(0, len(self.records), _BLOCK):
            terms = gather_terms(self.blob, self.offsets, self.records[first : first + _BLOCK])
            yield from (terms.offsets, terms.blob)


@dataclass(frozen=True, slots=True)
class WrittenForms:
    """How the terms of both sides of a table were written."""

    source: WrittenSide
    target: WrittenSide

    def __len__(self) -> int:
        return len(self.source) + len(self.target)

    @classmethod
    def none(cls) -> WrittenForms:
        """Of a table whose terms are all written as they are folded."""
        return Written().forms()

    def of_pair(self, table: Table, source: str, target: str) -> tuple[str, str] | None:
        """How the folded terms of an entry were written; None if the table has no such entry."""
        entry = entry_number(table, source, target)
        return None if entry < 0 else (self.source.of(entry) or source, self.target.of(entry) or target)

    def save(self, path: Path) -> None:
        """Write them as safetensors, durably and atomically.

        Raises:
            OSError: if they cannot be written.
        """
        arrays: dict[str, NDArray[np.generic]] = {
            f"{name}_{field}": getattr(side, field)
            for name, side in (("source", self.source), ("target", self.target))
            for field in _DTYPES
        }
        write_arrays(path, arrays, {"format": _FORMAT, "format_version": _FORMAT_VERSION})

    @classmethod
    def open(cls, path: Path) -> WrittenForms:
        """Map saved forms into memory, read-only.

        Raises:
            FileNotFoundError: there is no such file.
            CorruptTable: it is another file, truncated or altered.
        """
        arrays, metadata = read_arrays(path, verify=True)
        if metadata.get("format") != _FORMAT or metadata.get("format_version") != _FORMAT_VERSION:
            raise CorruptTable(path, f"not the written forms of a table, format version {_FORMAT_VERSION}")
        sides = []
        for name in ("source", "target"):
            columns = {field: arrays.get(f"{name}_{field}") for field in _DTYPES}
            if any(array is None or array.dtype != _DTYPES[field] for field, array in columns.items()):
                raise CorruptTable(path, f"incomplete: the {name} terms")
            sides.append(WrittenSide(**columns))  # type: ignore[arg-type]
        return cls(*sides)


_DTYPES = {"entries": np.int32, "records": np.int32, "blob": np.uint8, "offsets": np.int64}


class Written:
    """Gathers written forms entry by entry, in the order of a table's entries."""

    def __init__(self) -> None:
        self._entries = array("i"), array("i")
        self._records = array("i"), array("i")
        self._terms = TermRecords(), TermRecords()

    def add(self, entry: int, *terms: str | None) -> None:
        """The source and target of an entry as written; None for one that is written as it is folded."""
        for side, term in enumerate(terms):
            if term is not None:
                self._entries[side].append(entry)
                self._records[side].append(self._terms[side].add(term))

    def forms(self) -> WrittenForms:
        """What was added. Nothing can be added afterwards."""
        source, target = (
            WrittenSide(np.frombuffer(entries, np.int32), np.frombuffer(records, np.int32), *terms.arrays())
            for entries, records, terms in zip(self._entries, self._records, self._terms, strict=True)
        )
        return WrittenForms(source, target)


def entries_from(table: Table, source: str, target: str) -> int:
    """The number of the first entry that comes after one of two folded terms, whether the table has that or not."""
    s = table.sources.place(source)
    first = int(table.indptr[s])
    if s == len(table.sources) or table.sources[s] != source:
        return first
    t = table.targets.place(target)
    passed = t < len(table.targets) and table.targets[t] == target
    target_ids = table.target_ids[first : int(table.indptr[s + 1])]
    return first + int(np.searchsorted(target_ids, t, side="right" if passed else "left"))


def entry_number(table: Table, source: str, target: str) -> int:
    """The number of the entry of two folded terms in the order of the source terms; -1 if there is none."""
    s, t = table.sources.index(source), table.targets.index(target)
    if s < 0 or t < 0:
        return -1
    first, last = table.indptr[s : s + 2].tolist()
    entry = first + int(np.searchsorted(table.target_ids[first:last], t))
    return entry if entry < last and table.target_ids[entry] == t else -1
