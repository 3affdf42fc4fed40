"""Requests generated from the whole OpenAPI document, valid and not: none may be answered with a 5xx.

``DRAGOMAN_TEST_OPENAPI_SECONDS`` is how long; docs/reliability.md has the result of ten minutes.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.backbones import tiny_bridge, tiny_reader
from tests.support.searching import ndjson
from tests.support.serving import server
from tests.support.standing_in import STANDING_IN

pytestmark = pytest.mark.slow

SECONDS = int(os.environ.get("DRAGOMAN_TEST_OPENAPI_SECONDS", "10"))


def test_no_request_is_answered_with_a_fault_of_the_service(tmp_path: Path) -> None:
    reader, bridge = tiny_reader(tmp_path / "reader"), tiny_bridge(tmp_path / "bridge")
    models: dict[str, object] = {"translator": "upper", "reader": reader, "bridge": bridge}
    with server(tmp_path / "data", STANDING_IN, as_shipped=True, **models) as running:
        running.client.post("/v1/collections", json={"name": "de", "language": "de"}).raise_for_status()
        body = ndjson([{"id": "a", "text": "Das Haus steht."}])
        headers = {"content-type": "application/x-ndjson"}
        running.client.post("/v1/collections/de/documents", content=body, headers=headers).raise_for_status()
        program = "import sys; from schemathesis.cli import schemathesis; sys.exit(schemathesis())"
        options = f"--checks not_a_server_error --max-time {SECONDS} --continue-on-failure --request-timeout 60"
        options += " --suppress-health-check all --no-color"
        options += " --exclude-path /readyz"  # a 503 is what it is for, where the model is busy for long
        done = subprocess.run(
            [sys.executable, "-c", program, "run", f"{running.url.rstrip('/')}/openapi.json", *options.split()],
            env=os.environ | {"SCHEMATHESIS_HOOKS": "tests.reliability.schemathesis_hooks"},
            capture_output=True,
            text=True,
        )
        assert "Loaded specification" in done.stdout, done.stdout + done.stderr
        assert "Server error" not in done.stdout, done.stdout
        assert done.returncode == 0, done.stdout + done.stderr
        assert running.client.get("/healthz").status_code == 200
