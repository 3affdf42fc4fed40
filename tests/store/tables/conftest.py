"""Translation tables with plain analysis, opened as a process opens them."""

from __future__ import annotations

import pytest

from dragoman.engine.settings import Settings
from dragoman.lexicon.text.tokens import PlainAnalysis
from dragoman.store.database import Store
from dragoman.store.tables.service import Tables
from tests.store.tables.opening import Opener


@pytest.fixture
def reopen(store: Store, settings: Settings) -> Opener:
    """Opens the tables as a new process would."""

    def open_again() -> Tables:
        tables = Tables(store, settings, PlainAnalysis)
        tables.start()
        return tables

    return open_again


@pytest.fixture
def tables(reopen: Opener) -> Tables:
    return reopen()
