"""The file of a backup: gzip of lines of JSON.

The first line says what it is and of which schema. Then come the tables, each a line that names it and its columns and
then a row a line. The last line has the number of rows and the SHA-256 of all lines before it.
"""

from __future__ import annotations

import hashlib
import json
from base64 import b64decode, b64encode
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import LargeBinary, Table

from dragoman.engine.core.errors import InvalidRequest
from dragoman.files.streams import lines
from dragoman.store import recorded_models as recorded_models  # its tables are among those of Base
from dragoman.store.database import HEAD
from dragoman.store.models import Base, Instant

VERSION = 1
LINE_BYTES = 1 << 30
"""Longest row, as JSON: the embeddings of one document may take tens of MB."""
LEFT_OUT = frozenset({"service_instance", "secrets", "audit"})
"""Tables that belong to one service: who runs it, its own secrets, and who administered it."""
TABLES = {table.name: table for table in Base.metadata.sorted_tables if table.name not in LEFT_OUT}
"""What a backup holds, in the order in which rows refer to each other."""


class BackupFault(InvalidRequest):
    """A file that is no whole backup of this schema."""


def write_row(row: Sequence[Any]) -> bytes:
    """A row as a line."""
    return json.dumps([_to_plain(cell) for cell in row], ensure_ascii=False, separators=(",", ":")).encode()


def _to_plain(cell: Any) -> Any:
    if isinstance(cell, bytes | memoryview):
        return b64encode(cell).decode()
    return cell.isoformat() if isinstance(cell, datetime) else cell


def head_line(made_at: datetime) -> dict[str, Any]:
    return {"backup": "dragoman", "version": VERSION, "schema": HEAD, "made_at": made_at.isoformat()}


def check_backup(parts: Iterable[bytes]) -> dict[str, int]:
    """Read a whole backup, and look whether it is what was written; returns the rows of each table.

    Raises:
        BackupFault: it is cut, damaged, of another schema, or none.
        StreamFault: it cannot be unpacked.
    """
    digest, counts, columns, table = hashlib.sha256(), dict[str, int](), 0, ""
    source = lines(parts, LINE_BYTES)
    first = next(source, None)
    head = _parse(first)
    if first is None or not isinstance(head, dict) or head.get("backup") != "dragoman":
        raise BackupFault("the file is no backup of Dragoman")
    if head != {**head, "version": VERSION, "schema": HEAD}:
        raise BackupFault(
            f"the backup is of schema {head.get('schema')!r}, and this version of Dragoman has {HEAD!r}: restore it"
            " with the version that made it; that database is migrated when this version opens it"
        )
    digest.update((first.content or b"") + b"\n")
    for line in source:
        content = line.content or b""
        entry = _parse(line)
        if isinstance(entry, dict) and "sha256" in entry:
            if entry != {"rows": sum(counts.values()), "sha256": digest.hexdigest()} or next(source, None) is not None:
                raise BackupFault("the backup is damaged: its checksum does not agree")
            return counts
        digest.update(content + b"\n")
        if isinstance(entry, dict):
            table, columns = _read_table(entry)
            counts[table] = 0
        elif not isinstance(entry, list) or not table or len(entry) != columns:
            raise BackupFault(f"the backup is damaged: line {line.line_number} is no row")
        else:
            counts[table] += 1
    raise BackupFault("the backup is cut: it has no end")


def _parse(line: Any) -> Any:
    try:
        return json.loads(line.content or b"") if line is not None else None
    except (ValueError, RecursionError) as fault:
        raise BackupFault(f"the backup is damaged, or the file is none: line {line.line_number} is no JSON") from fault


def _read_table(entry: dict[str, Any]) -> tuple[str, int]:
    table = TABLES.get(str(entry.get("table")))
    columns = entry.get("columns")
    if table is None or columns != [column.name for column in table.columns]:
        raise BackupFault(f"the backup is damaged: it has a table {str(entry.get('table'))[:100]!r} of other columns")
    return table.name, len(columns)


def read_rows(parts: Iterable[bytes]) -> Iterator[tuple[Table, dict[str, Any]]]:
    """The rows of a backup that is checked, each with its table."""
    table: Table | None = None
    readers: list[tuple[str, Any]] = []
    for line in lines(parts, LINE_BYTES):
        entry = json.loads(line.content or b"")
        if isinstance(entry, list) and table is not None:
            yield table, {name: read(cell) for (name, read), cell in zip(readers, entry, strict=True)}
        elif "table" in entry:
            table = TABLES[entry["table"]]
            readers = [(column.name, _reader(column.type)) for column in table.columns]


def _reader(kind: Any) -> Any:
    if isinstance(kind, LargeBinary):
        return lambda cell: None if cell is None else b64decode(cell)
    if isinstance(kind, Instant):
        return lambda cell: None if cell is None else datetime.fromisoformat(cell)
    return lambda cell: cell
