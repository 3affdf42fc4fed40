"""Reading uploaded translation tables, one entry or one rejection at a time.

============ ====================================================================================
``tsv``      source TAB target [TAB P(target|source) [TAB P(source|target)]]; an empty probability
             is a missing one
``csv``      the same columns separated by commas, with double quotes as in RFC 4180
``giza``     source, target and P(target|source), separated by spaces
``muse``     source and target, separated by a space or a tab
``jsonl``    an object a line: ``source``, ``target``, and optionally ``probability``, which is
             P(target|source), and ``inverse_probability``, which is P(source|target)
``freedict`` TEI: every headword (``orth``) with every translation (``quote`` in a ``cit`` of type
             ``trans``) of its entry
============ ====================================================================================

A first line that names the columns (``source``, ``target``; ``src``, ``tgt``; the languages or their codes) is the
header of a file in columns. All are UTF-8, plain or gzip.
"""

from __future__ import annotations

import csv
import json
import math
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, get_args

from dragoman.lexicon.formats.freedict import freedict_pairs
from dragoman.lexicon.formats.streams import (
    REJECTIONS_TOLD,
    Limits,
    Rejection,
    TableFormatError,
    TableTooLarge,
    blocks,
    lines,
    without_entries,
)
from dragoman.lexicon.text.languages import LANGUAGES

__all__ = [
    "FORMATS",
    "Format",
    "Header",
    "Item",
    "Limits",
    "RawEntry",
    "Rejection",
    "TableFormatError",
    "TableTooLarge",
    "read",
]

Format = Literal["tsv", "csv", "giza", "muse", "jsonl", "freedict"]
FORMATS: tuple[Format, ...] = get_args(Format)


class RawEntry(NamedTuple):
    """One pair of terms as a file gives it, with the probabilities it gives."""

    line: int
    source: str
    target: str
    p_ts: float | None
    """P(target | source)"""
    p_st: float | None
    """P(source | target)"""


@dataclass(frozen=True, slots=True)
class Header:
    """The names of a file's columns, from its first line."""

    columns: tuple[str, ...]


Item = RawEntry | Rejection | Header


class _Rejected(ValueError):
    """The reason why a line is no entry."""


Columns = tuple[str, str, Any, Any]
_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_SPACES = re.compile("[ \t]+")
_FORBIDDEN = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_P_TS = "P(target|source)"
_P_ST = "P(source|target)"


def read(
    chunks: Iterable[bytes],
    format: str,
    limits: Limits | None = None,
    gzip: bool = False,
    languages: tuple[str, str] | None = None,
) -> Iterator[Item]:
    """Read a file given as chunks of bytes of any size, without holding more than a block of it.

    ``languages`` are the codes of source and target, which a header may name.

    Raises (while iterating):
        ValueError: for an unknown format, listing the known ones.
        NotGzip: for a file that is not gzip where, with ``gzip``, it has to be.
        TableTooLarge: if the file exceeds a limit.
        TableFormatError: naming the line, if the file cannot be read at all (empty, binary, truncated or
            damaged gzip, XML that is not well-formed) or none of its lines is an entry.
    """
    if format not in FORMATS:
        raise ValueError(f"unknown table format {_shown(format)}: choose one of {', '.join(FORMATS)}")
    limits = limits or Limits()
    content = blocks(chunks, limits, gzip)
    items = (
        _freedict(content, limits)
        if format == "freedict"
        else _entries(lines(content, limits), _COLUMNS[format], limits, _headers(languages))
    )
    entries = rejections = 0
    first: list[Rejection] = []
    for item in items:
        if isinstance(item, Rejection):
            rejections += 1
            if not entries and rejections <= REJECTIONS_TOLD:
                first.append(item)
        elif isinstance(item, RawEntry):
            entries += 1
            if entries > limits.entries:
                raise TableTooLarge(f"the file holds more than {limits.entries:,} entries", item.line)
        yield item
    if not entries:
        raise without_entries(first, rejections)


def _freedict(content: Iterable[bytes], limits: Limits) -> Iterator[Item]:
    for item in freedict_pairs(content, limits):
        if isinstance(item, Rejection):
            yield item
        else:
            line, source, target = item
            yield _checked(line, (source, target, None, None), limits)


def _entries(
    numbered: Iterator[tuple[int, str] | Rejection],
    columns: Callable[[str], Columns],
    limits: Limits,
    headers: frozenset[tuple[str, str]],
) -> Iterator[Item]:
    for item in numbered:
        if isinstance(item, Rejection):
            yield item
            continue
        number, line = item
        if line.isspace():
            continue
        try:
            fields = columns(line)
        except _Rejected as fault:
            yield Rejection(number, str(fault))
            continue
        if number == 1 and columns is not _jsonl and tuple(one.strip().lower() for one in fields[:2]) in headers:
            yield Header(tuple(one.strip() for one in fields if one is not None))
            continue
        yield _checked(number, fields, limits)


def _checked(line: int, fields: Columns, limits: Limits) -> RawEntry | Rejection:
    source, target, p_ts, p_st = fields
    try:
        return RawEntry(
            line,
            _term("source", source, limits),
            _term("target", target, limits),
            None if p_ts is None else _probability(_P_TS, p_ts),
            None if p_st is None else _probability(_P_ST, p_st),
        )
    except _Rejected as fault:
        return Rejection(line, str(fault))


def _term(side: str, term: str, limits: Limits) -> str:
    term = term.strip()
    if not term:
        raise _Rejected(f"the {side} is empty")
    if len(term) > limits.term_characters:
        raise _Rejected(f"the {side} is longer than {limits.term_characters:,} characters")
    if not term.isprintable() and (forbidden := _FORBIDDEN.search(term)):
        kind = "lone surrogate" if "\ud800" <= forbidden[0] <= "\udfff" else "control character"
        raise _Rejected(f"the {side} holds the {kind} U+{ord(forbidden[0]):04X}")
    return term


def _probability(name: str, value: str | float) -> float:
    if isinstance(value, str):
        value = value.strip()
        if not _NUMBER.fullmatch(value):
            if value.lstrip("+-").lower() in ("nan", "inf", "infinity"):
                raise _Rejected(f"{name} is {value}, not a number between 0 and 1")
            raise _Rejected(f"{name} must be a number between 0 and 1, not {_shown(value)}")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf if value > 0 else -math.inf  # type: ignore[operator]
    if 0 <= number <= 1:
        return abs(number)
    if not math.isfinite(number):
        raise _Rejected(f"{name} is {number}, not a number between 0 and 1")
    if number < 0:
        raise _Rejected(f"{name} is negative: {_shown(value)}")
    raise _Rejected(f"{name} is over 1: {_shown(value)}")


def _shown(value: object) -> str:
    text = value if isinstance(value, str) else str(value)
    return repr(text if len(text) <= 40 else text[:40] + "…")


def _tabular(fields: list[str], separator: str) -> Columns:
    if not 2 <= len(fields) <= 4:
        raise _Rejected(
            f"expected 2 to 4 columns separated by {separator} (source, target, {_P_TS}, {_P_ST}), found {len(fields)}"
        )
    p_ts = fields[2] if len(fields) > 2 else ""
    p_st = fields[3] if len(fields) > 3 else ""
    return fields[0], fields[1], p_ts.strip() or None, p_st.strip() or None


def _tsv(line: str) -> Columns:
    return _tabular(line.split("\t"), "tabs")


def _csv(line: str) -> Columns:
    try:
        return _tabular(next(csv.reader([line], strict=True)), "commas")
    except csv.Error as fault:
        raise _Rejected(f"not CSV: {fault}") from fault


def _giza(line: str) -> Columns:
    fields = _SPACES.split(line.strip(" \t"))
    if len(fields) != 3:
        raise _Rejected(f"expected 3 columns separated by spaces (source, target, {_P_TS}), found {len(fields)}")
    if "NULL" in fields[:2]:
        raise _Rejected("NULL stands for no word")
    return fields[0], fields[1], fields[2], None


def _muse(line: str) -> Columns:
    fields = _SPACES.split(line.strip(" \t"))
    if len(fields) != 2:
        raise _Rejected(f"expected 2 columns separated by a space (source, target), found {len(fields)}")
    return fields[0], fields[1], None, None


_KEYS = ("source", "target", "probability", "inverse_probability")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        raise _Rejected("a field is given twice")
    return members


def _constant(name: str) -> float:
    raise _Rejected(f"{name} is not a number between 0 and 1")


_DECODER = json.JSONDecoder(object_pairs_hook=_unique, parse_constant=_constant)


def _jsonl(line: str) -> Columns:
    try:
        members = _DECODER.decode(line)
    except _Rejected:
        raise
    except (ValueError, RecursionError) as fault:
        raise _Rejected(f"not JSON: {fault}") from fault
    if not isinstance(members, dict):
        raise _Rejected("not a JSON object")
    for key, value in members.items():
        if key not in _KEYS:
            raise _Rejected(f"unknown field {_shown(key)}: expected {', '.join(_KEYS)}")
        if key in _KEYS[:2] and not isinstance(value, str):
            raise _Rejected(f"{key} must be a string")
        if key in _KEYS[2:] and (isinstance(value, bool) or not isinstance(value, int | float | None)):
            raise _Rejected(f"{key} must be a number between 0 and 1")
    for key in _KEYS[:2]:
        if key not in members:
            raise _Rejected(f"the field {key} is missing")
    return members["source"], members["target"], members.get(_KEYS[2]), members.get(_KEYS[3])


_COLUMNS: dict[str, Callable[[str], Columns]] = {
    "tsv": _tsv,
    "csv": _csv,
    "giza": _giza,
    "muse": _muse,
    "jsonl": _jsonl,
}
_HEADERS = frozenset(
    {
        ("source", "target"),
        ("src", "tgt"),
        ("src", "trg"),
        ("source_term", "target_term"),
        ("source term", "target term"),
        ("term", "translation"),
        ("word", "translation"),
    }
)
"""How the first two columns of a file are named, in small letters."""


def _headers(languages: tuple[str, str] | None) -> frozenset[tuple[str, str]]:
    """The names of the columns that a header may have: those of every file, the languages' and their codes."""
    if languages is None:
        return _HEADERS
    source, target = (LANGUAGES.get(code, code).lower() for code in languages)
    return _HEADERS | {languages, (source, target)}
