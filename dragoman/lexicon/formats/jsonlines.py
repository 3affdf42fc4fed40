"""JSON, an object a line: ``source``, ``target`` and their probabilities, or fields that are named as columns are."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import chain, islice
from typing import Any

from dragoman import deadline
from dragoman.lexicon.formats.cells import validate_entry
from dragoman.lexicon.formats.detection.direction import ROWS, Direction, Witness
from dragoman.lexicon.formats.detection.headers import read_header
from dragoman.lexicon.formats.items import (
    Choices,
    Detected,
    Limits,
    Notice,
    ReadEvent,
    Rejected,
    Rejection,
    TableFormatError,
    quote,
)

KEYS = ("source", "target", "probability", "inverse_probability")
_SAMPLE = 200
_MOST_FIELDS = 100
Numbered = tuple[int, str] | Rejection


def read_jsonlines(
    lines: Iterator[Numbered],
    encoding: str,
    languages: tuple[str, str],
    choices: Choices,
    limits: Limits,
    witness: Witness,
) -> Iterator[ReadEvent]:
    """What reading a file of JSON objects gives.

    Raises (while iterating):
        TableFormatError: the fields are evidently the other way round, or the file is one JSON array.
    """
    first = list(islice(lines, _SAMPLE))
    sample = [
        _decode(numbered_line[1])
        for numbered_line in first
        if isinstance(numbered_line, tuple) and not numbered_line[1].isspace()
    ]
    if (
        sample
        and sample[0] is None
        and any(
            isinstance(numbered_line, tuple) and numbered_line[1].lstrip()[:1] == "[" for numbered_line in first[:1]
        )
    ):
        raise TableFormatError("the file is a JSON array: send one object a line", 1)
    fields = _Fields([members for members in sample if members is not None], languages)
    rows = [
        (str(members[fields.source]), str(members[fields.target]))
        for members in sample
        if members and fields.both(members)
    ][:ROWS]
    direction = Direction.STRAIGHT if fields.by_language else witness.direction(rows)
    if direction in (Direction.SWAPPED, Direction.UNCLEAR) and choices.columns is None:
        raise TableFormatError(
            f"the fields {fields.source} and {fields.target} are evidently the other way round, {languages[1]} before"
            f" {languages[0]}: exchange the languages, or say columns=source,target if they are right"
        )
    yield Detected("jsonl", encoding, languages=languages)
    for numbered_line in deadline.check_each(chain(first, lines), interval=2000):
        if isinstance(numbered_line, Rejection):
            yield numbered_line
        elif not numbered_line[1].isspace():
            yield from fields.read_entry(numbered_line[0], numbered_line[1], limits)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        raise Rejected("a field is given twice")
    return members


def _constant(name: str) -> float:
    raise Rejected(f"{name} is not a number between 0 and 1")


_DECODER = json.JSONDecoder(object_pairs_hook=_unique, parse_constant=_constant)


def _object(line: str) -> dict[str, Any]:
    try:
        members = _DECODER.decode(line)
    except Rejected:
        raise
    except (ValueError, RecursionError) as fault:
        raise Rejected(f"not JSON: {fault}") from fault
    if not isinstance(members, dict):
        raise Rejected("not a JSON object")
    return members


def _decode(line: str) -> dict[str, Any] | None:
    try:
        return _object(line)
    except Rejected:
        return None


class _Fields:
    """Which fields of the objects are which; others are noted once and passed over."""

    def __init__(self, sample: list[dict[str, Any]], languages: tuple[str, str]) -> None:
        self.source, self.target, self.p_ts, self.p_st = KEYS
        self.by_language = False
        self._noted: set[str] = set()
        keys = list(dict.fromkeys(key for members in sample for key in list(members)[:_MOST_FIELDS]))[:_MOST_FIELDS]
        if not keys:
            return
        named = "source" in keys and "target" in keys
        try:
            header = read_header(keys, languages)
        except TableFormatError as fault:
            if named:
                return
            raise TableFormatError(fault.reason.replace("the header names", "the fields are"), 1) from fault
        if header is None:
            return
        self.by_language = not header.directed and not named
        for key, role in zip(keys, header.roles, strict=True):
            if role == "source" and not named:
                self.source = key
            elif role == "target" and not named:
                self.target = key
            elif role == "probability" and self.p_ts not in keys:
                self.p_ts = key
            elif role == "inverse_probability" and self.p_st not in keys:
                self.p_st = key

    def both(self, members: dict[str, Any]) -> bool:
        return isinstance(members.get(self.source), str) and isinstance(members.get(self.target), str)

    def read_entry(self, line_number: int, line: str, limits: Limits) -> Iterator[ReadEvent]:
        try:
            members = _object(line)
            self._check(members)
        except Rejected as fault:
            yield Rejection(line_number, str(fault))
            return
        for key in members:
            other = key not in (self.source, self.target, self.p_ts, self.p_st)
            if other and key not in self._noted and len(self._noted) < _MOST_FIELDS:
                self._noted.add(key)
                yield Notice(line_number, f"the field {quote(key)} is ignored")
        yield validate_entry(
            line_number,
            members[self.source],
            members[self.target],
            members.get(self.p_ts),
            members.get(self.p_st),
            limits,
        )

    def _check(self, members: dict[str, Any]) -> None:
        for key in (self.source, self.target):
            if key not in members:
                raise Rejected(f"the field {key} is missing")
            if not isinstance(members[key], str):
                raise Rejected(f"{key} must be a string")
        for key in (self.p_ts, self.p_st):
            probability = members.get(key)
            if isinstance(probability, bool) or not isinstance(probability, int | float | None):
                raise Rejected(f"{key} must be a number between 0 and 1")
