"""Checkpoints: round trips, messages about damage, and no unpickling."""

from __future__ import annotations

import json
import os
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from dragoman.backbone.checkpoints import CheckpointError, load_veco, save_veco, write_tensors
from dragoman.backbone.encoder import VecoEncoder
from dragoman.backbone.loading import load_encoder, load_translator
from dragoman.backbone.seq2seq import Seq2Seq
from dragoman.backbone.tokenizer import Subwords
from dragoman.backbone.translator import load_seq2seq, save_seq2seq
from tests.backbone.pretrained.hub_samples import write_checkpoints
from tests.backbone.samples import tiny
from tests.support.backbones import tiny_t5


@pytest.fixture
def folder(tmp_path: Path, subwords: Subwords) -> Path:
    save_veco(tmp_path / "model", tiny(len(subwords)), subwords, {"languages": ["de", "en"], "sentence_layer": 0})
    return tmp_path / "model"


def test_a_model_comes_back_in_bfloat16(folder: Path, subwords: Subwords) -> None:
    saved = {name: value.to(torch.bfloat16).float() for name, value in tiny(len(subwords)).state_dict().items()}
    model, vocabulary, about = load_veco(folder)
    assert all(torch.equal(value, saved[name]) for name, value in model.state_dict().items())
    assert {value.dtype for value in load_file(folder / "model.safetensors").values()} == {torch.bfloat16}
    assert vocabulary.checksum == subwords.checksum
    assert about["languages"] == ["de", "en"]
    assert not model.training
    without, _, _ = load_veco(folder, cross_attention=False)
    assert not any(".cross" in name for name in without.state_dict())
    encoder = load_encoder(str(folder))
    assert isinstance(encoder, VecoEncoder)
    assert (encoder.sentence_layer, encoder.width, encoder.layers, encoder.max_length) == (0, 32, 2, 32)
    again = folder.with_name("again")
    save_veco(again, model, vocabulary, {"languages": ["de", "en"], "sentence_layer": 0})
    for path in folder.iterdir():
        assert (again / path.name).read_bytes() == path.read_bytes()


def test_large_models_are_several_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, subwords: Subwords) -> None:
    monkeypatch.setattr("dragoman.backbone.checkpoints.SHARD_BYTES", 10_000)
    save_veco(tmp_path / "model", tiny(len(subwords)), subwords)
    assert len(list((tmp_path / "model").glob("model-*-of-*.safetensors"))) > 3
    load_veco(tmp_path / "model")
    write_tensors(tmp_path / "model", {"prediction_bias": torch.zeros(3)})
    with pytest.raises(CheckpointError, match="prediction_bias is in another file as well"):
        load_veco(tmp_path / "model")


class Canary:
    """Unpickling it makes a folder."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self.path),)


@pytest.mark.parametrize("name", ["pytorch_model.bin", "model.pt", "weights.pkl"])
@pytest.mark.parametrize(
    ("kind", "load"),
    [
        ("veco", load_encoder),
        ("veco-seq2seq", load_translator),
        ("bert", load_encoder),
        ("t5", load_translator),
    ],
)
def test_pickled_weights_are_refused_unread(
    folder: Path, tmp_path: Path, name: str, kind: str, load: Callable[[str], object]
) -> None:
    (folder / "model.safetensors").unlink()
    (folder / name).write_bytes(pickle.dumps({"tokens.weight": Canary(tmp_path / "sprung")}))
    about = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(about | {"model_type": kind, "decoder_layers": 1}))
    with pytest.raises(CheckpointError, match=f"its weights are pickled .{name}.*convert it to safetensors first"):
        load(str(folder))
    assert not (tmp_path / "sprung").exists()


@pytest.mark.parametrize("load", [load_encoder, load_translator])
def test_an_index_of_shards_that_names_a_pickle_is_refused_unread(
    tmp_path: Path, load: Callable[[str], object]
) -> None:
    folder = write_checkpoints(tmp_path)["bert"] if load is load_encoder else tiny_t5(tmp_path / "t5")
    weights = load_file(folder / "model.safetensors")
    (folder / "model.safetensors").rename(folder / "decoy.safetensors")
    (folder / "evil.bin").write_bytes(pickle.dumps({"weights": Canary(tmp_path / "sprung")}))
    index = {"metadata": {}, "weight_map": dict.fromkeys(weights, "evil.bin")}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    with pytest.raises(CheckpointError, match=r"evil\.bin, which is not safetensors"):
        load(str(folder))
    index["weight_map"] = dict.fromkeys(weights, "decoy.safetensors")
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    load(str(folder))
    changed(folder, transformers_weights="evil.bin")
    with pytest.raises(CheckpointError, match="names a file of weights of its own"):
        load(str(folder))
    assert not (tmp_path / "sprung").exists()


@pytest.mark.parametrize("model_type", ["bert", "something-new"])
def test_code_of_a_checkpoint_is_not_run(folder: Path, tmp_path: Path, model_type: str) -> None:
    code = f"import os\nos.mkdir({str(tmp_path / 'sprung')!r})\nclass Config: pass\nclass Model: pass\n"
    (folder / "canary.py").write_text(code)
    automatic = {"AutoConfig": "canary.Config", "AutoModel": "canary.Model", "AutoTokenizer": "canary.Model"}
    about = {"model_type": model_type, "auto_map": automatic, "hidden_size": 32, "num_attention_heads": 2}
    (folder / "config.json").write_text(json.dumps(about))
    for load in (load_encoder, load_translator):
        with pytest.raises(CheckpointError) as refused:
            load(str(folder))
        assert "\n" not in str(refused.value)
    assert not (tmp_path / "sprung").exists()


def changed(folder: Path, **changes: Any) -> None:
    about = json.loads((folder / "config.json").read_text()) | changes
    (folder / "config.json").write_text(json.dumps({name: one for name, one in about.items() if one is not None}))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"width": 64}, "weights don't fit the config"),
        ({"layers": 3}, "weights don't fit the config"),
        ({"vocabulary": None}, "vocabulary"),
        ({"vocabulary": 5}, "weights don't fit"),
        ({"heads": 0}, "heads"),
        ({"width": "wide"}, "width"),
        ({"sentence_layer": 7}, "sentence_layer is 7, of 2 layers"),
        ({"sentence_layer": "top"}, "sentence_layer"),
    ],
)
def test_an_ill_fitting_config_is_named(folder: Path, changes: dict[str, Any], message: str) -> None:
    changed(folder, **changes)
    with pytest.raises(CheckpointError, match=message):
        load_encoder(str(folder))


@pytest.mark.parametrize("name", ["model.safetensors", "tokenizer.json", "config.json"])
@pytest.mark.parametrize("damage", ["missing", "empty", "cut", "noise"])
def test_missing_and_damaged_files_are_named(folder: Path, name: str, damage: str) -> None:
    path = folder / name
    content = path.read_bytes()
    if damage == "missing":
        path.unlink()
    else:
        path.write_bytes({"empty": b"", "cut": content[: len(content) // 2], "noise": b"\xff" * 99}[damage])
    with pytest.raises(
        CheckpointError, match=name if (name, damage) != ("model.safetensors", "missing") else "holds no"
    ):
        load_veco(folder)


def test_other_weights_and_vocabularies_are_refused(folder: Path, subwords: Subwords) -> None:
    weights = load_file(folder / "model.safetensors")
    save_file(weights | {"extra": torch.zeros(1)}, folder / "model.safetensors")
    with pytest.raises(CheckpointError, match="extra"):
        load_veco(folder)
    save_veco(folder, tiny(len(subwords) - 1), subwords)
    with pytest.raises(CheckpointError, match=f"{len(subwords)} subwords, and the model was made for"):
        load_veco(folder)


def test_a_translation_model_comes_back(tmp_path: Path, subwords: Subwords) -> None:
    seq = Seq2Seq(tiny(len(subwords)), 1).eval()
    save_seq2seq(tmp_path / "model", seq, subwords, {"languages": ["de", "en"]})
    again, _, _ = load_seq2seq(tmp_path / "model")
    for name, value in again.state_dict().items():
        assert torch.equal(value, seq.state_dict()[name].to(torch.bfloat16).float())
    changed(tmp_path / "model", languages=None)
    with pytest.raises(CheckpointError, match="languages is missing"):
        load_seq2seq(tmp_path / "model")
