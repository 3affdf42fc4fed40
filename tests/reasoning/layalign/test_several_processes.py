"""The command for mT5-xl and a large LLM on several GPUs: tiny models of the same classes, two processes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from dragoman.reasoning.layalign.bridges import load_bridge
from dragoman_lab.backbone.config import read_config
from dragoman_lab.reasoning.examples import Completion, write_examples
from dragoman_lab.reasoning.layalign import LayAlignTraining, train_layalign
from tests.backbone.samples import curves
from tests.backbone.test_llm import written

CONFIG = Path(__file__).parents[3] / "dragoman_lab" / "configs" / "layalign-mt5-8b.toml"
SMALL = {
    "tokens": 200, "accumulate": 1, "steps": 4, "word_steps": 5, "warm_up": 2, "checkpoint_every": 2, "length": 64,
    "report_every": 1, "bf16": False, "device": "cpu", "tuning_examples": 4,
}  # fmt: skip


@pytest.mark.slow
def test_two_processes_train_a_bridge_from_mt5_as_one_does(hub: dict[str, Path], tmp_path: Path) -> None:
    for name, count in (("learn", 40), ("tune", 4)):
        found = [Completion(f"river {n}", "de", "the bee" if n % 2 else "honey") for n in range(count)]
        (tmp_path / name).mkdir()
        write_examples(tmp_path / name / "de.jsonl.gz", found)
    table = read_config(CONFIG) | SMALL
    table |= {"encoder": str(hub["mt5-encoder"]), "llm": str(written(tmp_path / "llm")), "llm_precision": "float32"}
    table |= {"examples": str(tmp_path / "learn"), "tuning": str(tmp_path / "tune")}
    del table["sources"]
    (tmp_path / "config.toml").write_text("".join(f"{name} = {json.dumps(value)}\n" for name, value in table.items()))
    command = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", "--master-port", "0"]
    command += ["--standalone", "-m", "dragoman_lab.reasoning", "--config", str(tmp_path / "config.toml")]
    environment = os.environ | {"OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}
    done = subprocess.run(
        [*command, "--output", str(tmp_path / "two")], env=environment, capture_output=True, text=True, timeout=200
    )
    assert done.returncode == 0, done.stderr
    train_layalign(LayAlignTraining.parse(table | {"accumulate": 2}), tmp_path / "one")
    two, one = curves(tmp_path / "two"), curves(tmp_path / "one")
    assert [step["step"] for step in two] == [1, 2, 3, 4]
    for ours, theirs in zip(two, one, strict=True):
        assert ours["losses"] == pytest.approx(theirs["losses"], rel=1e-4)
    model, encoder, about = load_bridge(tmp_path / "two" / "model", tmp_path)
    assert encoder.layers == model.bridge.mix.in_features and about["stage"] == "translation"


@pytest.mark.slow
def test_states_that_are_not_stored_train_the_same_bridge(hub: dict[str, Path], tmp_path: Path) -> None:
    (tmp_path / "learn").mkdir()
    found = [Completion(f"river {n}", "de", "the bee" if n % 2 else "honey") for n in range(20)]
    write_examples(tmp_path / "learn" / "de.jsonl.gz", found)
    table = read_config(CONFIG) | SMALL | {"llm_precision": "float32", "hidden": 5, "soft_layer": 1, "name": "five"}
    table |= {"encoder": str(hub["mt5-encoder"]), "llm": str(written(tmp_path / "llm"))}
    table |= {"examples": str(tmp_path / "learn"), "tuning": str(tmp_path / "learn")}
    del table["sources"]
    losses = {}
    for stored in (True, False):
        train_layalign(LayAlignTraining.parse(table | {"stored": stored}), tmp_path / str(stored))
        losses[stored] = [step["losses"]["answers"] for step in curves(tmp_path / str(stored))]
        assert (tmp_path / str(stored) / "states").exists() == stored
    assert losses[True] == pytest.approx(losses[False], rel=0.02)  # what is stored is in bfloat16
    train_layalign(LayAlignTraining.parse(table | {"llm_precision": "bfloat16"}), tmp_path / "lower")
    assert curves(tmp_path / "lower")[-1]["losses"]["answers"] == pytest.approx(losses[False][-1], rel=0.1)
    model, _, about = load_bridge(tmp_path / "lower" / "model", tmp_path)
    assert model.bridge.config.hidden == 5 and model.bridge.config.soft_layer == 1 and about["name"] == "five"
    assert next(tuple(one.shape) for one in model.bridge.adapter.parameters())[0] == 5  # type: ignore[union-attr]
