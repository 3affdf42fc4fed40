"""An uploaded table file, read within the service's limits, with faults as errors of the service."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from dragoman.engine.core.errors import InvalidRequest, TooLarge
from dragoman.engine.settings import Settings
from dragoman.engine.tables.odds import odds_between
from dragoman.lexicon.formats.build import Normalised, normalise
from dragoman.lexicon.formats.detection.encodings import find_codec
from dragoman.lexicon.formats.detection.separators import find_separator
from dragoman.lexicon.formats.items import ROLES, SKIPPED, Choices
from dragoman.lexicon.formats.reader import FORMATS, Limits, TableFormatError, TableTooLarge, read

_DECIMALS = {".": ".", ",": ",", "point": ".", "comma": ","}
_MOST_COLUMNS = 256


@dataclass(frozen=True, slots=True)
class ReadAs:
    """How the sender says that a file is to be read, in the words of the parameters; None is what the file shows."""

    format: str = "auto"
    encoding: str | None = None
    separator: str | None = None
    decimal: str | None = None
    columns: str | None = None
    header: bool | None = None

    def choices(self) -> Choices:
        """
        Raises:
            InvalidRequest: a value that is unknown; the message names the parameter.
        """
        if self.format not in FORMATS:
            raise InvalidRequest(f"format: {self.format[:40]!r} is unknown; choose one of {', '.join(FORMATS)}")
        if self.encoding is not None and find_codec(self.encoding) is None:
            raise InvalidRequest(
                f"encoding: {self.encoding[:40]!r} is not known; use a name such as utf-8, utf-16 or windows-1252"
            )
        return Choices(self.encoding, self._separator(), self._decimal(), self._columns(), self.header)

    def _separator(self) -> str | None:
        if self.separator is None:
            return None
        separator = find_separator(self.separator)
        if separator is None:
            raise InvalidRequest(
                f"separator: {self.separator[:40]!r} is not known; use tab, comma, semicolon, pipe, space or itself"
            )
        return separator

    def _decimal(self) -> str | None:
        if self.decimal is None:
            return None
        if self.decimal not in _DECIMALS:
            raise InvalidRequest(f"decimal: {self.decimal[:40]!r} is no decimal mark; use . or , (point or comma)")
        return _DECIMALS[self.decimal]

    def _columns(self) -> tuple[str, ...] | None:
        if self.columns is None:
            return None
        names = tuple(name.strip().lower() for name in self.columns.split(","))
        wrong = [name for name in names if name not in (*ROLES, *SKIPPED)]
        if wrong or "source" not in names or "target" not in names or len(names) > _MOST_COLUMNS:
            unknown = f"; {wrong[0][:40]!r} is none of these" if wrong else ""
            raise InvalidRequest(
                f"columns: name source and target, and {', '.join(ROLES[2:])} or - for the others, such as"
                f" source,target,-{unknown}"
            )
        if any(names.count(name) > 1 for name in ROLES[2:]):
            raise InvalidRequest("columns: there can be one column of each probability")
        return names


def read_table(
    parts: Iterator[bytes], source: str, target: str, read_as: ReadAs | str, settings: Settings, gzip: bool = False
) -> Normalised:
    """The normalised table of a file, plain or gzip (with ``gzip`` it has to be), as its parts come in.

    ``read_as`` is how the sender says that it is to be read, or the format alone.

    Raises:
        InvalidRequest: an unknown parameter, or a file that is no table; the message has the line.
        NotGzip: a file that is not gzip and has to be.
        TooLarge: a file beyond the limits.
    """
    read_as = ReadAs(read_as) if isinstance(read_as, str) else read_as
    choices = read_as.choices()
    limits = Limits(
        decompressed_bytes=settings.uploads.decompressed_bytes,
        ratio=settings.uploads.decompression_ratio,
        line_bytes=settings.tables.table_line_bytes,
        entries=settings.tables.table_entries,
        spreadsheet_bytes=settings.tables.table_spreadsheet_bytes,
    )
    languages = source, target
    try:
        items = read(parts, read_as.format, limits, gzip, languages, choices, odds_between(source, target))
        return normalise(items, source, target)
    except TableTooLarge as fault:
        raise TooLarge(str(fault)) from fault
    except TableFormatError as fault:
        raise InvalidRequest(str(fault)) from fault
