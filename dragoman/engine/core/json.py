"""JSON as the database and the index can hold it: UTF-8, small, shallow, finite numbers, no NUL or surrogate."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any, NoReturn

from pydantic_core import from_json

from dragoman.engine.core.errors import MalformedBody, TooLarge
from dragoman.files.streams import BOM

VALUES = 250_000
"""Most values of a JSON text where no setting says otherwise."""

_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False)
_PARTS = (b",", b"[", b"{", b":")
"""What a value, or the name of a field, begins with or comes after."""
_PART_BYTES = 256 * 1024
_BACKSLASHES = re.compile(rb"\\*")
_VALUE_BYTES = 350
"""Memory of a value, besides its text, read and validated: half of what a document without fields takes."""
_ASTRAL = re.compile(rb"[\xf0-\xf4]|\\u[dD][89abAB]")


def parse(text: bytes | bytearray, depth: int, values: int = VALUES) -> Any:
    """The value of a JSON text. A lone surrogate stays in it, for validation to name the field that holds it.

    Time and memory are bounded before anything is read: by the length of the text and by ``values``.

    Raises:
        TooLarge: more than ``values`` values, the names of fields counted; the message names the field, if it can.
        MalformedBody: not UTF-8, not JSON, NaN or Infinity, a number too large to hold, nested deeper than
            ``depth``, or two fields of one object have one name; the message says where, or which.
    """
    if text.startswith(BOM):
        text = text[len(BOM) :]
    _check_size(text, depth, values)
    try:
        parsed = from_json(text, allow_inf_nan=False)
    except ValueError as fault:
        parsed = _parse_again(text, fault, depth)
    names = check_depth(parsed, depth)
    if text.count(b":") != names and sum(part.count(b":") for _, part in _outside_strings(text)) != names:
        _refuse_repeated_name(text)
    return parsed


def memory_of(text: bytes | bytearray, values: int = VALUES) -> int:
    """About how many bytes the value of a JSON text of ``values`` at most takes, without reading it."""
    narrow = text.isascii() and b"\\u" not in text
    width = 1 if narrow else 4 if _ASTRAL.search(text) else 2  # one character decides for all of a string
    return len(text) * width + _VALUE_BYTES * count_values_at_most(text, values)


def count_values_at_most(text: bytes | bytearray, most: int) -> int:
    """About how many values a JSON text holds, ``most`` at most, without reading it: commas, lists and objects."""
    return _count_parts(text, (b",", b"[", b"{"), most)


def _count_parts(text: bytes | bytearray, parts: Sequence[bytes], most: int) -> int:
    """How often any of ``parts`` stands in a text, ``most`` at most; it is not read further than that."""
    counted = 0
    for start in range(0, len(text), _PART_BYTES):
        counted += sum(text.count(part, start, start + _PART_BYTES) for part in parts)
        if counted >= most:
            return most
    return counted


def _check_size(text: bytes | bytearray, depth: int, values: int) -> None:
    """
    Raises:
        TooLarge: the text holds more than ``values``.
        MalformedBody: and it begins with more than ``depth`` levels.
    """
    if _count_parts(text, _PARTS, values) < values:
        return
    counted = 0
    for end, part in _outside_strings(text):
        counted += sum(map(part.count, _PARTS))
        if counted >= values:
            field = _last_field(text[:end], depth)
            raise TooLarge(f"{field}the JSON holds more than {values} values and names of fields; send fewer at a time")


def _last_field(text: bytes | bytearray, depth: int) -> str:
    """The field that the first part of a text ends in, for a message; empty if that is not an object's.

    Raises:
        MalformedBody: it has more than ``depth`` levels.
    """
    parsed: Any = None
    try:
        parsed = from_json(text.rpartition(b",")[0] or text, allow_partial=True)
    except ValueError as fault:
        if "recursion limit" in str(fault):
            raise _too_deep(depth) from fault
    return f"{printable_name(next(reversed(parsed)))}: " if isinstance(parsed, dict) and parsed else ""


def _outside_strings(text: bytes | bytearray) -> Iterator[tuple[int, bytes | bytearray]]:
    """A JSON text without its strings, up to its first fault: part by part, each with where it ends."""
    start, inside = 0, 0
    while start < len(text):
        end = _BACKSLASHES.match(text, min(start + _PART_BYTES, len(text))).end() + 1  # type: ignore[union-attr]
        part = text[start:end]
        if b"\\" in part:
            part = part.replace(b"\\\\", b"").replace(b'\\"', b"")
        pieces = part.split(b'"')
        yield end, b"".join(pieces[inside::2])
        inside ^= (len(pieces) - 1) & 1
        start = end


def _too_deep(depth: int) -> MalformedBody:
    return MalformedBody(f"the JSON is nested deeper than {depth} levels")


def printable_name(name: str) -> str:
    """A field's name as a message can hold it: short, and printable."""
    short = name if len(name) <= 100 else name[:100] + "..."
    return short if short and short.isprintable() else ascii(short)


def _refuse_repeated_name(text: bytes | bytearray) -> NoReturn:
    """
    Raises:
        MalformedBody: always; it names the first name that an object has twice.
    """

    def check(pairs: list[tuple[str, Any]]) -> None:
        names: set[str] = set()
        for name, _ in pairs:
            if name in names:
                raise MalformedBody(f"{printable_name(name)}: the field occurs twice in one object")
            names.add(name)

    with suppress(ValueError, RecursionError):
        json.loads(text, object_pairs_hook=check)
    raise MalformedBody("a field occurs twice in one object")


def _parse_again(body: bytes | bytearray, fault: ValueError, depth: int) -> Any:
    """The value of a text that pydantic refuses for lone surrogates alone, which the standard library reads.

    Raises:
        MalformedBody: it has another fault.
    """
    try:
        text = body.decode("utf-8-sig")
    except UnicodeDecodeError as encoding:
        raise MalformedBody(f"the body is not UTF-8: byte {encoding.start}") from encoding
    if "recursion limit" in str(fault):
        raise _too_deep(depth) from fault
    if "hex escape" in str(fault):
        with suppress(ValueError, RecursionError):
            return json.loads(text, parse_constant=_refuse_constant)
    raise MalformedBody(f"the body is not valid JSON: {fault}") from fault


def check_depth(json_value: Any, depth: int) -> int:
    """Count the fields of all objects in a value.

    Raises:
        MalformedBody: it has more than ``depth`` nested lists and objects.
    """
    level = [json_value] if isinstance(json_value, dict | list) else []
    names = 0
    for _ in range(depth):
        if not level:
            break
        names += sum(len(outer) for outer in level if isinstance(outer, dict))
        level = [
            inner
            for outer in level
            for inner in (outer.values() if isinstance(outer, dict) else outer)
            if isinstance(inner, dict | list)
        ]
    if not level:
        return names
    raise _too_deep(depth)


def count_values(json_value: Any) -> int:
    """How many values a JSON value holds, itself and the names of fields counted."""
    total, level = 1, [json_value]
    while level:
        names = sum(len(outer) for outer in level if isinstance(outer, dict))
        inside = [
            inner
            for outer in level
            if isinstance(outer, dict | list)
            for inner in (outer.values() if isinstance(outer, dict) else outer)
        ]
        total, level = total + names + len(inside), inside
    return total


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


def check_value(json_value: Any) -> None:
    """:func:`check_text` for every string in a JSON value, keys as well; numbers must be finite.

    Raises:
        ValueError: as ``check_text``, or a number that JSON cannot hold.
    """
    encoded = _ENCODER.encode(json_value)
    if "\\u0000" in encoded and "\0" in _strings(json_value):
        raise ValueError("holds a NUL character")
    try:
        encoded.encode()
    except UnicodeEncodeError as fault:
        raise ValueError("holds a lone surrogate") from fault


def _strings(part: Any) -> str:
    if isinstance(part, str):
        return part
    if isinstance(part, dict):
        return "".join(key + _strings(inner) for key, inner in part.items())
    if isinstance(part, list):
        return "".join(map(_strings, part))
    return ""


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")
