"""Documents in a table of text: CSV (separated by commas, semicolons, tabs or bars) and TSV, with a header."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator
from itertools import chain

from dragoman.engine.core.errors import InvalidRequest
from dragoman.lexicon.formats.detection import separators
from dragoman.lexicon.formats.detection.encodings import Encoding
from dragoman.lexicon.formats.items import Limits, Rejection, TableFormatError
from dragoman.lexicon.formats.records import Record, records
from dragoman.lexicon.formats.streams import lines
from dragoman.store.documents.formats.mapping import FIELDS, OTHER_IDS, FieldMapping
from dragoman.store.documents.formats.rows import COLUMNS, Row, RowLimits, write_row

_UTF16 = {b"\xff\xfe": Encoding("UTF-16", "utf-16le"), b"\xfe\xff": Encoding("UTF-16", "utf-16be")}
_SEPARATORS = ",;\t|"


def read_delimited(
    head: bytes,
    parts: Iterable[bytes],
    separator: str | None,
    mapping: FieldMapping,
    limits: RowLimits,
    encoding_name: str = "UTF-8",
) -> Iterator[Row]:
    """The rows of a table that begins with ``head``; without ``separator`` the header shows it.

    A row with another number of cells than the header is rejected, but for empty ones at its end. In TSV a cell that
    takes in whole rows is as well: the quote that begins it mostly is a character. Faults name the encoding as
    ``encoding_name``, in which the table was sent.

    Raises (while iterating):
        InvalidRequest: it is no text, or its header lacks a column.
    """
    tabs = separator == "\t"
    encoding = _UTF16.get(head[:2], Encoding(encoding_name, "utf-8"))
    table_limits = Limits(line_bytes=limits.row_bytes, record_lines=limits.row_bytes)
    csv.field_size_limit(max(csv.field_size_limit(), limits.row_bytes))
    try:
        numbered = lines(iter(parts), table_limits, encoding)
        first = next(numbered, None)
        if isinstance(first, tuple) and (said := separators.parse_separator_line(first[1])) is not None:
            separator, first = separator or said, next(numbered, None)
        if first is None:
            return
        if isinstance(first, Rejection):
            raise InvalidRequest(f"the header: {first.reason}")
        separator = separator or _detect_separator(first[1], mapping)
        cut = records(chain([first], numbered), separator, table_limits)
        if (header := next(cut, None)) is None:
            return
        if isinstance(header, Rejection):
            raise InvalidRequest(f"the header: {header.reason}")
        columns = _name_columns(header, mapping)
        for record in cut:
            yield _read_row(record, columns, limits, tabs=tabs)
    except TableFormatError as fault:
        raise InvalidRequest(fault.reason) from fault


def _detect_separator(header: str, mapping: FieldMapping) -> str:
    """What cuts the header into most columns that are known, or else into most."""
    known_names = {*FIELDS, *OTHER_IDS, *mapping.targets}

    def count(separator: str) -> tuple[int, int]:
        try:
            cells = next(csv.reader([header], delimiter=separator), [])
        except csv.Error:
            return 0, 0
        return sum(cell.strip().lower() in known_names or cell in known_names for cell in cells), len(cells)

    return max(_SEPARATORS, key=count)


def _name_columns(header: Record, mapping: FieldMapping) -> list[str]:
    """The names of the columns; one without a name has its place for one, as ``column_1``.

    Raises:
        InvalidRequest: there are too many, two of one name, or one is missing.
    """
    if len(header.cells) > COLUMNS:
        raise InvalidRequest(f"the header has {len(header.cells)} columns; at most {COLUMNS} are allowed")
    columns = [cell.strip() or f"column_{place}" for place, cell in enumerate(header.cells, 1)]
    if repeated := next((name for place, name in enumerate(columns) if name in columns[:place]), None):
        raise InvalidRequest(f"the header has the column {repeated[:100]!r} twice")
    mapping.check_columns(columns)
    return columns


def _read_row(record: Record | Rejection, columns: list[str], limits: RowLimits, *, tabs: bool) -> Row:
    if isinstance(record, Rejection):
        return Row(record.line, None, record.reason)
    cells = record.cells
    if tabs and any("\n" in cell and _takes_rows(cell, place, cells, columns) for place, cell in enumerate(cells)):
        return Row(record.line, None, "a quote begins a cell that would take in further rows")
    if len(cells) < len(columns) or any(cells[len(columns) :]):
        return Row(record.line, None, f"has {len(cells)} cells, and the header {len(columns)}")
    return write_row(record.line, dict(zip(columns, cells, strict=False)), limits)


def _takes_rows(cell: str, place: int, cells: list[str], columns: list[str]) -> bool:
    """Whether the lines of a cell, with the cells before and after it, would be rows by themselves."""
    return "\t" in cell or (place + 1 >= len(columns) and len(cells) - place >= len(columns))
