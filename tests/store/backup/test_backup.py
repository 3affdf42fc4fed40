from __future__ import annotations

import gzip
import hashlib
import json
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from alembic import command
from alembic.config import Config
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import delete, insert, select, text, update

from dragoman.engine.core.errors import Conflict
from dragoman.files.streams import StreamFault
from dragoman.lexicon.text.beginnings import title_key
from dragoman.store.backup.backup import restore_backup, write_backup
from dragoman.store.backup.format import LEFT_OUT, TABLES, BackupFault, write_row
from dragoman.store.database import Store, open_store
from dragoman.store.models import (
    Alias,
    ApiKey,
    Base,
    Collection,
    Document,
    DocumentEmbedding,
    Job,
    JobLine,
    KeyCollection,
    TableEntry,
    TableVersion,
    TranslationTable,
)
from dragoman.store.recorded_models import RecordedEvent, RecordedSearch, RecordedWord
from dragoman.store.upgrading import MIGRATIONS
from tests.support import postgresql

NOW = datetime(2026, 5, 1, 12, 30, 15, 123456, UTC)


def fill(store: Store, documents: int = 3) -> None:
    """A row or more of most tables, with whatever JSON, bytes and times may hold."""
    with store.write() as session:
        session.add(Collection(id=7, name="news", language="de", generation=5, document_count=documents, encoder="e"))
        session.add(TranslationTable(id=3, name="mine", source="en", target="de"))
        session.flush()
        session.add(Alias(name="today", collection_id=7))
        for key in range(1, documents + 1):
            metadata = {"jahr": 1999, "tags": ["ä", None], "$bytes": {"x": 1e-7}, "big": 2**53 + 1}
            session.add(
                Document(
                    key=key,
                    collection_id=7,
                    id=f"d/{key}",
                    language="de",
                    title="Tïtel",
                    text="Text\n" * 50,
                    metadata_=metadata if key % 2 else None,
                    generation=key,
                )
            )
        session.flush()
        session.add(
            DocumentEmbedding(
                document_key=1,
                collection_id=7,
                generation=1,
                spans=b"\0\1",
                vectors=bytes(range(256)),
                sentences=b"",
                sentence_codes=b"\xff",
                state_counts=None,
                state_codes=b"{}",
            )
        )
        for id, version, state in ((1, 1, "ready"), (2, 2, "deleted"), (3, -3, "building")):
            session.add(TableVersion(id=id, table_id=3, version=version, state=state, active=id == 1, created_at=NOW))
        session.flush()
        for id in (1, 3):
            session.add(
                TableEntry(
                    version_id=id,
                    position=0,
                    source="dog",
                    target="hund",
                    p_ts=1 / 3,
                    p_st=1e-300,
                    target_written="Hund",
                )
            )
        limits = {"limited": True, "tables": ["mine"]}
        session.add(ApiKey(id="k1", digest="d" * 64, scopes=["search", "admin"], created_at=NOW, **limits))
        session.flush()
        for position, (name, id) in enumerate((("news", 7), ("later", None))):
            session.add(KeyCollection(key_id="k1", position=position, name=name, collection_id=id))
        session.add(
            Job(
                id="job_1",
                type="search",
                tag="t",
                status="completed",
                table_versions=[{"name": "mine"}],
                expires_at=NOW,
            )
        )
        session.flush()
        session.add(JobLine(job_id="job_1", line=1, custom_id="c", state="completed", request=None, answer='{"a": 1}'))


def rows_of(store: Store) -> dict[str, list[Any]]:
    with store.read() as session:
        return {
            name: [tuple(row) for row in session.execute(select(table).order_by(*table.primary_key.columns))]
            for name, table in TABLES.items()
        }


def kept(rows: dict[str, list[Any]]) -> dict[str, list[Any]]:
    """The rows without those of an upload under way."""
    return {
        **rows,
        "table_versions": [row for row in rows["table_versions"] if "building" not in row],
        "table_entries": [row for row in rows["table_entries"] if row[0] != 3],
    }


@pytest.fixture
def make(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Callable[[str], Store]]:
    """Makes an empty database of a kind."""
    from contextlib import ExitStack

    with ExitStack() as opened:

        def make_one(kind: str) -> Store:
            if kind == "sqlite":
                url = f"sqlite:///{tmp_path / str(len(list(tmp_path.iterdir())))}.db"
            else:
                url = opened.enter_context(postgresql.database(opened.enter_context(postgresql.server())))
            return opened.enter_context(open_store(url))

        yield make_one


@pytest.mark.parametrize("kind", postgresql.DATABASES)
def test_a_backup_goes_into_the_other_kind_of_database_and_back(make: Callable[[str], Store], kind: str) -> None:
    first, second, third = make("sqlite"), make(kind), make("sqlite")
    fill(first)
    counts = restore_backup(second, write_backup(first))
    assert counts["documents"] == 3 and counts["table_versions"] == 1
    restore_backup(third, write_backup(second))
    assert rows_of(third) == rows_of(second) == kept(rows_of(first))
    with second.write() as session:
        key = session.scalar(insert(Collection).values(name="more", language="fr").returning(Collection.id))
    assert key is not None and key > 7


def test_every_table_is_kept_or_said_to_be_left_out() -> None:
    assert set(TABLES) | LEFT_OUT == set(Base.metadata.tables)


def test_a_database_that_is_not_empty_keeps_what_it_has_and_an_empty_one_its_keys(make: Callable[[str], Store]) -> None:
    first, second, third = make("sqlite"), make("sqlite"), make("sqlite")
    fill(first)
    with second.write() as session:
        session.add(Collection(name="here", language="fr"))
    before = rows_of(second)
    with pytest.raises(Conflict, match="this one has collections"):
        restore_backup(second, write_backup(first))
    assert rows_of(second) == before
    with third.write() as session:
        session.add(ApiKey(id="k1", digest="e" * 64, scopes=["admin"]))
        session.add(ApiKey(id="k2", digest="f" * 64, scopes=["search"], limited=True))
        session.flush()
        for position, name in enumerate(("news", "later")):
            session.add(KeyCollection(key_id="k2", position=position, name=name))
    restore_backup(third, write_backup(first))
    assert rows_of(third)["key_collections"] == [("k2", 0, "news", 7), ("k2", 1, "later", None)]
    assert {row[0]: row[1][0] for row in rows_of(third)["api_keys"]} == {"k1": "e", "k2": "f"}


def test_a_backup_is_of_one_moment(make: Callable[[str], Store]) -> None:
    first, second = make("sqlite"), make("sqlite")
    fill(first, 6000)
    parts = write_backup(first)
    head = next(parts)
    with first.write() as session:
        session.execute(Document.__table__.delete())  # type: ignore[attr-defined]
    assert restore_backup(second, [head, *parts])["documents"] == 6000


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(data=st.data())
def test_a_damaged_or_cut_backup_changes_nothing(data: Any, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("damaged")
    with open_store(f"sqlite:///{folder / 'a.db'}") as first, open_store(f"sqlite:///{folder / 'b.db'}") as second:
        fill(first, 1)
        whole = b"".join(write_backup(first))
        packed = data.draw(st.booleans())
        content = bytearray(whole if packed else gzip.decompress(whole))
        place = int(data.draw(st.floats(0, 1, exclude_max=True)) * len(content))
        if data.draw(st.booleans()):
            content = content[:place]
        else:
            content[place] ^= data.draw(st.integers(1, 255))
        try:
            restore_backup(second, [bytes(content)])
        except (BackupFault, StreamFault):
            assert not any(rows_of(second).values())
        else:
            assert packed or place == len(content)  # what does not matter: the time in gzip's header, a last line end
            assert rows_of(second) == kept(rows_of(first))


def test_a_backup_of_an_unknown_schema_is_refused(make: Callable[[str], Store]) -> None:
    for schema in ("0017_later", "heads", "0016"):
        line = json.dumps({"backup": "dragoman", "version": 1, "schema": schema}).encode()
        with pytest.raises(BackupFault, match=f"schema '{schema}'.*restore it with the version that made it"):
            restore_backup(make("sqlite"), [line])


def sealed(lines: list[bytes]) -> bytes:
    """The lines of a backup, with an end that agrees."""
    body = b"".join(line + b"\n" for line in lines)
    rows = sum(line.startswith(b"[") for line in lines)
    return body + json.dumps({"rows": rows, "sha256": hashlib.sha256(body).hexdigest()}).encode()


def write_older_backup(store: Store, schema: str) -> bytes:
    """A backup of a database, which is given an earlier schema before."""
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    with store.write() as session:
        config.attributes["connection"] = session.connection()
        command.downgrade(config, schema)
    lines = [json.dumps({"backup": "dragoman", "version": 1, "schema": schema}).encode()]
    with store.read() as session:
        for table in TABLES:
            columns = [row.name for row in session.execute(text(f"PRAGMA table_info({table})"))]
            if columns:
                reflected = [Base.metadata.tables[table].columns[name] for name in columns]
                lines.append(json.dumps({"table": table, "columns": columns}).encode())
                lines += [write_row(row) for row in session.execute(select(*reflected))]
    return sealed(lines)


@pytest.mark.parametrize("schema", ["0015_metadata_changes", "0012_shards"])
def test_a_backup_of_an_earlier_schema_is_migrated(make: Callable[[str], Store], schema: str, tmp_path: Path) -> None:
    first, second = make("sqlite"), make("sqlite")
    fill(first)
    with first.write() as session:  # not in all of these schemas
        session.execute(delete(DocumentEmbedding))
        session.execute(delete(Alias))
        session.execute(delete(KeyCollection))
        session.execute(update(ApiKey).values(limited=False, tables=None))
        session.execute(update(Collection).values(encoder=None))
        session.execute(update(Document).values(title_key=title_key("Tïtel", "de")))
        session.execute(delete(TableEntry).where(TableEntry.version_id == 3))
        session.execute(delete(TableVersion).where(TableVersion.id == 3))
    before = rows_of(first)
    folder = tmp_path / "a folder, 100%?"
    folder.mkdir()
    counts = restore_backup(second, [write_older_backup(first, schema)], folder)
    assert (counts["documents"], counts["collections"], counts["aliases"]) == (3, 1, 0)
    assert rows_of(second) == before
    assert not list(folder.iterdir())


@pytest.mark.parametrize(
    ("table", "column", "cell", "reason"),
    [
        ("documents", "key", "1", "is no integer of 64 bits"),
        ("documents", "key", 2**63, "is no integer of 64 bits"),
        ("documents", "generation", True, "is no integer of 64 bits"),
        ("documents", "deleted", 1, "is neither true nor false"),
        ("documents", "text", ["x"], "is no text"),
        ("documents", "text", None, "is null, and may not be"),
        ("documents", "id", "\0", "holds a NUL character"),
        ("documents", "title", "\ud800", "holds a lone surrogate"),
        ("documents", "metadata", [1], "is not of its shape: Input should be a valid dictionary"),
        ("documents", "metadata", {"a": ["\udc00"]}, "holds a lone surrogate"),
        ("api_keys", "scopes", ["admin", 1], r"is not of its shape: \[1\]: Input should be a valid string"),
        ("document_embeddings", "vectors", "§", "is no base64"),
        ("table_versions", "weight", "1", "is no number"),
        ("table_versions", "version", 2**31, "is no integer of 32 bits"),
        ("jobs", "expires_at", "2026-05-01T12:00:00", "is no time with a time zone"),
        ("jobs", "expires_at", "0001-01-01T00:00:00+14:00", "is no time with a time zone"),
        ("collections", "uid", "../../elsewhere", "is no 32 hexadecimal digits"),
    ],
)
def test_a_cell_of_another_type_is_refused_with_its_place(
    filled: bytes, make: Callable[[str], Store], table: str, column: str, cell: Any, reason: str
) -> None:
    lines = filled.splitlines()[:-1]
    columns = [field.name for field in TABLES[table].columns]
    place = next(place for place, line in enumerate(lines) if line.startswith(f'{{"table": "{table}"'.encode())) + 1
    row = json.loads(lines[place])
    row[columns.index(column)] = cell
    lines[place] = json.dumps(row).encode()
    store = make("sqlite")
    with pytest.raises(BackupFault, match=f"line {place + 1}: table {table}, column {column}: .*{reason}"):
        restore_backup(store, [sealed(lines)])
    assert not any(rows_of(store).values())


def test_rows_that_contradict_each_other_are_refused(filled: bytes, make: Callable[[str], Store]) -> None:
    lines = filled.splitlines()[:-1]
    place = next(place for place, line in enumerate(lines) if line.startswith(b'{"table": "documents"')) + 1
    lines.insert(place, lines[place])
    store = make("sqlite")
    reason = f"lines {place + 1} to {place + 4} of the backup cannot be stored in the table documents: UNIQUE"
    with pytest.raises(BackupFault, match=reason):
        restore_backup(store, [sealed(lines)])
    assert not any(rows_of(store).values())


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The lines of a backup."""
    with open_store(f"sqlite:///{tmp_path_factory.mktemp('filled') / 'a.db'}") as store:
        fill(store)
        return gzip.decompress(b"".join(write_backup(store)))


@pytest.mark.parametrize("kind", postgresql.DATABASES)
def test_what_was_recorded_stays_beside_what_is_restored(make: Callable[[str], Store], kind: str) -> None:
    first, second = make("sqlite"), make(kind)
    fill(first)
    for store, word in ((first, "here"), (second, "there")):
        with store.write() as session:
            searches = [RecordedSearch(request_id=word, language="en", query=word, hashed=False, hits=0) for _ in "12"]
            session.add_all(searches)
            session.add(RecordedEvent(query_id=word, object_id="d", action_name="click", click=True))
            session.flush()
            session.add(RecordedWord(search_id=searches[1].id, position=0, target="de", word=word))
    with first.write() as session:
        session.execute(update(Document).where(Document.key == 2).values(deleted=True))
    counts = restore_backup(second, write_backup(first))
    assert (counts["documents"], counts["recorded_searches"], counts["recorded_events"]) == (2, 2, 1)
    with second.read() as session:
        joined = select(RecordedSearch.query, RecordedWord.word).join(
            RecordedWord, RecordedWord.search_id == RecordedSearch.id
        )
        assert sorted(session.execute(joined).all()) == [("here", "here"), ("there", "there")]
        assert sorted(session.scalars(select(RecordedEvent.query_id))) == ["here", "there"]


@pytest.mark.kill
def test_a_kill_in_the_middle_restores_nothing(make: Callable[[str], Store], tmp_path: Path) -> None:
    first = make("sqlite")
    fill(first, 2000)
    file = tmp_path / "file.backup"
    file.write_bytes(b"".join(write_backup(first)))
    script = """
import os, signal, sys
from pathlib import Path
from sqlalchemy import event
from dragoman.cli.administration.backup import _restore_here
from dragoman.cli.database import Place
from sqlalchemy.engine import Engine
count = 0
@event.listens_for(Engine, "after_cursor_execute")
def kill(connection, cursor, statement, *rest):
    global count
    count += statement.startswith("INSERT INTO documents")
    if count == 3:
        os.kill(os.getpid(), signal.SIGKILL)
_restore_here(Path(sys.argv[1]), Place(data_dir=Path(sys.argv[2])))
"""
    data = tmp_path / "data"
    killed = subprocess.run([sys.executable, "-c", script, file, data], check=False, timeout=120)
    assert killed.returncode == -signal.SIGKILL
    with open_store(f"sqlite:///{data / 'dragoman.db'}") as store:
        assert not any(rows_of(store).values())
        restore_backup(store, [file.read_bytes()])
        assert rows_of(store) == kept(rows_of(first))
