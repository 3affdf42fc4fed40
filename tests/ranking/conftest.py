"""Shared fixtures of ranking tests: a vocabulary, and encoders of each kind."""

from __future__ import annotations

from pathlib import Path

import pytest

from dragoman.backbone.encoder import Encoder, VecoEncoder
from dragoman.backbone.loading import load_encoder
from dragoman.backbone.tokenizer import Subwords
from tests.backbone.conftest import subwords, text
from tests.backbone.pretrained.hub_samples import write_checkpoints
from tests.backbone.samples import tiny

__all__ = ["encoder", "hub", "subwords", "text"]


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return write_checkpoints(tmp_path_factory.mktemp("hub"))


@pytest.fixture(params=["veco", "bert", "xlm-roberta"])
def encoder(request: pytest.FixtureRequest, hub: dict[str, Path], subwords: Subwords) -> Encoder:
    if request.param == "veco":
        return VecoEncoder(tiny(len(subwords), layers=3), subwords, "tiny", 1).eval()
    return load_encoder(str(hub[request.param]))
