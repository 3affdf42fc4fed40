"""Every field of a configuration is checked, and the message names the field."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dragoman_lab.backbone.config import ConfigError, read_config
from dragoman_lab.backbone.pretraining import PretrainingConfig, claim
from dragoman_lab.backbone.text_files import CorpusError
from dragoman_lab.backbone.translation_training import TranslationConfig
from dragoman_lab.evaluation.codebook_training import CodebookTraining
from dragoman_lab.tagging.training import TaggerTraining

CONFIGS = sorted((Path(__file__).parents[3] / "dragoman_lab" / "configs").glob("*.toml"))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"stepz": 1}, "unknown field stepz"),
        ({"steps": "many"}, r"^steps: .* valid integer, not 'many'"),
        ({"steps": True}, r"^steps: .* valid integer, not True"),
        ({"steps": 0}, r"^steps: .* greater than 0, not 0"),
        ({"parallel": "text"}, r"^parallel: .* valid list, not 'text'"),
        ({"parallel": []}, "parallel or raw"),
        ({"learning_rate": 0}, r"^learning_rate: .* greater than 0, not 0"),
        ({"learning_rate": float("inf")}, r"^learning_rate: .* finite number, not inf"),
        ({"clip": float("nan")}, r"^clip: .* finite number, not nan"),
        ({"smoothing": 1.5}, r"^smoothing: .* less than or equal to 1, not 1\.5"),
        ({"dictionary_share": -0.1}, r"^dictionary_share: .* greater than or equal to 0, not -0\.1"),
        ({"betas": [0.9]}, r"^betas: .* at least 2 items"),
        ({"betas": [0.9, 1.0]}, r"^betas: 1: .* less than 1, not 1\.0"),
        ({"seed": -1}, r"^seed: .* greater than or equal to 0, not -1"),
        ({"warm_up": -1}, r"^warm_up: .* greater than or equal to 0, not -1"),
        ({"checkpoint_every": 15}, "checkpoint_every must be a multiple of report_every"),
        ({"device": "gpu"}, r"^device: .* 'cpu' or 'cuda', not 'gpu'"),
        ({"objectives": ["mlm"]}, "objectives must be some of"),
        ({"model": {"widht": 64}}, "model: unknown field widht"),
        ({"model": {"width": "64"}}, "model: width must be an integer"),
        ({"model": {"heads": 0}}, "model: heads"),
        ({"model": {"heads": 3}}, "model: width 256 is not a multiple of heads 3"),
        ({"model": {"cross_attention": False}}, "model: cross_attention is false, and the objective cs needs it"),
        ({"model": {"max_length": 4096}}, "tokens must be at least the model's max_length, 4096"),
        ({"sentence_layer": 7}, "sentence_layer must lie between 0 and 6"),
    ],
)
def test_invalid_fields_are_named(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        PretrainingConfig.parse({"parallel": ["text"], **changes})


def test_a_message_names_every_wrong_field() -> None:
    with pytest.raises(ConfigError) as error:
        PretrainingConfig.parse({"parallel": ["text"], "steps": 0, "stepz": 1, "rates": {"heads.": -1}, "bf16": "on"})
    for part in ("steps: ", "unknown field stepz; known are accumulate, ", "rates: heads.: ", "bf16: "):
        assert part in str(error.value)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({}, "start_from"),
        ({"start_from": "x", "raw": ["y"]}, "raw: a translator is trained only on parallel text"),
        ({"start_from": "x", "which_layers": "middle"}, r"^which_layers: .* 'last' or 'first', not 'middle'"),
        ({"start_from": "x", "label_smoothing": 1.0}, "label_smoothing"),
        ({"start_from": "x", "decoder_layers": 0}, "decoder_layers"),
    ],
)
def test_a_translators_configuration_is_checked_too(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        TranslationConfig.parse({"parallel": ["text"], **changes})


@pytest.mark.parametrize(
    "path",
    [
        path for path in CONFIGS if path.stem.split("-")[0] not in ("mart", "qa", "layalign")
    ],  # tested with their sources
    ids=lambda path: path.stem,
)
def test_the_configurations_we_ship_are_valid(path: Path) -> None:
    kinds = {"translator": TranslationConfig, "codebook": CodebookTraining, "tagger": TaggerTraining}
    kinds.get(path.stem.split("-")[0], PretrainingConfig).parse(read_config(path))


def test_text_folders_are_relative_to_the_data_folder(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text('parallel = ["text", "/elsewhere"]\nsteps = 3\n')
    assert read_config(path, Path("/data")) == {"parallel": ["/data/text", "/elsewhere"], "steps": 3}
    path.write_text("parallel = [")
    with pytest.raises(ConfigError, match=r"config\.toml"):
        read_config(path)


def test_languages_choose_files(text: Path) -> None:
    table = {"parallel": [str(text / "parallel")], "raw": [str(text / "raw")]}
    chosen = PretrainingConfig.parse(table | {"languages": ["sw"]}).files()
    assert [file.languages for file in chosen] == [("sw",)]
    with pytest.raises(ConfigError, match="languages: no training file is only in de, sv"):
        PretrainingConfig.parse(table | {"languages": ["de", "sv"]}).files()
    with pytest.raises(CorpusError, match="not a folder"):
        PretrainingConfig.parse({"parallel": [str(text / "none")]}).files()


def test_a_folder_belongs_to_one_configuration(tmp_path: Path) -> None:
    config = PretrainingConfig.parse({"parallel": ["text"]})
    claim(config, tmp_path / "output", resume=True)
    assert json.loads((tmp_path / "output" / "config.json").read_text()) == config.model_dump()
    with pytest.raises(ConfigError, match="holds a training already"):
        claim(config, tmp_path / "output", resume=False)
    with pytest.raises(ConfigError, match="begun with another seed, model"):
        other = PretrainingConfig.parse({"parallel": ["text"], "seed": 2, "model": {"width": 64}})
        claim(other, tmp_path / "output", resume=True)
    longer = PretrainingConfig.parse({"parallel": ["text"], "steps": 20_000, "report_every": 20, "device": "cpu"})
    claim(longer, tmp_path / "output", resume=True)
    assert json.loads((tmp_path / "output" / "config.json").read_text())["steps"] == 20_000
