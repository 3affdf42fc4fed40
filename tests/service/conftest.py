"""Fixtures of the service tests: databases of every kind that this machine has, and stores over them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import pytest

from dragoman.engine.settings import Settings
from dragoman.store.database import Store
from tests.service import postgresql
from tests.service.modelling import UpperTranslator, WordEncoder, standing_in

os.environ["DRAGOMAN_RERANK"] = "never"  # searches that don't say are tests of the first stage
os.environ["DRAGOMAN_EMBED"] = "on_demand"  # and of BM25, without an encoder in each process


@pytest.fixture(scope="session")
def postgresql_server() -> Iterator[str]:
    with postgresql.server() as url:
        yield url


@pytest.fixture(params=postgresql.DATABASES)
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str | None]:
    """What to set ``database_url`` to, for every kind of database; None is SQLite in the data directory."""
    if request.param == "sqlite":
        yield None
        return
    with postgresql.database(request.getfixturevalue("postgresql_server")) as url:
        yield url


@pytest.fixture
def settings(tmp_path: Path, database_url: str | None) -> Settings:
    return Settings.load(
        data_dir=tmp_path / "data", database_url=database_url, index_commit_seconds=0.2, ner_tagger="off"
    )


@pytest.fixture
def store(settings: Settings) -> Iterator[Store]:
    settings.store.data_dir.mkdir(exist_ok=True)
    opened = Store(settings.store.url)
    opened.migrate()
    yield opened
    opened.close()


@pytest.fixture
def encoder(monkeypatch: pytest.MonkeyPatch) -> Iterator[WordEncoder]:
    made = WordEncoder()
    with standing_in(monkeypatch, made, UpperTranslator()):
        yield made
        made.barrier.set()


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


_NO_PARAMETERS = SimpleNamespace(params={})


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What runs on PostgreSQL says so, and is slow."""
    for item in items:
        if (
            isinstance(item, pytest.Function)
            and "postgresql" in getattr(item, "callspec", _NO_PARAMETERS).params.values()
        ):
            item.add_marker(pytest.mark.postgresql)
            item.add_marker(pytest.mark.slow)
