"""The file of a backup: gzip of lines of JSON.

The first line says what it is and of which schema. Then come the tables, each a line that names it and its columns and
then a row a line. The last line has the number of rows and the SHA-256 of all lines before it.
"""

from __future__ import annotations

import hashlib
import json
from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import Table

from dragoman.engine.core.errors import InvalidRequest, ServiceError
from dragoman.engine.core.json import parse
from dragoman.files.streams import Line, lines
from dragoman.store import recorded_models as recorded_models  # its tables are among those of Base
from dragoman.store.backup.cells import Reader, make_reader
from dragoman.store.database import HEAD
from dragoman.store.models import Base

VERSION = 1
LINE_BYTES = 1 << 28
"""Longest row, as JSON: the embeddings of one document may take tens of MB."""
_VALUES = 2_000_000
"""Most values in a row: each name in a document is some."""
_DEPTH = 150
LEFT_OUT = frozenset({"service_instance", "secrets", "audit"})
"""Tables that belong to one service: who runs it, its own secrets, and who administered it."""
TABLES = {table.name: table for table in Base.metadata.sorted_tables if table.name not in LEFT_OUT}
"""What a backup holds, in the order in which rows refer to each other."""


class BackupFault(InvalidRequest):
    """A file that is no whole backup, or of a schema that is not there."""


class BackupRow(NamedTuple):
    """A row, the number of its line, and how long that is."""

    line: int
    table: Table
    cells: dict[str, Any]
    size: int


def write_row(row: Sequence[Any]) -> bytes:
    """A row as a line."""
    return json.dumps([_to_plain(cell) for cell in row], ensure_ascii=False, separators=(",", ":")).encode()


def _to_plain(cell: Any) -> Any:
    if isinstance(cell, bytes | memoryview):
        return b64encode(cell).decode()
    return cell.isoformat() if isinstance(cell, datetime) else cell


def head_line(made_at: datetime) -> dict[str, Any]:
    return {"backup": "dragoman", "version": VERSION, "schema": HEAD, "made_at": made_at.isoformat()}


def read_schema(parts: Iterable[bytes]) -> str:
    """The schema of a backup, as its first line has it.

    Raises:
        BackupFault: the file is none, or of another form.
        StreamFault: it cannot be unpacked.
    """
    first = next(lines(parts, LINE_BYTES), None)
    head = None if first is None else _parse(first)
    if not isinstance(head, dict) or head.get("backup") != "dragoman" or not isinstance(head.get("schema"), str):
        raise BackupFault("the file is no backup of Dragoman")
    if head.get("version") != VERSION:
        raise BackupFault(
            f"the backup is of version {str(head.get('version'))[:100]!r}, and this Dragoman reads {VERSION}"
        )
    return str(head["schema"])


def read_rows(parts: Iterable[bytes], tables: Mapping[str, Table]) -> Iterator[BackupRow]:
    """The rows of a backup whose schema has these ``tables``, each cell as its column takes it.

    Raises (while iterating):
        BackupFault: it is cut or damaged, or a cell is not of the type of its column; known at its end, at the latest.
        StreamFault: it cannot be unpacked.
    """
    digest, count = hashlib.sha256(), 0
    table: Table | None = None
    readers: list[tuple[str, Reader]] = []
    source = lines(parts, LINE_BYTES)
    for line in source:
        entry = _parse(line)
        content = line.content or b""
        if isinstance(entry, dict) and "sha256" in entry:
            if entry != {"rows": count, "sha256": digest.hexdigest()} or next(source, None) is not None:
                raise BackupFault("the backup is damaged: its checksum does not agree")
            return
        digest.update(content)
        digest.update(b"\n")
        if isinstance(entry, dict) and "backup" not in entry:
            table = _find_table(entry, tables, line.line_number)
            readers = [(name, make_reader(table.columns[name])) for name in entry["columns"]]
        elif isinstance(entry, list) and table is not None and len(entry) == len(readers):
            yield BackupRow(line.line_number, table, _read_cells(line, table, readers, entry), len(content))
            count += 1
        elif line.line_number > 1:
            raise BackupFault(f"the backup is damaged: line {line.line_number} is no row")
    raise BackupFault("the backup is cut: it has no end")


def _parse(line: Line) -> Any:
    if line.content is None:
        raise BackupFault(f"the backup is damaged: line {line.line_number} is longer than {LINE_BYTES} bytes")
    try:
        return parse(line.content, _DEPTH, _VALUES)
    except ServiceError as fault:
        raise BackupFault(f"the backup is damaged, or the file is none: line {line.line_number}: {fault}") from fault


def _find_table(entry: dict[str, Any], tables: Mapping[str, Table], line: int) -> Table:
    named = str(entry.get("table"))
    table, columns = tables.get(named), entry.get("columns")
    if table is None:
        raise BackupFault(f"the backup is damaged: line {line}: there is no table {named[:100]!r} in its schema")
    names = sorted(column.name for column in table.columns)
    if not isinstance(columns, list) or not all(isinstance(name, str) for name in columns) or sorted(columns) != names:
        raise BackupFault(f"the backup is damaged: line {line}: the table {named} has the columns {', '.join(names)}")
    return table


def _read_cells(
    line: Line, table: Table, readers: Sequence[tuple[str, Reader]], entry: Sequence[Any]
) -> dict[str, Any]:
    cells: dict[str, Any] = {}
    for (name, read), cell in zip(readers, entry, strict=True):
        try:
            cells[name] = read(cell)
        except (ValueError, OverflowError) as fault:
            raise BackupFault(
                f"line {line.line_number}: table {table.name}, column {name}: {fault}; nothing was restored"
            ) from fault
    return cells
