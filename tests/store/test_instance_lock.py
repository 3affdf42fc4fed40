"""Two instances of the service on one PostgreSQL database."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import select

from dragoman.engine.settings import Settings
from dragoman.store.database import Store
from dragoman.store.instance_lock import DatabaseTaken
from dragoman.store.models import Collection, ServiceInstance
from tests.support import postgresql
from tests.support.serving import dragoman, server

pytestmark = [
    pytest.mark.slow,
    pytest.mark.postgresql,
    pytest.mark.skipif(not postgresql.available(), reason="PostgreSQL is not installed"),
]


@pytest.fixture
def url(postgresql_server: str) -> Iterator[str]:
    with postgresql.database(postgresql_server) as made:
        yield made


def claimed(url: str, seconds: float = 0) -> Store:
    store = Store(Settings.load(database_url=url).store.url)
    store.claim(seconds)
    return store


def cut_off(url: str) -> None:
    """End all other connections to the database, as a broken network does."""
    with psycopg.connect(url) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )


def test_one_instance_at_a_time(url: str) -> None:
    first = claimed(url)
    with pytest.raises(DatabaseTaken, match=r"in use by another instance \(dragoman process"):
        claimed(url)
    first.close()
    second = claimed(url, 30)  # the server ends a connection some time after it was closed
    with second.read() as session:
        assert session.scalar(select(ServiceInstance.instance_id)) == second._claim.instance_id  # type: ignore[union-attr]
    second.close()


def test_all_connections_of_an_instance_are_its_own(url: str) -> None:
    store = claimed(url)
    with store.write() as one, store.read() as two, store.write() as three:
        assert [session.scalars(select(Collection)).all() for session in (one, two, three)] == [[], [], []]
    store.close()


def test_other_programs_may_use_the_database_meanwhile(url: str) -> None:
    store = claimed(url)
    other = Store(Settings.load(database_url=url).store.url)
    other.migrate()
    with other.write() as session:
        session.add(Collection(name="c", language="de"))
    other.close()
    store.close()


def test_an_instance_that_was_cut_off_goes_on(url: str) -> None:
    store = claimed(url)
    cut_off(url)
    assert store.writable()
    with pytest.raises(DatabaseTaken):
        claimed(url)
    store.close()


def test_an_instance_that_another_took_over_from_is_kept_out_for_good(url: str) -> None:
    first = claimed(url)
    cut_off(url)
    second = claimed(url)
    assert not first.writable()
    with pytest.raises(DatabaseTaken, match="in use by another"), first.read() as session:
        session.scalars(select(Collection)).all()
    second.close()
    assert not first.writable()
    with pytest.raises(DatabaseTaken, match="restart this one"), first.write() as session:
        session.scalars(select(Collection)).all()
    first.close()
    claimed(url).close()


def test_a_second_service_is_refused_and_takes_over_when_the_first_is_killed(tmp_path: Path, url: str) -> None:
    with server(tmp_path / "first", database_url=url) as first:
        first.client.post("/v1/collections", json={"name": "c", "language": "sw"}).raise_for_status()
        second = dragoman("serve", "--data-dir", tmp_path / "second", database_url=url, startup_wait_seconds=0, port=0)
        assert second.returncode == 2
        assert "the database is in use by another instance" in second.stderr
        assert first.client.get("/readyz").status_code == 200
        first.kill()
        with server(tmp_path / "second", database_url=url) as second_try:
            found = second_try.client.get("/v1/collections").json()["collections"]
            assert [one["name"] for one in found] == ["c"]
