"""A killed training resumes with the same result, in one and in two processes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from dragoman.backbone.checkpoints import CheckpointError
from dragoman.backbone.tokenizer import Subwords
from dragoman_lab.backbone.config import TrainingConfig
from dragoman_lab.backbone.corpus import prepare
from dragoman_lab.backbone.loop import Sums, Trainer, pairs_of
from dragoman_lab.backbone.pretraining import PretrainingConfig, pretrain
from dragoman_lab.backbone.text_files import text_files
from dragoman_lab.backbone.workers import Workers
from tests.backbone.samples import config_table, curves, run_with_kills

pytestmark = [pytest.mark.slow, pytest.mark.kill]


@pytest.fixture
def learned(tmp_path: Path, subwords: Subwords) -> str:
    """A vocabulary in a file, as learning one is not the same to the bit each time."""
    subwords.save(tmp_path / "tokenizer.json")
    return str(tmp_path / "tokenizer.json")


def toml(table: dict[str, Any]) -> str:
    """Our tables, whose values JSON writes as TOML does, but for their own tables."""
    plain = "".join(f"{name} = {json.dumps(value)}\n" for name, value in table.items() if name != "model")
    return plain + "[model]\n" + "".join(f"{name} = {json.dumps(value)}\n" for name, value in table["model"].items())


def test_training_that_is_killed_repeatedly_gives_the_same_model(text: Path, tmp_path: Path, learned: str) -> None:
    table = config_table(text, tokenizer=learned, steps=30)
    table["model"]["dropout"] = 0.2
    config = tmp_path / "config.toml"
    config.write_text(toml(table))
    output = tmp_path / "killed"
    assert run_with_kills("tests.lab.backbone.slowly", [str(config), str(output)], output) == 2
    pretrain(PretrainingConfig.parse(table), tmp_path / "whole")
    assert curves(output) == curves(tmp_path / "whole")
    for name in ("model.safetensors", "tokenizer.json", "config.json"):
        assert (output / "model" / name).read_bytes() == (tmp_path / "whole" / "model" / name).read_bytes()


def test_the_curves_fall_and_reports_are_means(text: Path, tmp_path: Path, learned: str) -> None:
    table = config_table(text, tokenizer=learned, steps=60, checkpoint_every=60, learning_rate=5e-3)
    pretrain(PretrainingConfig.parse(table), tmp_path / "each")
    table |= {"report_every": 20, "bf16": True}
    steps = []
    pretrain(PretrainingConfig.parse(table | {"bf16": False}), tmp_path / "means", report=steps.append)
    each, means = curves(tmp_path / "each"), curves(tmp_path / "means")
    assert [step["step"] for step in means] == [step.step for step in steps] == [20, 40, 60]
    for number, step in enumerate(means):
        block = each[20 * number : 20 * number + 20]
        for name, value in step["losses"].items():
            known = [one["losses"][name] for one in block if name in one["losses"]]
            assert value == pytest.approx(sum(known) / len(known), rel=1e-4)
        assert step["tokens"] == block[-1]["tokens"]
    assert means[-1]["losses"]["is"] < means[0]["losses"]["is"] - 0.3
    rates = [step["learning_rate"] for step in each]
    assert rates[0] < rates[1] > rates[15] > rates[-1] == pytest.approx(0.05 * 5e-3)
    pretrain(PretrainingConfig.parse(table), tmp_path / "bf16")
    assert curves(tmp_path / "bf16")[-1]["losses"]["is"] == pytest.approx(means[-1]["losses"]["is"], rel=0.05)


def test_two_processes_train_like_one(text: Path, tmp_path: Path, learned: str) -> None:
    table = config_table(text, tokenizer=learned, steps=8, objectives=["is", "cs", "tlm", "contrastive"])
    config = tmp_path / "config.toml"
    config.write_text(toml(table))
    command = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", "--master-port", "0"]
    command += ["--standalone", "-m", "dragoman_lab.backbone", "backbone", "--config", str(config)]
    environment = os.environ | {"OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}
    done = subprocess.run(
        [*command, "--output", str(tmp_path / "two")], env=environment, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    pretrain(PretrainingConfig.parse(table | {"accumulate": 2}), tmp_path / "one")
    two, one = curves(tmp_path / "two"), curves(tmp_path / "one")
    assert [step["step"] for step in two] == list(range(1, 9))
    for ours, theirs in zip(two, one, strict=True):
        assert ours["losses"] == pytest.approx(theirs["losses"], rel=1e-4)
        assert ours["tokens"] == theirs["tokens"]


class Toy(nn.Module):
    """A weight for each kind of parameter group."""

    def __init__(self) -> None:
        super().__init__()
        self.matrix = nn.Parameter(torch.ones(2, 2))
        self.bias = nn.Parameter(torch.ones(2))
        self.layer = nn.ModuleDict({"cross": nn.Linear(2, 2)})
        self.unused = nn.Parameter(torch.ones(2, 2))


def trainer(text: Path, subwords: Subwords, output: Path, **changes: Any) -> Trainer:
    model = Toy()
    corpus = prepare(text_files([text / "parallel"]), subwords, output / "tokens", 32)
    config = TrainingConfig.parse({"parallel": ["x"], "bf16": False, "steps": 4, "report_every": 2, **changes})

    def loss(pairs: Any, generator: torch.Generator, device: torch.device) -> dict[str, Tensor]:
        return {"a": model.layer["cross"](model.matrix @ model.bias).sum()}

    return Trainer(model, loss, ["a"], pairs_of(corpus, config), config, output, Workers(0, 1, torch.device("cpu")))


def test_cross_attention_can_train_alone_first(text: Path, subwords: Subwords, tmp_path: Path) -> None:
    changes = {"checkpoint_every": 2, "steps": 2, "cross_attention_only_steps": 2}
    first = trainer(text, subwords, tmp_path, **changes)
    cross = first.model.layer["cross"].weight.detach().clone()
    first.run()
    assert torch.equal(first.model.matrix, torch.ones(2, 2))
    assert torch.equal(first.model.bias, torch.ones(2))
    assert not torch.equal(first.model.layer["cross"].weight, cross)
    later = trainer(text, subwords, tmp_path / "later", **{**changes, "cross_attention_only_steps": 1})
    later.run()
    assert not torch.equal(later.model.matrix, torch.ones(2, 2))
    assert torch.equal(later.model.unused, torch.ones(2, 2))  # no gradient, no decay


def test_a_failed_save_leaves_the_older_checkpoint(
    text: Path, subwords: Subwords, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    changes = {"checkpoint_every": 2}
    broken = trainer(text, subwords, tmp_path, **changes)

    def full(tensors: Any, path: Path) -> None:
        if "00000004" in str(path) and path.name == "moments.safetensors":
            path.write_bytes(b"half")
            raise OSError(28, "No space left on device", str(path))
        torch_save(tensors, path)

    from safetensors.torch import save_file as torch_save

    with monkeypatch.context() as patch:
        patch.setattr("dragoman_lab.backbone.loop.save_file", full)
        with pytest.raises(OSError, match="No space left"):
            broken.run()
    assert [path.name for path in (tmp_path / "checkpoints").iterdir()] == ["00000002"]
    (tmp_path / "checkpoints" / "00000004.unfinished").mkdir()  # as a kill leaves it
    resumed = trainer(text, subwords, tmp_path, **changes)
    resumed.restore()
    assert resumed.progress.step == 2
    resumed.run()
    for mine, other in zip(resumed.model.parameters(), broken.model.parameters(), strict=True):
        assert torch.equal(mine, other) or mine.shape == (2, 2)  # the linear map began at random
    assert sorted(path.name for path in (tmp_path / "checkpoints").iterdir()) == ["00000002", "00000004"]


def test_the_two_newest_checkpoints_are_kept(text: Path, subwords: Subwords, tmp_path: Path) -> None:
    trainer(text, subwords, tmp_path, checkpoint_every=2, steps=9).run()
    assert sorted(path.name for path in (tmp_path / "checkpoints").iterdir()) == ["00000008", "00000009"]


def test_curves_after_the_checkpoint_are_dropped(text: Path, subwords: Subwords, tmp_path: Path) -> None:
    trainer(text, subwords, tmp_path, checkpoint_every=2).run()
    kept = (tmp_path / "curves.jsonl").read_text()
    (tmp_path / "curves.jsonl").write_text(kept + '{"step": 6, "losses": {}}\n{"step": 8, "lo')
    again = trainer(text, subwords, tmp_path, checkpoint_every=2)
    again.restore()
    assert (tmp_path / "curves.jsonl").read_text() == kept


@pytest.mark.parametrize("name", ["model.safetensors", "moments.safetensors", "progress.json"])
def test_a_damaged_checkpoint_is_named(text: Path, subwords: Subwords, tmp_path: Path, name: str) -> None:
    trainer(text, subwords, tmp_path, checkpoint_every=2).run()
    path = tmp_path / "checkpoints" / "00000004" / name
    path.write_bytes(path.read_bytes()[:20])
    with pytest.raises(CheckpointError, match=name):
        trainer(text, subwords, tmp_path, checkpoint_every=2).restore()


def test_a_batch_without_a_loss_is_skipped(text: Path, tmp_path: Path, learned: str) -> None:
    table = config_table(text, tokenizer=learned, objectives=["tlm"], steps=12, checkpoint_every=12)
    pretrain(PretrainingConfig.parse(table), tmp_path / "output")
    found = [step["losses"] for step in curves(tmp_path / "output")]
    assert {} in found
    assert any("tlm" in losses for losses in found)


def test_means_since_the_last_report() -> None:
    sums = Sums(["a", "b", "c"], Workers(0, 1, torch.device("cpu")))
    sums.add({"a": torch.tensor(1.0), "b": torch.tensor(5.0)})
    sums.add({"a": torch.tensor(2.0)})
    assert sums.take() == {"a": 1.5, "b": 5.0}
    assert sums.take() == {}
