"""Documents and entries of tables, as programs have them, as the lines that an import reads."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from io import IOBase
from pathlib import Path
from tempfile import SpooledTemporaryFile
from typing import IO, TYPE_CHECKING, Any, TypeAlias

from dragoman.door.table import Table
from dragoman.service.core.errors import InvalidRequest

if TYPE_CHECKING:
    from pandas import DataFrame

Documents: TypeAlias = "Iterable[Mapping[str, Any]] | DataFrame | str | Path"
"""Documents: mappings with ``id`` and ``text``, a frame with such columns, or the path of an NDJSON file."""
Entries: TypeAlias = (
    "Mapping[str, str | Iterable[str] | Mapping[str, float]] | Iterable[tuple[str, str]]"
    " | Iterable[tuple[str, str, float]] | Table | DataFrame | str | Path | IO[bytes]"
)
"""Entries: a mapping of terms to translations, pairs, a table or frame, or the path of a file in any form of tables."""

_READ = 1 << 20
_IN_MEMORY = 1 << 26


def document_lines(documents: Documents) -> Iterator[bytes]:
    """One NDJSON line a document; of a file its parts as they are.

    All documents are written before the first line is given: where one is faulty, or making them is interrupted,
    nothing of them is imported.

    Raises:
        InvalidRequest: a document cannot be written as JSON; the message has its place.
        OSError: the file cannot be read.
    """
    if isinstance(documents, str | Path):
        yield from _parts_of(Path(documents))
        return
    with SpooledTemporaryFile(_IN_MEMORY) as written:
        for number, document in enumerate(_records(documents), 1):
            written.write(_line(document, f"document {number}"))
        written.seek(0)
        yield from written


def table_file(entries: Entries) -> tuple[Iterator[bytes], str]:
    """The bytes of a table file, and its format as an upload names it.

    Raises:
        InvalidRequest: an entry cannot be written; the message has its place.
        OSError: the file cannot be read.
    """
    if isinstance(entries, str | Path):
        return _parts_of(Path(entries)), "auto"
    if isinstance(entries, Table):
        return entries.lines(), "tsv"
    if isinstance(entries, IOBase):
        return iter(lambda: entries.read(_READ), b""), "auto"
    return (_line(entry, f"entry {number}") for number, entry in enumerate(_entries(entries), 1)), "jsonl"


def _entries(entries: Any) -> Iterator[dict[str, Any]]:
    if isinstance(entries, Mapping):
        for source, translations in entries.items():
            if isinstance(translations, str):
                yield {"source": source, "target": translations}
            elif isinstance(translations, Mapping):
                for target, probability in translations.items():
                    yield {"source": source, "target": target, "probability": probability}
            else:
                yield from ({"source": source, "target": target} for target in translations)
        return
    names = ("source", "target", "probability")
    for number, row in enumerate(_rows(entries), 1):
        if not 2 <= len(row) <= len(names):
            raise InvalidRequest(
                f"entry {number}: has {len(row)} parts: a term, its translation, and a probability or none"
            )
        yield dict(zip(names, row, strict=False))


def _rows(entries: Any) -> Iterator[tuple[Any, ...]]:
    """The rows of a frame, by the columns source, target and probability where it has them; or pairs as they are."""
    if not hasattr(entries, "itertuples"):
        yield from map(tuple, entries)
        return
    if {"source", "target"} <= set(entries.columns):
        entries = entries[[name for name in ("source", "target", "probability") if name in entries.columns]]
    yield from entries.itertuples(index=False, name=None)


def _records(documents: Any) -> Iterable[Mapping[str, Any]]:
    """The documents as mappings; of a frame without what its cells lack."""
    if not hasattr(documents, "itertuples"):
        return documents  # type: ignore[no-any-return]
    rows = documents.itertuples(index=False, name=None)
    columns = [str(column) for column in documents.columns]
    return (
        {name: cell for name, cell in zip(columns, row, strict=True) if cell is not None and cell == cell}
        for row in rows
    )


def _line(record: Any, place: str) -> bytes:
    try:
        return json.dumps(record, ensure_ascii=False, allow_nan=False, default=_plain).encode("utf-8") + b"\n"
    except (TypeError, ValueError) as fault:
        raise InvalidRequest(f"{place}: {fault}") from fault


def _plain(cell: Any) -> Any:
    """A number of numpy as Python has it; dates and times as text."""
    if hasattr(cell, "item"):
        return cell.item()
    if hasattr(cell, "isoformat"):
        return cell.isoformat()
    raise TypeError(f"{type(cell).__name__} is not JSON")


def _parts_of(path: Path) -> Iterator[bytes]:
    with path.open("rb") as stream:
        yield from iter(lambda: stream.read(_READ), b"")
