"""What happens is seen and told: refused callers, other keys' jobs; and nothing is told that should not be."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from tests.service.access_client import ask, authorization, identifier, make_key
from tests.service.job_client import FINISHED, NDJSON, body, search_lines
from tests.service.serving import Server, server, wait_for

pytestmark = pytest.mark.slow


@dataclass(frozen=True)
class Closed:
    """A server that needs a key, and its keys."""

    running: Server
    admin: str
    jobs: str
    search: str


@pytest.fixture(scope="module")
def closed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Closed]:
    folder = tmp_path_factory.mktemp("told") / "data"
    keys = [make_key(folder, None, *scopes) for scopes in (("admin", "jobs"), ("jobs",), ("search",))]
    with server(folder, log_queries="true") as running:
        yield Closed(running, *keys)


def _refusals(running: Server) -> list[str]:
    return [line for line in running.log if "dragoman.refused:" in line]


def test_a_sign_in_that_failed_is_logged_with_address_and_path_and_counted(closed: Closed) -> None:
    secret = "A" * 43
    tries = {
        "missing": None,
        "malformed": "hunter2-is-no-key",
        "unknown": f"dragoman_{identifier(closed.search)}_{secret}",
        "scope": closed.search,
    }
    for number, (reason, key) in enumerate(tries.items()):
        answer = ask(closed.running, key, "GET", f"/v1/audit?try={number}")
        assert answer.status_code == (403 if reason == "scope" else 401)
        wait_for(lambda reason=reason: any(f"reason={reason} " in line for line in _refusals(closed.running)))  # type: ignore[misc]
    lines = _refusals(closed.running)
    assert all("client=127.0.0.1" in line and "path=/v1/audit" in line for line in lines)
    assert [line for line in lines if "reason=scope" in line and identifier(closed.search) in line]
    told = "".join(closed.running.log)
    assert secret not in told
    assert "hunter2" not in told
    assert closed.search.rpartition("_")[2] not in told
    metrics = ask(closed.running, closed.search, "GET", "/metrics").text
    for reason in tries:
        assert f'dragoman_refused_callers_total{{reason="{reason}"}}' in metrics


def test_a_key_in_a_path_is_not_logged(closed: Closed) -> None:
    ask(closed.running, None, "GET", f"/v1/keys/{closed.admin}")
    wait_for(lambda: any("path=/v1/keys/dragoman_" in line for line in _refusals(closed.running)))
    assert closed.admin.split("_", 2)[2] not in "".join(closed.running.log)


def test_what_a_key_does_with_the_jobs_of_another_is_audited(closed: Closed) -> None:
    running = closed.running

    def job_of(key: str) -> str:
        headers = NDJSON | authorization(key)
        made = running.client.post("/v1/jobs?type=search", content=body(search_lines(3)), headers=headers)
        assert made.status_code == 202, made.text
        id = str(made.json()["id"])
        wait_for(lambda: _job(running, key, id)["status"] in FINISHED)
        return id

    theirs = job_of(closed.jobs)
    for _ in range(3):  # reading again adds nothing
        for path in ("", "/results", "/errors"):
            assert ask(running, closed.admin, "GET", f"/v1/jobs/{theirs}{path}").status_code == 200
    assert ask(running, closed.admin, "POST", f"/v1/jobs/{theirs}/cancel").status_code == 409
    assert ask(running, closed.admin, "DELETE", f"/v1/jobs/{theirs}").status_code == 204
    entries = ask(running, closed.admin, "GET", "/v1/audit?limit=1000").json()["entries"]
    of_job = [entry for entry in reversed(entries) if entry["object"] == theirs]
    assert [(entry["action"], entry["outcome"]) for entry in of_job] == [
        ("job.read", "done"),
        ("job.results", "done"),
        ("job.errors", "done"),
        ("job.cancel", "conflict"),
        ("job.delete", "done"),
    ]
    assert {entry["key_id"] for entry in of_job} == {identifier(closed.admin)}

    mine = job_of(closed.jobs)
    assert ask(running, closed.jobs, "GET", f"/v1/jobs/{mine}/results").status_code == 200
    assert ask(running, closed.jobs, "DELETE", f"/v1/jobs/{mine}").status_code == 204
    entries = ask(running, closed.admin, "GET", "/v1/audit?limit=1000").json()["entries"]
    assert not [entry for entry in entries if entry["object"] == mine]


def _job(running: Server, key: str, id: str) -> dict[str, Any]:
    found: dict[str, Any] = ask(running, key, "GET", f"/v1/jobs/{id}").json()
    return found
