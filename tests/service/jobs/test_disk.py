"""A real server on a small file system that fills up under its jobs."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.support.errorbody import check_error
from tests.support.job_client import answered_once, done, finished, job, post, rerank_lines, submit
from tests.support.serving import server, wait_for
from tests.support.small_disk import fill, small_disk
from tests.support.standing_in import STANDING_IN

pytestmark = pytest.mark.slow


def test_a_full_disk_refuses_jobs_and_halts_those_that_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STANDING_IN_SECONDS", "0.01")
    monkeypatch.setenv("STANDING_IN_SMALL", "yes")
    with small_disk(tmp_path / "small", 24) as disk, server(disk / "data", STANDING_IN) as running:
        client = running.client
        lines = rerank_lines(300)
        for line in lines:
            line["documents"] = [{"id": "x", "text": f"Asche {line['custom_id']} " + os.urandom(400).hex()}]
            line["return_documents"] = True
        id = submit(client, lines)
        wait_for(lambda: done(client, id) > 8)
        filler = fill(disk)
        wait_for(lambda: any("no space is left on the disk" in line for line in running.log))
        refused = post(client, rerank_lines(300, first=1000))
        check_error(refused, 507, "no space is left on the disk.*; no job was made|no space is left on the disk")
        stuck = done(client, id)
        assert job(client, id)["status"] == "in_progress" and stuck < 300
        assert [one["id"] for one in client.get("/v1/jobs").json()["jobs"]] == [id]
        assert len(client.get(f"/v1/jobs/{id}/results").text.splitlines()) == stuck
        assert client.get("/healthz").status_code == 200
        filler.unlink()
        assert finished(client, id)["counts"] == {"total": 300, "completed": 300, "failed": 0}
        assert set(answered_once(client, id).values()) == {1}
        assert finished(client, submit(client, rerank_lines(20)))["counts"]["completed"] == 20
