"""An uploaded table file, read within the service's limits, with faults as errors of the service."""

from __future__ import annotations

from collections.abc import Iterator

from dragoman.lexicon.formats.build import Normalised, normalise
from dragoman.lexicon.formats.reader import FORMATS, Limits, TableFormatError, TableTooLarge, read
from dragoman.service.core.errors import InvalidRequest, TooLarge
from dragoman.service.core.settings import Settings


def read_table(
    parts: Iterator[bytes], source: str, target: str, format: str, settings: Settings, gzip: bool = False
) -> Normalised:
    """The normalised table of a file, plain or gzip (with ``gzip`` it has to be), as its parts come in.

    Raises:
        InvalidRequest: an unknown format, or a file that is no table; the message has the line.
        NotGzip: a file that is not gzip and has to be.
        TooLarge: a file beyond the limits.
    """
    if format not in FORMATS:
        raise InvalidRequest(f"format: {format[:40]!r} is unknown; choose one of {', '.join(FORMATS)}")
    limits = Limits(
        decompressed_bytes=settings.decompressed_bytes,
        ratio=settings.decompression_ratio,
        line_bytes=settings.table_line_bytes,
        entries=settings.table_entries,
    )
    try:
        return normalise(read(parts, format, limits, gzip, (source, target)), source, target)
    except TableTooLarge as fault:
        raise TooLarge(str(fault)) from fault
    except TableFormatError as fault:
        raise InvalidRequest(str(fault)) from fault
