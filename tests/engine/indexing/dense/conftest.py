"""Settings of tests of embeddings."""

from __future__ import annotations

import pytest

from dragoman.engine.settings import Settings


@pytest.fixture
def slow(settings: Settings) -> Settings:
    """Settings with which Lucene commits nothing in the background, so that tombstones stay."""
    return settings.replace(index_commit_seconds=3600.0)
