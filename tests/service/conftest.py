"""Fixtures of the service tests: databases and stores, and what holds requests up and sends several at a time."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.support.fixtures import database_url, encoder, settings, store

__all__ = ["database_url", "encoder", "settings", "store"]


@pytest.fixture
def gate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Requests that the stand-in holds go on once there is this file."""
    path = tmp_path / "gate"
    monkeypatch.setenv("STANDING_IN_GATE", str(path))
    return path


@pytest.fixture
def clients() -> Iterator[ThreadPoolExecutor]:
    """Threads for requests at a time."""
    with ThreadPoolExecutor(4) as pool:
        yield pool
