"""Translation tables in the database. Publishing, activating and hiding a version each take one transaction."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby, islice
from threading import Lock
from typing import cast

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import delete, exists, func, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from dragoman.engine.core.answer import Answer
from dragoman.engine.core.errors import Conflict, NotFound
from dragoman.engine.tables.views import ActiveVersion
from dragoman.lexicon.table.compose import Kind
from dragoman.lexicon.table.table import Table
from dragoman.lexicon.table.vocabulary import Vocabulary
from dragoman.lexicon.table.written import Written, WrittenForms
from dragoman.store.database import EntryRow, Store, insert_entries
from dragoman.store.models import TableEntry, TableVersion, TranslationTable

BUILDING, READY, DELETED = "building", "ready", "deleted"
_ENTRIES_PER_TRANSACTION = 50_000
_ENTRIES_PER_BLOCK = 10_000


@dataclass(frozen=True, slots=True)
class NewVersion:
    """The data of a version before its entries are stored."""

    name: str
    source: str
    target: str
    kind: Kind
    weight: float
    format: str
    created_by: str | None
    written_forms: bool = True


@dataclass(frozen=True, slots=True)
class Counts:
    """The result of reading the file of a version."""

    checksum: str
    source_terms: int
    entries: int
    rejected: int
    pruned: int
    probabilities: bool = True
    """Whether any probability was given."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionInfo(Answer):
    """One uploaded version of a table."""

    version: int
    active: bool
    checksum: str
    kind: Kind
    """A glossary outranks statistical tables where both are active."""
    weight: float
    """Weight among active tables of the same kind."""
    format: str
    source_terms: int
    entries: int
    rejected: int
    pruned: int
    written_forms: bool
    """Whether its entries are kept as they were written; older versions have them as folded."""
    created_at: datetime
    created_by: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TableInfo(Answer):
    """A table with all its versions, oldest first."""

    name: str
    source: str
    target: str
    active_version: int | None
    versions: list[VersionInfo]


class TableRepository:
    """The tables of a database. Versions that are being built or deleted are not visible."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._beginning = Lock()

    def tables(self, name: str | None = None) -> list[TableInfo]:
        """All tables with versions, ordered by name; with ``name`` only that table."""
        statement = select(TranslationTable, TableVersion).join(TableVersion).where(TableVersion.state == READY)
        if name is not None:
            statement = statement.where(TranslationTable.name == name)
        with self._store.read() as session:
            rows = session.execute(statement.order_by(TranslationTable.name, TableVersion.version)).all()
        return [
            _table_info([row for _, row in versions], table) for table, versions in groupby(rows, lambda row: row[0])
        ]

    def ready(self) -> tuple[list[ActiveVersion], list[ActiveVersion]]:
        """All ready versions, and the active ones among them."""
        with self._store.read() as session:
            rows = session.execute(
                select(TranslationTable, TableVersion).join(TableVersion).where(TableVersion.state == READY)
            ).all()
        versions = [(_version(table, row), row.active) for table, row in rows]
        return [version for version, _ in versions], [version for version, active in versions if active]

    def languages(self, name: str) -> tuple[str, str] | None:
        """The source and target language of a table, or None if there is no table of this name."""
        with self._store.read() as session:
            row = session.scalar(select(TranslationTable).where(TranslationTable.name == name))
        return None if row is None else (row.source, row.target)

    def next_number(self, name: str) -> int:
        """The number that the next version of a table gets."""
        with self._store.read() as session:
            return _next_number(session, name)

    def begin(self, new: NewVersion) -> int:
        """Create the row of a version that is being built.

        Raises:
            Conflict: the table has other languages, or another upload is creating it at the same moment.
        """
        try:
            with self._beginning, self._store.write() as session:
                table = session.scalar(select(TranslationTable).where(TranslationTable.name == new.name))
                if table is None:
                    table = TranslationTable(name=new.name, source=new.source, target=new.target)
                    session.add(table)
                    session.flush()
                check_languages(new.name, (table.source, table.target), (new.source, new.target))
                row = TableVersion(
                    table_id=table.id,
                    version=_building_number(session, table.id),
                    kind=new.kind,
                    weight=new.weight,
                    format=new.format,
                    state=BUILDING,
                    written_forms=new.written_forms,
                    created_by=new.created_by,
                )
                session.add(row)
        except IntegrityError as fault:
            raise Conflict(f"another upload of table '{new.name}' began at the same moment; try again") from fault
        return row.id

    def fill(self, row_id: int, table: Table, written: WrittenForms) -> None:
        """Store the entries of a version that is being built, in transactions of bounded size."""
        rows = entry_rows(table, written)
        position = 0
        while chunk := list(islice(rows, _ENTRIES_PER_TRANSACTION)):
            with self._store.write() as session:
                position = insert_entries(session, row_id, chunk, position)

    def publish(self, row_id: int, version: int, counts: Counts, activate: bool) -> None:
        """Make a built version visible and, with ``activate``, active, in one transaction.

        Raises:
            Conflict: the number is taken.
        """
        values = {
            "version": version,
            "state": READY,
            "checksum": counts.checksum,
            "source_terms": counts.source_terms,
            "entries": counts.entries,
            "rejected": counts.rejected,
            "pruned": counts.pruned,
            "probabilities": counts.probabilities,
        }
        with self._store.write() as session:
            session.execute(update(TableVersion).where(TableVersion.id == row_id).values(values))
            if activate:
                _activate(session, row_id)

    def activate(self, row_id: int) -> None:
        """Make a version the active one of its table."""
        with self._store.write() as session:
            _activate(session, row_id)

    def deactivate(self, row_id: int) -> None:
        """Make a version inactive."""
        with self._store.write() as session:
            session.execute(update(TableVersion).where(TableVersion.id == row_id).values(active=False))

    def hide(self, row_id: int) -> None:
        """Mark a version as deleted, which makes it invisible."""
        with self._store.write() as session:
            session.execute(update(TableVersion).where(TableVersion.id == row_id).values(state=DELETED))

    def purge(self, row_id: int) -> None:
        """Remove the entries of a building or deleted version, and all rows that are no longer needed.

        The row of a deleted version, with its number, stays as long as its table has other versions. A ready version
        is left alone.
        """
        with self._store.read() as session:
            if session.scalar(select(TableVersion.state).where(TableVersion.id == row_id)) == READY:
                return
        while self._purge_some(row_id):
            pass
        with self._store.write() as session:
            unfinished = (TableVersion.id == row_id, TableVersion.state == BUILDING)
            session.execute(delete(TableVersion).where(*unfinished))
            _remove_empty_tables(session)

    def _purge_some(self, row_id: int) -> bool:
        of_version = TableEntry.version_id == row_id
        with self._store.write() as session:
            first = session.scalar(select(func.min(TableEntry.position)).where(of_version))
            if first is None:
                return False
            session.execute(
                delete(TableEntry).where(of_version, TableEntry.position < first + _ENTRIES_PER_TRANSACTION)
            )
        return True

    def list_unfinished(self) -> list[int]:
        """Versions that were being built or deleted when the process ended."""
        with_entries = exists().where(TableEntry.version_id == TableVersion.id)
        with self._store.read() as session:
            building = select(TableVersion.id).where(TableVersion.state == BUILDING)
            deleted = select(TableVersion.id).where(TableVersion.state == DELETED, with_entries)
            return [*session.scalars(building), *session.scalars(deleted)]

    def load(self, version: ActiveVersion) -> tuple[Table, WrittenForms]:
        """Build the table of a version from its entries, and how these were written.

        Raises:
            NotFound: it has been deleted.
        """
        written = Written()

        def pairs() -> Iterator[tuple[str, str, float, float]]:
            for position, (source, target, p_ts, p_st, *forms) in enumerate(self.rows(version.id)):
                if forms[0] is not None or forms[1] is not None:
                    written.add(position, *forms)
                yield source, target, p_ts, p_st

        table = Table.from_entries(version.source, version.target, pairs())
        if not len(table):
            raise NotFound(f"version {version.version} of table '{version.name}' has been deleted")
        return table, written.forms()

    def rows(self, row_id: int) -> Iterator[EntryRow]:
        """The entries of a version, ordered by folded source, then target; none of one that has been deleted."""
        entry = (TableEntry.source, TableEntry.target, TableEntry.p_ts, TableEntry.p_st)
        statement = select(*entry, TableEntry.source_written, TableEntry.target_written)
        statement = statement.where(TableEntry.version_id == row_id).order_by(TableEntry.position)
        with self._store.read() as session:
            yield from cast("Iterator[EntryRow]", session.execute(statement, execution_options={"yield_per": 20_000}))


def check_languages(name: str, present: tuple[str, str], uploaded: tuple[str, str]) -> None:
    """Raise :class:`Conflict` unless an upload has the languages of its table."""
    if present != uploaded:
        raise Conflict(
            f"table '{name}' is from {present[0]} to {present[1]}: "
            f"choose another name for one from {uploaded[0]} to {uploaded[1]}"
        )


def entry_rows(table: Table, written: WrittenForms, start: int = 0) -> Iterator[EntryRow]:
    """The entries of a table from the one of number ``start`` on, ordered by source term, then target term."""
    side = table.by_source
    for first in range(start, len(table), _ENTRIES_PER_BLOCK):
        some = slice(first, min(first + _ENTRIES_PER_BLOCK, len(table)))
        owners = np.searchsorted(side.indptr, np.arange(first, some.stop), side="right") - 1
        sources, targets = _terms(table.sources, owners), _terms(table.targets, side.ids[some])
        forms = (side_forms.between(first, some.stop) for side_forms in (written.source, written.target))
        yield from zip(sources, targets, side.forward[some].tolist(), side.backward[some].tolist(), *forms, strict=True)


def _terms(vocabulary: Vocabulary, indices: NDArray[np.integer]) -> Iterator[str]:
    """The terms of these numbers; each is decoded once."""
    distinct, places = np.unique(indices, return_inverse=True)
    terms = [vocabulary[index] for index in distinct.tolist()]
    return (terms[place] for place in places.tolist())


def _next_number(session: Session, name: str) -> int:
    highest = session.scalar(
        select(func.max(TableVersion.version)).join(TranslationTable).where(TranslationTable.name == name)
    )
    return max(highest or 0, 0) + 1


def _building_number(session: Session, table_id: int) -> int:
    lowest = session.scalar(select(func.min(TableVersion.version)).where(TableVersion.table_id == table_id))
    return min(lowest or 0, 0) - 1


def _activate(session: Session, row_id: int) -> None:
    table_id = select(TableVersion.table_id).where(TableVersion.id == row_id).scalar_subquery()
    session.execute(
        update(TableVersion).where(TableVersion.table_id == table_id, TableVersion.active).values(active=False)
    )
    session.execute(update(TableVersion).where(TableVersion.id == row_id).values(active=True))


def _remove_empty_tables(session: Session) -> None:
    """Remove tables that have only deleted versions, which frees their names."""
    of_table = TableVersion.table_id == TranslationTable.id
    alive = exists().where(of_table, TableVersion.state != DELETED)
    unpurged = exists().where(of_table, TableEntry.version_id == TableVersion.id)
    empty = list(session.scalars(select(TranslationTable.id).where(~alive, ~unpurged)))
    if empty:
        session.execute(delete(TableVersion).where(TableVersion.table_id.in_(empty)))
        session.execute(delete(TranslationTable).where(TranslationTable.id.in_(empty)))


def _version(table: TranslationTable, row: TableVersion) -> ActiveVersion:
    return ActiveVersion(
        id=row.id,
        name=table.name,
        version=row.version,
        source=table.source,
        target=table.target,
        kind=cast("Kind", row.kind),
        weight=row.weight,
        checksum=row.checksum,
        probabilities=row.probabilities,
    )


def _table_info(rows: Sequence[TableVersion], table: TranslationTable) -> TableInfo:
    return TableInfo(
        name=table.name,
        source=table.source,
        target=table.target,
        active_version=next((row.version for row in rows if row.active), None),
        versions=[_info(row) for row in rows],
    )


def _info(row: TableVersion) -> VersionInfo:
    return VersionInfo(
        version=row.version,
        active=row.active,
        checksum=row.checksum,
        kind=cast("Kind", row.kind),
        weight=row.weight,
        format=row.format,
        source_terms=row.source_terms,
        entries=row.entries,
        rejected=row.rejected,
        pruned=row.pruned,
        written_forms=row.written_forms,
        created_at=row.created_at,
        created_by=row.created_by,
    )
