"""A stop ends in its time, whatever runs, and nothing acknowledged is lost."""

from __future__ import annotations

import signal
import sys
from pathlib import Path

import pytest

from dragoman.engine.settings import Settings
from dragoman.service.http.connections.last_timer import OVERTIME_STATUS
from tests.support.searching import found, ndjson
from tests.support.searching import running as opened
from tests.support.serving import server

pytestmark = pytest.mark.slow

STUCK = [sys.executable, "-m", "tests.reliability.hostile.stuck"]
NDJSON = {"content-type": "application/x-ndjson"}


@pytest.mark.parametrize(
    ("stuck", "number"),
    [
        ("closing", signal.SIGTERM),
        ("closing", signal.SIGINT),
        ("computing", signal.SIGTERM),
        ("muted", signal.SIGTERM),
        ("muted", signal.SIGINT),
    ],
)
def test_a_stop_that_hangs_ends_and_nothing_is_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stuck: str, number: signal.Signals
) -> None:
    monkeypatch.setenv("STUCK", stuck)
    with server(tmp_path, STUCK, shutdown_seconds=0, index_commit_seconds=3600) as running:
        running.client.post("/v1/collections", json={"name": "c", "language": "sw"}).raise_for_status()
        content = ndjson([{"id": "1", "text": "moja"}])
        running.client.post("/v1/collections/c/documents", content=content, headers=NDJSON).raise_for_status()
        running.tell(number)
        assert running.ended() == OVERTIME_STATUS
    with opened(Settings.load(data_dir=tmp_path, embed="on_demand", rerank="never")) as runtime:
        assert runtime.collections.document("c", "1").text == "moja"
        assert found(runtime, "c", "moja") == ["1"]
