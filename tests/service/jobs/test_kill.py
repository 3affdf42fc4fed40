"""A real server, killed while it works on a job, and while one is uploaded.

``DRAGOMAN_TEST_KILLS`` is how often; docs/reliability.md has the result of ten times.
"""

from __future__ import annotations

import os
import random
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from threading import Thread

import httpx
import pytest

from tests.support.job_client import (
    NDJSON,
    answered_once,
    body,
    done,
    finished,
    job,
    post,
    read,
    rerank_lines,
    search_lines,
    submit,
    upload_documents,
    upload_table,
)
from tests.support.serving import Server, server, wait_for
from tests.support.standing_in import STANDING_IN

pytestmark = [pytest.mark.slow, pytest.mark.kill]

LINES = 400
KILLS = int(os.environ.get("DRAGOMAN_TEST_KILLS", "3"))
SLOWLY = {"job_threads": 2}


def test_a_job_that_is_killed_repeatedly_is_answered_once_and_as_without_a_kill(
    tmp_path: Path, database_url: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rerank requests over SQLite, searches over PostgreSQL."""
    monkeypatch.setenv("STANDING_IN_SECONDS", "0.02")
    monkeypatch.setenv("STANDING_IN_SMALL", "yes")
    noise = random.Random(11)
    settings = SLOWLY if database_url is None else SLOWLY | {"database_url": database_url}
    type = "rerank" if database_url is None else "search"
    good = rerank_lines(LINES) if type == "rerank" else search_lines(LINES)
    lines = [*good, {"custom_id": "wrong"}, {"custom_id": "q7", "query": "x"}]
    id, reached = "", 0
    for round in range(KILLS):
        running = Server(tmp_path, STANDING_IN, **settings)
        if round == 0:
            upload_table(running.client)
            upload_documents(running.client)
            id = submit(running.client, lines, type)
        worked_on(running, id, max(reached, 2))
        time.sleep(noise.uniform(0.0, 0.1))
        reached = done(running.client, id)
        assert job(running.client, id)["status"] == "in_progress"
        running.kill()
    monkeypatch.setenv("STANDING_IN_SECONDS", "0")
    monkeypatch.delenv("STANDING_IN_SMALL")
    with server(tmp_path, STANDING_IN, **settings) as running:
        client = running.client
        counts = finished(client, id)["counts"]
        assert counts == {"total": LINES + 2, "completed": LINES, "failed": 2}
        assert answered_once(client, id) == {line["custom_id"]: 1 for line in lines} | {"q7": 2}  # one is an error
        again = submit(client, lines, type)
        finished(client, again)
        for what in ("results", "results?format=trec", "errors"):
            once, twice = (client.get(f"/v1/jobs/{one}/{what}").text for one in (id, again))
            assert once == twice


def test_a_job_goes_on_after_a_stop_where_it_was(
    tmp_path: Path, database_url: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STANDING_IN_SECONDS", "0.02")
    monkeypatch.setenv("STANDING_IN_SMALL", "yes")
    settings = SLOWLY if database_url is None else SLOWLY | {"database_url": database_url}
    running = Server(tmp_path, STANDING_IN, **settings)
    upload_table(running.client)
    id = submit(running.client, rerank_lines(200))
    wait_for(lambda: done(running.client, id) > 0)
    before = done(running.client, id)
    running.stop()
    with server(tmp_path, STANDING_IN, **settings) as running:
        assert before <= done(running.client, id) < 200
        assert finished(running.client, id)["counts"] == {"total": 200, "completed": 200, "failed": 0}
        assert set(answered_once(running.client, id).values()) == {1}


def test_half_an_upload_is_no_job(tmp_path: Path, database_url: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STANDING_IN_SMALL", "yes")
    settings = {} if database_url is None else {"database_url": database_url}
    running = Server(tmp_path, STANDING_IN, **settings)
    lines = rerank_lines(200)

    def slowly() -> Iterator[bytes]:
        yield body(lines[:150])
        time.sleep(60)

    def upload() -> None:
        headers = NDJSON | {"Idempotency-Key": "once"}
        with suppress(httpx.TransportError):  # the server is killed
            httpx.post(f"{running.url}v1/jobs?type=rerank", content=slowly(), headers=headers, trust_env=False)

    sending = Thread(target=upload, daemon=True)
    sending.start()
    if database_url is None:
        wait_for(lambda: stored(tmp_path) >= 140)
    else:
        time.sleep(2)
    assert running.client.get("/v1/jobs").json()["jobs"] == []
    running.kill()
    with server(tmp_path, STANDING_IN, **settings) as running:
        assert running.client.get("/v1/jobs").json()["jobs"] == []
        answer = post(running.client, lines, key="once")
        assert answer.status_code == 202, answer.text
        assert finished(running.client, answer.json()["id"])["counts"]["completed"] == 200
        assert len(read(running.client, answer.json()["id"], "results")) == 200
        if database_url is None:
            wait_for(lambda: stored(tmp_path) == 200)


def worked_on(running: Server, id: str, before: int) -> None:
    """Wait until more lines are done than before."""
    wait_for(lambda: done(running.client, id) > before)


def stored(data_dir: Path) -> int:
    with closing(sqlite3.connect(data_dir / "dragoman.db")) as database:
        count: int = database.execute("SELECT count(*) FROM job_lines").fetchone()[0]
        return count
