"""An uploaded table file, read within the service's limits, with faults as the service tells them."""

from __future__ import annotations

from collections.abc import Iterator

from dragoman.lexicon.formats.build import Normalised, normalise
from dragoman.lexicon.formats.reader import FORMATS, Limits, TableFormatError, TableTooLarge, read
from dragoman.service.core.errors import InvalidRequest, MalformedBody, TooLarge
from dragoman.service.core.settings import Settings

_GZIP_MAGIC = b"\x1f\x8b"


def read_table(
    parts: Iterator[bytes], source: str, target: str, format: str, settings: Settings, gzip: bool = False
) -> Normalised:
    """The normalised table of a file, plain or gzip (with ``gzip`` it has to be), as its parts come in.

    Raises:
        InvalidRequest: an unknown format, or a file that is no table; the message has the line.
        MalformedBody: a file that is not gzip and has to be.
        TooLarge: a file beyond the limits.
    """
    if format not in FORMATS:
        raise InvalidRequest(f"format: {format[:40]!r} is unknown; choose one of {', '.join(FORMATS)}")
    limits = Limits(
        decompressed_bytes=settings.decompressed_bytes,
        ratio=settings.decompression_ratio,
        line_bytes=settings.table_line_bytes,
    )
    try:
        return normalise(read(_packed(parts) if gzip else parts, format, limits), source, target)
    except TableTooLarge as fault:
        raise TooLarge(str(fault)) from fault
    except TableFormatError as fault:
        raise InvalidRequest(str(fault)) from fault


def _packed(parts: Iterator[bytes]) -> Iterator[bytes]:
    head = b""
    for part in parts:
        head += part
        if len(head) >= len(_GZIP_MAGIC):
            break
    if not head.startswith(_GZIP_MAGIC):
        raise MalformedBody("the body is not gzip, which its Content-Encoding says it is")
    yield head
    yield from parts
