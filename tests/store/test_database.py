from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import func, inspect, select, text
from sqlalchemy.exc import DBAPIError, IntegrityError

from dragoman.engine.core.errors import ServiceError, Unavailable
from dragoman.store.database import HEAD, Store, insert_entries
from dragoman.store.models import Base, Collection, Document, TableEntry, TableVersion, TranslationTable
from dragoman.store.upgrading import MIGRATIONS

pytestmark = pytest.mark.slow


def _version(store: Store, name: str = "t", version: int = 1, active: bool = False) -> int:
    with store.write() as session:
        table = session.scalar(select(TranslationTable).where(TranslationTable.name == name))
        if table is None:
            table = TranslationTable(name=name, source="en", target="de")
            session.add(table)
            session.flush()
        row = TableVersion(table_id=table.id, version=version, active=active)
        session.add(row)
        session.flush()
        return row.id


def _schema(store: Store) -> dict[str, object]:
    """All that the database says of its tables, whatever the order in which it was made."""
    seen = inspect(store.engine)

    def value_of(value: object) -> str:
        return str({key: str(one) for key, one in value.items()} if isinstance(value, dict) else value)

    def sorted_(found: list[Any]) -> list[str]:
        return sorted(repr(sorted((name, value_of(value)) for name, value in one.items())) for one in found)

    return {
        table: (
            sorted_(seen.get_columns(table)),
            sorted_(seen.get_indexes(table)),
            sorted_(seen.get_unique_constraints(table)),
            sorted_(seen.get_foreign_keys(table)),
            seen.get_pk_constraint(table),
        )
        for table in seen.get_table_names()
    }


def test_the_head_is_the_last_migration() -> None:
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    assert ScriptDirectory.from_config(config).get_current_head() == HEAD


def test_migrations_make_the_schema_that_a_new_database_has(store: Store) -> None:
    new = _schema(store)
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    revisions = [script.revision for script in ScriptDirectory.from_config(config).walk_revisions()]
    steps = [(command.downgrade, "-1")] * len(revisions) + [(command.upgrade, "+1")] * len(revisions)
    for number, (move, step) in enumerate(steps, 1):
        with store._writer.connect() as connection, connection.begin():
            config.attributes["connection"] = connection
            move(config, step)
        if number == len(revisions):
            assert inspect(store.engine).get_table_names() == ["alembic_version"]
    assert _schema(store) == new
    with store.engine.connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), Base.metadata) == []
    with store.write() as session:
        session.add(Collection(name="c", language="de"))


def test_a_database_of_an_earlier_version_is_upgraded(store: Store) -> None:
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    with store.write() as session:
        session.add(Collection(name="kept", language="de"))
    with store._writer.connect() as connection, connection.begin():
        config.attributes["connection"] = connection
        command.downgrade(config, "-1")
    store.migrate()
    with store.read() as session:
        assert session.scalars(select(Collection.name)).all() == ["kept"]
    with store.engine.connect() as connection:
        assert MigrationContext.configure(connection).get_current_revision() == HEAD


def test_norwegian_of_an_earlier_version_gets_its_code(store: Store) -> None:
    with store.write() as session:
        session.add(Collection(name="c", language="no"))
        session.add(TranslationTable(name="t", source="en", target="no"))
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    with store._writer.connect() as connection, connection.begin():
        config.attributes["connection"] = connection
        command.downgrade(config, "0004_jobs")
    store.migrate()
    with store.read() as session:
        assert session.scalars(select(Collection.language)).all() == ["nb"]
        assert session.execute(select(TranslationTable.source, TranslationTable.target)).all() == [("en", "nb")]


def test_a_reader_sees_one_state_and_changes_nothing(store: Store) -> None:
    with store.read() as session:
        assert session.scalar(select(func.count()).select_from(Collection)) == 0
        with store.write() as other:
            other.add(Collection(name="c", language="de"))
        assert session.scalar(select(func.count()).select_from(Collection)) == 0
    with store.read() as session:
        assert session.scalar(select(func.count()).select_from(Collection)) == 1


@pytest.mark.parametrize("options", [None, "-c statement_timeout=54321"])
def test_a_store_that_only_reads_writes_nothing(store: Store, options: str | None) -> None:
    url = store.engine.url
    if options is not None and url.get_backend_name() == "sqlite":
        pytest.skip("SQLite has no such options")
    if options is not None:
        url = url.update_query_dict({"options": options})
    reading = Store(url.render_as_string(hide_password=False), reading=True)
    try:
        for _ in range(2):  # also on a connection that has read before
            with pytest.raises((DBAPIError, ServiceError)), reading.write() as session:
                session.add(Collection(name="c", language="de"))
            with reading.read() as session:
                assert session.scalar(select(func.count()).select_from(Collection)) == 0
                assert options is None or session.scalar(text("SHOW statement_timeout")) == "54321ms"
    finally:
        reading.close()


def test_migrating_again_changes_nothing(store: Store) -> None:
    with store.write() as session:
        session.add(Collection(name="kept", language="de"))
    store.migrate()
    with store.read() as session:
        assert session.scalars(select(Collection.name)).all() == ["kept"]


def test_a_database_of_a_later_version_is_refused(store: Store) -> None:
    with store.write() as session:
        session.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    with pytest.raises(Unavailable, match="later version"):
        store.migrate()


def test_several_may_migrate_a_new_database_at_once(settings) -> None:
    settings.store.data_dir.mkdir()
    stores = [Store(settings.store.url) for _ in range(4)]
    faults: list[BaseException] = []

    def migrate(store: Store) -> None:
        try:
            store.migrate()
        except BaseException as fault:
            faults.append(fault)

    threads = [threading.Thread(target=migrate, args=(store,)) for store in stores]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not faults
    for store in stores:
        assert store.writable()
        store.close()


def test_several_may_open_a_new_database_at_once(tmp_path: Path) -> None:
    # SQLite refuses a second change to the write-ahead log at once; one round of this seldom meets it, fifty do
    for number in range(50):
        stores = [Store(f"sqlite:///{tmp_path / f'{number}.db'}") for _ in range(8)]
        together = threading.Barrier(len(stores))

        def connect(store: Store, together: threading.Barrier = together) -> bool:
            together.wait()
            return store.engine.connect().closed

        with ThreadPoolExecutor(len(stores)) as threads:
            assert list(threads.map(connect, stores)) == [False] * len(stores)
        for store in stores:
            store.close()


def test_an_unreachable_database_is_a_clear_error(tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match="cannot be opened"):
        Store(f"sqlite:///{tmp_path / 'missing' / 'x.db'}").migrate()


def test_an_unreachable_server_does_not_tell_its_password() -> None:
    with pytest.raises(Unavailable) as caught:
        Store("postgresql+psycopg://user:secret@127.0.0.1:1/x").migrate()
    assert "secret" not in str(caught.value)


def test_times_come_back_in_utc(store: Store) -> None:
    moment = datetime(2024, 5, 6, 7, 8, 9, 123456, tzinfo=timezone(timedelta(hours=5)))
    with store.write() as session:
        session.add(Collection(name="a", language="de", created_at=moment))
    with store.read() as session:
        read = session.scalars(select(Collection.created_at)).one()
    assert read == moment
    assert read.tzinfo is UTC


def test_what_a_failing_block_wrote_is_undone(store: Store) -> None:
    with pytest.raises(RuntimeError), store.write() as session:
        session.add(Collection(name="a", language="de"))
        session.flush()
        raise RuntimeError
    with store.read() as session:
        assert session.scalars(select(Collection)).all() == []


def test_keys_are_never_used_again(store: Store) -> None:
    def add() -> int:
        with store.write() as session:
            document = Document(collection_id=collection, id="x", language="de", text="t", generation=1)
            session.add(document)
            session.flush()
            return document.key

    with store.write() as session:
        row = Collection(name="a", language="de")
        session.add(row)
        session.flush()
        collection = row.id
    first = add()
    with store.write() as session:
        session.execute(text("DELETE FROM documents"))
    assert add() > first


def test_ids_differing_in_case_accents_or_trailing_space_are_different(store: Store) -> None:
    ids = ["a", "A", "a ", "á", "a\u0301", "ａ", "x" * 512, "日" * 512, "a/b", "a\nb", "'; --", "%", "😀"]
    with store.write() as session:
        row = Collection(name="a", language="de")
        session.add(row)
        session.flush()
        session.add_all(Document(collection_id=row.id, id=id, language="de", text="t", generation=1) for id in ids)
    with store.read() as session:
        assert set(session.scalars(select(Document.id))) == set(ids)


def test_only_one_version_of_a_table_can_be_active(store: Store) -> None:
    _version(store, version=1, active=True)
    _version(store, version=2)
    _version(store, name="other", version=1, active=True)
    with pytest.raises(IntegrityError):
        _version(store, version=3, active=True)


@pytest.mark.parametrize("count", [0, 1, 20_001])
def test_entries_are_inserted_in_bulk_and_in_order(store: Store, count: int) -> None:
    id = _version(store)
    rows = [(f"s{n}\t\\N\n", f"t{n}", n / 1e6, 1 / (n + 1), None, f"T{n}\t" if n % 2 else None) for n in range(count)]
    with store.write() as session:
        middle = insert_entries(session, id, iter(rows[: count // 2]))
        assert insert_entries(session, id, iter(rows[count // 2 :]), start=middle) == count
    with store.read() as session:
        entry = (TableEntry.source, TableEntry.target, TableEntry.p_ts, TableEntry.p_st)
        written = (TableEntry.source_written, TableEntry.target_written)
        read = session.execute(select(*entry, *written).order_by(TableEntry.position)).all()
    assert [tuple(row) for row in read] == rows


def test_entries_of_a_failing_block_are_undone(store: Store) -> None:
    id = _version(store)
    with pytest.raises(RuntimeError), store.write() as session:
        insert_entries(session, id, [("a", "b", 1.0, 1.0, None, "B")])
        raise RuntimeError
    with store.read() as session:
        assert session.scalar(select(func.count()).select_from(TableEntry)) == 0


def test_writers_wait_for_each_other(store: Store) -> None:
    with store.write() as session:
        session.add(Collection(name="a", language="de"))

    def add() -> None:
        for _ in range(20):
            with store.write() as session:
                row = session.scalars(select(Collection).with_for_update()).one()
                row.generation += 1

    threads = [threading.Thread(target=add) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with store.read() as session:
        assert session.scalars(select(Collection.generation)).one() == 120


def test_tables_of_another_program_are_not_taken_over(store: Store) -> None:
    with store._writer.connect() as connection, connection.begin():
        connection.execute(text("DROP TABLE alembic_version"))
    with pytest.raises(Unavailable, match="already exists"):
        store.migrate()
    assert "alembic_version" not in inspect(store.engine).get_table_names()
