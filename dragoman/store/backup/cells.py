"""Cells of a backup: what each may be by the type of its column, and the value that the database takes for it."""

from __future__ import annotations

import math
import re
from base64 import b64decode
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, get_args, get_type_hints

from pydantic import TypeAdapter, ValidationError
from sqlalchemy import JSON, BigInteger, Boolean, Column, DateTime, Float, Integer, LargeBinary

from dragoman.engine.core.json import check_text, check_value
from dragoman.store import recorded_models as recorded_models  # its columns are among those of Base
from dragoman.store.models import Base, Instant

Reader = Callable[[Any], Any]

_FOLDER_NAME = re.compile(r"[0-9a-f]{32}")


def make_reader(column: Column[Any]) -> Reader:
    """What reads the cells of a column; it raises ValueError with the reason where a cell is not of its type."""
    read = _find_reader(column)

    def read_cell(cell: Any) -> Any:
        if cell is not None:
            return read(cell)
        if not column.nullable:
            raise ValueError("is null, and may not be")
        return None

    return read_cell


def _find_reader(column: Column[Any]) -> Reader:
    match column.type:
        case Boolean():
            return _read_boolean
        case Integer():
            return _make_integer_reader(63 if isinstance(column.type, BigInteger) else 31)
        case Float():
            return _read_number
        case LargeBinary():
            return _read_bytes
        case Instant() | DateTime():
            return _read_instant
        case JSON():
            return _make_json_reader(str(column))
    return _read_folder_name if str(column) == "collections.uid" else _read_text


def _read_boolean(cell: Any) -> bool:
    if not isinstance(cell, bool):
        raise ValueError("is neither true nor false")
    return cell


def _make_integer_reader(bits: int) -> Reader:
    def read(cell: Any) -> int:
        if type(cell) is not int or not -(1 << bits) <= cell < 1 << bits:
            raise ValueError(f"is no integer of {bits + 1} bits")
        return cell

    return read


def _read_number(cell: Any) -> float:
    if type(cell) not in (int, float) or not math.isfinite(double := float(cell)):
        raise ValueError("is no number")
    return double


def _read_bytes(cell: Any) -> bytes:
    if not isinstance(cell, str):
        raise ValueError("is no base64")
    try:
        return b64decode(cell, validate=True)
    except ValueError as fault:
        raise ValueError("is no base64") from fault


def _read_instant(cell: Any) -> datetime:
    try:
        moment = datetime.fromisoformat(cell)
        if moment.tzinfo is None:
            raise ValueError("has no time zone")
        return moment.astimezone(UTC)
    except (TypeError, ValueError, OverflowError) as fault:
        raise ValueError("is no time with a time zone") from fault


def _read_text(cell: Any) -> str:
    if not isinstance(cell, str):
        raise ValueError("is no text")
    return check_text(cell)


def _read_folder_name(cell: Any) -> str:
    """What names a folder of the data directory leads to no other."""
    if not isinstance(cell, str) or _FOLDER_NAME.fullmatch(cell) is None:
        raise ValueError("is no 32 hexadecimal digits")
    return cell


def _make_json_reader(column: str) -> Reader:
    """JSON, of the shape that the model has for a column; any where it is a column of an earlier schema alone."""
    shape = _SHAPES.get(column)

    def read(cell: Any) -> Any:
        check_value(cell)
        try:
            return cell if shape is None else shape.validate_python(cell, strict=True)
        except ValidationError as fault:
            error = fault.errors(include_url=False)[0]
            place = "".join(f"[{part!r}]" for part in error["loc"])
            raise ValueError(f"is not of its shape: {place}{': ' if place else ''}{error['msg']}") from fault

    return read


def _list_shapes() -> dict[str, TypeAdapter[Any]]:
    """The shapes of columns with JSON, as the models declare them."""
    shapes: dict[str, TypeAdapter[Any]] = {}
    for mapper in Base.registry.mappers:
        hints = get_type_hints(mapper.class_)
        for attribute in mapper.column_attrs:
            if isinstance(attribute.columns[0].type, JSON):
                shapes[str(attribute.columns[0])] = TypeAdapter(get_args(hints[attribute.key])[0])
    return shapes


_SHAPES = _list_shapes()
