"""Stores the rows of a backup."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby

from sqlalchemy import insert
from sqlalchemy.exc import DataError, IntegrityError
from sqlalchemy.orm import Session

from dragoman.store.backup.format import BackupFault, BackupRow

_ROWS_AT_ONCE = 500
_BYTES_AT_ONCE = 1 << 24


def insert_rows(session: Session, rows: Iterable[BackupRow]) -> None:
    """
    Raises:
        BackupFault: rows refer to none, or are not alone where they have to be; the message has their lines.
    """
    for table, of_table in groupby(rows, key=lambda row: row.table):
        for some in _gather(of_table):
            try:
                session.execute(insert(table), [row.cells for row in some])
            except (IntegrityError, DataError, OverflowError) as fault:
                reason = str(getattr(fault, "orig", fault)).partition("\n")[0]
                raise BackupFault(
                    f"a row of the lines {some[0].line} to {some[-1].line} of the backup cannot be stored in the table"
                    f" {table.name}: {reason}; nothing was restored"
                ) from fault


def _gather(rows: Iterable[BackupRow]) -> Iterator[list[BackupRow]]:
    gathered: list[BackupRow] = []
    size = 0
    for row in rows:
        gathered.append(row)
        size += row.size
        if len(gathered) >= _ROWS_AT_ONCE or size >= _BYTES_AT_ONCE:
            yield gathered
            gathered, size = [], 0
    if gathered:
        yield gathered
