"""The backup and the restore that docs/deploy.md tells, with PostgreSQL's own programs."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support import postgresql
from tests.support.searching import ndjson
from tests.support.serving import server, wait_for

PROGRAMS = postgresql.programs()
DOCUMENTATION = (Path(__file__).parents[2] / "docs" / "deploy.md").read_text(encoding="utf-8")
SEARCH = {"query": "house", "query_language": "en", "collections": ["c"]}

pytestmark = [
    pytest.mark.slow,
    pytest.mark.postgresql,
    pytest.mark.skipif(PROGRAMS is None, reason="PostgreSQL's programs are not installed"),
]


@pytest.fixture
def cluster() -> Iterator[postgresql.Cluster]:
    started = postgresql.Cluster()
    yield started
    started.remove()


def run(cluster: postgresql.Cluster, line: str, **streams: object) -> None:
    """A command of the documentation, which it must hold in these words."""
    assert f"docker compose exec -T postgres {line}" in DOCUMENTATION
    program, *arguments = line.split()
    assert PROGRAMS is not None
    host = ["--host", cluster.url.partition("host=")[2]]
    subprocess.run([PROGRAMS / program, *host, *arguments], check=True, timeout=120, **streams)  # type: ignore[call-overload]


def test_what_was_backed_up_while_the_service_ran_is_restored(tmp_path: Path, cluster: postgresql.Cluster) -> None:
    url = cluster.url.replace("/postgres?", "/dragoman?")
    run(cluster, "createdb --username=dragoman dragoman")
    headers = {"content-type": "application/x-ndjson"}
    with server(tmp_path / "first", database_url=url) as first:
        first.client.post("/v1/collections", json={"name": "c", "language": "de"}).raise_for_status()
        first.client.post(
            "/v1/collections/c/documents", content=ndjson([{"id": "kept", "text": "Das Haus."}]), headers=headers
        ).raise_for_status()
        table = {"source": "en", "target": "de", "activate": "true"}
        first.client.put("/v1/tables/words", params=table, content=b"house\tHaus\n").raise_for_status()
        with (tmp_path / "dragoman.dump").open("wb") as dump:
            run(cluster, "pg_dump --username=dragoman --format=custom dragoman", stdout=dump)
        first.client.post(
            "/v1/collections/c/documents", content=ndjson([{"id": "later", "text": "Ein Haus."}]), headers=headers
        ).raise_for_status()
        first.stop()
    run(cluster, "dropdb --username=dragoman --force dragoman")
    run(cluster, "createdb --username=dragoman dragoman")
    with (tmp_path / "dragoman.dump").open("rb") as dump:
        run(cluster, "pg_restore --username=dragoman --dbname=dragoman --exit-on-error", stdin=dump)
    with server(tmp_path / "second", database_url=url) as second:
        wait_for(lambda: second.client.get("/readyz").status_code == 200)
        found = second.client.post("/v1/search", json=SEARCH).json()
        assert [hit["id"] for hit in found["hits"]] == ["kept"]
        assert found["translation"]["tables"] == [{"name": "words", "version": 1}]
