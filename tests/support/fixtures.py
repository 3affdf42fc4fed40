"""Databases of every kind that this machine has, stores over them, and an encoder that stands in for a real one.

The tests of the engine, the store and the service take these fixtures by importing them into their conftest, and with
them the two defaults of searches below. The server of PostgreSQL is the root conftest's: it is started once a process.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from dragoman.engine.settings import Settings
from dragoman.store.database import Store
from tests.support import postgresql
from tests.support.modelling import UpperTranslator, WordEncoder, standing_in

os.environ["DRAGOMAN_RERANK"] = "never"  # searches that don't say are tests of the first stage
os.environ["DRAGOMAN_EMBED"] = "on_demand"  # and of BM25, without an encoder in each process


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
