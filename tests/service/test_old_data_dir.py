"""A data directory of the version before opens with all that was in it, and with one document that is poison now."""

from __future__ import annotations

from pathlib import Path

import pytest
from alembic import command
from alembic.config import Config

from dragoman.store.database import Store
from dragoman.store.upgrading import MIGRATIONS
from tests.support.job_client import (
    NDJSON,
    body,
    finished,
    read,
    search_lines,
    submit,
    upload_documents,
    upload_table,
)
from tests.support.poisoning import POISONING
from tests.support.serving import Server, dragoman, server, wait_for

pytestmark = pytest.mark.slow

BEFORE = "0008_one_queue"


def downgrade(data_dir: Path) -> None:
    """Give the database the schema of the version before."""
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    store = Store(f"sqlite:///{data_dir / 'dragoman.db'}")
    try:
        with store._writer.connect() as connection, connection.begin():
            config.attributes["connection"] = connection
            command.downgrade(config, BEFORE)
    finally:
        store.close()


def found(running: Server, query: str, language: str = "sw") -> list[str]:
    asked = {"query": query, "query_language": language, "method": "psq", "top_k": 50}
    answer = running.client.post("/v1/search", json=asked).raise_for_status().json()
    return sorted(hit["id"] for hit in answer["hits"])


def test_a_directory_of_the_version_before_opens_with_all_that_was_in_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data_dir = tmp_path / "data"
    settings: dict[str, object] = {"index_commit_seconds": 3600, "analysis_seconds": 2, "startup_wait_seconds": 0}
    with server(data_dir, POISONING, **settings) as running:
        client = running.client
        upload_documents(client)
        client.post("/v1/collections", json={"name": "de", "language": "de"}).raise_for_status()
        documents = [{"id": "ash", "title": "Äsche", "text": "Asche des Vulkans"}, {"id": "poison", "text": "Gift"}]
        client.post("/v1/collections/de/documents", content=body(documents), headers=NDJSON).raise_for_status()
        upload_table(client)
        job = submit(client, search_lines(5), "search")
        assert finished(client, job)["status"] == "completed"
        results = read(client, job, "results")
        before = found(running, "neno3")
        assert len(before) >= 3 and found(running, "volcano", "en") == ["ash"]
        running.kill()
    scopes = ("--scope", "search", "--scope", "jobs", "--scope", "admin")
    made = dragoman("keys", "create", "--data-dir", data_dir, "--name", "old", *scopes)
    assert made.returncode == 0, made.stderr
    downgrade(data_dir)
    monkeypatch.setenv("POISON_RAISES", "Gift")
    with server(data_dir, POISONING, **settings) as running:
        key = made.stdout.split()[-1]
        running.client.headers["Authorization"] = f"Bearer {key}"
        wait_for(lambda: running.client.get("/readyz").status_code == 200)
        assert found(running, "neno3") == before and found(running, "volcano", "en") == ["ash"]
        assert found(running, "Gift", "de") == []
        listed = running.client.get("/v1/collections/de/unindexed").json()
        assert [one["id"] for one in listed["documents"]] == ["poison"]
        assert read(running.client, job, "results") == results  # without an owner: an administrator's
        limits = [(key["collections"], key["tables"]) for key in running.client.get("/v1/keys").json()["keys"]]
        assert limits == [(None, None)]
        assert running.client.get("/v1/collections/de/documents/poison").json()["text"] == "Gift"
        listed = running.client.get("/v1/collections/de/documents", params={"fields": "id"}).json()
        assert (listed["documents"], listed["total"]) == ([{"id": "ash"}, {"id": "poison"}], 2)
        changed = running.client.patch("/v1/collections/de/documents/ash", json={"metadata": {"year": 1783}})
        assert (changed.json()["metadata"], changed.json()["generation"]) == ({"year": 1783}, 2)
        assert found(running, "volcano", "en") == ["ash"]
        typed = running.client.get("/v1/suggest", params={"q": "asch", "collections": "de"}).json()
        assert {"text": "Äsche", "kind": "title"} in typed["completions"]
        assert running.client.get("/v1/reports/searches").json()["searches"] == 0
        running.client.put("/v1/aliases/live", json={"collection": "de"}).raise_for_status()
        assert running.client.get("/v1/collections/live").json()["name"] == "de"
