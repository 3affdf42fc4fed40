"""The database: SQLite (write-ahead log) by default, PostgreSQL by URL; sessions, migrations, bulk loads."""

from __future__ import annotations

import re
import sqlite3
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import Any

from sqlalchemy import (
    Column,
    Connection,
    Engine,
    Executable,
    MetaData,
    PrimaryKeyConstraint,
    String,
    Table,
    create_engine,
    event,
    false,
    inspect,
    make_url,
    select,
    text,
    update,
)
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.orm import Session

from dragoman.engine.core.errors import Unavailable
from dragoman.engine.core.names import without_folders
from dragoman.store import faults as faults  # its handlers make errors of exceptions
from dragoman.store import recorded_models as recorded_models  # its tables are made with all others
from dragoman.store.instance_lock import DatabaseClaim, instance_name, mark_connections, retry_while_taken
from dragoman.store.models import Base, Collection, ServiceInstance, now
from dragoman.store.recent import CommitCounter

BUSY_MS = 30_000
HEAD = "0020_embedding_checksums"
"""The current schema revision: the last one in ``migrations``. A new database is created from the models."""

_VERSION = Table("alembic_version", MetaData(), Column("version_num", String(32), nullable=False))
_VERSION.append_constraint(PrimaryKeyConstraint("version_num", name="alembic_version_pkc"))
_MIGRATION_LOCK = 7_203_915_001
_ENTRY_COLUMNS = "version_id, number, source, target, p_ts, p_st, source_written, target_written"
_ENTRY_TYPES = ("int8", "int4", "text", "text", "float8", "float8", "text", "text")

_ONE_STATE: dict[str, Any] = {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True}
_CONNECTION: dict[str, Any] = {
    "connect_timeout": 5,
    "keepalives_idle": 30,
    "keepalives_interval": 10,
    "keepalives_count": 3,
    "tcp_user_timeout": 30_000,
}
"""Timeouts for a server that does not respond, unless the URL sets them."""

EntryRow = tuple[str, str, float, float, str | None, str | None]
"""source, target, P(target|source), P(source|target), and both terms as written where that differs"""


class Store:
    """The database of the service. ``read`` and ``write`` open a session each and may be used from any thread.

    The changes of a ``write`` block are durable once the block has ended.
    """

    def __init__(self, url: str, reading: bool = False) -> None:
        """With ``reading`` its connections refuse to write."""
        self.sqlite = make_url(url).get_backend_name() == "sqlite"
        self.engine = _sqlite_engine(url, reading) if self.sqlite else _postgresql_engine(url, reading)
        self._writer = self.engine.execution_options(dragoman_write=True)
        if reading and not self.sqlite:  # after a first read its driver begins transactions that write, if not told so
            self._writer = self._writer.execution_options(postgresql_readonly=True)
        self._reader = self.engine if self.sqlite else self.engine.execution_options(**_ONE_STATE)
        self._claim: DatabaseClaim | None = None
        self.commits = CommitCounter(self.engine)
        """Tells whether what was read may have changed since."""

    @contextmanager
    def read(self) -> Iterator[Session]:
        """A session that sees one consistent state and changes nothing."""
        with Session(self._reader, expire_on_commit=False) as session:
            yield session

    def rows(self, statement: Executable, parameters: Mapping[str, Any]) -> Sequence[Any]:
        """What one statement reads. It costs a third of a session, which searches would open several of."""
        with self._reader.connect() as connection:
            return connection.execute(statement, parameters).all()

    @contextmanager
    def write(self) -> Iterator[Session]:
        """A transaction, committed at the end of the block, rolled back when the block raises.

        On SQLite it is the only writer from its first statement on. So it cannot fail half-way because another
        transaction wrote after it had read.
        """
        with Session(self._writer, expire_on_commit=False) as session, session.begin():
            yield session

    def claim(self, seconds: float) -> None:
        """Lock the database against all other instances of the service, and migrate it.

        An SQLite database needs no lock: the data directory has one.

        Raises:
            DatabaseTaken: another instance still uses it after ``seconds`` seconds.
            Unavailable: as :meth:`migrate`.
        """
        if self.sqlite:
            self.migrate()
            return
        self._claim = claim = DatabaseClaim()
        mark_connections(self.engine, claim)
        retry_while_taken(self.migrate, seconds)
        with self.write() as session:
            session.merge(ServiceInstance(id=1, instance_id=claim.instance_id, name=claim.name, since=now()))
        claim.recorded = True

    def check_schema(self) -> None:
        """
        Raises:
            Unavailable: the database cannot be read, or has not the schema of this version.
        """
        try:
            revision = self.rows(select(_VERSION.c.version_num), {})
        except DBAPIError as fault:
            raise Unavailable(f"the database cannot be read: {_first_line(fault)}") from fault
        if [row.version_num for row in revision] != [HEAD]:
            raise Unavailable("the database has the schema of another version of Dragoman: start this one on it once")

    def migrate(self) -> None:
        """Migrate the database to the current schema; safe when several processes start at once.

        Raises:
            Unavailable: the database cannot be reached, or its schema is newer than this program.
        """
        try:
            with self._writer.connect() as connection, connection.begin():
                self._migrate(connection)
        except DBAPIError as fault:
            raise Unavailable(f"the database cannot be opened: {_first_line(fault)}") from fault

    def _migrate(self, connection: Connection) -> None:
        if not self.sqlite:
            connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _MIGRATION_LOCK})
        if not inspect(connection).has_table(_VERSION.name):
            Base.metadata.create_all(connection, checkfirst=False)  # tables of another program must not be taken over
            _VERSION.create(connection)
            connection.execute(_VERSION.insert().values(version_num=HEAD))
        elif (present := connection.scalar(select(_VERSION.c.version_num))) != HEAD:
            from dragoman.store.upgrading import upgrade  # imports Alembic, which takes most of a second

            upgrade(connection, present)

    def writable(self) -> bool:
        """Whether a write transaction is possible now."""
        try:
            with self._writer.connect() as connection, connection.begin() as transaction:
                connection.execute(update(Collection).where(false()).values(language="en"))
                transaction.rollback()
        except (DBAPIError, PoolTimeout, Unavailable):
            return False
        return True

    def check(self) -> None:
        """Run a query; raises SQLAlchemy's exception if the database cannot be read."""
        with self.read() as session:
            session.execute(text("SELECT version_num FROM alembic_version"))

    def has_table(self, model: type[Base]) -> bool:
        """Whether the database has a model's table."""
        return bool(inspect(self.engine).has_table(model.__tablename__))

    def close(self) -> None:
        self.commits.close()
        self.engine.dispose()


@contextmanager
def existing_store(url: str) -> Iterator[Store]:
    """A database with its schema unchanged, closed at the end of the block; a server may be using it too."""
    store = Store(url)
    try:
        yield store
    finally:
        store.close()


@contextmanager
def open_store(url: str) -> Iterator[Store]:
    """As :func:`existing_store`, migrated to the current schema.

    Raises:
        Unavailable: see :meth:`Store.migrate`.
    """
    with existing_store(url) as store:
        store.migrate()
        yield store


def insert_entries(session: Session, version_id: int, rows: Iterable[EntryRow], start: int = 0) -> int:
    """Add entries to a table version inside the session's transaction; a million take a few seconds.

    Entries are numbered from ``start`` in the order given. Returns the number after the last one.
    """
    connection = session.connection()
    numbered = ((version_id, position, *row) for position, row in enumerate(rows, start))
    if connection.dialect.name == "postgresql":
        return start + _copy_entries(connection, numbered)
    statement = f"INSERT INTO table_entries ({_ENTRY_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
    count = start
    while chunk := list(islice(numbered, 20_000)):
        connection.exec_driver_sql(statement, chunk)
        count += len(chunk)
    return count


def _copy_entries(connection: Connection, rows: Iterable[tuple[Any, ...]]) -> int:
    """COPY in binary format, which saves formatting and parsing numbers as text."""
    driver = connection.connection.driver_connection
    if driver is None:
        raise Unavailable("the database connection is closed")
    count = 0
    statement = f"COPY table_entries ({_ENTRY_COLUMNS}) FROM STDIN (FORMAT BINARY)"
    with driver.cursor() as cursor, cursor.copy(statement) as copy:
        copy.set_types(_ENTRY_TYPES)
        for row in rows:
            copy.write_row(row)
            count += 1
    return count


def _sqlite_engine(url: str, reading: bool) -> Engine:
    engine = create_engine(
        url, connect_args={"timeout": BUSY_MS / 1000}, pool_size=16, max_overflow=48, hide_parameters=True
    )

    @event.listens_for(engine, "connect")
    def configure(connection: Any, _record: Any) -> None:
        connection.isolation_level = None  # transactions begin below, not implicitly in the driver
        _write_ahead(connection)
        for pragma in ("synchronous = FULL", "foreign_keys = ON"):
            connection.execute(f"PRAGMA {pragma}")
        connection.execute(f"PRAGMA busy_timeout = {BUSY_MS}")
        if reading:
            connection.execute("PRAGMA query_only = ON")

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        if connection.get_execution_options().get("dragoman_write", False):
            connection.exec_driver_sql("BEGIN IMMEDIATE")
        else:  # waits for nothing, so it cannot fail as statements do
            connection.connection.cursor().execute("BEGIN")

    return engine


def _write_ahead(connection: sqlite3.Connection) -> None:
    """Switch a new database to write-ahead logging.

    If another connection does so at the same time, SQLite fails at once despite its busy timeout. So this retries.
    """
    deadline = time.monotonic() + BUSY_MS / 1000
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as fault:
            if fault.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
        time.sleep(0.01)


def _postgresql_engine(url: str, reading: bool) -> Engine:
    query = make_url(url).query
    chosen = {name: option for name, option in _CONNECTION.items() if name not in query}
    chosen["fallback_application_name"] = instance_name()
    if reading:
        options = make_url(url).normalized_query.get("options", ())
        chosen["options"] = " ".join([*options, "-c default_transaction_read_only=on"])
    return create_engine(
        url, pool_pre_ping=True, pool_size=16, max_overflow=48, connect_args=chosen, hide_parameters=True
    )


def _first_line(fault: DBAPIError) -> str:
    message = without_folders(re.sub(r"://[^@\s]*@", "://", str(fault.orig))).strip()
    return message.splitlines()[0] if message else type(fault.orig).__name__
