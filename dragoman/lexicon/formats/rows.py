"""From the rows of a file of columns to entries: the layout is decided by the first rows, the others stream."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice

from dragoman import deadline
from dragoman.lexicon.formats.cells import (
    P_ST,
    P_TS,
    is_nothing,
    pairs,
    probability,
    says_nothing,
    term_of,
    unescape,
    without_notes,
)
from dragoman.lexicon.formats.detection.columns import Columns, Layout
from dragoman.lexicon.formats.detection.direction import Witness
from dragoman.lexicon.formats.detection.names import language_of_code, same
from dragoman.lexicon.formats.items import (
    Choices,
    Detected,
    Header,
    Limits,
    Notice,
    RawEntry,
    ReadEvent,
    Rejected,
    Rejection,
)
from dragoman.lexicon.formats.records import NAMES, Record

SAMPLE = 1000
"""So many rows decide the layout."""
_AHEAD_ROWS = 50_000
_AHEAD_BYTES = 16_000_000
"""What is read to find rows of words, where a file begins with others."""
_ROW_BYTES, _CELL_BYTES = 200, 60
"""What a row takes in memory, and each of its cells besides its characters."""
_FEW = 12
"""Distinct cells of a column that names categories, not words."""
_CHECK_EVERY = 2000
_LETTER, _DIGIT = re.compile(r"[^\W\d_]"), re.compile(r"\d")
_SPACES = re.compile("[ \t\r\n\xa0]+")


@dataclass(frozen=True, slots=True)
class Manner:
    """How the cells of a format are read."""

    format: str
    encoding: str | None = None
    separator: str | None = None
    single: bool = False
    """Cells are single words, as Moses and GIZA write them."""
    dictionary: bool = False
    """Cells have the notes of dict.cc."""


Decide = Callable[[list[Record]], Layout]


def read_rows(
    rows: Iterable[Record | Rejection],
    manner: Manner,
    languages: tuple[str, str],
    choices: Choices,
    limits: Limits,
    witness: Witness,
    decide: Decide | None = None,
) -> Iterator[ReadEvent]:
    """The entries, header, notices and rejections of rows; ``decide`` makes another layout than :class:`Columns`.

    Raises (while iterating):
        TableFormatError: it is not clear what the columns are.
    """
    source = iter(rows)
    first, sample = _read_ahead(source)
    layout = (decide or Columns(languages, choices, witness).layout)(sample)
    yield Detected(
        manner.format,
        manner.encoding,
        manner.separator,
        layout.decimal,
        tuple(layout.roles),
        tuple(layout.languages),
    )
    if layout.header is not None:
        yield Header(layout.header)
    yield from layout.notices
    reader = _Rows(layout, manner, languages, limits)
    for row in deadline.check_each(chain(first, source), interval=_CHECK_EVERY):
        if isinstance(row, Rejection):
            yield row
        elif row.line < layout.data_from:
            if row.line < layout.header_line and any(cell.strip() for cell in row.cells):
                yield Notice(row.line, "the line is above the header and is ignored")
        else:
            yield from reader.entries(row)


def _read_ahead(source: Iterator[Record | Rejection]) -> tuple[list[Record | Rejection], list[Record]]:
    """The rows that were read, and those of them that decide the layout.

    A sorted file begins with numbers and codes, maybe thousands of them: they say nothing of its words.
    """
    first = list(islice(source, SAMPLE))
    sample = [row for row in first if isinstance(row, Record)]
    categories = _categories(sample)
    telling = [row for row in sample if _has_words(row, categories)]
    if 2 * len(telling) >= len(sample):
        return first, sample
    size = sum(map(_size, first))
    for row in deadline.check_each(source, interval=_CHECK_EVERY):
        first.append(row)
        size += _size(row)
        if isinstance(row, Record) and _has_words(row, categories):
            telling.append(row)
        if len(telling) >= SAMPLE or len(first) >= _AHEAD_ROWS or size >= _AHEAD_BYTES:
            break
    return first, [*sample[:1], *(row for row in telling if row is not sample[0])] if telling else sample


def _size(row: Record | Rejection) -> int:
    return _ROW_BYTES + sum(len(cell) + _CELL_BYTES for cell in row.cells) if isinstance(row, Record) else _ROW_BYTES


def _categories(sample: Sequence[Record]) -> dict[int, set[str]]:
    """The cells of the columns that hold few distinct ones: parts of speech, subjects, codes of languages."""
    if len(sample) < 4 * _FEW:
        return {}
    held: dict[int, set[str]] = {}
    for row in sample:
        for place, cell in enumerate(row.cells):
            held.setdefault(place, set()).add(cell)
    return {place: cells for place, cells in held.items() if len(cells) <= _FEW}


def _has_words(row: Record, categories: Mapping[int, set[str]]) -> bool:
    words = ((place, cell) for place, cell in enumerate(row.cells) if _LETTER.search(cell) and not _DIGIT.search(cell))
    return sum(1 for place, cell in words if cell not in categories.get(place, ())) > 1


def _is_plain(term: str) -> bool:
    """Whether a term is letters and digits, in words with single spaces between, and says not that there is none."""
    if term.isalnum():
        return len(term) != 3 or not is_nothing(term)
    return "  " not in term and term.replace(" ", "").isalnum()


class _Rows:
    def __init__(self, layout: Layout, manner: Manner, languages: tuple[str, str], limits: Limits) -> None:
        self._manner = manner
        self._limits = limits
        self._languages = languages
        self._decimal = layout.decimal
        self._source, self._target = layout.places("source"), layout.places("target")
        self._p_ts = next(iter(layout.places("probability")), None)
        self._p_st = next(iter(layout.places("inverse_probability")), None)
        codes = layout.places("source_language") + layout.places("target_language")
        self._codes = codes if len(codes) == 2 else []
        self._needed = max(self._source[0], self._target[0]) + 1
        used = {*self._source, *self._target, self._p_ts, self._p_st}
        last = len(layout.roles) - 1
        self._open = last not in used
        self._simple = len(self._source) == len(self._target) == 1 and not self._codes and not manner.single
        self._width = len(layout.roles)

    def entries(self, row: Record) -> Iterable[ReadEvent]:
        """The entries of a row, or why it is none."""
        plain = self._plain_entry(row) if self._simple else None
        return self._entries(row) if plain is None else (plain,)

    def _plain_entry(self, row: Record) -> RawEntry | None:
        """The entry of a row of the usual kind, as most of large files are: two terms of letters and digits."""
        line, cells = row
        if len(cells) != self._width:
            return None
        source, target = cells[self._source[0]].strip(), cells[self._target[0]].strip()
        if (
            not (_is_plain(source) and _is_plain(target))
            or max(len(source), len(target)) > self._limits.term_characters
        ):
            return None
        if self._p_ts is None and self._p_st is None:
            return RawEntry(line, source, target, None, None)
        try:
            return RawEntry(
                line,
                source,
                target,
                self._probability(P_TS, self._p_ts, cells),
                self._probability(P_ST, self._p_st, cells),
            )
        except Rejected:
            return None

    def _entries(self, row: Record) -> Iterator[ReadEvent]:
        try:
            cells = self._cells(row)
            if cells is None:
                return
            yield from self._pairs(row.line, cells)
        except Rejected as fault:
            yield Rejection(row.line, str(fault))

    def _cells(self, row: Record) -> list[str] | None:
        """The cells of a row that is not empty, with as many as the file has columns.

        Raises:
            Rejected: it has fewer than needed, or more.
        """
        cells = row.cells
        if cells[0].startswith("#") and self._is_comment(row):
            return None
        if len(cells) != self._width:
            count = len(cells)
            while count > self._width and not cells[count - 1].strip():
                count -= 1
            if not any(cell.strip() for cell in cells):
                return None
            if count < self._needed or self._manner.single or (count > self._width and not self._open):
                raise Rejected(self._describe_columns(count))
            cells = [*cells[:count], *[""] * (self._width - count)]
        elif not any(cell and not cell.isspace() for cell in cells):
            return None
        return cells

    def _is_comment(self, row: Record) -> bool:
        return row.cells[0].startswith("# ") and not any(cell.strip() for cell in row.cells[1:])

    def _describe_columns(self, count: int) -> str:
        if self._manner.single:
            columns = "source, target" + ("" if self._p_ts is None and self._p_st is None else f", {P_TS}")
            width = 2 + (self._p_ts is not None or self._p_st is not None)
            by = "a space" if width == 2 else "spaces"
            return f"expected {width} columns separated by {by} ({columns}), found {count}"
        if self._width > 4 or self._needed > 2 or count > self._width:
            return f"expected {self._needed} to {max(self._width, self._needed)} columns, found {count}"
        name = NAMES.get(self._manner.separator or "", "")
        by = f" separated by {name}" if name else ""
        return f"expected 2 to 4 columns{by} (source, target, {P_TS}, {P_ST}), found {count}"

    def _pairs(self, line: int, cells: list[str]) -> Iterator[ReadEvent]:
        p_ts = self._probability(P_TS, self._p_ts, cells)
        p_st = self._probability(P_ST, self._p_st, cells)
        swapped = self._is_swapped(cells)
        for i in self._source:
            for j in self._target:
                source, target = cells[i].strip(), cells[j].strip()
                if (j != self._target[0] and not target) or (i != self._source[0] and not source):
                    continue
                if swapped:
                    source, target = target, source
                yield from self._of_cells(line, source, target, p_ts, p_st)

    def _of_cells(
        self, line: int, source: str, target: str, p_ts: float | None, p_st: float | None
    ) -> Iterator[ReadEvent]:
        if self._manner.single:
            if "NULL" in (source, target):
                raise Rejected("NULL stands for no word")
            source, target = unescape(source), unescape(target)
            yield RawEntry(line, self._term("source", source), self._term("target", target), p_ts, p_st)
            return
        for side, cell in (("source", source), ("target", target)):
            if says_nothing(cell):
                raise Rejected(f"the {side} is {cell!r}, which is no term")
        source = without_notes(source, self._manner.dictionary)
        target = without_notes(target, self._manner.dictionary)
        lines = "\n" in source.strip() or "\n" in target.strip()
        if p_ts is not None or p_st is not None or self._manner.dictionary:
            source, target = _SPACES.sub(" ", source), _SPACES.sub(" ", target)
            yield RawEntry(line, self._term("source", source), self._term("target", target), p_ts, p_st)
            return
        if lines:
            yield Notice(line, "a cell has several lines, each of which is read as a term")
        for source_term, target_term in pairs(source.strip(), target.strip()):
            source_term, target_term = _SPACES.sub(" ", source_term), _SPACES.sub(" ", target_term)
            yield RawEntry(line, self._term("source", source_term), self._term("target", target_term), None, None)

    def _term(self, side: str, term: str) -> str:
        return term_of(side, term, self._limits)

    def _probability(self, name: str, place: int | None, cells: list[str]) -> float | None:
        if place is None or place >= len(cells) or not cells[place].strip():
            return None
        return probability(name, cells[place], self._decimal)

    def _is_swapped(self, cells: list[str]) -> bool:
        """Whether the languages that a row names are the other way round.

        Raises:
            Rejected: they are others.
        """
        if not self._codes:
            return False
        codes = [cells[place].strip() for place in self._codes]
        if not all(codes):
            return False
        row_languages = tuple(language_of_code(code) for code in codes)
        table_languages = tuple(same(code) for code in self._languages)
        if row_languages == table_languages:
            return False
        if row_languages == table_languages[::-1]:
            return True
        raise Rejected(f"the entry is from {codes[0][:20]} to {codes[1][:20]}")
