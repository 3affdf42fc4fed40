"""JSON as the database and the index can hold it: UTF-8, shallow, finite numbers, no NUL or surrogate."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any, NoReturn

from pydantic_core import from_json

from dragoman.files.streams import BOM
from dragoman.service.core.errors import MalformedBody

_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False)


def parse(body: bytes, depth: int) -> Any:
    """The value of a JSON text. A lone surrogate stays in it, for validation to name the field that holds it.

    Raises:
        MalformedBody: not UTF-8, not JSON, NaN or Infinity, a number too large to hold, or nested deeper
            than ``depth``; the message says where.
    """
    try:
        value = from_json(body.removeprefix(BOM), allow_inf_nan=False)
    except ValueError as fault:
        value = _parse_again(body, fault, depth)
    check_depth(value, depth)
    return value


def _parse_again(body: bytes, fault: ValueError, depth: int) -> Any:
    """The value of a text that pydantic refuses for lone surrogates alone, which the standard library reads.

    Raises:
        MalformedBody: it has another fault.
    """
    try:
        text = body.decode("utf-8-sig")
    except UnicodeDecodeError as encoding:
        raise MalformedBody(f"the body is not UTF-8: byte {encoding.start}") from encoding
    if "recursion limit" in str(fault):
        raise MalformedBody(f"the JSON is nested deeper than {depth} levels") from fault
    if "hex escape" in str(fault):
        with suppress(ValueError, RecursionError):
            return json.loads(text, parse_constant=_refuse_constant)
    raise MalformedBody(f"the body is not valid JSON: {fault}") from fault


def check_depth(value: Any, depth: int) -> None:
    """Raise :class:`MalformedBody` for a value of more than ``depth`` nested lists and objects."""
    level = [value] if isinstance(value, dict | list) else []
    for _ in range(depth):
        level = [
            inner
            for outer in level
            for inner in (outer.values() if isinstance(outer, dict) else outer)
            if isinstance(inner, dict | list)
        ]
    if not level:
        return
    raise MalformedBody(f"the JSON is nested deeper than {depth} levels")


def check_text(text: str) -> str:
    """Return the text unless it holds what neither the database nor the index can hold.

    Raises:
        ValueError: a NUL character or a lone surrogate, with its position.
    """
    if (position := text.find("\0")) >= 0:
        raise ValueError(f"holds a NUL character at position {position}")
    try:
        text.encode()
    except UnicodeEncodeError as fault:
        raise ValueError(f"holds a lone surrogate at position {fault.start}") from fault
    return text


def check_value(value: Any) -> None:
    """:func:`check_text` for every string in a JSON value, keys as well; numbers must be finite.

    Raises:
        ValueError: as ``check_text``, or a number that JSON cannot hold.
    """
    encoded = _ENCODER.encode(value)
    if "\\u0000" in encoded and "\0" in _strings(value):
        raise ValueError("holds a NUL character")
    try:
        encoded.encode()
    except UnicodeEncodeError as fault:
        raise ValueError("holds a lone surrogate") from fault


def _strings(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        return "".join(key + _strings(inner) for key, inner in value.items())
    if isinstance(value, list):
        return "".join(map(_strings, value))
    return ""


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")
