"""From plain text to a model, by the command that users run."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import torch

from dragoman.backbone.checkpoints import load_veco
from dragoman.backbone.loading import load_encoder, load_translator
from dragoman.backbone.tokenizer import Subwords
from dragoman.cli import main as cli
from dragoman_lab.backbone.config import ConfigError
from dragoman_lab.backbone.corpus import prepare
from dragoman_lab.backbone.pretraining import PretrainingConfig, pretrain
from dragoman_lab.backbone.text_files import CorpusError
from dragoman_lab.backbone.translation_training import TranslationConfig, train_translator
from tests.backbone.samples import config_table
from tests.lab.backbone.test_loop import toml


def run(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr("sys.argv", ["dragoman", *arguments])
    with pytest.raises(SystemExit) as done:
        cli.main()
    return int(done.value.code or 0)


@pytest.mark.slow
def test_the_command_trains_and_resumes(
    text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    config, output = tmp_path / "config.toml", tmp_path / "output"
    config.write_text(toml(config_table(text, steps=4)))
    arguments = ["train", "backbone", "--config", str(config), "--output", str(output)]
    assert run(monkeypatch, *arguments) == 0
    steps = json.loads((output / "curves.json").read_text())
    assert [step["step"] for step in steps] == [1, 2, 3, 4]
    assert set(steps[0]) == {"step", "losses", "learning_rate", "tokens", "tokens_per_second", "seconds"}
    assert (output / "curves.png").read_bytes().startswith(b"\x89PNG")
    (output / "curves.png").unlink()
    assert run(monkeypatch, "train", "plot", "--output", str(output)) == 0
    assert (output / "curves.png").read_bytes().startswith(b"\x89PNG")
    assert run(monkeypatch, "train", "plot", "--output", str(tmp_path)) == 2
    assert "curves.json" in capsys.readouterr().err
    encoder = load_encoder(str(output / "model"))
    assert (encoder.layers, encoder.sentence_layer) == (2, 2)
    capsys.readouterr()
    assert run(monkeypatch, *arguments) == 2
    assert "holds a training already" in capsys.readouterr().err
    config.write_text(toml(config_table(text, steps=6)))
    assert run(monkeypatch, *arguments, "--resume") == 0
    assert [step["step"] for step in json.loads((output / "curves.json").read_text())] == [1, 2, 3, 4, 5, 6]
    config.write_text(toml(config_table(text, steps=6, learning_rate=-1)))
    capsys.readouterr()
    assert run(monkeypatch, *arguments, "--resume") == 2
    said = capsys.readouterr().err
    assert said.strip() == "dragoman: learning_rate: Input should be greater than 0, not -1"


def test_a_corrected_path_needs_no_new_folder(text: Path, tmp_path: Path) -> None:
    table = config_table(text, steps=2)
    with pytest.raises(CorpusError, match="not a folder"):
        pretrain(PretrainingConfig.parse(table | {"parallel": [str(tmp_path / "typo")]}), tmp_path / "output")
    pretrain(PretrainingConfig.parse(table), tmp_path / "output")


def test_a_vocabulary_too_small_is_named(text: Path, tmp_path: Path) -> None:
    table = config_table(text)
    table["model"]["vocabulary"] = 200
    with pytest.raises(ConfigError, match="model: vocabulary: 200 is too small"):
        pretrain(PretrainingConfig.parse(table), tmp_path / "output")


def test_a_new_model_predicts_subword_frequencies(text: Path, tmp_path: Path) -> None:
    table = config_table(text, steps=1, learning_rate=1e-9)
    model, subwords, _ = load_veco(pretrain(PretrainingConfig.parse(table), tmp_path / "output"))
    files = PretrainingConfig.parse(table).files()
    corpus = prepare(files, subwords, tmp_path / "output" / "tokens", model.config.max_length)
    known = torch.from_numpy(corpus.log_frequencies(len(subwords)))
    torch.testing.assert_close(known.exp().sum(), torch.tensor(1.0))
    torch.testing.assert_close(model.prediction_bias, known, rtol=0.01, atol=0)  # saved in bfloat16


def test_sentence_layer_zero_is_kept_and_a_start_is_taken(text: Path, tmp_path: Path, subwords: Subwords) -> None:
    subwords.save(tmp_path / "tokenizer.json")
    table = config_table(text, steps=2, tokenizer=str(tmp_path / "tokenizer.json"), sentence_layer=0)
    first = pretrain(PretrainingConfig.parse(table), tmp_path / "first")
    assert load_encoder(str(first)).sentence_layer == 0
    table |= {"start_from": str(first), "learning_rate": 1e-12}
    second, _, _ = load_veco(pretrain(PretrainingConfig.parse(table), tmp_path / "second"))
    for name, value in load_veco(first)[0].state_dict().items():
        torch.testing.assert_close(second.state_dict()[name], value)


def test_start_from_sets_vocabulary_and_sizes(text: Path, tmp_path: Path, subwords: Subwords) -> None:
    table = config_table(text, steps=1, objectives=["is"])
    first = pretrain(PretrainingConfig.parse(table), tmp_path / "first")
    del table["model"]
    table |= {"start_from": str(first), "tokens": 64}
    second, vocabulary, _ = load_veco(pretrain(PretrainingConfig.parse(table), tmp_path / "second"))
    model, known, _ = load_veco(first)
    assert second.config == model.config
    assert vocabulary.checksum == known.checksum
    subwords.save(tmp_path / "tokenizer.json")
    form = json.loads((tmp_path / "tokenizer.json").read_text())
    form["model"]["vocab"][-300:] = form["model"]["vocab"][-1:-301:-1]
    (tmp_path / "tokenizer.json").write_text(json.dumps(form))
    other = PretrainingConfig.parse(table | {"tokenizer": str(tmp_path / "tokenizer.json")})
    with pytest.raises(ConfigError, match="start_from were learned with another one"):
        pretrain(other, tmp_path / "third")
    with pytest.raises(ConfigError, match="tokens must be at least"):
        pretrain(PretrainingConfig.parse(table | {"tokens": 16}), tmp_path / "fourth")
    assert not (tmp_path / "fourth").exists()


def test_a_changed_text_is_not_resumed(text: Path, tmp_path: Path) -> None:
    shutil.copytree(text, tmp_path / "text")
    table = config_table(tmp_path / "text", steps=2, tokenizer_characters=60_000)
    pretrain(PretrainingConfig.parse(table), tmp_path / "output")
    (tmp_path / "text" / "dictionaries" / "en-de.tsv").write_text("bee\tBiene\n")
    with pytest.raises(ConfigError, match="the training text or the vocabulary has changed"):
        pretrain(PretrainingConfig.parse(table | {"steps": 4}), tmp_path / "output", resume=True)


def test_a_translator_is_trained_from_a_backbone(text: Path, tmp_path: Path) -> None:
    table = config_table(text, steps=2, raw=[], dictionaries=[])
    backbone = pretrain(PretrainingConfig.parse(table), tmp_path / "backbone")
    del table["model"], table["tokenizer_characters"]
    table |= {"start_from": str(backbone), "decoder_layers": 1, "dropout": 0.3}
    folder = train_translator(TranslationConfig.parse(table), tmp_path / "translator")
    translator = load_translator(str(folder))
    assert translator.languages == {"de", "en"}
    assert len(translator.translate(["the bee finds honey"], "en", "de", beam=2)) == 1
    with pytest.raises(ConfigError, match="tokens must be at least"):
        train_translator(TranslationConfig.parse(table | {"tokens": 16}), tmp_path / "other")
    (tmp_path / "more" / "en-fr").mkdir(parents=True)
    (tmp_path / "more" / "en-fr" / "a.tsv").write_text("salt\tsel\n")
    with pytest.raises(ConfigError, match="has no token for fr"):
        train_translator(TranslationConfig.parse(table | {"parallel": [str(tmp_path / "more")]}), tmp_path / "third")
