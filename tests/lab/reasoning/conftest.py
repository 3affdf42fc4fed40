"""A folder to train in."""

from __future__ import annotations

from pathlib import Path

import pytest

from dragoman.backbone.tokenizer import Subwords
from tests.ranking.samples import write_encoder


@pytest.fixture
def folder(tmp_path: Path, subwords: Subwords) -> Path:
    """A folder with an encoder that reads the statements of the samples."""
    write_encoder(tmp_path / "encoder", subwords, max_length=64)
    return tmp_path
