"""Writes a backup of one state of a database, while others write on; and restores one, whole or not at all."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Set
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any

from sqlalchemy import Integer, LargeBinary, func, select, text, update
from sqlalchemy.orm import Session

from dragoman.engine.core.errors import Conflict
from dragoman.files.streams import gzip_stream, unpack
from dragoman.store.backup.format import TABLES, BackupRow, head_line, read_rows, read_schema, write_row
from dragoman.store.backup.insertion import insert_rows
from dragoman.store.backup.older import open_migrated
from dragoman.store.database import HEAD, Store
from dragoman.store.models import Collection, KeyCollection, now

_ROWS_AT_ONCE = 500
_WIDE_ROWS_AT_ONCE = 20
"""Rows with bytes: the embeddings of one document may take tens of MB."""
_READ = 1 << 20
_KEYS = "api_keys"
"""The table that need not be empty: whoever restores by HTTP has a key."""
_KEY_COLLECTIONS = "key_collections"
"""Nor this one, of keys that are limited."""
_NUMBERED = {
    "recorded_searches": ("id", "recorded_searches"),
    "recorded_words": ("search_id", "recorded_searches"),
    "recorded_events": ("id", "recorded_events"),
}
"""Nor these, which searches fill: the column that numbers their rows, and the table that is numbered by it."""
_DELETED: dict[str, Callable[[dict[str, Any]], bool]] = {
    "documents": lambda cells: bool(cells["deleted"]),
    "table_versions": lambda cells: cells["state"] == "deleted",
    "api_keys": lambda cells: cells["revoked_at"] is not None,
}
"""Which rows stand for what is gone."""
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
            wide = any(isinstance(column.type, LargeBinary) for column in table.columns)
            options = {"yield_per": _WIDE_ROWS_AT_ONCE if wide else _ROWS_AT_ONCE}
            for row in session.execute(chosen, execution_options=options):
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


def restore_backup(
    store: Store, parts: Iterable[bytes], folder: Path | None = None, limit: int | None = None
) -> dict[str, int]:
    """Store what a backup holds into a database without collections, tables and jobs; returns the live rows by table.

    The whole file is read and checked before anything is stored, and all is stored in one transaction. Keys that the
    database has stay as they are, and what it recorded stays beside that of the backup. A backup of an earlier schema
    is migrated. Meanwhile the file is kept in ``folder``. Unpacked it may have ``limit`` bytes.

    Raises:
        BackupFault, StreamFault: the file is cut or damaged, or no backup.
        Conflict: the database is not empty.
    """
    with TemporaryFile(dir=folder) as spool:
        for part in parts:
            spool.write(part)
        schema = read_schema(_unpack(spool, limit))
        if schema != HEAD:
            with open_migrated(lambda: _unpack(spool, limit), schema, folder) as older:
                return restore_backup(store, write_backup(older), folder)
        counts = _count_live(read_rows(_unpack(spool, limit), TABLES))
        with store.write() as session:
            if not store.sqlite:  # what others store meanwhile would take the keys of restored rows
                session.execute(text(f"LOCK TABLE {', '.join(TABLES)} IN SHARE ROW EXCLUSIVE MODE"))
            _check_empty(session)
            keys = set(session.execute(select(TABLES[_KEYS].c.id)).scalars())
            insert_rows(session, _fit_in(session, read_rows(_unpack(spool, limit), TABLES), keys))
            _bind_names(session, keys)
            if not store.sqlite:
                _continue_counting(session)
    return counts


def _count_live(rows: Iterable[BackupRow]) -> dict[str, int]:
    counts = dict.fromkeys(TABLES, 0)
    for row in rows:
        is_deleted = _DELETED.get(row.table.name)
        counts[row.table.name] += is_deleted is None or not is_deleted(row.cells)
    return counts


def _fit_in(session: Session, rows: Iterable[BackupRow], keys: Set[str]) -> Iterator[BackupRow]:
    """The rows without the ``keys`` that the database has; what was recorded is numbered on."""
    starts = {name: session.scalar(select(func.max(TABLES[name].c.id))) or 0 for _, name in _NUMBERED.values()}
    for row in rows:
        key = row.cells.get({_KEYS: "id", _KEY_COLLECTIONS: "key_id"}.get(row.table.name, ""))
        if key is not None and key in keys:
            continue
        if (numbered := _NUMBERED.get(row.table.name)) is not None:
            column, of_table = numbered
            row.cells[column] += starts[of_table]
        yield row


def _bind_names(session: Session, keys: Iterable[str]) -> None:
    """Give restored collections to limited keys that were there before, and that were given their names."""
    of_name = select(Collection.id).where(Collection.name == KeyCollection.name).scalar_subquery()
    for key in sorted(keys):
        waiting = (KeyCollection.key_id == key, KeyCollection.collection_id.is_(None))
        session.execute(update(KeyCollection).where(*waiting).values(collection_id=of_name))


def _unpack(spool: IO[bytes], limit: int | None) -> Iterator[bytes]:
    spool.seek(0)
    return unpack(iter(lambda: spool.read(_READ), b""), limit=limit)


def _check_empty(session: Session) -> None:
    for table in TABLES.values():
        if table.name in (_KEYS, _KEY_COLLECTIONS) or table.name in _NUMBERED:
            continue
        if session.execute(select(table.primary_key.columns[0]).limit(1)).first() is not None:
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
