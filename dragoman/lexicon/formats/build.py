"""From the entries of an uploaded file to a translation table with both directions."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from dragoman.lexicon.formats.items import (
    REJECTIONS_NAMED,
    ROWS_KEPT,
    Detected,
    Header,
    Notice,
    RawEntry,
    ReadEvent,
    Rejection,
    TableFormatError,
    quote,
    without_entries,
)
from dragoman.lexicon.table.table import Table
from dragoman.lexicon.table.terms import SortedTerms, TermRecords
from dragoman.lexicon.table.written import WrittenForms, WrittenSide
from dragoman.lexicon.text.tokens import fold_term

Floats = NDArray[np.float64]
Stored = NDArray[np.float32]
Ids = NDArray[np.int32]

_CACHED_TERMS = 1 << 17
_ROUNDING = 1e-7
"""More than the relative rounding of numbers of 32 bits."""


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
    written: WrittenForms = field(default_factory=WrittenForms.none)
    """How the terms of the table's entries were written."""
    probabilities: bool = True
    """Whether any probability was given; if none was, the table follows from its pairs alone."""

    @property
    def source_terms(self) -> int:
        """Distinct source terms of the table."""
        return len(self.table.sources)

    @property
    def entries(self) -> int:
        """Pairs of terms in the table."""
        return len(self.table)


_DOTLESS = {ord("I"): "ı", ord("İ"): "i"}


def is_capitals(written: str, key: str) -> bool:
    """Whether a term is written in capitals alone, at least two, and differs from its folded form only in case."""
    if not written.isupper() or sum(character.isalpha() for character in written) < 2:
        return False
    return key in (written.lower(), written.casefold(), written.translate(_DOTLESS).lower())


def normalise(raw: Iterable[ReadEvent], source: str, target: str, threshold: float = 1e-4) -> Normalised:
    """Fold the terms, complete and normalise the probabilities, and prune.

    1. Terms are folded (:func:`~dragoman.lexicon.text.tokens.fold_term`); an entry with a term without a word is left
       out with a warning. Probabilities of pairs that become equal are added. Such a pair keeps how it was written
       first, unless that was in capitals alone and another was not.
    2. A pair without any probability gets 1/n of its source term's n pairs.
    3. A missing direction is derived by normalising the other: P(t|s) = P(s|t) / sum_t' P(s|t'), and
       P(s|t) = P(t|s) / sum_s' P(t|s').
    4. Where a term's probabilities sum to more than 1 they are divided by their sum.
    5. Pairs with both probabilities under ``threshold`` are pruned.

    Raises:
        TableFormatError: if no entry is left, with the first lines that were left out.
        Everything that ``raw`` raises.
    """
    collected = _Collector(source, target)
    for event in raw:
        collected.add(event)
    return collected.normalise(threshold)


class _Terms:
    """Records of the folded terms of one language, one for each way in which they are written."""

    def __init__(self, language: str) -> None:
        self._language = language
        self._records = TermRecords()
        self._recent: dict[str, int] = {}
        self._texts = TermRecords()
        self._written = array("i")
        """For each record that of its term as written among the texts; -1 if it is written as it is folded."""
        self._capitals = bytearray()

    def record_number(self, term: str) -> int:
        """The number of a record of the folded term, or -1 for a term without a word."""
        record = self._recent.get(term)
        if record is None:
            if len(self._recent) >= _CACHED_TERMS:
                self._recent.clear()
            folded = fold_term(term, self._language)
            record = self._recent[term] = self._record(term, folded) if folded else -1
        return record

    def _record(self, term: str, folded: str) -> int:
        self._written.append(-1 if term == folded else self._texts.append(term))
        self._capitals.append(is_capitals(term, folded))
        return self._records.append(folded)

    def sort(self) -> SortedTerms:
        self._recent.clear()
        return self._records.sort()

    def forget(self) -> None:
        """Let go of how each record is written."""
        self._written, self._capitals = array("i"), bytearray()

    @property
    def any_written(self) -> bool:
        """Whether any term is written otherwise than it is folded."""
        return len(self._texts.arrays()[1]) > 1

    def capitals(self, records: Ids) -> NDArray[np.uint8]:
        """Whether the terms of these records are written in capitals."""
        return np.frombuffer(self._capitals, np.uint8)[records]

    def side(self, records: Ids) -> WrittenSide:
        """How the terms of these records, one for each entry of a table, are written."""
        texts = np.frombuffer(self._written, np.int32)[records]
        entries = np.flatnonzero(texts >= 0).astype(np.int32)
        return WrittenSide(entries, texts[entries], *self._texts.arrays())


class _Collector:
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
        self.probabilities = False
        self.wordless = 0
        """Entries without a searchable word, which are among the warnings."""
        self._left_out: list[Rejection] = []
        self._s = array("i")
        self._t = array("i")
        self._p_ts = array("d")
        self._p_st = array("d")

    def add(self, event: ReadEvent) -> None:
        if not isinstance(event, RawEntry):
            self._note(event)
            return
        line, source, target, p_ts, p_st = event
        s = self._sources.record_number(source)
        t = self._targets.record_number(target)
        if s < 0 or t < 0:
            side, term = ("source", source) if s < 0 else ("target", target)
            notice = Notice(line, f"the {side} {quote(term)} has no searchable word; the entry is left out")
            self._note(notice)
            self.wordless += 1
            self._leave_out(Rejection(line, notice.reason))
            return
        self._s.append(s)
        self._t.append(t)
        self.probabilities |= p_ts is not None or p_st is not None
        self._p_ts.append(np.nan if p_ts is None else p_ts)
        self._p_st.append(np.nan if p_st is None else p_st)

    def _note(self, event: ReadEvent) -> None:
        """Keep what is no entry."""
        if isinstance(event, Rejection):
            self._reject(event)
        elif isinstance(event, Notice):
            self.warnings_count += 1
            if len(self.warnings) < ROWS_KEPT:
                self.warnings.append(event)
        elif isinstance(event, Header):
            self.header = event.columns
        elif isinstance(event, Detected):
            self.detected = event

    def _reject(self, rejection: Rejection) -> None:
        self.rejected_count += 1
        if len(self.rejected) < ROWS_KEPT:
            self.rejected.append(rejection)
        self._leave_out(rejection)

    def _leave_out(self, line: Rejection) -> None:
        if len(self._left_out) < REJECTIONS_NAMED:
            self._left_out.append(line)

    def normalise(self, threshold: float) -> Normalised:
        """The table of all entries. It frees them on its way, so it can be called once."""
        sources, targets = self._sources.sort(), self._targets.sort()
        s, t, p_ts, p_st, written = self._pairs(sources.ranks(), targets.ranks())
        forward, backward = _both_directions(s, t, p_ts, p_st)
        selected = np.maximum(forward, backward) >= np.float32(threshold)
        pruned = int(np.sum(~selected))
        if pruned == len(selected):
            raise self._nothing_left()
        if pruned:
            s, t, forward, backward = s[selected], t[selected], forward[selected], backward[selected]
        forms = WrittenForms.none()
        if written is not None:  # pairs are in the order of the table's entries
            first, second = (records[selected] if pruned else records for records in written)
            forms = WrittenForms(self._sources.side(first), self._targets.side(second))
        del written, selected
        self._sources.forget()
        self._targets.forget()
        s, t = sources.firsts(s), targets.firsts(t)
        table = Table.from_records(*self._languages, sources, targets, s, t, forward, backward)
        return Normalised(
            table,
            self.rejected,
            self.rejected_count,
            pruned,
            self.header,
            self.warnings,
            self.warnings_count,
            self.detected,
            forms,
            self.probabilities or pruned > 0,
        )

    def _nothing_left(self) -> TableFormatError:
        """The error of a file without a usable entry."""
        if not self._left_out:
            return TableFormatError("the file holds no entry with a probability above the threshold")
        return without_entries(self._left_out, self.rejected_count + self.wordless)

    def _pairs(self, first: Ids, second: Ids) -> tuple[Ids, Ids, Floats, Floats, tuple[Ids, Ids] | None]:
        """The distinct pairs, ascending, with the sums of their given probabilities, NaN where none was given.

        ``first`` and ``second`` number the terms of the records in their order. Last come the records of both terms of
        each pair as it was written, or None if all are written as they are folded.
        """
        width = len(second) + 1
        keys = first[np.frombuffer(self._s, np.int32)].astype(np.int64)
        keys *= width
        keys += second[np.frombuffer(self._t, np.int32)]
        del first, second
        any_written = self._sources.any_written or self._targets.any_written
        if not any_written:
            self._s, self._t = array("i"), array("i")
        order = np.argsort(keys, kind="stable")
        keys = keys[order]
        begins = np.ones(len(keys), bool)
        np.not_equal(keys[1:], keys[:-1], out=begins[1:])
        written = self._as_written(order, begins) if any_written else None
        p_ts = _sums(np.frombuffer(self._p_ts)[order], begins)
        self._p_ts = array("d")
        p_st = _sums(np.frombuffer(self._p_st)[order], begins)
        self._p_st = array("d")
        del order
        keys = keys[begins]
        return (keys // width).astype(np.int32), (keys % width).astype(np.int32), p_ts, p_st, written

    def _as_written(self, order: NDArray[np.intp], begins: NDArray[np.bool_]) -> tuple[Ids, Ids]:
        """The records of each pair's terms: of its first entry, or of the first with fewest terms in capitals."""
        s, t = np.frombuffer(self._s, np.int32), np.frombuffer(self._t, np.int32)
        self._s, self._t = array("i"), array("i")
        if begins.all():
            return s[order], t[order]
        capitals = self._sources.capitals(s) + self._targets.capitals(t)
        places = np.arange(len(order)) + len(order) * capitals[order].astype(np.int64)
        chosen = order[np.minimum.reduceat(places, np.flatnonzero(begins)) % len(order)]
        return s[chosen], t[chosen]


def _sums(values: Floats, begins: NDArray[np.bool_]) -> Floats:
    """The sum of the given values of each run, which begins where ``begins`` is true; NaN if none was given."""
    if begins.all():
        return values
    runs = np.cumsum(begins) - 1
    present = ~np.isnan(values)
    counts = np.bincount(runs[present], minlength=int(runs[-1]) + 1)
    total = np.bincount(runs[present], values[present], minlength=len(counts))
    return np.where(counts > 0, total, np.nan)


def _both_directions(s: Ids, t: Ids, p_ts: Floats, p_st: Floats) -> tuple[Stored, Stored]:
    bare = np.isnan(p_ts) & np.isnan(p_st)
    shares = 1.0 / np.maximum(np.bincount(s), 1)
    forward = np.where(bare, shares[s], np.where(np.isnan(p_ts), _divide_by_sums(s, p_st), p_ts))
    backward = np.where(np.isnan(p_st), _divide_by_sums(t, forward), p_st)
    return _at_most_one(s, forward), _at_most_one(t, backward)


def _divide_by_sums(owner: Ids, values: Floats) -> Floats:
    """Each value over the sum of its owner's known values; 0 where that is 0, NaN where it is unknown."""
    totals = np.bincount(owner, np.nan_to_num(values))[owner]
    return np.divide(values, totals, out=np.where(np.isnan(values), np.nan, 0.0), where=totals > 0)


def _at_most_one(owner: Ids, values: Floats) -> Stored:
    """The values as they are stored, divided by their owner's sum where that exceeds 1 by more than their rounding.

    So what was stored once comes out as it is.
    """
    stored = values.astype(np.float32)
    sums = np.bincount(owner, stored)
    if (sums <= 1 + _ROUNDING).all():
        return np.minimum(stored, np.float32(1.0))
    divisors = np.where(sums > 1 + _ROUNDING, np.bincount(owner, values), 1.0)
    return np.minimum(1.0, values / np.maximum(1.0, divisors)[owner]).astype(np.float32)
