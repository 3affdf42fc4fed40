"""MART checkpoints: a loaded model has the scores of the saved one; unsafe or damaged files are refused."""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import pytest
import torch

from dragoman.backbone.checkpoints import CheckpointError
from dragoman.backbone.encoder import Encoder
from dragoman.backbone.loading import load_encoder
from dragoman.backbone.tokenizer import Subwords
from dragoman.ranking.about import RerankerAbout, StandaloneAbout
from dragoman.ranking.checkpoints import load_mart, save_mart
from dragoman.ranking.mart import Mart, MartConfig
from tests.backbone.pretrained.hub_samples import write_checkpoints
from tests.ranking.samples import randomised, write_encoder
from tests.ranking.test_mart import PAIRS, batch

ABOUT = RerankerAbout(
    "mine",
    "forward",
    False,
    12.5,
    ["en-sw"],
    None,
    StandaloneAbout(6.0, 0.5, 1.0),
    {"steps": 3},
)


@pytest.fixture(params=["veco", "bert", "xlm-roberta"])
def encoder(request: pytest.FixtureRequest, tmp_path: Path, subwords: Subwords) -> Encoder:
    if request.param == "veco":
        return write_encoder(tmp_path / "tiny", subwords)
    return load_encoder(str(write_checkpoints(tmp_path / "hub")[request.param]))


def save(folder: Path, encoder: Encoder) -> Mart:
    model = Mart(encoder, MartConfig([0, -1], "official", dropout=0.2))
    randomised(model.heads)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.copy_(parameter.bfloat16() if not name.startswith("encoder.") else parameter)
    save_mart(folder, model, ABOUT)
    return model.eval()


def test_a_loaded_model_is_the_saved_one(tmp_path: Path, encoder: Encoder) -> None:
    model = save(tmp_path / "mart", encoder)
    loaded, about = load_mart(str(tmp_path / "mart"))
    assert about == ABOUT
    assert loaded.config == model.config
    given = batch(encoder, PAIRS)
    with torch.inference_mode():
        expected, found = (one(one.pool_rows(given), [0, 1, 2]) for one in (model, loaded))
    torch.testing.assert_close(found, expected, rtol=1e-2, atol=1e-2)
    files = [path for path in (tmp_path / "mart").rglob("*") if path.is_file()]
    assert {path.suffix for path in files} <= {".safetensors", ".json", ".txt", ".model"}


class Canary:
    def __reduce__(self) -> tuple[object, tuple[str, str]]:
        return (Path.write_text, (Path("/tmp/dragoman-mart-canary"), "ran"))  # type: ignore[return-value]


def test_pickled_or_damaged_files_are_refused(tmp_path: Path, subwords: Subwords) -> None:
    folder = tmp_path / "mart"
    save(folder, write_encoder(tmp_path / "tiny", subwords))
    heads = folder / "model.safetensors"
    whole = heads.read_bytes()
    heads.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(CheckpointError, match="not readable as safetensors"):
        load_mart(str(folder))
    heads.write_bytes(pickle.dumps(Canary()))
    with pytest.raises(CheckpointError, match="not readable as safetensors"):
        load_mart(str(folder))
    assert not Path("/tmp/dragoman-mart-canary").exists()
    heads.write_bytes(whole)
    config = json.loads((folder / "config.json").read_text())
    for changed, message in (
        ({"mart": {"mat_layers": [7]}}, "mat_layers"),
        ({"mart": {"mat_layers": [0]}}, "weights don't fit"),
        ({"mart": {"depth": 3}}, "depth"),
        ({"model_type": "veco"}, "model_type is 'veco', not 'mart'"),
    ):
        (folder / "config.json").write_text(json.dumps(config | changed))
        with pytest.raises(CheckpointError, match=message):
            load_mart(str(folder))


def test_a_missing_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="nowhere"):
        load_mart(str(tmp_path / "nowhere"))
