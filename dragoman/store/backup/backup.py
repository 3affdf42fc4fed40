"""Writes a backup of one state of a database, while others write on; and restores one, whole or not at all."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from itertools import groupby, islice
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO

from sqlalchemy import Integer, func, insert, select, text
from sqlalchemy.exc import DataError, IntegrityError
from sqlalchemy.orm import Session

from dragoman.engine.core.errors import Conflict
from dragoman.files.streams import gzip_stream, unpack
from dragoman.store.backup.format import TABLES, BackupFault, check_backup, head_line, read_rows, write_row
from dragoman.store.database import Store
from dragoman.store.models import now

_ROWS_AT_ONCE = 500
_READ = 1 << 20
_KEYS = "api_keys"
"""The table that need not be empty: whoever restores by HTTP has a key."""
_UNFINISHED = {"table_versions": "state <> 'building'", "jobs": "status <> 'uploading'"}
"""Uploads under way are no part of a backup, and what belongs to them neither."""
_PARTS = {
    "table_entries": "version_id IN (SELECT id FROM table_versions WHERE state <> 'building')",
    "job_lines": "job_id IN (SELECT id FROM jobs WHERE status <> 'uploading')",
}


def write_backup(store: Store) -> Iterator[bytes]:
    """The parts of a backup file: all tables as they are in one moment."""
    yield from gzip_stream(_gather(_lines(store)))


def _lines(store: Store) -> Iterator[bytes]:
    digest, rows = hashlib.sha256(), 0

    def add(line: bytes) -> bytes:
        digest.update(line + b"\n")
        return line + b"\n"

    yield add(json.dumps(head_line(now())).encode())
    with store.read() as session:
        for table in TABLES.values():
            columns = [column.name for column in table.columns]
            yield add(json.dumps({"table": table.name, "columns": columns}).encode())
            chosen = select(table).order_by(*table.primary_key.columns)
            if (condition := _UNFINISHED.get(table.name) or _PARTS.get(table.name)) is not None:
                chosen = chosen.where(text(condition))
            for row in session.execute(chosen, execution_options={"yield_per": _ROWS_AT_ONCE}):
                yield add(write_row(row))
                rows += 1
    yield json.dumps({"rows": rows, "sha256": digest.hexdigest()}).encode() + b"\n"


def _gather(parts: Iterable[bytes]) -> Iterator[bytes]:
    """The same bytes in larger pieces."""
    gathered = bytearray()
    for part in parts:
        gathered += part
        if len(gathered) >= _READ:
            yield bytes(gathered)
            gathered.clear()
    yield bytes(gathered)


def restore_backup(store: Store, parts: Iterable[bytes], folder: Path | None = None) -> dict[str, int]:
    """Store what a backup holds into a database without collections, tables and jobs; returns the rows by table.

    The whole file is read and checked before anything is stored, and all is stored in one transaction. Keys that the
    database has stay as they are. Meanwhile the file is kept in ``folder``.

    Raises:
        BackupFault, StreamFault: the file is cut or damaged, or no backup of this schema.
        Conflict: the database is not empty.
    """
    with TemporaryFile(dir=folder) as spool:
        for part in parts:
            spool.write(part)
        counts = check_backup(_unpack(spool))
        with store.write() as session:
            _check_empty(session)
            try:
                _insert(session, spool)
            except (IntegrityError, DataError, ValueError, TypeError) as fault:
                raise BackupFault("the backup holds rows that are none, so nothing was restored") from fault
            if not store.sqlite:
                _continue_counting(session)
    return counts


def _insert(session: Session, spool: IO[bytes]) -> None:
    keys = set(session.execute(select(TABLES[_KEYS].c.id)).scalars())
    for table, rows in groupby(read_rows(_unpack(spool)), key=lambda pair: pair[0]):
        contents = (row for _, row in rows if table.name != _KEYS or row["id"] not in keys)
        while some := list(islice(contents, _ROWS_AT_ONCE)):
            session.execute(insert(table), some)


def _unpack(spool: IO[bytes]) -> Iterator[bytes]:
    spool.seek(0)
    return unpack(iter(lambda: spool.read(_READ), b""))


def _check_empty(session: Session) -> None:
    for table in TABLES.values():
        if table.name != _KEYS and session.execute(select(table.primary_key.columns[0]).limit(1)).first() is not None:
            raise Conflict(
                f"a backup is restored into a database without collections, tables and jobs, and this one has"
                f" {table.name}: restore into a new data directory or database"
            )


def _continue_counting(session: Session) -> None:
    """Let PostgreSQL count on from the keys that were restored."""
    for table in TABLES.values():
        column = table.autoincrement_column
        if column is None or not isinstance(column.type, Integer):
            continue
        sequence = session.scalar(select(func.pg_get_serial_sequence(table.name, column.name)))
        last = session.scalar(select(func.max(column)))
        if sequence is not None and last is not None:
            session.execute(select(func.setval(sequence, last)))
