"""Translation tables: terms of two languages with translation probabilities in both directions."""

from __future__ import annotations

from array import array
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dragoman.lexicon.table.file import CorruptTable, read_arrays, write_arrays
from dragoman.lexicon.table.terms import SortedTerms, TermRecords
from dragoman.lexicon.table.vocabulary import Vocabulary

__all__ = ["Adjacency", "CorruptTable", "Entry", "Lookup", "Table", "Vocabulary"]

Ids = NDArray[np.integer]

FORMAT = "dragoman-table"
FORMAT_VERSION = "1"


@dataclass(frozen=True, slots=True)
class Entry:
    """One translation of a term."""

    term: str
    p_forward: float
    """P(this translation | the looked-up term)"""
    p_backward: float
    """P(the looked-up term | this translation)"""
    origin: int
    """Index of the entry's table among the merged members; 0 for a single table."""


@dataclass(frozen=True, slots=True)
class Adjacency:
    """All entries sorted by the terms of one side; entries of term ``i`` are ``indptr[i]:indptr[i + 1]``.

    ``ids`` are the other side's terms, ascending within a term; ``forward`` is P(other | own term) and
    ``backward`` P(own term | other).
    """

    indptr: NDArray[np.int64]
    ids: NDArray[np.int32]
    forward: NDArray[np.float32]
    backward: NDArray[np.float32]
    origins: NDArray[np.uint8]

    def owners(self) -> NDArray[np.int32]:
        """The own term id of each entry."""
        return np.repeat(np.arange(len(self.indptr) - 1, dtype=np.int32), np.diff(self.indptr))


class Lookup(Protocol):
    """What looks the translations of a term up: a table, or two in a row."""

    @property
    def targets(self) -> Container[str]: ...

    def __contains__(self, term: object) -> bool: ...

    def translations(self, term: str, best: int | None = None, least_backward: float = 0.0) -> list[Entry]: ...


class Table:
    """An immutable translation table between ``source`` and ``target``; :meth:`open` maps a saved one.

    Entries are stored in the order of both sides, so the inverse is a view.
    """

    def __init__(
        self,
        source: str,
        target: str,
        sources: Vocabulary,
        targets: Vocabulary,
        by_source: Adjacency,
        by_target: Adjacency,
    ) -> None:
        self.source = source
        self.target = target
        self.sources = sources
        self.targets = targets
        self.by_source = by_source
        self.by_target = by_target

    @property
    def indptr(self) -> NDArray[np.int64]:
        """Offsets of the entries of each source term."""
        return self.by_source.indptr

    @property
    def target_ids(self) -> NDArray[np.int32]:
        """The target term id of each entry, in source order."""
        return self.by_source.ids

    @property
    def p_ts(self) -> NDArray[np.float32]:
        """P(target | source) of each entry, in source order."""
        return self.by_source.forward

    @property
    def p_st(self) -> NDArray[np.float32]:
        """P(source | target) of each entry, in source order."""
        return self.by_source.backward

    @property
    def origins(self) -> NDArray[np.uint8]:
        """The origin of each entry, in source order."""
        return self.by_source.origins

    @property
    def t_indptr(self) -> NDArray[np.int64]:
        """Offsets of the entries of each target term, in target order."""
        return self.by_target.indptr

    @property
    def t_sources(self) -> NDArray[np.int32]:
        """The source term id of each entry, in target order."""
        return self.by_target.ids

    def __len__(self) -> int:
        return len(self.by_source.ids)

    def __contains__(self, term: object) -> bool:
        """Whether a source term has translations."""
        return term in self.sources

    @property
    def nbytes(self) -> int:
        """The size of its arrays, bytes."""
        return sum(array.nbytes for array in self._arrays().values())

    @classmethod
    def from_arrays(
        cls,
        source: str,
        target: str,
        source_terms: Sequence[str],
        target_terms: Sequence[str],
        source_ids: ArrayLike,
        target_ids: ArrayLike,
        p_ts: ArrayLike,
        p_st: ArrayLike,
        origins: ArrayLike | None = None,
    ) -> Table:
        """Build from entries in any order; ids are positions in two lists of distinct terms.

        Terms without entries are dropped.

        Raises:
            ValueError: if arrays differ in length, ids are out of range, terms or pairs are repeated, or
                probabilities are outside [0, 1].
        """
        s = np.asarray(source_ids, dtype=np.int64)
        t = np.asarray(target_ids, dtype=np.int64)
        forward = _probabilities("P(target|source)", p_ts)
        backward = _probabilities("P(source|target)", p_st)
        origin = _origins(origins, len(s))
        if not len(s) == len(t) == len(forward) == len(backward) == len(origin):
            raise ValueError("the arrays of a table must have one value for each entry")
        sources, s = _compact("source", source_terms, s)
        targets, t = _compact("target", target_terms, t)
        return cls._of(source, target, sources, targets, s, t, forward, backward, origin)

    @classmethod
    def from_records(
        cls,
        source: str,
        target: str,
        sources: SortedTerms,
        targets: SortedTerms,
        source_records: Ids,
        target_records: Ids,
        p_ts: ArrayLike,
        p_st: ArrayLike,
        origins: ArrayLike | None = None,
    ) -> Table:
        """As :meth:`from_arrays`, of first records in place of ids."""
        forward = _probabilities("P(target|source)", p_ts)
        backward = _probabilities("P(source|target)", p_st)
        first, s = sources.vocabulary(source_records)
        second, t = targets.vocabulary(target_records)
        return cls._of(source, target, first, second, s, t, forward, backward, _origins(origins, len(s)))

    @classmethod
    def _of(
        cls,
        source: str,
        target: str,
        sources: Vocabulary,
        targets: Vocabulary,
        s: Ids,
        t: Ids,
        forward: NDArray[np.float32],
        backward: NDArray[np.float32],
        origin: NDArray[np.uint8],
    ) -> Table:
        order = np.lexsort((t, s))
        if len(s) and np.any((np.diff(s[order]) == 0) & (np.diff(t[order]) == 0)):
            raise ValueError("a pair of terms is given twice")
        by_source = _adjacency(len(sources), s, t, forward, backward, origin, order)
        del order  # eight bytes an entry, before there are as many again
        by_target = _adjacency(len(targets), t, s, backward, forward, origin, np.lexsort((s, t)))
        return cls(source, target, sources, targets, by_source, by_target)

    @classmethod
    def from_entries(cls, source: str, target: str, entries: Iterable[tuple[str, str, float, float]]) -> Table:
        """Build from (source term, target term, P(target|source), P(source|target)) in any order.

        Raises:
            ValueError: as in :meth:`from_arrays`.
        """
        sources, targets = TermRecords(), TermRecords()
        s, t, p_ts, p_st = array("i"), array("i"), array("d"), array("d")
        for source_term, target_term, forward, backward in entries:
            s.append(sources.add(source_term))
            t.append(targets.add(target_term))
            p_ts.append(forward)
            p_st.append(backward)
        first, second = sources.sort(), targets.sort()
        ids = first.first[np.frombuffer(s, np.int32)], second.first[np.frombuffer(t, np.int32)]
        return cls.from_records(source, target, first, second, *ids, np.frombuffer(p_ts), np.frombuffer(p_st))

    def translations(self, term: str, best: int | None = None, least_backward: float = 0.0) -> list[Entry]:
        """The translations of a source term, most probable first; empty for an unknown term.

        ``best`` limits their number, ``least_backward`` is the minimum of P(term | translation).
        """
        index = self.sources.index(term)
        if index < 0:
            return []
        side = self.by_source
        first, last = side.indptr[index : index + 2].tolist()
        forward, backward = side.forward[first:last].tolist(), side.backward[first:last].tolist()
        places: Iterable[int] = range(last - first)
        if least_backward:
            least = float(np.float32(least_backward))
            places = [place for place in places if backward[place] >= least]
        ordered = sorted(places, key=forward.__getitem__, reverse=True)[:best]
        ids, origins = side.ids[first:last], side.origins[first:last]
        return [
            Entry(self.targets[int(ids[place])], forward[place], backward[place], int(origins[place]))
            for place in ordered
        ]

    def inverse(self) -> Table:
        """The table from ``target`` to ``source``, as a view without copying."""
        return Table(self.target, self.source, self.targets, self.sources, self.by_target, self.by_source)

    def save(self, path: Path) -> None:
        """Write the table as safetensors, durably and atomically: readers see the old file or the new one.

        Raises:
            OSError: if it cannot be written; no partial file is left behind.
        """
        metadata = {
            "format": FORMAT,
            "format_version": FORMAT_VERSION,
            "source": self.source,
            "target": self.target,
            "source_terms": str(len(self.sources)),
            "target_terms": str(len(self.targets)),
            "entries": str(len(self)),
        }
        write_arrays(path, self._arrays(), metadata)

    def _arrays(self) -> dict[str, NDArray[np.generic]]:
        arrays: dict[str, NDArray[np.generic]] = {}
        for name, terms, side in (
            ("source", self.sources, self.by_source),
            ("target", self.targets, self.by_target),
        ):
            arrays[f"{name}_blob"] = terms.blob
            arrays[f"{name}_offsets"] = terms.offsets
            for field in Adjacency.__slots__:
                arrays[f"{name}_{field}"] = getattr(side, field)
        return arrays

    @classmethod
    def open(cls, path: Path, verify: bool = True) -> Table:
        """Map a saved table into memory, read-only. The file may be replaced or deleted later.

        ``verify`` reads the whole content and compares its checksum.

        Raises:
            FileNotFoundError: if there is no such file.
            CorruptTable: if the file is not a table, of another format version, truncated or altered.
        """
        arrays, metadata = read_arrays(path, verify)
        if metadata.get("format") != FORMAT or metadata.get("format_version") != FORMAT_VERSION:
            raise CorruptTable(path, f"not a translation table of format version {FORMAT_VERSION}")
        try:
            sides = [_side(arrays, name) for name in ("source", "target")]
            counts = [int(metadata[name]) for name in ("source_terms", "target_terms", "entries")]
            source, target = metadata["source"], metadata["target"]
        except (KeyError, ValueError, TypeError) as fault:
            raise CorruptTable(path, f"incomplete: {fault}") from fault
        (sources, by_source), (targets, by_target) = sides
        if counts != [len(sources), len(targets), len(by_source.ids)] or len(by_target.ids) != counts[2]:
            raise CorruptTable(path, "the counts do not match the content")
        return cls(source, target, sources, targets, by_source, by_target)


_DTYPES = {
    "blob": np.uint8,
    "offsets": np.int64,
    "indptr": np.int64,
    "ids": np.int32,
    "forward": np.float32,
    "backward": np.float32,
    "origins": np.uint8,
}


def _side(arrays: dict[str, NDArray[np.generic]], name: str) -> tuple[Vocabulary, Adjacency]:
    columns = {}
    for field, dtype in _DTYPES.items():
        columns[field] = arrays[f"{name}_{field}"]
        if columns[field].dtype != dtype or columns[field].ndim != 1:
            raise ValueError(f"{name}_{field} is not a list of {np.dtype(dtype)}")
    terms = Vocabulary(columns.pop("blob"), columns.pop("offsets"))  # type: ignore[arg-type]
    side = Adjacency(**columns)  # type: ignore[arg-type]
    if len(side.indptr) != len(terms) + 1 or side.indptr[-1] != len(side.ids):
        raise ValueError(f"the entries of the {name} terms are incomplete")
    if terms.offsets[-1] != len(terms.blob):
        raise ValueError(f"the {name} terms are incomplete")
    return terms, side


def _probabilities(name: str, values: ArrayLike) -> NDArray[np.float32]:
    probabilities = np.asarray(values)
    if not np.all((probabilities >= 0) & (probabilities <= 1)):
        raise ValueError(f"{name} must be between 0 and 1")
    return probabilities.astype(np.float32, copy=False)


def _origins(values: ArrayLike | None, entries: int) -> NDArray[np.uint8]:
    return np.zeros(entries, np.uint8) if values is None else np.asarray(values, dtype=np.uint8)


def _compact(side: str, terms: Sequence[str], ids: NDArray[np.int64]) -> tuple[Vocabulary, NDArray[np.int64]]:
    """The sorted vocabulary of the used terms, and ``ids`` mapped to it."""
    if len(ids) and not (ids.min() >= 0 and ids.max() < len(terms)):
        raise ValueError(f"a {side} id is out of range")
    used = np.unique(ids).tolist()
    if len(set(terms)) != len(terms):
        raise ValueError(f"a {side} term is given twice")
    order = sorted(used, key=terms.__getitem__)
    ranks = np.zeros(len(terms), dtype=np.int64)
    ranks[order] = np.arange(len(order))
    return Vocabulary.from_terms([terms[index] for index in order]), ranks[ids]


def _adjacency(
    terms: int,
    term_ids: Ids,
    other_ids: Ids,
    forward: NDArray[np.float32],
    backward: NDArray[np.float32],
    origins: NDArray[np.uint8],
    order: NDArray[np.int64],
) -> Adjacency:
    indptr = np.zeros(terms + 1, dtype=np.int64)
    np.cumsum(np.bincount(term_ids, minlength=terms), out=indptr[1:])
    return Adjacency(
        indptr, other_ids[order].astype(np.int32, copy=False), forward[order], backward[order], origins[order]
    )
