"""From the entries of an uploaded file to a translation table with both directions."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dragoman.lexicon.formats.items import (
    ROWS_KEPT,
    Detected,
    Header,
    Item,
    Notice,
    RawEntry,
    Rejection,
    TableFormatError,
    without_entries,
)
from dragoman.lexicon.table.table import Table
from dragoman.lexicon.table.terms import SortedTerms, TermRecords
from dragoman.lexicon.text.tokens import fold_term

Floats = NDArray[np.float64]
Ids = NDArray[np.int32]

_CACHED_TERMS = 1 << 17


@dataclass(frozen=True, slots=True)
class Normalised:
    """A table made from a file, and what was left out of it."""

    table: Table
    rejected: list[Rejection]
    """The first :data:`~dragoman.lexicon.formats.items.ROWS_KEPT` rejections, in file order."""
    rejected_count: int
    """All rejections."""
    pruned: int
    """Entries dropped because both probabilities were under the threshold."""
    header: tuple[str, ...] | None = None
    """The names of the file's columns, if it has a header."""
    warnings: Sequence[Notice] = ()
    """The first of what was passed over, or taken for what it may not be, in file order."""
    warnings_count: int = 0
    """All such notices."""
    detected: Detected | None = None
    """How the file was read."""

    @property
    def source_terms(self) -> int:
        """Distinct source terms of the table."""
        return len(self.table.sources)

    @property
    def entries(self) -> int:
        """Pairs of terms in the table."""
        return len(self.table)


def normalise(raw: Iterable[Item], source: str, target: str, threshold: float = 1e-4) -> Normalised:
    """Fold the terms, complete and normalise the probabilities, and prune.

    1. Terms are folded (:func:`~dragoman.lexicon.text.tokens.fold_term`); a term without a word is a rejection.
       Probabilities of pairs that become equal are added.
    2. A pair without any probability gets 1/n of its source term's n pairs.
    3. A missing direction is derived by normalising the other: P(t|s) = P(s|t) / sum_t' P(s|t'), and
       P(s|t) = P(t|s) / sum_s' P(t|s').
    4. Where a term's probabilities sum to more than 1 they are divided by their sum.
    5. Pairs with both probabilities under ``threshold`` are pruned.

    Raises:
        TableFormatError: if no entry is left, with the first rejections.
        Everything that ``raw`` raises.
    """
    collected = _Collected(source, target)
    for item in raw:
        collected.add(item)
    return collected.normalised(threshold)


class _Terms:
    """Records of the folded terms of one language."""

    def __init__(self, language: str) -> None:
        self._language = language
        self._records = TermRecords()
        self._recent: dict[str, int] = {}

    def number(self, term: str) -> int:
        """The number of a record of the folded term, or -1 for a term without a word."""
        number = self._recent.get(term)
        if number is None:
            if len(self._recent) >= _CACHED_TERMS:
                self._recent.clear()
            folded = fold_term(term, self._language)
            number = self._recent[term] = self._records.add(folded) if folded else -1
        return number

    def sort(self) -> SortedTerms:
        self._recent.clear()
        return self._records.sort()


class _Collected:
    """All entries of a file as arrays; a missing probability is NaN."""

    def __init__(self, source: str, target: str) -> None:
        self._languages = source, target
        self._sources = _Terms(source)
        self._targets = _Terms(target)
        self.rejected: list[Rejection] = []
        self.rejected_count = 0
        self.header: tuple[str, ...] | None = None
        self.warnings: list[Notice] = []
        self.warnings_count = 0
        self.detected: Detected | None = None
        self._s = array("i")
        self._t = array("i")
        self._p_ts = array("d")
        self._p_st = array("d")

    def add(self, item: Item) -> None:
        if not isinstance(item, RawEntry):
            self._note(item)
            return
        line, source, target, p_ts, p_st = item
        s = self._sources.number(source)
        t = self._targets.number(target)
        if s < 0 or t < 0:
            side, term = ("source", source) if s < 0 else ("target", target)
            self._reject(Rejection(line, f"the {side} {term[:40]!r} holds no word"))
            return
        self._s.append(s)
        self._t.append(t)
        self._p_ts.append(np.nan if p_ts is None else p_ts)
        self._p_st.append(np.nan if p_st is None else p_st)

    def _note(self, item: Item) -> None:
        """Keep what is no entry."""
        if isinstance(item, Rejection):
            self._reject(item)
        elif isinstance(item, Notice):
            self.warnings_count += 1
            if len(self.warnings) < ROWS_KEPT:
                self.warnings.append(item)
        elif isinstance(item, Header):
            self.header = item.columns
        elif isinstance(item, Detected):
            self.detected = item

    def _reject(self, rejection: Rejection) -> None:
        self.rejected_count += 1
        if len(self.rejected) < ROWS_KEPT:
            self.rejected.append(rejection)

    def normalised(self, threshold: float) -> Normalised:
        """The table of all entries. It frees them on its way, so it can be called once."""
        sources, targets = self._sources.sort(), self._targets.sort()
        s, t, p_ts, p_st = self._pairs(sources, targets)
        p_ts, p_st = _both_directions(s, t, p_ts, p_st)
        kept = np.maximum(p_ts, p_st) >= threshold
        pruned = int(np.sum(~kept))
        if pruned == len(kept):
            raise self._nothing_left()
        p_ts, p_st = p_ts.astype(np.float32), p_st.astype(np.float32)
        if pruned:
            s, t, p_ts, p_st = s[kept], t[kept], p_ts[kept], p_st[kept]
        table = Table.from_records(*self._languages, sources, targets, s, t, p_ts, p_st)
        return Normalised(
            table,
            self.rejected,
            self.rejected_count,
            pruned,
            self.header,
            self.warnings,
            self.warnings_count,
            self.detected,
        )

    def _nothing_left(self) -> TableFormatError:
        """The error of a file without a usable entry."""
        if not self.rejected:
            return TableFormatError("the file holds no entry with a probability above the threshold")
        return without_entries(self.rejected, self.rejected_count)

    def _pairs(self, sources: SortedTerms, targets: SortedTerms) -> tuple[Ids, Ids, Floats, Floats]:
        """The distinct pairs with the sums of their given probabilities, NaN where none was given."""
        width = max(1, len(targets.first))
        keys = sources.first[np.frombuffer(self._s, np.int32)].astype(np.int64)
        keys *= width
        keys += targets.first[np.frombuffer(self._t, np.int32)]
        self._s, self._t = array("i"), array("i")
        order = np.argsort(keys, kind="stable")
        keys = keys[order]
        begins = np.ones(len(keys), bool)
        np.not_equal(keys[1:], keys[:-1], out=begins[1:])
        p_ts = _sums(np.frombuffer(self._p_ts)[order], begins)
        self._p_ts = array("d")
        p_st = _sums(np.frombuffer(self._p_st)[order], begins)
        self._p_st = array("d")
        del order
        keys = keys[begins]
        return (keys // width).astype(np.int32), (keys % width).astype(np.int32), p_ts, p_st


def _sums(given: Floats, begins: NDArray[np.bool_]) -> Floats:
    """The sum of the given values of each run, which begins where ``begins`` is true; NaN if none was given."""
    if begins.all():
        return given
    runs = np.cumsum(begins) - 1
    known = ~np.isnan(given)
    counts = np.bincount(runs[known], minlength=int(runs[-1]) + 1)
    total = np.bincount(runs[known], given[known], minlength=len(counts))
    return np.where(counts > 0, total, np.nan)


def _both_directions(s: Ids, t: Ids, p_ts: Floats, p_st: Floats) -> tuple[Floats, Floats]:
    bare = np.isnan(p_ts) & np.isnan(p_st)
    shares = 1.0 / np.maximum(np.bincount(s), 1)
    forward = np.where(bare, shares[s], np.where(np.isnan(p_ts), _normalised(s, p_st), p_ts))
    backward = np.where(np.isnan(p_st), _normalised(t, forward), p_st)
    return _at_most_one(s, forward), _at_most_one(t, backward)


def _normalised(owner: Ids, values: Floats) -> Floats:
    """Each value over the sum of its owner's known values; 0 where that is 0, NaN where it is unknown."""
    totals = np.bincount(owner, np.nan_to_num(values))[owner]
    return np.divide(values, totals, out=np.where(np.isnan(values), np.nan, 0.0), where=totals > 0)


def _at_most_one(owner: Ids, values: Floats) -> Floats:
    return np.minimum(1.0, values / np.maximum(1.0, np.bincount(owner, values)[owner]))
