"""Training of spans: its examples, what it learns, and resuming after kills."""

from __future__ import annotations

import json
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from dragoman.backbone.encoder import Encoder
from dragoman.backbone.tokenizer import Subwords
from dragoman.reasoning.spans import SpanReader
from dragoman.reasoning.structured_encoder import StructuredEncoder, row_of
from dragoman.reasoning.windows import windows
from dragoman_lab.backbone.config import ConfigError
from dragoman_lab.backbone.corpus import Position
from dragoman_lab.reasoning.batches import _windows, is_readable, source_of, tokenize
from dragoman_lab.reasoning.examples import Example, ExamplesError
from dragoman_lab.reasoning.spans import (
    SpanTraining,
    make_trainable,
    measure,
    span_loss,
    train_spans,
)
from tests.backbone.samples import curves, run_with_kills
from tests.ranking.samples import write_encoder
from tests.reasoning.samples import config_table, examples


def test_answers_are_found_among_the_subwords(encoder: Encoder) -> None:
    text = "the old bridge crosses the grey river"
    found = tokenize(
        encoder, [Example("what", text, "en", "en", [(4, 14), (23, 23 + 14)]), Example("?", "", "en", "en", [])]
    )
    offsets = encoder.subwords([text])[0].offsets
    for (first, last), (start, end) in zip(found[0].answers, [(4, 14), (23, 37)], strict=True):
        assert offsets[first][0] <= start < offsets[first][1]
        assert offsets[last][0] < end <= offsets[last][1]
    assert found[1].answers == []


def test_batches_follow_from_seed_and_position_and_hold_the_answers(encoder: Encoder) -> None:
    config = SpanTraining(examples="-", tuning="-", tokens=128, length=24)
    learned = [one for one in tokenize(encoder, list(examples(60))) if is_readable(one, encoder, config)]
    assert len(learned) > 30
    source = source_of(learned, encoder, config, "x")
    drawn = list(islice(source.draw(Position()), 30))
    again = list(islice(source.draw(drawn[9][0]), 5))
    assert [[row.ids for row in batch.rows] for _, batch in again] == [
        [row.ids for row in batch.rows] for _, batch in drawn[10:15]
    ]
    assert {batch.bilingual for _, batch in drawn} == {True, False}
    for _, batch in drawn:
        for row, answers in zip(batch.rows, batch.answers, strict=True):
            assert len(row.ids) <= config.length
            assert all(
                (first, last) == (0, 0) or row.first <= first <= last < row.second - 1 for first, last in answers
            )


def test_the_loss_is_minus_the_log_of_all_correct_places(encoder: Encoder) -> None:
    config = SpanTraining(examples="-", tuning="-", tokens=128, length=24, structured=False)
    model = SpanReader(StructuredEncoder(encoder))
    learned = [one for one in tokenize(encoder, list(examples(40))) if is_readable(one, encoder, config)]
    _, batch = next(source_of(learned, encoder, config, "x").draw(Position()))
    batch.answers[0] = [(1, 2), (1, 3), (2, 3)]
    with torch.no_grad():
        found = span_loss(model, batch, config, torch.Generator(), torch.device("cpu"))["spans"]
        scores = model(batch.rows).double().softmax(1).numpy()
    expected = []
    for own, answers in zip(scores, batch.answers, strict=True):
        expected += [-np.log(sum(own[place, side] for place in {one[side] for one in answers})) for side in (0, 1)]
    assert float(found) == pytest.approx(np.mean(expected), abs=1e-4)


def test_only_the_upper_layers_learn_and_q_cross_only_if_structured(encoder: Encoder) -> None:
    config = SpanTraining(examples="-", tuning="-", rank=2, first_layer=1, structured=False)
    model = SpanReader(make_trainable(StructuredEncoder(encoder), config))
    names = {name for name, parameter in model.named_parameters() if parameter.requires_grad}
    assert not any(".0.attention" in name or "embed" in name for name in names)
    assert not any("cross" in name and "bias" in name for name in names)
    assert {"head.weight", "head.bias"} <= names
    assert all(name.endswith(("bias", ".up", ".down")) or name.startswith("head.") for name in names)


@pytest.mark.slow
def test_it_learns_where_the_answer_is(tmp_path: Path, subwords: Subwords) -> None:
    encoder = write_encoder(tmp_path / "encoder", subwords, layers=2)
    changes: dict[str, Any] = {"steps": 200, "checkpoint_every": 100, "report_every": 100, "tokens": 1024, "rank": 16}
    table = config_table(tmp_path, str(tmp_path / "encoder"), 2000, learning_rate=1e-2, **changes)
    train_spans(SpanTraining.parse(table), tmp_path / "output")
    measures = [json.loads(line) for line in (tmp_path / "output" / "measures.jsonl").read_text().splitlines()]
    before = measure(SpanReader(StructuredEncoder(encoder)).eval(), list(examples(30, seed=2)), structured=True)
    for name in ("f1_one_language", "f1_two_languages"):
        assert measures[-1][name] > max(30, before[name] + 15)


@pytest.mark.slow
@pytest.mark.kill
def test_training_that_is_killed_repeatedly_gives_the_same_deltas(tmp_path: Path, subwords: Subwords) -> None:
    write_encoder(tmp_path / "encoder", subwords)
    table = config_table(tmp_path, str(tmp_path / "encoder"), steps=14, tuning_examples=8)
    output = tmp_path / "killed" / "spans"
    assert run_with_kills("tests.lab.reasoning.slowly", ["spans", json.dumps(table), str(output)], output) >= 1
    torch.set_num_threads(1)
    whole = tmp_path / "whole" / "spans"
    train_spans(SpanTraining.parse(table), whole)
    assert curves(output) == curves(whole)
    for name in ("model.safetensors", "config.json"):
        assert (output / "model" / name).read_bytes() == (whole / "model" / name).read_bytes()


def test_missing_examples_and_bad_values_are_named(tmp_path: Path, subwords: Subwords) -> None:
    write_encoder(tmp_path / "encoder", subwords)
    table = config_table(tmp_path, str(tmp_path / "encoder"))
    with pytest.raises(ConfigError, match="interfering"):
        SpanTraining.parse({**table, "interfering": 2})
    with pytest.raises(ConfigError, match="examples"):
        SpanTraining.parse({**table, "examples": ""})
    for name, value in (("length", 500), ("length", 3), ("first_layer", 9)):
        with pytest.raises(ConfigError, match=name):
            train_spans(SpanTraining.parse({**table, name: value, "tokens": 600}), tmp_path / f"{name}{value}")
    with pytest.raises(ExamplesError, match="nowhere"):
        train_spans(SpanTraining.parse({**table, "examples": "nowhere"}), tmp_path / "output")


def test_a_window_that_touches_an_answer_is_never_taught_as_one_without(encoder: Encoder) -> None:
    config = SpanTraining(examples="-", tuning="-", tokens=200, length=32)
    context = "ash honey salt grey " * 12
    start = context.index("salt grey ash honey", 40)
    longer = Example("what", context, "en", "en", [(start, start + 19)])
    (one,) = tokenize(encoder, [longer])
    assert is_readable(one, encoder, config)
    whole = Example("what", context, "en", "en", [(0, len(context) - 1)])
    assert not any(is_readable(one, encoder, config) for one in tokenize(encoder, [whole]))
    (first, last), length = one.answers[0], len(one.context)
    answered = 0
    for _, batch in islice(source_of([one], encoder, config, "x").draw(Position()), 40):
        row, (begin, end) = batch.rows[0], batch.answers[0][0]
        if (begin, end) != (0, 0):
            assert row.ids[begin : end + 1] == list(one.context[first : last + 1])
            answered += 1
    assert 25 <= answered < 40
    room = config.length - len(row_of(encoder, [], list(one.question)).ids)
    parts = list(windows(length, room))
    holding, without = _windows(one, encoder, config)
    assert {*holding, *without} < set(parts)
    assert all(begin > last or end <= first for begin, end in without)
