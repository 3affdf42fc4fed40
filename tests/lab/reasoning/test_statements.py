"""Training of statements: what it learns and of what, what stays still, and resuming after kills."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from dragoman.backbone.encoder import Encoder
from dragoman.backbone.loading import load_encoder
from dragoman.reasoning.deltas import save_cross
from dragoman.reasoning.inference import StatementScorer
from dragoman.reasoning.spans import best_spans
from dragoman.reasoning.statements import Judgement, StatementReader
from dragoman.reasoning.structured_attention import structured_masks
from dragoman.reasoning.structured_encoder import QuestionRow, StructuredEncoder, languages_of
from dragoman_lab.backbone.config import ConfigError
from dragoman_lab.backbone.corpus import Position
from dragoman_lab.backbone.loop import Source
from dragoman_lab.reasoning.batches import RowBatch, source_of, tokenize
from dragoman_lab.reasoning.examples import Example, ExamplesError, read_examples, write_examples
from dragoman_lab.reasoning.statements import (
    StatementTraining,
    _source,
    _training_masks,
    accuracies,
    judge,
    rows_of,
    statement_loss,
    train_statements,
    with_curriculum,
)
from tests.backbone.samples import curves, run_with_kills
from tests.lab.reasoning.statement_samples import config_of, model_of, table
from tests.reasoning.samples import randomised, statements

CPU = torch.device("cpu")


def drawn(encoder: Encoder, config: StatementTraining, count: int) -> list[RowBatch]:
    source = source_of(tokenize(encoder, list(statements(60))), encoder, config, "x")
    return [batch for _, batch in islice(source.draw(Position()), count)]


@pytest.mark.slow
@pytest.mark.parametrize("structured", [True, False])
def test_it_learns_a_rule_and_what_deciding_sentences_are(folder: Path, structured: bool) -> None:
    sizes: dict[str, Any] = {"tokens": 1024, "rank": 16, "learning_rate": 1e-2, "tuning_examples": 100}
    steps = {"steps": 200, "checkpoint_every": 100, "report_every": 50}
    given = table(folder, count=1500, named=1.0, structured=structured, **sizes, **steps)
    train_statements(StatementTraining.parse(given), folder / "output")
    losses = [one["losses"] for one in curves(folder / "output")]
    assert losses[-1]["labels"] < 0.35 and losses[-1]["evidence"] < 0.65 * losses[0]["evidence"]
    tuning = list(read_examples(folder / "statements-tuning" / "sample.jsonl.gz"))
    scorer = StatementScorer(folder / "output" / "model", dtype=torch.float32)
    rows = rows_of(scorer.encoder, tuning)
    found = scorer.judge(rows, [one.bilingual for one in tuning])
    assert np.mean([_is_a_sentence(one, row) for one, row in zip(found, rows, strict=True)]) > 0.6
    right = accuracies([one.logit for one in found], tuning)
    assert min(right["accuracy_one_language"], right["accuracy_two_languages"]) > 80
    report = json.loads((folder / "output" / "report.json").read_text())
    assert report["accuracy"] == pytest.approx(right["accuracy"], abs=2)
    sure = [scorer.probability(one.logit) for one in found]
    assert np.mean([chance for chance, one in zip(sure, tuning, strict=True) if one.label]) > 0.7
    assert np.mean([chance for chance, one in zip(sure, tuning, strict=True) if not one.label]) < 0.3
    assert scorer.languages == {"de", "en"}


def _is_a_sentence(judgement: Judgement, row: QuestionRow) -> bool:
    """Whether the best span is the first or the second half of the context."""
    [span] = best_spans(judgement.scores, row, 1)
    return (span.start == row.first) != (span.end == row.second - 2)


@pytest.mark.slow
@pytest.mark.kill
def test_training_that_is_killed_repeatedly_gives_the_same_deltas(folder: Path) -> None:
    given = table(folder, steps=14, tuning_examples=8, curriculum=5, accumulate=2)
    output = folder / "killed" / "statements"
    assert run_with_kills("tests.lab.reasoning.slowly", ["statements", json.dumps(given), str(output)], output) >= 1
    torch.set_num_threads(1)
    whole = folder / "whole" / "statements"
    train_statements(StatementTraining.parse(given), whole)
    assert curves(output) == curves(whole)
    for name in ("model/model.safetensors", "model/config.json", "report.json", "measures.jsonl"):
        assert (output / name).read_bytes() == (whole / name).read_bytes()


def test_first_batches_are_easy_and_positions_resume_across_the_boundary(folder: Path) -> None:
    config = config_of(curriculum=3, accumulate=2)
    model = model_of(folder, config)
    learned = list(statements(60))
    easy = {one.context for one in learned if one.depth == 0 and not one.bilingual}
    source = _source(learned, learned[:4], model, config, "x", workers=2)
    whole = list(islice(source.draw(Position()), 20))
    texts = {tuple(one.ids): text for text, one in _contexts(model.encoder.encoder, learned).items()}
    first = [_texts(batch, texts) for _, batch in whole[:12]]  # 3 steps of 2 parts on 2 workers
    assert all(set(one) <= easy for one in first) and not any(batch.bilingual for _, batch in whole[:12])
    later = [batch for _, batch in whole[12:]]
    assert any(batch.bilingual for batch in later)
    assert any(not set(_texts(batch, texts)) <= easy for batch in later if not batch.bilingual)
    for start in (0, 5, 10, 11, 12, 15):
        position = whole[start - 1][0] if start else Position()
        again = list(islice(source.draw(position), 5))
        assert [(at, [row.ids for row in batch.rows]) for at, batch in again] == [
            (at, [row.ids for row in batch.rows]) for at, batch in whole[start : start + 5]
        ]


def _contexts(encoder: Encoder, examples: list[Example]) -> dict[str, Any]:
    texts = sorted({one.context for one in examples})
    return dict(zip(texts, encoder.subwords(texts), strict=True))


def _texts(batch: RowBatch, texts: dict[tuple[int, ...], str]) -> list[str]:
    return [texts[tuple(row.ids[row.first : row.second - 1])] for row in batch.rows]


def test_with_curriculum_is_the_first_source_and_then_the_other() -> None:
    def numbers(sign: int) -> Source[Any]:
        def draw(start: Position) -> Any:
            number = start.round
            while True:
                yield Position(number + 1), sign * number
                number += 1

        return Source("own", draw)

    source = with_curriculum(numbers(-1), numbers(1), 4)
    assert [batch for _, batch in islice(source.draw(Position()), 7)] == [0, -1, -2, -3, 4, 5, 6]
    assert [batch for _, batch in islice(source.draw(Position(3)), 3)] == [-3, 4, 5]
    assert [batch for _, batch in islice(source.draw(Position(6)), 2)] == [6, 7]


def test_a_curriculum_without_easy_statements_is_refused(folder: Path) -> None:
    config = config_of(curriculum=3)
    hard = [replace(one, depth=1) for one in statements(20)]
    with pytest.raises(ExamplesError, match="curriculum"):
        _source(hard, hard, model_of(folder, config), config, "x", 1)


def plain_loss(model: StatementReader, batch: RowBatch, evidence: float) -> tuple[float, float | None]:
    """Both losses by the formulas, in float64."""
    with torch.no_grad():
        logits, scores = (one.double().numpy() for one in model(batch.rows))
    labels, found = [], []
    for number, label in enumerate(batch.labels):
        chance = 1 / (1 + np.exp(-logits[number]))
        labels.append(-np.log(chance if label else 1 - chance))
        if batch.answers_known[number]:
            for side in (0, 1):
                chances = np.exp(scores[number, :, side]) / np.exp(scores[number, :, side]).sum()
                found.append(-np.log(sum(chances[place] for place in {one[side] for one in batch.answers[number]})))
    return float(np.mean(labels)), evidence * float(np.mean(found)) if found and evidence else None


@pytest.mark.parametrize("weight", [1.0, 0.25, 0.0])
def test_the_losses_are_those_of_the_formulas(folder: Path, weight: float) -> None:
    config = config_of(structured=False, evidence=weight)
    model = model_of(folder, config)
    randomised(model)
    for batch in drawn(model.encoder.encoder, config, 4):
        for known in ([True] * len(batch.rows), [True, *[False] * (len(batch.rows) - 1)], [False] * len(batch.rows)):
            one = replace(batch, answers_known=known)
            found = statement_loss(model, one, config, torch.Generator(), CPU)
            labels, evidence = plain_loss(model, one, weight)
            assert float(found["labels"].detach()) == pytest.approx(labels, abs=1e-4)
            assert ("evidence" in found) == (evidence is not None)
            if evidence is not None:
                assert float(found["evidence"].detach()) == pytest.approx(evidence, abs=1e-4)


def test_statements_without_a_deciding_sentence_point_at_the_first_position(folder: Path) -> None:
    config = config_of()
    encoder = model_of(folder, config).encoder.encoder
    found = {True: 0, False: 0}
    for batch in drawn(encoder, config, 12):
        for row, answers in zip(batch.rows, batch.answers, strict=True):
            if answers == [(0, 0)]:
                found[False] += 1
                continue
            found[True] += 1
            [(first, last)] = answers
            assert row.first <= first <= last < row.second - 1
    assert min(found.values()) > 5


def test_masks_interfere_and_drop_as_configured(folder: Path) -> None:
    encoder = model_of(folder, config_of()).encoder.encoder
    batches = drawn(encoder, config_of(), 12)
    plain = next(batch for batch in batches if not batch.bilingual)
    rows = rows_of(encoder, [one for one in statements(40) if one.bilingual])
    mixed = RowBatch(rows, [[(0, 0)]] * len(rows), True, [True] * len(rows), [True] * len(rows))
    languages = languages_of(rows, max(len(row.ids) for row in rows), CPU)
    exact = structured_masks(languages)
    seen = (languages >= 0)[:, None, :] & (languages >= 0)[:, :, None]
    apart = seen & (languages[:, :, None] != languages[:, None, :])
    apart[:, 0], apart[:, :, 0] = False, False
    within = seen & ~apart
    for interfering in (0.7, 1.0, 0.0):
        masks = _training_masks(mixed, config_of(interfering=interfering), torch.Generator().manual_seed(1), CPU)
        assert masks is not None
        assert masks.within[exact.within].all() and masks.across[exact.across].all()
        assert float(masks.within[apart].float().mean()) == pytest.approx(1 - interfering, abs=0.03)
        inner = within & ~exact.across
        assert float(masks.across[inner].float().mean()) == pytest.approx(1 - interfering, abs=0.03)
        assert not masks.within[:, :, :][~(languages >= 0)[:, None, :].expand_as(seen)].any()
    config = config_of(structured=False, dropped=0.4)
    masks = _training_masks(mixed, config, torch.Generator().manual_seed(1), CPU)
    assert masks is not None and not masks.across.any()
    assert float(masks.within[apart].float().mean()) == pytest.approx(0.6, abs=0.03) and masks.within[within].all()
    again = _training_masks(mixed, config, torch.Generator().manual_seed(2), CPU)
    assert again is not None and not torch.equal(masks.within, again.within)
    for one in (config, config_of(), config_of(structured=False)):
        assert _training_masks(plain, one, torch.Generator(), CPU) is None
    assert _training_masks(mixed, config_of(structured=False), torch.Generator(), CPU) is None


def test_dropped_entries_change_the_loss_and_q_cross_does_not(folder: Path) -> None:
    model = model_of(folder, config_of(structured=False))
    randomised(model)
    batch = next(one for one in drawn(model.encoder.encoder, config_of(), 12) if one.bilingual)

    def loss(dropped: float) -> float:
        config = config_of(structured=False, dropped=dropped)
        return float(statement_loss(model, batch, config, torch.Generator().manual_seed(1), CPU)["labels"].detach())

    plain, fewer = loss(0.0), loss(0.4)
    assert abs(plain - fewer) > 1e-4
    with torch.no_grad():
        for value in model.encoder.cross_parameters().values():
            value += 1
    assert (loss(0.0), loss(0.4)) == pytest.approx((plain, fewer), abs=1e-5)


def learning(model: StatementReader) -> set[str]:
    return {name for name, parameter in model.named_parameters() if parameter.requires_grad}


def test_what_learns_is_what_is_configured(folder: Path) -> None:
    structured = StructuredEncoder(load_encoder(str(folder / "encoder")))
    save_cross(folder / "cross", structured, {"trains": "cross"})
    shared = learning(model_of(folder, config_of(cross=str(folder / "cross"), rank=0)))
    assert all(name.endswith("bias") or name.startswith("head.") for name in shared)
    assert {"head.pooler.weight", "head.label.weight", "head.evidence.weight"} <= shared
    for layer in (0, 1):
        for part in ("attention.cross", "attention.in_projection", "attention.out_projection"):
            assert f"encoder.encoder.model.layers.{layer}.{part}.bias" in shared
    assert any("norm" in name for name in shared) and not any("tokens" in name or "embed" in name for name in shared)
    assert shared == learning(model_of(folder, config_of(rank=0)))
    updated = learning(model_of(folder, config_of(cross=str(folder / "cross"))))
    assert any(name.endswith("in_projection.up") for name in updated)
    assert not any("cross" in name and not name.endswith("cross.bias") for name in updated)
    assert any(name.endswith("cross.up") for name in learning(model_of(folder, config_of())))
    upper = learning(model_of(folder, config_of(rank=0, first_layer=1)))
    assert upper and not any(".layers.0." in name for name in upper)


def test_q_cross_that_was_trained_before_keeps_its_weights_while_its_biases_learn(folder: Path) -> None:
    known = StructuredEncoder(load_encoder(str(folder / "encoder")))
    with torch.no_grad():
        for number, value in enumerate(known.cross_parameters().values()):
            value += 0.1 * (number + 1)
    save_cross(folder / "cross", known, {"trains": "cross"})
    for rank in (0, 4):
        given = table(folder, cross=str(folder / "cross"), rank=rank, learning_rate=1e-2, tuning_examples=8)
        config = StatementTraining.parse(given)
        before = {name: one.clone() for name, one in model_of(folder, config).encoder.cross_parameters().items()}
        train_statements(config, folder / f"rank{rank}")
        best = load_file(folder / f"rank{rank}" / "best" / "model.safetensors")
        for layer in (0, 1):
            prefix = f"encoder.encoder.model.layers.{layer}.attention.cross."
            assert torch.equal(best[f"{prefix}weight"], before[f"{layer}.weight"])
            assert not torch.equal(best[f"{prefix}bias"], before[f"{layer}.bias"])
        stored = load_file(folder / f"rank{rank}" / "model" / "model.safetensors")
        assert (rank == 0) == (not any(name.endswith((".up", ".down")) for name in stored))


def test_judging_does_not_depend_on_the_batch_and_masks_only_rows_in_two_languages(folder: Path) -> None:
    model = model_of(folder, config_of())
    randomised(model)
    some = list(statements(30))
    together = judge(model.eval(), some, structured=True)
    assert together == pytest.approx([judge(model, [one], True)[0] for one in some], abs=1e-4)
    plain = judge(model, some, structured=False)
    for one, first, second in zip(some, together, plain, strict=True):
        assert one.bilingual or first == pytest.approx(second, abs=1e-4)
    assert max(abs(first - second) for first, second in zip(together, plain, strict=True)) > 1e-3


def test_accuracies_are_shares_of_right_signs() -> None:
    one = Example("a", "b", "en", "en", [], True, 0)
    given = [one, replace(one, label=False), replace(one, question_language="de", depth=2), replace(one, depth=None)]
    assert accuracies([1.0, 2.0, -1.0, 0.5], given) == {
        "accuracy": 50.0,
        "accuracy_one_language": pytest.approx(100 * 2 / 3),
        "accuracy_two_languages": 0.0,
        "accuracy_depth_0": 50.0,
        "accuracy_depth_2": 0.0,
    }


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"dropped": 0.4}, "dropped: structured dropout has no Q_cross"),
        ({"dropped": 1.0, "structured": False}, "dropped"),
        ({"dropped": -0.1, "structured": False}, "dropped"),
        ({"evidence": -1.0}, "evidence"),
        ({"curriculum": -1}, "curriculum"),
        ({"rank": -1}, "rank"),
        ({"layers": -1}, "layers"),
        ({"patience": 0}, "patience"),
        ({"tuning_examples": 0}, "tuning_examples"),
        ({"examples": ""}, "examples"),
        ({"evidence": "much"}, "evidence"),
        ({"nonsense": 1}, "unknown field nonsense"),
    ],
)
def test_values_that_cannot_be_are_named(tmp_path: Path, changes: dict[str, Any], said: str) -> None:
    given: dict[str, Any] = {"examples": "-", "tuning": "-"}
    with pytest.raises(ConfigError, match=said):
        StatementTraining.parse(given | changes)


def test_a_statement_that_is_too_long_is_an_error_before_training(folder: Path) -> None:
    with pytest.raises(ExamplesError, match="length is 32, and a statement with its context has"):
        train_statements(StatementTraining.parse(table(folder, length=32)), folder / "short")
    assert not (folder / "short" / "curves.jsonl").exists()
    one = next(statements(1))
    long = replace(one, context=one.context + " . the bee sees salt" * 9)
    write_examples(folder / "statements-tuning" / "more.jsonl.gz", [long])
    with pytest.raises(ExamplesError, match=r"and .*encoder reads 64"):
        train_statements(StatementTraining.parse(table(folder)), folder / "tuning")
    assert not (folder / "tuning" / "curves.jsonl").exists()
    model = model_of(folder, config_of())
    with pytest.raises(ExamplesError, match="reads 64"):
        judge(model, [long], structured=True)
    wordy = replace(one, question="bee " * 22, context="the bee", answers=[])
    config = config_of()
    with pytest.raises(ExamplesError, match="too little room"):
        _source([wordy], [one], model, config, "x", 1)


def test_questions_are_not_learned_or_tuned_by(folder: Path) -> None:
    config = StatementTraining.parse(table(folder, steps=2, tuning_examples=500))
    questions = [replace(one, label=None) for one in statements(8)]
    write_examples(folder / "statements-tuning" / "a.jsonl.gz", questions)
    train_statements(config, folder / "output")
    tuning = list(read_examples(folder / "statements-tuning" / "sample.jsonl.gz"))
    report = json.loads((folder / "output" / "report.json").read_text())
    scorer = StatementScorer(folder / "output" / "model", dtype=torch.float32)
    found = scorer.judge(rows_of(scorer.encoder, tuning), [one.bilingual for one in tuning])
    assert report["accuracy"] == pytest.approx(accuracies([one.logit for one in found], tuning)["accuracy"], abs=2)
    for name in ("statements", "statements-tuning"):
        own = folder / f"questions-{name}"
        write_examples((own / "a.jsonl.gz").parent.mkdir() or own / "a.jsonl.gz", questions)
        field = "examples" if name == "statements" else "tuning"
        with pytest.raises(ExamplesError, match="to learn from and to tune by"):
            train_statements(config.model_copy(update={field: str(own)}), folder / f"without-{name}")
