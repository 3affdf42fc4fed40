"""Backups of earlier schemas: each is restored into a temporary database of its schema, which is then migrated."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from sqlalchemy import JSON, URL, BigInteger, DateTime, Integer, MetaData, Table, event

from dragoman.store.backup.format import LEFT_OUT, BackupFault, read_rows
from dragoman.store.backup.insertion import insert_rows
from dragoman.store.database import HEAD, Store, existing_store
from dragoman.store.models import Instant


@contextmanager
def open_migrated(read: Callable[[], Iterable[bytes]], schema: str, folder: Path | None) -> Iterator[Store]:
    """A database of the current schema with what a backup of an earlier one holds; ``read`` reads that again.

    Raises:
        BackupFault: this program does not know the schema, or what :func:`read_rows` raises.
    """
    with TemporaryDirectory(dir=folder, prefix="restoring-") as place:
        url = URL.create("sqlite", database=str(Path(place) / "older.db"))
        with existing_store(url.render_as_string()) as store:
            tables = _make_tables(store, schema)
            with store.write() as session:
                insert_rows(session, read_rows(read(), tables))
            store.migrate()
            yield store


def _make_tables(store: Store, schema: str) -> dict[str, Table]:
    """Make an empty database of a schema; returns what a backup of it holds."""
    from dragoman.store.upgrading import make_schema  # imports Alembic, which takes most of a second

    with store.write() as session:
        if not make_schema(session.connection(), schema):
            raise BackupFault(
                f"the backup is of schema {schema[:100]!r}, which this version of Dragoman, of {HEAD!r}, does not know:"
                " restore it with the version that made it, or a later one"
            )
    metadata = MetaData()
    event.listen(metadata, "column_reflect", _adapt_type)
    metadata.reflect(store.engine)
    return {name: table for name, table in metadata.tables.items() if name not in {*LEFT_OUT, "alembic_version"}}


def _adapt_type(_inspector: Any, _table: Table, column: Any) -> None:
    """The types that models have, where SQLite's own hold other values."""
    match column["type"]:
        case DateTime():
            column["type"] = Instant()
        case Integer():
            column["type"] = BigInteger()
        case JSON():
            column["type"] = JSON(none_as_null=True)
