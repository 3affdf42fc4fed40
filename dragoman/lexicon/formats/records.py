"""The records of delimited text: lines cut at a separator, with quotes as in RFC 4180, which may span lines."""

from __future__ import annotations

import csv
import re
from collections import deque
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from dragoman.lexicon.formats.items import Limits, Rejection

SPACES = " "
"""The separator of files whose cells are single words: any number of spaces and tabs."""
NAMES = {"\t": "tabs", ",": "commas", ";": "semicolons", "|": "bars", SPACES: "spaces"}
_RUNS = re.compile("[ \t]+")
Lines = Iterator[tuple[int, str] | Rejection]


class Record(NamedTuple):
    """The cells of a record, and the number of its first line."""

    line: int
    cells: list[str]


def records(
    lines: Iterable[tuple[int, str] | Rejection], separator: str, limits: Limits
) -> Iterator[Record | Rejection]:
    """Cut lines into records.

    A quote that never ends does not swallow what follows: its line alone is a rejection, or, between tabs, where most
    programs do not quote, taken as it is.
    """
    source = _PushbackLines(iter(lines))
    for numbered_line in source:
        if isinstance(numbered_line, Rejection):
            yield numbered_line
            continue
        line_number, line = numbered_line
        if not line or line.isspace():
            continue
        if separator == SPACES:
            yield Record(line_number, _RUNS.split(line.strip(" \t")))
        elif '"' not in line:
            yield Record(line_number, line.split(separator))
        else:
            yield _read_quoted(line_number, line, source, separator, limits)


class _PushbackLines(Iterator["tuple[int, str] | Rejection"]):
    """Lines of which some can be put back."""

    def __init__(self, lines: Lines) -> None:
        self._lines = lines
        self._back: deque[tuple[int, str] | Rejection] = deque()

    def __next__(self) -> tuple[int, str] | Rejection:
        return self._back.popleft() if self._back else next(self._lines)

    def put_back(self, lines: list[tuple[int, str] | Rejection]) -> None:
        self._back.extendleft(reversed(lines))


def _read_quoted(
    line_number: int, line: str, source: _PushbackLines, separator: str, limits: Limits
) -> Record | Rejection:
    taken, text = _whole_record(line_number, line, source, limits)
    fault = "unexpected end of data"
    if text.count('"') % 2 == 0 or not taken:
        try:
            return Record(line_number, _parse_cells(text, separator))
        except csv.Error as error:
            fault = str(error)
    source.put_back(taken)
    if taken:
        try:
            return Record(line_number, _parse_cells(line, separator))
        except csv.Error as error:
            fault = str(error)
    if separator == "\t":
        return Record(line_number, line.split(separator))
    return Rejection(line_number, f"not CSV: {fault}")


def _whole_record(
    line_number: int, line: str, source: _PushbackLines, limits: Limits
) -> tuple[list[tuple[int, str] | Rejection], str]:
    """The lines up to where the quotes are closed, if that is near; the ones taken and the text of all."""
    taken: list[tuple[int, str] | Rejection] = []
    parts = [line]
    quotes, size = line.count('"'), len(line)
    last = line_number
    while quotes % 2 and len(taken) < limits.record_lines and size <= limits.line_bytes:
        following = next(source, None)
        if following is None:
            break
        taken.append(following)
        if isinstance(following, Rejection):
            break
        parts += [""] * (following[0] - last - 1)
        last = following[0]
        parts.append(following[1])
        quotes += following[1].count('"')
        size += len(following[1])
    return taken, "\n".join(parts)


def _parse_cells(text: str, separator: str) -> list[str]:
    """The cells of the one record that the text is.

    Raises:
        csv.Error: it is none, or a line ends outside of quotes.
    """
    return next(csv.reader([text], delimiter=separator, strict=True, skipinitialspace=True))
