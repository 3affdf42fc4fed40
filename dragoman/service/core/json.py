"""JSON as the database and the index can hold it: UTF-8, shallow, finite numbers, no NUL or surrogate."""

from __future__ import annotations

import json
from typing import Any, NoReturn

from dragoman.service.core.errors import MalformedBody


def parse(body: bytes, depth: int) -> Any:
    """The value of a JSON text.

    Raises:
        MalformedBody: not UTF-8, not JSON, NaN or Infinity, a number too large to hold, or nested deeper
            than ``depth``; the message says where.
    """
    try:
        text = body.decode("utf-8-sig")
    except UnicodeDecodeError as fault:
        raise MalformedBody(f"the body is not UTF-8: byte {fault.start}") from fault
    try:
        value = json.loads(text, parse_constant=_refuse_constant)
    except json.JSONDecodeError as fault:
        where = f"line {fault.lineno} column {fault.colno} (character {fault.pos})"
        raise MalformedBody(f"the body is not valid JSON: {fault.msg} at {where}") from fault
    except RecursionError as fault:
        raise MalformedBody(f"the JSON is nested deeper than {depth} levels") from fault
    except ValueError as fault:
        if "integer string conversion" in str(fault):
            raise MalformedBody("the body holds a whole number of more digits than can be read") from fault
        raise MalformedBody(f"the body is not valid JSON: {str(fault).splitlines()[0]}") from fault
    check_depth(value, depth)
    return value


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
    encoded = json.dumps(value, ensure_ascii=False, allow_nan=False)
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
