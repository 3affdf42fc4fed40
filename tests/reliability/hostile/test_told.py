"""What happens is seen and told: refused callers, other keys' jobs; and nothing is told that should not be."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from dragoman.engine.core.names import without_folders
from dragoman.engine.observability.logs import configure_log
from tests.support.access_client import ask, authorization, identifier, make_key
from tests.support.job_client import FINISHED, NDJSON, body, search_lines
from tests.support.serving import Server, server, wait_for

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


def test_a_method_that_http_does_not_have_fills_no_log(closed: Closed) -> None:
    before = len("".join(closed.running.log))
    for _ in range(20):
        for path in ("/healthz", "/v1/tables"):
            assert ask(closed.running, None, "A" * 15_000, path).status_code in (401, 405)
    assert ask(closed.running, closed.admin, "GET", "/v1/tables").status_code == 200
    wait_for(lambda: "GET /v1/tables 200" in "".join(closed.running.log)[before:])
    assert len("".join(closed.running.log)) - before < 20_000


def test_an_idempotency_key_is_of_the_api_key_that_sent_it(closed: Closed) -> None:
    def job_of(key: str, lines: int) -> httpx.Response:
        headers = NDJSON | authorization(key) | {"Idempotency-Key": "nightly"}
        return closed.running.client.post("/v1/jobs?type=search", content=body(search_lines(lines)), headers=headers)

    first, other = job_of(closed.jobs, 2), job_of(closed.admin, 3)
    assert first.status_code == other.status_code == 202, other.text
    assert first.json()["id"] != other.json()["id"]
    assert job_of(closed.jobs, 2).json()["id"] == first.json()["id"]
    assert job_of(closed.jobs, 3).status_code == 409
    for key, job in ((closed.jobs, first), (closed.admin, other)):
        id = job.json()["id"]
        wait_for(lambda key=key, id=id: _job(closed.running, key, id)["status"] in FINISHED)  # type: ignore[misc]
        assert ask(closed.running, key, "DELETE", f"/v1/jobs/{id}").status_code == 204


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

    admins = job_of(closed.admin)  # which the other key does not see
    for method, path in (("GET", ""), ("GET", "/results"), ("GET", "/errors"), ("POST", "/cancel"), ("DELETE", "")):
        assert ask(running, closed.jobs, method, f"/v1/jobs/{admins}{path}").status_code == 404
    assert not ask(running, closed.jobs, "GET", "/v1/jobs").json()["jobs"]

    mine = job_of(closed.jobs)
    assert ask(running, closed.jobs, "GET", f"/v1/jobs/{mine}/results").status_code == 200
    assert ask(running, closed.jobs, "DELETE", f"/v1/jobs/{mine}").status_code == 204
    entries = ask(running, closed.admin, "GET", "/v1/audit?limit=1000").json()["entries"]
    assert not [entry for entry in entries if entry["object"] == mine]


def _job(running: Server, key: str, id: str) -> dict[str, Any]:
    found: dict[str, Any] = ask(running, key, "GET", f"/v1/jobs/{id}").json()
    return found


FORGED = (
    "neno\n2026-01-01 00:00:00,000 INFO dragoman.access: GET /forged 200\x1b[2K\x1b[31m\u202eoops\u2028\x85\x7f\u200b"
)


def test_a_query_cannot_forge_or_hide_a_line_of_the_log(closed: Closed) -> None:
    sent = {"query": FORGED, "query_language": "sw"}
    assert ask(closed.running, closed.search, "POST", "/v1/search", json=sent).status_code == 200
    wait_for(lambda: any("query=neno" in line for line in closed.running.log))
    (line,) = [line for line in closed.running.log if "query=neno" in line]
    assert "neno\\n2026" in line
    assert "\\x1b[2K\\x1b[31m\\u202eoops\\u2028\\x85\\x7f\\u200b" in line
    ask(closed.running, None, "GET", "/v1/x%0Aforged%1b%5b31m%E2%80%AE")
    wait_for(lambda: any("forged\\x1b[31m\\u202e" in line for line in closed.running.log))
    assert not [line for line in closed.running.log if line.startswith(("2026-01-01 00:00:00,000 INFO", "forged"))]


@pytest.mark.parametrize("format", ["text", "json"])
def test_no_logged_text_breaks_a_line(format: str, capsys: pytest.CaptureFixture[str]) -> None:
    before = logging.root.handlers[:], logging.root.level
    try:
        configure_log("info", format)  # type: ignore[arg-type]
        logging.getLogger("dragoman").error("name %s \ud800", FORGED)
        try:
            raise ValueError(FORGED)
        except ValueError:
            logging.getLogger("dragoman").error("failed", exc_info=True)
    finally:
        logging.root.handlers, logging.root.level = before
        logging.captureWarnings(False)
    lines = capsys.readouterr().err.removesuffix("\n").split("\n")
    assert all(line.isprintable() for line in lines)
    if format == "text":
        assert [line[:5] for line in lines if not line.startswith("| ")] == [f"{line[:4]}-" for line in lines[:2]]
    else:
        assert len(lines) == 2


def test_only_its_user_reads_the_data_directory(tmp_path: Path) -> None:
    data_dir = tmp_path / "made" / "data"
    before = os.umask(0o022)
    try:
        admin = make_key(data_dir, None, "admin", "search")
        with server(data_dir, log_format="text") as running:
            languages = {"source": "en", "target": "sw", "activate": "true"}
            assert ask(running, admin, "POST", "/v1/collections", json={"name": "c", "language": "sw"}).is_success
            headers = NDJSON | authorization(admin)
            lines = b'{"id": "1", "text": "neno"}\n'
            assert running.client.post("/v1/collections/c/documents", content=lines, headers=headers).is_success
            assert ask(running, admin, "PUT", "/v1/tables/t", params=languages, content=b"word\tneno\n").is_success
            assert ask(running, admin, "POST", "/v1/search", json={"query": "neno"}).is_success
            assert _readable(data_dir) == []
            assert {"dragoman.db", "lock", "indexes", "tables"} <= {path.name for path in data_dir.iterdir()}
        for path in (data_dir, *data_dir.rglob("*")):  # as an earlier version left it
            path.chmod(0o755 if path.is_dir() else 0o644)
        other = data_dir / "notes.txt"
        other.write_text("not the service's")
        with server(data_dir):
            assert _readable(data_dir) == [other]
    finally:
        os.umask(before)


def _readable(data_dir: Path) -> list[Path]:
    """What others than the user may read, write or enter."""
    return [path for path in (data_dir, *data_dir.rglob("*")) if path.stat().st_mode & 0o077]


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        ("/srv/data/dragoman.db: damaged", "dragoman.db: damaged"),
        ("[Errno 2] No such file: '/srv/my data/models/m'", "[Errno 2] No such file: 'm'"),
        ("index /srv/data/indexes/0f3a/: closed", "index 0f3a: closed"),
        ("see https://host/a/b, /readyz and 1/2", "see https://host/a/b, /readyz and 1/2"),
    ],
)
def test_a_message_has_no_folders(message: str, shown: str) -> None:
    assert without_folders(message) == shown


def test_no_answer_says_where_the_machine_keeps_its_files(tmp_path: Path) -> None:
    data_dir, models = tmp_path / "secret place" / "data", tmp_path / "secret-models" / "mine"
    models.mkdir(parents=True)
    (models / "config.json").write_text("{}")
    broken = dict.fromkeys(("encoder", "translator", "bridge", "ner_tagger", "pos_tagger"), models)
    broken |= {"reader": models, "statement_reader": models}
    answers: list[str] = []
    with server(data_dir, rerank="auto", **broken) as running:

        def told(method: str, path: str, **sent: Any) -> None:
            answers.append(running.client.request(method, path, **sent).text)

        told("POST", "/v1/collections", json={"name": "c", "language": "de"})
        told("POST", "/v1/collections/c/documents", content=b'{"id": "1", "text": "Vulkan"}\n', headers=NDJSON)
        languages = {"source": "en", "target": "de", "activate": "true"}
        told("PUT", "/v1/tables/t", params=languages, content=b"volcano\tVulkan\n")
        for address in ("translate", "qa", "reason", "tag"):
            told("GET", f"/v1/{address}")
        asked = {"query": "volcano", "query_language": "en"}
        for more in ({}, {"method": "dense"}, {"method": "hybrid"}, {"rerank": {}}, {"translate_snippets": True}):
            told("POST", "/v1/search", json=asked | more)
        told("POST", "/v1/rerank", json=asked | {"documents": ["Vulkan"]})
        told("POST", "/v1/translate", json={"text": "Vulkan", "source": "de", "target": "en"})
        told("POST", "/v1/qa", json={"question": "what?", "context": "Vulkan"})
        told("POST", "/v1/qa", json={"statement": "Vulkan", "context": "Vulkan"})
        told("POST", "/v1/reason", json={"question": "what?"})
        for task in ("ner", "pos"):
            told("POST", "/v1/tag", json={"texts": ["Vulkan"], "task": task})
        for folder in ("indexes", "tables", "dense"):
            for path in (data_dir / folder).rglob("*"):
                if path.is_file():
                    path.write_bytes(b"damaged")
        told("POST", "/v1/search", json=asked)
        told("POST", "/v1/tables/t/versions/1/activate")
        (data_dir / "dragoman.db").write_bytes(b"damaged" * 1000)
        for path in ("/v1/collections", "/readyz", "/v1/jobs", "/v1/tables", "/openapi.json", "/metrics"):
            told("GET", path)
        told("POST", "/v1/search", json=asked)
    assert len(answers) > 25
    for answer in answers:
        for secret in (str(tmp_path), "secret place", "secret-models", "site-packages"):
            assert secret not in answer, answer
