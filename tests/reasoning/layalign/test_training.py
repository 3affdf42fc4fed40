"""Training of bridges: what is learned, what is kept, and resuming after kills."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from dragoman.backbone.checkpoints import CheckpointError
from dragoman.backbone.loading import load_encoder
from dragoman.backbone.tokenizer import Subwords
from dragoman.reasoning.layalign.bridges import load_bridge
from dragoman.reasoning.layalign.model import Prompt
from dragoman.reasoning.layalign.reasoner import prompt_of
from dragoman.reasoning.layalign.states import read_texts, stored_states
from dragoman_lab.backbone.config import ConfigError
from dragoman_lab.reasoning.examples import Completion, ExamplesError, read_completions, write_examples
from dragoman_lab.reasoning.layalign import LayAlignTraining, train_layalign
from tests.backbone.samples import curves, run_with_kills
from tests.backbone.test_llm import written
from tests.ranking.samples import write_encoder

WORDS = {"bridge": "the", "river": "bee", "salt": "finds", "honey": "honey"}
"""Words that the encoder of the samples reads, and what the LLM is to say."""
CPU = torch.device("cpu")


@pytest.fixture
def folder(tmp_path: Path, subwords: Subwords) -> Path:
    write_encoder(tmp_path / "encoder", subwords, max_length=32)
    written(tmp_path / "llm")
    return tmp_path


def completions(count: int, seed: int) -> list[Completion]:
    random = np.random.default_rng(seed)
    found = []
    for number in range(count):
        words = random.choice(sorted(WORDS), int(random.integers(1, 3)))
        answer = " ".join(WORDS[word] for word in words)
        found.append(Completion(" ".join(words), ("de", "fr")[number % 2], answer))
    return found


def table(folder: Path, **changes: Any) -> dict[str, Any]:
    for name, count, seed in (("learn", 60, 1), ("tune", 12, 2)):
        path = folder / name / "words.jsonl.gz"
        if not path.exists():
            path.parent.mkdir()
            write_examples(path, completions(count, seed))
    return {
        "encoder": str(folder / "encoder"), "llm": str(folder / "llm"), "examples": str(folder / "learn"),
        "tuning": str(folder / "tune"), "states": str(folder / "states"), "steps": 6, "tokens": 96, "length": 32,
        "warm_up": 2, "report_every": 1, "checkpoint_every": 2, "bf16": False, "device": "cpu", "learning_rate": 1e-2,
    } | changes  # fmt: skip


def test_stored_states_are_the_encoder_s(folder: Path) -> None:
    encoder = load_encoder(str(folder / "encoder"))
    texts = ["bridge", "river salt honey", "honey honey"]
    stored = stored_states(encoder, texts, folder / "states", CPU)
    rows = [encoder.frame(one.ids) for one in encoder.subwords(texts)]
    assert stored.lengths() == [len(row) for row in rows]
    for places in ([0], [2, 1], [0, 1, 2]):
        found, expected = stored.read_batch(places, CPU), read_texts(encoder, [rows[place] for place in places], CPU)
        assert torch.equal(found.mask, expected.mask)
        torch.testing.assert_close(found.states[:, found.mask], expected.states[:, expected.mask], atol=0.05, rtol=0.01)
        assert not found.states[:, ~found.mask].any()
    (made,) = (folder / "states").iterdir()
    before = made.stat().st_mtime_ns
    stored_states(encoder, texts, folder / "states", CPU)
    assert made.stat().st_mtime_ns == before
    stored_states(encoder, texts[:2], folder / "states", CPU)
    assert len(list((folder / "states").iterdir())) == 2


def test_it_learns_to_say_what_the_encoder_reads(folder: Path) -> None:
    config = LayAlignTraining.parse(table(folder, steps=250, checkpoint_every=50, learning_rate=2e-2))
    model = train_layalign(config, folder / "out")
    measures = [json.loads(line) for line in (folder / "out" / "measures.jsonl").read_text().splitlines()]
    assert measures[-1]["loss"] < 0.6 * curves(folder / "out")[0]["losses"]["answers"]
    assert {"loss_de", "loss_fr"} <= measures[0].keys()
    assert {path.name for path in model.iterdir()} == {"config.json", "model.safetensors"}
    bridge, encoder, about = load_bridge(model, folder / "cache")
    right = 0
    for one in completions(12, 2):
        read = read_texts(encoder, [encoder.frame(encoder.subwords([one.text])[0].ids)], CPU)
        prompt = prompt_of(bridge.llm, about["before"], about["after"], one.text)
        right += bridge.llm.text(bridge.generate(read, [prompt], max_new_tokens=5)[0]) == one.answer
    assert right >= 6


@pytest.mark.slow
@pytest.mark.kill
def test_training_that_is_killed_repeatedly_gives_the_same_bridge(folder: Path) -> None:
    given = table(folder, steps=12, checkpoint_every=3, word_steps=4)
    train_layalign(LayAlignTraining.parse(given), folder / "whole")
    arguments = ["layalign", json.dumps(given), str(folder / "killed")]
    assert run_with_kills("tests.lab.reasoning.slowly", arguments, folder / "killed") > 0
    whole, killed = curves(folder / "whole"), curves(folder / "killed")
    assert [one["losses"] for one in whole] == [one["losses"] for one in killed]
    first, second = (load_file(folder / name / "model" / "model.safetensors") for name in ("whole", "killed"))
    assert first.keys() == second.keys()
    assert all(torch.equal(first[name], second[name]) for name in first)


def test_the_second_stage_begins_with_the_bridge_of_the_first(folder: Path) -> None:
    train_layalign(LayAlignTraining.parse(table(folder)), folder / "first")
    still = {"start": str(folder / "first"), "steps": 1, "checkpoint_every": 1, "learning_rate": 1e-9, "warm_up": 0}
    given = table(folder, **still, stage="task", after=" {text}")
    train_layalign(LayAlignTraining.parse(given), folder / "second")
    first, second = (load_file(folder / name / "best" / "model.safetensors") for name in ("first", "second"))
    assert all(torch.allclose(first[name], second[name], atol=1e-6) for name in first)
    assert json.loads((folder / "second" / "model" / "config.json").read_text())["stage"] == "task"
    with pytest.raises(CheckpointError, match=r"best/model\.safetensors"):
        train_layalign(LayAlignTraining.parse(given | {"fusion": "none"}), folder / "third")


def test_a_training_takes_what_it_has_in_common_with_a_bridge_and_what_that_can_read(folder: Path) -> None:
    start = train_layalign(LayAlignTraining.parse(table(folder)), folder / "first")
    still = {"start": str(start), "steps": 1, "checkpoint_every": 1, "learning_rate": 1e-9, "warm_up": 0}
    given = table(folder, **still, stage="task", fusion="mean")
    made = train_layalign(LayAlignTraining.parse(given), folder / "second")
    first, second = (load_file(one / "model.safetensors") for one in (start, made))
    shared = {name for name in second if name in first and first[name].shape == second[name].shape}
    assert {"separator", "gates", "project.weight"} <= shared < set(second)
    assert all(torch.allclose(first[name], second[name], atol=1e-2) for name in shared)
    about = json.loads((made / "config.json").read_text())
    assert set(about["languages"]) >= set(json.loads((start / "config.json").read_text())["languages"])
    with pytest.raises(CheckpointError, match="nothing in common"):
        other = folder / "other"
        other.mkdir()
        shutil.copy(start / "config.json", other / "config.json")
        save_file({"gates": torch.zeros(99)}, other / "model.safetensors")
        train_layalign(LayAlignTraining.parse(given | {"start": str(other)}), folder / "third")
    with pytest.raises(CheckpointError, match=r"config\.json: soft_layer is -1, and here it is 1"):
        train_layalign(LayAlignTraining.parse(given | {"soft_layer": 1}), folder / "fourth")


def test_a_prompt_is_in_the_llm_s_chat_and_has_the_text_where_it_is_wanted(folder: Path) -> None:
    train_layalign(LayAlignTraining.parse(table(folder)), folder / "out")
    llm = load_bridge(folder / "out" / "model", folder / "cache")[0].llm
    found = prompt_of(llm, "the ", "", "river", "bee")
    assert found == Prompt([1, 6, 0], [7, 8], [1, 3])  # <s> <u> the | </u> <a> | bee </s>
    assert prompt_of(llm, "", " the {text}", "bee") == Prompt([1, 6], [0, 1, 7, 8])


def test_a_bridge_of_other_models_is_refused(folder: Path, subwords: Subwords) -> None:
    model = train_layalign(LayAlignTraining.parse(table(folder)), folder / "out")
    about = json.loads((model / "config.json").read_text())
    for name, value, said in (
        ("llm_checksum", "other", "llm_checksum is 'other'"),
        ("tokenizer", "other", "tokenizer is 'other'"),
        ("model_type", "veco", "its model_type is 'veco'"),
        ("fusion", "all", "fusion must be one of"),
        ("encoder", str(folder / "nowhere"), "nowhere"),
    ):
        (model / "config.json").write_text(json.dumps(about | {name: value}))
        with pytest.raises(CheckpointError, match=said):
            load_bridge(model, folder / "cache")


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"adapter": "deep"}, "adapter must be one of"),
        ({"fusion": "all"}, "fusion must be one of"),
        ({"adapter": "none", "fusion": "none"}, "would know nothing of the text"),
        ({"stage": "third"}, r"^stage: .* 'translation' or 'task', not 'third'"),
        ({"word_steps": -1}, r"^word_steps: .* greater than or equal to 0, not -1"),
        ({"word_steps": 5, "adapter": "none"}, "word_steps: needs an adapter"),
        ({"word_steps": 5, "stage": "task"}, "the stage translation"),
        ({"word_steps": 5, "start": "first"}, "and no start"),
        ({"patience": 0}, r"^patience: .* greater than 0, not 0"),
        ({"examples": ""}, "examples and tuning"),
        ({"tokens": 16}, "tokens must be at least"),
    ],
)
def test_configurations_that_cannot_be_are_refused(folder: Path, changes: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        LayAlignTraining.parse(table(folder, **changes))


def test_rows_that_are_too_long_are_left_out_and_lines_that_are_none_are_named(folder: Path) -> None:
    with pytest.raises(ExamplesError, match="no row has at most 4 tokens"):
        train_layalign(LayAlignTraining.parse(table(folder, length=4)), folder / "short")
    path = folder / "learn" / "more.jsonl.gz"
    write_examples(path, [Completion("salt", "de", "finds"), Completion("salt", "de", " ")])
    with pytest.raises(ExamplesError, match=r"more\.jsonl\.gz: line 2: no example: text, language and answer"):
        list(read_completions(path))
