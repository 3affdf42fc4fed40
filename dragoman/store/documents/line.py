"""One line of an NDJSON upload of documents, checked; and what a body is that is evidently no NDJSON.

Some lines of a JSON array or of a document over several lines are JSON objects by themselves. Taken alone they would be
stored, and the rest of the file left out; so such a body is refused as a whole.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    Field,
    StrictStr,
    TypeAdapter,
    ValidationError,
)

from dragoman.engine.core.json import check_value, count_values
from dragoman.files.streams import BOM
from dragoman.store.line import LineId, LineRejected, parse_object
from dragoman.store.validation import Body, Clean, LanguageCode, NotBlank, describe

TITLE_CHARS = 10_000
"""Longest title, characters."""
METADATA_VALUES = 10_000
"""Most values in a document's metadata, all levels and the names of fields counted."""

_HEAD = 64 * 1024
_MAGIC = {
    b"PK\x03\x04": "a ZIP archive or a spreadsheet",
    b"PAR1": "a Parquet file",
    b"%PDF-": "a PDF document",
    b"\xff\xfe": "UTF-16 text",
    b"\xfe\xff": "UTF-16 text",
    b"BZh": "bzip2 data",
    b"\xfd7zXZ\x00": "xz data",
    b"\x28\xb5\x2f\xfd": "Zstandard data",
}
_SEPARATORS = ",;\t|"
_FIELDS = frozenset({"id", "_id", "doc_id", "docid", "document_id", "text", "title", "body", "content", "language"})


def _check_address(id: str) -> str:
    if id in (".", ".."):
        raise ValueError(f"{id!r} cannot be part of an address")
    return id


def check_metadata(metadata: Any) -> Any:
    """
    Raises:
        ValueError: it cannot be stored, or has too many values.
    """
    check_value(metadata)
    if (values := count_values(metadata)) > METADATA_VALUES:
        raise ValueError(f"holds {values} values and names of fields; at most {METADATA_VALUES} are allowed")
    return metadata


DocumentId = Annotated[LineId, AfterValidator(_check_address)]
Title = Annotated[
    Annotated[StrictStr, Field(max_length=TITLE_CHARS), Clean] | None, AfterValidator(lambda title: title or None)
]
Metadata = Annotated[
    Annotated[dict[str, Any], Field(max_length=METADATA_VALUES)] | None, BeforeValidator(check_metadata)
]

_ID: TypeAdapter[str] = TypeAdapter(DocumentId)


class DocumentLine(Body):
    """A document as uploaded. ``language`` and ``metadata`` that are None stay as they were; ``{}`` clears metadata."""

    model_config = ConfigDict(extra="forbid")

    id: DocumentId
    text: NotBlank
    title: Title = None
    language: LanguageCode | None = None
    metadata: Metadata = None


def parse_document(line: bytes, depth: int) -> DocumentLine:
    """The document of one line.

    Raises:
        LineRejected: not JSON, an unknown, missing or wrong field, or what cannot be stored.
    """
    fields = parse_object(line, depth)
    try:
        return DocumentLine.model_validate(fields)
    except ValidationError as fault:
        raise LineRejected(describe(fault.errors()), _id_or_none(fields.get("id"))) from fault


def _id_or_none(id: Any) -> str | None:
    """The id if a response can hold it, or None."""
    try:
        return _ID.validate_python(id)
    except ValidationError:
        return None


def peek(parts: Iterable[bytes]) -> tuple[bytes, Iterator[bytes]]:
    """The beginning of a body, its first line at least, and all of its parts.

    Whoever stalls after a line, or whose stream ends in the middle of another, has that line stored.
    """
    source = iter(parts)
    taken: list[bytes] = []
    begun, size = False, 0
    for part in source:
        taken.append(part)
        size += len(part)
        text = part if begun else part.lstrip()
        begun = begun or bool(text)
        if size >= _HEAD or (begun and b"\n" in text):
            break
    return b"".join(taken)[:_HEAD], chain(taken, source)


def other_form(head: bytes) -> str | None:
    """What the body is that begins so, as a message names it, or None if it may be one JSON object a line."""
    for magic, name in _MAGIC.items():
        if head.startswith(magic):
            return name
    text = head.removeprefix(BOM).lstrip()
    if text.startswith(b"["):
        return "a JSON array"
    if text.startswith((b"<?xml", b"<!DOCTYPE", b"<!doctype", b"<html")):
        return "XML or HTML"
    lines = [line.strip() for line in text.split(b"\n")]
    if text.startswith(b"{"):
        return "a JSON document over several lines" if _goes_on(lines) else None
    return "CSV" if _is_csv(lines[0]) else None


def _goes_on(lines: list[bytes]) -> bool:
    """Whether the first line is the beginning of a JSON value that the next lines go on with."""
    first = lines[0]
    if len(lines) < 2 or not first.endswith((b"{", b"[", b",")):
        return False
    try:
        json.loads(first)
    except (ValueError, RecursionError):
        return True
    return False


def _is_csv(line: bytes) -> bool:
    """Whether a line names two fields of documents or more as the header of a table does."""
    text = line.decode("utf-8", "replace")
    for separator in _SEPARATORS:
        if separator in text:
            try:
                cells = next(csv.reader([text], delimiter=separator))
            except (csv.Error, StopIteration):
                continue
            named = [cell.strip().lower() for cell in cells]
            if len(named) > 1 and len(_FIELDS.intersection(named)) >= 1 and not any("{" in cell for cell in named):
                return True
    return False
