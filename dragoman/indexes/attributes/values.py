"""Values of documents' fields as byte strings whose order is that of the values, for the index.

The first byte is the type: values are compared within one type. A date is a string as well: it is there twice.
"""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any

__all__ = [
    "BOOLEAN",
    "DATE",
    "DATE_TEXT",
    "LAST_PIECE",
    "LONGEST_OPERAND",
    "LONGEST_PATH",
    "NUMBER",
    "PIECE",
    "TEXT",
    "Scalar",
    "after",
    "decode",
    "encode_attributes",
    "encode_date",
    "encode_number",
    "encode_text",
    "field_name",
    "first_and_last",
    "parse_date",
]

Scalar = str | int | float | bool

BOOLEAN, DATE, NUMBER, TEXT, DATE_TEXT, PIECE, LAST_PIECE = b"b", b"d", b"n", b"s", b"t", b"u", b"v"
"""Types. Of a text that is a date there are a DATE and a DATE_TEXT; of a long one pieces for searches within."""

LONGEST_OPERAND = 2_000
"""Characters that a filter may look for within a text."""
LONGEST_PATH = 1_000
"""Characters of a path; what has a longer one is not indexed."""
_LONGEST = 28_000
"""Bytes of a text that are indexed as one; Lucene takes 32,766, the path and a checksum in them."""
_OVERLAP = 4 * LONGEST_OPERAND
_EXACT = 1 << 63
_DATE = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?\s?(Z|[+-]\d\d(?::?\d\d)?)?)?", re.ASCII
)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FIRST = 1 << 62
_SECOND = 1_000_000_000


def parse_date(text: str) -> int | None:
    """The nanoseconds from 1970 to a date, with or without a time, in UTC without a zone; None if it is none."""
    if len(text) > 40 or (match := _DATE.fullmatch(text)) is None:
        return None
    year, month, day, hour, minute, second, fraction, zone = match.groups()
    try:
        moment = datetime(
            int(year), int(month), int(day), int(hour or 0), int(minute or 0), int(second or 0), tzinfo=UTC
        )
    except ValueError:
        return None
    offset = 0
    if zone and zone != "Z":
        digits = zone[1:].replace(":", "").ljust(4, "0")
        hours, minutes = int(digits[:2]), int(digits[2:])
        if hours > 23 or minutes > 59:
            return None
        offset = (hours * 60 + minutes) * 60 * (-1 if zone[0] == "-" else 1)
    passed = moment - _EPOCH
    seconds = passed.days * 86_400 + passed.seconds - offset
    return seconds * _SECOND + int((fraction or "0").ljust(9, "0"))


def encode_date(nanoseconds: int) -> bytes:
    """A date as of :func:`parse_date`."""
    seconds, rest = divmod(nanoseconds, _SECOND)
    return DATE + struct.pack(">QI", seconds + _FIRST, rest)


def encode_number(quantity: float) -> bytes:
    """A number: the nearest double, and what it is off by; integers are exact to 2^63."""
    try:
        double = float(quantity) or 0.0  # not -0
    except OverflowError:
        double = math.inf if quantity > 0 else -math.inf
    (bits,) = struct.unpack(">Q", struct.pack(">d", double))
    ordered = bits ^ 0xFFFF_FFFF_FFFF_FFFF if bits >> 63 else bits | 1 << 63
    off = int(quantity) - int(double) if isinstance(quantity, int) and abs(quantity) <= _EXACT else 0
    return NUMBER + struct.pack(">QH", ordered, off + 0x8000)


def encode_text(text: str) -> bytes:
    """A text, or the beginning of a long one and a checksum."""
    kind = TEXT if parse_date(text) is None else DATE_TEXT
    encoded = text.encode()
    if len(encoded) > _LONGEST:
        encoded = encoded[:_LONGEST] + sha256(encoded).digest()
    return kind + encoded


def after(encoded: bytes) -> bytes:
    """The first byte string after one."""
    return encoded + b"\0"


def _encode(scalar: Scalar) -> Iterator[bytes]:
    """All byte strings of one value."""
    if isinstance(scalar, bool):
        yield BOOLEAN + bytes([scalar])
    elif isinstance(scalar, int | float):
        yield encode_number(scalar)
    else:
        yield encode_text(scalar)
        if (date := parse_date(scalar)) is not None:
            yield encode_date(date)
        encoded = scalar.encode()
        if len(encoded) > _LONGEST:
            starts = range(0, len(encoded) - _OVERLAP, _LONGEST - _OVERLAP)
            yield from (PIECE + encoded[start : start + _LONGEST] for start in starts)
            yield LAST_PIECE + encoded[-_LONGEST:]


def decode(encoded: bytes) -> Scalar | None:
    """The value of one byte string; None for what is of no value by itself: dates, long texts and their pieces."""
    kind, content = encoded[:1], encoded[1:]
    if kind == BOOLEAN:
        return content == b"\1"
    if kind == NUMBER:
        return _decode_number(content)
    if kind in (TEXT, DATE_TEXT) and len(content) <= _LONGEST:
        return content.decode()
    return None


def first_and_last(values: Sequence[bytes]) -> tuple[bytes, bytes] | None:
    """The least and the greatest of some values, dates by time; None of none."""
    ordered = [scalar for scalar in values if scalar[:1] != DATE_TEXT]
    return (min(ordered), max(ordered)) if ordered else None


def _decode_number(content: bytes) -> int | float:
    ordered, off = struct.unpack(">QH", content)
    bits = ordered & ~(1 << 63) if ordered >> 63 else ordered ^ 0xFFFF_FFFF_FFFF_FFFF
    double: float = struct.unpack(">d", struct.pack(">Q", bits))[0]
    exact: int = off - 0x8000
    return int(double) + exact if double.is_integer() and abs(double) <= _EXACT else double


_SCALAR, _ELEMENT, _PRESENT, _OWN = "v:", "e:", "x", "o:"


def field_name(name: str, *, itself: bool = False, element: bool = False) -> str:
    """The index's field of a path in metadata, or of what is the document's own: id, language, title.

    Elements of lists are apart from other values, since membership of a list is no part of a text.
    """
    return (_OWN if itself else _ELEMENT if element else _SCALAR) + name


def encode_attributes(id: str, language: str, title: str | None, metadata: Mapping[str, Any] | None) -> str:
    """One line with all fields and values of a document, by turns, in hexadecimal, as ``dragoman.Rows`` takes them."""
    pairs: dict[tuple[str, bytes], None] = {}
    for name, itself in (("id", id), ("language", language), ("title", title)):
        if itself is not None:
            pairs.update(((field_name(name, itself=True), encoded), None) for encoded in _encode(itself))
    for field, scalar in _walk(metadata or {}, None):
        pairs.update(
            ((field, encoded), None) for encoded in ((scalar,) if isinstance(scalar, bytes) else _encode(scalar))
        )
    return " ".join([f"{field.encode().hex()} {encoded.hex() or '-'}" for field, encoded in pairs])


def _walk(node: Any, path: str | None, element: bool = False) -> Iterator[tuple[str, Scalar | bytes]]:
    """The fields and values below a node; that a path leads to something is a value of a field of its own."""
    if node is None or len(path or "") > LONGEST_PATH:
        return
    if path is not None:
        yield _PRESENT, path.encode()
    if isinstance(node, dict):
        for name, inner in node.items():
            yield from _walk(inner, name if path is None else f"{path}.{name}")
    elif isinstance(node, list):
        for inner in node:
            yield from _walk(inner, path, element=True)
    elif path is not None:
        yield field_name(path, element=element), node
