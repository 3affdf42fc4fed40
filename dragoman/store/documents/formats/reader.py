"""Reads the body of an import of documents, in any of its formats, into rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from dragoman.engine.core.errors import InvalidRequest, TooLarge
from dragoman.files.streams import BOM, lines
from dragoman.installation import needed_for
from dragoman.store.documents.formats.charset import decode_as_utf8
from dragoman.store.documents.formats.delimited import read_delimited
from dragoman.store.documents.formats.forms import binary_form, other_form, peek
from dragoman.store.documents.formats.mapping import FieldMapping
from dragoman.store.documents.formats.parquet import read_parquet
from dragoman.store.documents.formats.rows import ARRAY_DOCUMENTS, Row, RowLimits, write_row
from dragoman.store.documents.formats.trec import read_trec

FORMATS = ("ndjson", "json", "csv", "tsv", "parquet", "trec")
TABLES = frozenset({"csv", "tsv", "parquet"})
"""Formats with columns, of which those that no document has are metadata."""
WHOLE = "json"
"""The format that is imported or refused whole."""


def check_format(format: str) -> None:
    """
    Raises:
        InvalidRequest: there is no such format.
    """
    if format not in FORMATS:
        raise InvalidRequest(f"format: there is no {format[:100]!r}; there are {', '.join(FORMATS)}")


def read_rows(
    parts: Iterable[bytes], format: str, mapping: FieldMapping, limits: RowLimits, encoding: str | None = None
) -> Iterator[Row]:
    """The rows of an unpacked body of one of :data:`FORMATS`; ``encoding`` is that of its text, UTF-8 if it is None.

    Raises (while iterating):
        InvalidRequest: it is evidently of another format, or cannot be read to its end, or there is no such format.
        UnsupportedMedia: there is no such encoding.
        TooLarge: a JSON array is too large to be imported whole.
        UnsupportedMedia: what reads the format is not installed.
    """
    check_format(format)
    if format == "parquet":
        yield from read_parquet(parts, mapping, limits)
        return
    if encoding is not None:
        parts = decode_as_utf8(parts, encoding)
    head, parts = peek(parts)
    form = other_form(head) if format == "ndjson" else binary_form(head, utf16=format in TABLES)
    if form is not None:
        expected = "one JSON object per line" if format == "ndjson" else f"the format {format}"
        raise InvalidRequest(f"the body is {form}: send {expected}, or name its format, one of {', '.join(FORMATS)}")
    if format in TABLES:
        separator = "\t" if format == "tsv" else None
        yield from read_delimited(head, parts, separator, mapping, limits, encoding or "UTF-8")
    elif format == "trec":
        yield from read_trec(parts, limits)
    elif format == WHOLE:
        yield from _read_array(parts, limits)
    else:
        reason = f"the line is longer than {limits.row_bytes} bytes"
        for line in lines(parts, limits.row_bytes):
            yield Row(line.line_number, line.content, "" if line.content is not None else reason)


def _read_array(parts: Iterable[bytes], limits: RowLimits) -> Iterator[Row]:
    """The elements of an array, numbered from 1."""
    body = bytearray()
    for part in parts:
        body += part
        if len(body) > limits.body_bytes:
            raise TooLarge(
                f"a JSON array of more than {limits.body_bytes} bytes is not imported whole: send one object per line"
            )
    if not body.strip():
        return
    if not body.removeprefix(BOM).lstrip().startswith(b"["):
        raise InvalidRequest("the body is not a JSON array; lines of JSON are application/x-ndjson, or format=ndjson")
    with needed_for("reading JSON arrays"):
        from dragoman.engine.core.json import parse  # what sends to a service needs it for arrays alone

    documents = parse(body, limits.depth + 1, limits.values)
    if len(documents) > ARRAY_DOCUMENTS:
        raise TooLarge(
            f"an array of more than {ARRAY_DOCUMENTS} documents is not imported whole: send one object per line"
        )
    for position, document in enumerate(documents, 1):
        if isinstance(document, dict):
            yield write_row(position, document, limits)
        else:
            yield Row(position, None, "the element is not a JSON object")
