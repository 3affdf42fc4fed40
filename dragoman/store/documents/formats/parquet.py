"""Documents in a Parquet file, by pyarrow where that is installed."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import date, datetime, time
from decimal import Decimal
from tempfile import TemporaryFile
from typing import IO, Any

import numpy as np

from dragoman.engine.core.errors import InvalidRequest, UnsupportedMedia
from dragoman.installation import MissingPart, require
from dragoman.store.documents.formats.mapping import FieldMapping
from dragoman.store.documents.formats.parquet_pages import measure_unpacked
from dragoman.store.documents.formats.rows import COLUMNS, Row, RowLimits, write_row

_ROWS_AT_ONCE = 64
_BUFFER = 1 << 20
_UNPACKED_AT_ONCE = 1 << 28
_RATIO_FROM = 1 << 24
_BATCH_BYTES = 1 << 25
_FAULTS = (ArithmeticError, LookupError, TypeError, ValueError)
"""What pyarrow raises of values that it cannot convert; its own exceptions are such, too."""
_WIDEST = 8
"""Bytes of a value in Arrow for one of JSON, at most."""


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
        if not (size := spool.tell()):
            return
        spool.seek(0)
        yield from _read_rows(spool, size, mapping, limits)


def _read_rows(file: IO[bytes], size: int, mapping: FieldMapping, limits: RowLimits) -> Iterator[Row]:
    from pyarrow.parquet import ParquetFile

    with _faults_of("the file cannot be read as Parquet"):
        opened = ParquetFile(file, pre_buffer=False, buffer_size=_BUFFER, page_checksum_verification=True)
        columns = list(opened.schema_arrow.names)
    if len(columns) > COLUMNS or opened.metadata.num_columns > COLUMNS:
        raise InvalidRequest(f"the file has {opened.metadata.num_columns} columns; at most {COLUMNS} are allowed")
    with _faults_of("the file is damaged"):
        sizes = measure_unpacked(file, opened.metadata)  # by its footer pyarrow would unpack a page of any size
    _check_size(sum(sizes), size, limits)
    if repeated := next((name for place, name in enumerate(columns) if name in columns[:place]), None):
        raise InvalidRequest(f"the file has the column {repeated[:100]!r} twice")
    mapping.check_columns(columns)
    used = mapping.list_used(columns)
    for name in used:
        _check_zones(name, opened.schema_arrow.field(name).type)
    read = 0
    with _faults_of("the file is damaged"):
        # a value of a row may be nearly all of its group, in each row again
        at_once = max(1, min(_ROWS_AT_ONCE, _UNPACKED_AT_ONCE // max(1, *sizes)))
        batches = iter(opened.iter_batches(at_once, columns=used, use_threads=False))
    while True:
        with _faults_of(f"the file is damaged after row {read}"):
            batch = next(batches, None)
        if batch is None:
            if read != (rows := opened.metadata.num_rows):
                raise InvalidRequest(f"the file is damaged after row {read}: it is to have {rows}")
            return
        yield from _read_batch(batch.select(used), read + 1, limits)
        read += batch.num_rows


def _check_size(unpacked: int, packed: int, limits: RowLimits) -> None:
    """
    Raises:
        InvalidRequest: the file holds too much.
    """
    if unpacked > limits.unpacked_bytes:
        raise InvalidRequest(f"the file holds {unpacked} bytes unpacked; at most {limits.unpacked_bytes} are allowed")
    if unpacked > _RATIO_FROM and unpacked > limits.unpacked_ratio * packed:
        raise InvalidRequest(f"the file unpacks to more than {limits.unpacked_ratio} times its size")


def _check_zones(column: str, kind: Any) -> None:
    """
    Raises:
        InvalidRequest: a type of the column has a time zone that this system does not know.
    """
    from pyarrow import lib, types

    kind = _unwrap(kind)
    for place in range(kind.num_fields):
        _check_zones(column, kind.field(place).type)
    if types.is_timestamp(kind) and kind.tz is not None:
        try:
            lib.string_to_tzinfo(kind.tz)
        except (LookupError, ValueError) as fault:
            raise InvalidRequest(
                f"the column {column[:100]!r} has times of the zone {kind.tz[:100]!r}, which is unknown:"
                f" write them in UTC, or leave the column out with map=-=COLUMN"
            ) from fault


@contextmanager
def _faults_of(what: str) -> Iterator[None]:
    from pyarrow import ArrowException

    try:
        yield
    except (ArrowException, OSError, ValueError) as fault:
        if isinstance(fault, OSError) and fault.errno:  # of the disk, and not of the file
            raise
        raise InvalidRequest(f"{what}: {fault}") from fault


def _read_batch(batch: Any, first_line: int, limits: RowLimits) -> Iterator[Row]:
    """The rows of a batch: converted together, which is fast, or where that cannot be, value by value."""
    columns = {name: batch.column(name) for name in batch.schema.names}
    rows: list[dict[str, Any]] | None = None
    if batch.nbytes <= _BATCH_BYTES:
        with suppress(*_FAULTS):
            rows = batch.to_pylist(maps_as_pydicts="strict")
    for place in range(batch.num_rows):
        line = first_line + place
        yield _read_row(line, place, columns, limits) if rows is None else _make_row(line, rows[place], columns, limits)


def _make_row(line: int, fields: Mapping[str, Any], columns: Mapping[str, Any], limits: RowLimits) -> Row:
    plain: dict[str, Any] = {}
    for name, content in fields.items():
        try:
            plain[name] = _to_plain(content, columns[name].type)
        except _FAULTS as fault:
            return Row(line, None, f"{name}: {_describe(fault)}")
    return write_row(line, plain, limits)


def _read_row(line: int, place: int, columns: Mapping[str, Any], limits: RowLimits) -> Row:
    """The row at a place of columns. One that is too long is not converted: a page may repeat a text at no cost."""
    fields: dict[str, Any] = {}
    size = 0
    for name, column in columns.items():
        size += column.slice(place, 1).nbytes
        if size > _WIDEST * limits.row_bytes:
            return Row(line, None, f"the row is longer than {limits.row_bytes} bytes")
        try:
            fields[name] = column[place].as_py(maps_as_pydicts="strict")
        except _FAULTS as fault:
            return Row(line, None, f"{name}: {_describe(fault)}")
    return _make_row(line, fields, columns, limits)


def _describe(fault: Exception) -> str:
    match fault:
        case OverflowError():
            return "is no time of the years 1 to 9999"
        case KeyError():
            return "a map has a key twice"
    return str(fault)


def _to_plain(content: Any, kind: Any) -> Any:
    """A value of an Arrow type as JSON has it: dates and times as text, NaN, which writers put for none, as None.

    Raises:
        ValueError: JSON has nothing like it.
    """
    kind = _unwrap(kind)
    match content:
        case None | bool() | int() | str():
            return content
        case float():
            if math.isinf(content):
                raise ValueError("infinity cannot be stored")
            return None if math.isnan(content) else _narrow(content, kind)
        case Decimal():
            return _to_number(content)
        case datetime() | date() | time():
            return content.isoformat()
        case dict():
            return {str(name): _to_plain(inner, _inner_type(kind, name)) for name, inner in content.items()}
        case list() | tuple():
            return [_to_plain(inner, kind.value_type) for inner in content]
    raise ValueError(f"{type(content).__name__} cannot be stored")


def _unwrap(kind: Any) -> Any:
    """The type of the values themselves, however they are kept."""
    from pyarrow import types

    while True:
        if types.is_dictionary(kind) or types.is_run_end_encoded(kind):
            kind = kind.value_type
        elif hasattr(kind, "storage_type"):
            kind = kind.storage_type
        else:
            return kind


def _inner_type(kind: Any, name: str) -> Any:
    from pyarrow import types

    return kind.item_type if types.is_map(kind) else kind.field(name).type


def _narrow(wide: float, kind: Any) -> float:
    """The shortest number that is the same one in the type it has: 0.1 of 32 bits is not 0.10000000149."""
    from pyarrow import types

    if types.is_float32(kind):
        return float(str(np.float32(wide)))
    return float(str(np.float16(wide))) if types.is_float16(kind) else wide


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
