"""Trainings that begin with the weights of an earlier one."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from dragoman.backbone.checkpoints import CheckpointError
from dragoman.backbone.loading import load_encoder
from dragoman.backbone.tokenizer import Subwords
from dragoman.reasoning.deltas import save_cross
from dragoman.reasoning.inference import StatementScorer
from dragoman.reasoning.structured_encoder import StructuredEncoder
from dragoman_lab.reasoning.beginning import begin_with
from dragoman_lab.reasoning.examples import read_examples
from dragoman_lab.reasoning.spans import SpanTraining, train_spans
from dragoman_lab.reasoning.statements import StatementTraining, judge, rows_of, train_statements
from tests.lab.reasoning.statement_samples import config_of, model_of, table
from tests.reasoning.samples import config_table, statements
from tests.reasoning.test_statements import save


def test_it_begins_with_the_best_weights_of_another_training_but_for_q_cross(folder: Path) -> None:
    train_statements(StatementTraining.parse(table(folder, learning_rate=1e-2)), folder / "first")
    config = config_of()
    model, fresh = model_of(folder, config), model_of(folder, config)
    begin_with(model, folder / "first")
    best, own = load_file(folder / "first" / "best" / "model.safetensors"), fresh.state_dict()
    changed = 0
    for name, value in model.state_dict().items():
        assert torch.equal(value, own[name] if ".cross." in name else best[name]), name
        changed += ".cross." in name and not torch.equal(best[name], own[name])
    assert changed
    given = table(folder, start=str(folder / "first"), steps=1, checkpoint_every=1, learning_rate=1e-9, warm_up=0)
    train_statements(StatementTraining.parse(given), folder / "second")
    after = load_file(folder / "second" / "best" / "model.safetensors")
    torch.testing.assert_close(after["head.label.weight"], best["head.label.weight"], atol=1e-6, rtol=0)


@pytest.mark.parametrize("rank", [0, 4])
def test_q_cross_follows_what_the_beginning_added_to_q(folder: Path, rank: int) -> None:
    train_statements(StatementTraining.parse(table(folder, learning_rate=1e-2, rank=rank)), folder / "first")
    known = StructuredEncoder(load_encoder(str(folder / "encoder")))
    with torch.no_grad():
        for value in known.cross_parameters().values():
            value += 0.1
    save_cross(folder / "cross", known, {"trains": "cross"})
    model = model_of(folder, config_of(cross=str(folder / "cross"), rank=rank))
    before = {name: value.clone() for name, value in model.encoder.cross_parameters().items()}
    own = {name: value.clone() for name, value in model.encoder.queries().items()}
    begin_with(model, folder / "first", follow=True)
    best = load_file(folder / "first" / "best" / "model.safetensors")
    for layer in (0, 1):
        prefix = f"encoder.encoder.model.layers.{layer}.attention.in_projection"
        added = best[f"{prefix}.up"][:32] @ best[f"{prefix}.down"] if rank else torch.zeros(32, 32)
        bias = best[f"{prefix}.own.bias" if rank else f"{prefix}.bias"][:32] - own[f"{layer}.bias"]
        cross = model.encoder.cross_parameters()
        torch.testing.assert_close(cross[f"{layer}.weight"] - before[f"{layer}.weight"], added, atol=1e-6, rtol=0)
        torch.testing.assert_close(cross[f"{layer}.bias"] - before[f"{layer}.bias"], bias, atol=1e-6, rtol=0)
        assert bias.any() and bool(added.any()) == (rank > 0)
    path = save(folder / "model", model.eval())
    some = list(statements(12))
    scorer = StatementScorer(path, dtype=torch.float32)
    found = scorer.judge(rows_of(scorer.encoder, some), [one.bilingual for one in some])
    assert [one.logit for one in found] == pytest.approx(judge(model, some, structured=True), abs=0.01)


def test_weights_that_are_not_of_this_training_are_no_beginning(folder: Path, subwords: Subwords) -> None:
    train_statements(StatementTraining.parse(table(folder)), folder / "first")
    for changes, said in (({"rank": 0}, "on one side"), ({"rank": 8}, "is \\("), ({"layers": 1}, "on one side")):
        with pytest.raises(CheckpointError, match=rf"first/best/model\.safetensors: does not fit: .*{said}"):
            begin_with(model_of(folder, config_of(**changes)), folder / "first")
    with pytest.raises(CheckpointError, match="nowhere"):
        begin_with(model_of(folder, config_of()), folder / "nowhere")
    path = folder / "first" / "best" / "model.safetensors"
    weights = load_file(path)
    name = "encoder.encoder.model.layers.0.out.own.weight"
    name = (
        name if name in weights else next(one for one in sorted(weights) if one.endswith("out_projection.own.weight"))
    )
    save_file(weights | {name: weights[name] + 1}, path)  # as of another encoder of the same shape
    with pytest.raises(CheckpointError, match="is another one"):
        begin_with(model_of(folder, config_of()), folder / "first")


def test_a_baseline_keeps_its_own_queries_where_it_begins_with_another_training(folder: Path) -> None:
    train_statements(StatementTraining.parse(table(folder, structured=False)), folder / "first")
    known = StructuredEncoder(load_encoder(str(folder / "encoder")))
    with torch.no_grad():
        for value in known.cross_parameters().values():
            value += 0.1
    save_cross(folder / "query", known, {"trains": "query"})
    changes = {"structured": False, "cross": str(folder / "query"), "start": str(folder / "first")}
    config = StatementTraining.parse(table(folder, **changes, tuning_examples=20))
    train_statements(config, folder / "second")
    tuning = list(islice(read_examples(folder / "statements-tuning" / "sample.jsonl.gz"), 20))
    model = model_of(folder, config)
    model.load_state_dict(load_file(folder / "second" / "best" / "model.safetensors"))
    scorer = StatementScorer(folder / "second" / "model", dtype=torch.float32)
    found = scorer.judge(rows_of(scorer.encoder, tuning), [one.bilingual for one in tuning])
    expected = judge(model.eval(), tuning, structured=False)
    assert [one.logit for one in found] == pytest.approx(expected, abs=0.01)


def test_a_reader_of_answers_begins_with_q_cross_too(folder: Path) -> None:
    given = config_table(folder, str(folder / "encoder"), learning_rate=1e-2)
    train_spans(SpanTraining.parse(given), folder / "first")
    best = load_file(folder / "first" / "best" / "model.safetensors")
    again = {"start": str(folder / "first"), "steps": 1, "checkpoint_every": 1, "learning_rate": 1e-9, "warm_up": 0}
    train_spans(SpanTraining.parse(given | again), folder / "second")
    after = load_file(folder / "second" / "best" / "model.safetensors")
    assert any(".cross." in name for name in after)
    for name, value in after.items():
        torch.testing.assert_close(value, best[name], atol=1e-6, rtol=0)
    other = config_table(folder, str(folder / "encoder"), start=str(folder / "first"), rank=2)
    with pytest.raises(CheckpointError, match="does not fit"):
        train_spans(SpanTraining.parse(other), folder / "third")
