"""Documents in a Parquet file, by pyarrow where that is installed."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import date, datetime, time
from decimal import Decimal
from tempfile import TemporaryFile
from typing import IO, Any

from dragoman.engine.core.errors import InvalidRequest, UnsupportedMedia
from dragoman.installation import MissingPart, require
from dragoman.store.documents.formats.mapping import FieldMapping
from dragoman.store.documents.formats.rows import COLUMNS, Row, RowLimits, write_row

_ROWS_AT_ONCE = 64
_BUFFER = 1 << 20


def read_parquet(parts: Iterable[bytes], mapping: FieldMapping, limits: RowLimits) -> Iterator[Row]:
    """The rows of a file, numbered from 1. It is kept on disk meanwhile, since its end says how it is read.

    Raises (while iterating):
        UnsupportedMedia: pyarrow is not installed; the message says what to install.
        InvalidRequest: it is no Parquet file, is damaged, or lacks a column.
    """
    try:
        require("parquet", "reading Parquet")
    except MissingPart as fault:
        raise UnsupportedMedia(str(fault)) from fault
    with TemporaryFile(dir=limits.folder) as spool:
        for part in parts:
            spool.write(part)
        if not spool.tell():
            return
        spool.seek(0)
        yield from _read_rows(spool, mapping, limits)


def _read_rows(file: IO[bytes], mapping: FieldMapping, limits: RowLimits) -> Iterator[Row]:
    from pyarrow.parquet import ParquetFile

    with _faults_of("the file cannot be read as Parquet"):
        opened = ParquetFile(file, pre_buffer=False, buffer_size=_BUFFER)
        columns = list(opened.schema_arrow.names)
        unpacked = sum(opened.metadata.row_group(n).total_byte_size for n in range(opened.metadata.num_row_groups))
    if len(columns) > COLUMNS or opened.metadata.num_columns > COLUMNS:
        raise InvalidRequest(f"the file has {opened.metadata.num_columns} columns; at most {COLUMNS} are allowed")
    if unpacked > limits.unpacked_bytes:
        raise InvalidRequest(f"the file holds {unpacked} bytes unpacked; at most {limits.unpacked_bytes} are allowed")
    if repeated := next((name for place, name in enumerate(columns) if name in columns[:place]), None):
        raise InvalidRequest(f"the file has the column {repeated[:100]!r} twice")
    mapping.check_columns(columns)
    read = 0
    with _faults_of("the file is damaged"):
        batches = iter(opened.iter_batches(_ROWS_AT_ONCE, use_threads=False))
    while True:
        with _faults_of(f"the file is damaged after row {read}"):
            batch = next(batches, None)
            if batch is None:
                return
            rows = batch.to_pylist(maps_as_pydicts="strict")
        for fields in rows:
            read += 1
            yield _read_row(read, fields, limits)


@contextmanager
def _faults_of(what: str) -> Iterator[None]:
    from pyarrow import ArrowException

    try:
        yield
    except (ArrowException, OSError, ValueError) as fault:
        if isinstance(fault, OSError) and fault.errno:  # of the disk, and not of the file
            raise
        raise InvalidRequest(f"{what}: {fault}") from fault


def _read_row(line: int, fields: dict[str, Any], limits: RowLimits) -> Row:
    plain: dict[str, Any] = {}
    for name, content in fields.items():
        try:
            plain[name] = _to_plain(content)
        except (TypeError, ValueError) as fault:
            return Row(line, None, f"{name}: {fault}")
    return write_row(line, plain, limits)


def _to_plain(content: Any) -> Any:
    """A value as JSON has it: dates and times as text, NaN, which writers put for a missing number, as None.

    Raises:
        ValueError: JSON has nothing like it.
    """
    match content:
        case None | bool() | int() | str():
            return content
        case float():
            if math.isinf(content):
                raise ValueError("infinity cannot be stored")
            return None if math.isnan(content) else content
        case Decimal():
            return _to_number(content)
        case datetime() | date() | time():
            return content.isoformat()
        case dict():
            return {str(name): _to_plain(inner) for name, inner in content.items()}
        case list() | tuple():
            return [_to_plain(inner) for inner in content]
    raise ValueError(f"{type(content).__name__} cannot be stored")


def _to_number(decimal: Decimal) -> int | float:
    """
    Raises:
        ValueError: it has more digits than a number of JSON keeps.
    """
    if not decimal.is_finite():
        raise ValueError(f"{decimal} cannot be stored")
    if decimal == decimal.to_integral_value():
        return int(decimal)
    double = float(decimal)
    if Decimal(repr(double)) != decimal:
        raise ValueError(f"{decimal} has more digits than a number keeps; make it a text")
    return double
