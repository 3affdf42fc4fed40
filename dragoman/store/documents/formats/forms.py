"""What a body of documents is, by its beginning.

Some lines of a JSON array or of a document over several lines are JSON objects by themselves. Taken alone they would be
stored, and the rest of the file left out; so such a body is refused as a whole.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator
from itertools import chain

from dragoman.files.streams import BOM

_HEAD = 64 * 1024
_MAGIC = {
    b"PK\x03\x04": "a ZIP archive or a spreadsheet",
    b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1": "an old spreadsheet or Word document",
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


def binary_form(head: bytes, utf16: bool = False) -> str | None:
    """What the body is that begins so, where that is no text; with ``utf16``, that is text, too."""
    for magic, name in _MAGIC.items():
        if head.startswith(magic) and not (utf16 and name == "UTF-16 text"):
            return name
    return None


def other_form(head: bytes) -> str | None:
    """What the body is that begins so, as a message names it, or None if it may be one JSON object a line."""
    if (form := binary_form(head)) is not None:
        return form
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
