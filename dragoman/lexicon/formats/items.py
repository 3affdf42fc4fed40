"""What reading a table file yields, the choices and limits it is read with, and its errors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

Odds = Callable[[str], float]
"""The natural logarithm of how much likelier a term is in the source language than in the target language."""

ROLES = ("source", "target", "probability", "inverse_probability")
"""What a column may be."""
SKIPPED = ("-", "_")
"""How a column is named that is passed over."""
ROWS_KEPT = 1000
"""Of rejections and warnings the first so many are kept."""
REJECTIONS_NAMED = 5
"""How many rejected lines an error tells."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What an uploaded table may be at most."""

    decompressed_bytes: int = 1 << 30
    ratio: int = 200
    """Decompressed to compressed bytes, looked at once 16 MiB have been decompressed."""
    line_bytes: int = 1 << 16
    record_lines: int = 100
    """Lines that the quotes of one record may span."""
    term_characters: int = 1000
    entries: int = 20_000_000
    spreadsheet_bytes: int = 64 << 20
    """Bytes of all parts of a spreadsheet, unpacked."""


@dataclass(frozen=True, slots=True)
class Choices:
    """How a file is to be read where its sender says so; None is what the file itself shows."""

    encoding: str | None = None
    separator: str | None = None
    decimal: str | None = None
    """The decimal mark, a point or a comma."""
    columns: tuple[str, ...] | None = None
    """The role of each column: of :data:`ROLES`, or of :data:`SKIPPED`."""
    header: bool | None = None
    """Whether the first line names the columns."""


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
    """The names of a file's columns, from its header line."""

    columns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Rejection:
    """A line that was left out, and why."""

    line: int
    reason: str


@dataclass(frozen=True, slots=True)
class Notice:
    """Something in a line that was passed over, or taken for what it may not be."""

    line: int
    reason: str


@dataclass(frozen=True, slots=True)
class Detected:
    """How a file was read."""

    format: str
    encoding: str | None = None
    separator: str | None = None
    decimal: str | None = None
    columns: tuple[str | None, ...] | None = None
    """The role of each column, None for one that is passed over; None for a file without columns."""
    languages: tuple[str | None, ...] = ()
    """The language of each column; without columns, of the terms and their translations as the file has them."""


ReadEvent = RawEntry | Rejection | Header | Notice | Detected


class TableFormatError(ValueError):
    """A file that cannot be read as a table at all; ``line`` is where, if it is anywhere."""

    def __init__(self, reason: str, line: int | None = None) -> None:
        super().__init__(reason if line is None else f"line {line}: {reason}")
        self.reason = reason
        self.line = line


class TableTooLarge(TableFormatError):
    """A file that exceeds a limit of :class:`Limits`."""


class Rejected(ValueError):
    """The reason why a line is no entry."""


def without_entries(rejected: Sequence[Rejection], count: int) -> TableFormatError:
    """The error of a file without an entry: it tells the first of ``count`` rejected lines, and why each was."""
    if not count:
        return TableFormatError("the file holds no entry")
    reasons = [f"line {rejection.line}: {rejection.reason}" for rejection in rejected[:REJECTIONS_NAMED]]
    more = f"; and {count - len(reasons)} more" if count > len(reasons) else ""
    return TableFormatError(f"no line of the file is an entry: {'; '.join(reasons)}{more}")


def quote(content: object) -> str:
    """``content`` as an error message quotes it, cut where it is long."""
    text = content if isinstance(content, str) else str(content)
    return repr(text if len(text) <= 40 else text[:40] + "…")
