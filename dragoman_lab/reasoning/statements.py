"""Training of statements: a frozen encoder with small updates learns to judge, and to find the sentence that decides.

Labels alone are hard to learn from, since what is true turns on one sentence among many and on the statement's
negation; the deciding sentence, which the theories' proofs tell, is a second, denser lesson.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from pathlib import Path

import numpy as np
import torch
from pydantic import NonNegativeInt
from torch import Tensor
from torch.nn import functional as F

from dragoman.backbone.encoder import Encoder
from dragoman.backbone.padding import batches
from dragoman.reasoning.deltas import save_deltas
from dragoman.reasoning.statements import MODEL_TYPE, StatementReader
from dragoman.reasoning.structured_attention import Masks, dropout_masks, joined_masks, structured_masks
from dragoman.reasoning.structured_encoder import QuestionRow, languages_of, row_of
from dragoman_lab.backbone.config import ConfigError, NonNegative, PartialShare
from dragoman_lab.backbone.corpus import Position
from dragoman_lab.backbone.loop import EarlyStopping, Report, Source, Trainer
from dragoman_lab.backbone.pretraining import begin_training
from dragoman_lab.reasoning.batches import RowBatch, TokenizedExample, is_readable, source_of, tokenize
from dragoman_lab.reasoning.beginning import begin_with
from dragoman_lab.reasoning.calibration import fit_slope
from dragoman_lab.reasoning.examples import Example, ExamplesError, files_of, read_examples
from dragoman_lab.reasoning.spans import SpanTraining, checksum_of, place_loss, structured_encoder

TOKENS_AT_ONCE = 8_192


class StatementTraining(SpanTraining):
    """Configuration of `dragoman train qa --config` with `task = "statements"`, in addition to `SpanTraining`."""

    dropped: PartialShare = 0.0
    """Structured dropout: the share of entries across languages that are left out, where there is no Q_cross."""
    evidence: NonNegative = 1.0
    """The weight of the deciding sentence's loss beside the label's."""
    curriculum: NonNegativeInt = 0
    """How many first steps are on statements in one language of depth 0 alone."""
    start: str = ""
    """Output of an earlier training of the same shape, whose best weights this one begins with, but for Q_cross."""
    follow: bool = False
    """Whether Q_cross, too, gets what `start` added to Q."""

    def check(self) -> None:
        super().check()
        if self.dropped and self.structured:
            raise ConfigError("dropped: structured dropout has no Q_cross: structured must be false")
        if self.follow and not self.start:
            raise ConfigError("follow: there is no start that Q_cross could follow")


def statement_loss(
    model: StatementReader,
    batch: RowBatch,
    config: StatementTraining,
    generator: torch.Generator,
    device: torch.device,
) -> Mapping[str, Tensor]:
    """The cross-entropy of the labels, and that of the deciding sentences where they are known."""
    logits, scores = model(batch.rows, _training_masks(batch, config, generator, device))
    labels = torch.tensor([float(bool(label)) for label in batch.labels], device=device)
    losses = {"labels": F.binary_cross_entropy_with_logits(logits, labels)}
    decided = [index for index, is_known in enumerate(batch.answers_known) if is_known]
    if config.evidence and decided:
        losses["evidence"] = config.evidence * place_loss(scores[decided], [batch.answers[index] for index in decided])
    return losses


def _training_masks(
    batch: RowBatch, config: StatementTraining, generator: torch.Generator, device: torch.device
) -> Masks | None:
    if not batch.bilingual or not (config.structured or config.dropped):
        return None
    languages = languages_of(batch.rows, max(len(row.ids) for row in batch.rows), device)
    if config.dropped:
        return dropout_masks(languages, config.dropped, generator)
    return structured_masks(languages, 1 - config.interfering, generator)


def with_curriculum(first: Source[RowBatch], then: Source[RowBatch], steps: int) -> Source[RowBatch]:
    """The first `steps` batches of one source, and those of another from then on."""

    def draw(start: Position) -> Iterator[tuple[Position, RowBatch]]:
        if start.round < steps:
            yield from islice(first.draw(start), steps - start.round)
        yield from then.draw(Position(max(start.round, steps)))

    return Source(then.checksum, draw)


def train_statements(
    config: StatementTraining, output: Path, *, resume: bool = False, report: Report | None = None
) -> Path:
    """Train, save the best model's deltas to `output / "model"`, and return that folder.

    Raises:
        ConfigError: if `output` has a training and `resume` is false, or its configuration differs.
        ExamplesError: if examples cannot be used.
        CheckpointError: if the encoder, Q_cross or the weights to begin with cannot be loaded.
    """
    workers = begin_training(config, output, resume)
    model = StatementReader(structured_encoder(config))
    if config.start:
        begin_with(model, Path(config.start), follow=config.follow)
    files, tuning_files = files_of(Path(config.examples)), files_of(Path(config.tuning))
    examples = [example for file in files for example in read_examples(file) if example.label is not None]
    tuning_statements = (
        example for file in tuning_files for example in read_examples(file) if example.label is not None
    )
    tuning = list(islice(tuning_statements, config.tuning_examples))
    rows_of(model.encoder.encoder, tuning)  # one that is too long is no reason to fail after hours
    trainer = Trainer(
        model,
        lambda batch, generator, device: statement_loss(model, batch, config, generator, device),
        ("labels", "evidence"),
        _source(examples, tuning, model, config, checksum_of([*files, *tuning_files]), workers.count),
        config,
        output,
        workers,
        EarlyStopping(partial(measure, model, tuning, config.structured), "accuracy", config.patience),
    )
    if resume:
        trainer.restore()
    trainer.run(report)
    if workers.first:
        trainer.take_best()
        languages = {name for example in examples for name in (example.question_language, example.context_language)}
        _save(output, model.eval(), tuning, languages, config, trainer.progress.best_step)
    workers.leave()
    return output / "model"


def _source(
    examples: Sequence[Example],
    tuning: Sequence[Example],
    model: StatementReader,
    config: StatementTraining,
    checksum: str,
    workers: int,
) -> Source[RowBatch]:
    encoder = model.encoder.encoder
    learned = tokenize(encoder, examples, config.length)
    _check_lengths(learned, encoder, config)
    if not learned or not tuning:
        raise ExamplesError("there must be statements to learn from and to tune by")
    source = source_of(learned, encoder, config, checksum)
    if not config.curriculum:
        return source
    easy: list[TokenizedExample] = [example for example in learned if example.depth == 0 and not example.bilingual]
    if not easy:
        raise ExamplesError("curriculum: there are no statements of depth 0 in one language")
    drawn = config.curriculum * config.accumulate * workers
    return with_curriculum(source_of(easy, encoder, config, checksum), source, drawn)


def _check_lengths(examples: Sequence[TokenizedExample], encoder: Encoder, config: StatementTraining) -> None:
    """
    Raises:
        ExamplesError: if a row is too long: a part of its context may lack what makes the statement true.
    """
    longest = max((example.length for example in examples), default=0) + len(row_of(encoder, [], []).ids)
    if longest > config.length:
        raise ExamplesError(f"length is {config.length}, and a statement with its context has {longest} subwords")
    for example in examples:
        if not is_readable(example, encoder, config):
            raise ExamplesError(f"a statement of {len(example.question)} subwords leaves its context too little room")


def judge(model: StatementReader, examples: Sequence[Example], structured: bool) -> list[float]:
    """The logits of "true" of examples, by a model in training.

    Raises:
        ExamplesError: if one is longer than the encoder reads.
    """
    rows = rows_of(model.encoder.encoder, examples)
    logits = [0.0] * len(rows)
    for batch in batches([len(row.ids) for row in rows], TOKENS_AT_ONCE):
        some = [rows[index] for index in batch]
        masks = _reading_masks(model, some, [examples[index].bilingual for index in batch], structured)
        with torch.inference_mode():
            for index, logit in zip(batch, model(some, masks)[0].tolist(), strict=True):
                logits[index] = logit
    return logits


def rows_of(encoder: Encoder, examples: Sequence[Example]) -> list[QuestionRow]:
    """The rows of examples, each with its whole context.

    Raises:
        ExamplesError: if one is longer than the encoder reads.
    """
    contexts = encoder.subwords([example.context for example in examples])
    statements = encoder.subwords([example.question for example in examples])
    rows = [row_of(encoder, *(encoded.ids for encoded in pair)) for pair in zip(contexts, statements, strict=True)]
    longest = max((len(row.ids) for row in rows), default=0)
    if longest > encoder.max_length:
        raise ExamplesError(
            f"a statement with its context has {longest} subwords, and {encoder.name} reads {encoder.max_length}"
        )
    return rows


def _reading_masks(
    model: StatementReader, rows: Sequence[QuestionRow], bilingual: Sequence[bool], structured: bool
) -> Masks | None:
    if not structured or not any(bilingual):
        return None
    device = model.head.label.weight.device
    languages = languages_of(rows, max(len(row.ids) for row in rows), device)
    alone = torch.tensor([not across for across in bilingual], device=device)
    return joined_masks(alone, structured_masks(languages), languages)


def measure(model: StatementReader, examples: Sequence[Example], structured: bool) -> Mapping[str, float]:
    """Accuracies in percent: of all, and of examples in one language and in two."""
    return accuracies(judge(model, examples, structured), examples)


def accuracies(logits: Sequence[float], examples: Sequence[Example]) -> Mapping[str, float]:
    """Accuracies in percent by kind: all together, in one language or two, and of each depth."""
    kinds: dict[str, list[bool]] = {}
    for logit, example in zip(logits, examples, strict=True):
        right = (logit > 0) == example.label
        kind = "two_languages" if example.bilingual else "one_language"
        names = ["accuracy", f"accuracy_{kind}"]
        names += [] if example.depth is None else [f"accuracy_depth_{example.depth}"]
        for name in names:
            kinds.setdefault(name, []).append(right)
    return {name: 100 * float(np.mean(values)) for name, values in sorted(kinds.items())}


def _save(
    output: Path,
    model: StatementReader,
    tuning: Sequence[Example],
    languages: set[str],
    config: StatementTraining,
    best: int,
) -> None:
    """Write the deltas with a calibration fitted on the examples for tuning, and a report."""
    logits = judge(model, tuning, config.structured)
    slope = fit_slope(np.array(logits), np.array([bool(example.label) for example in tuning]))
    training = {**config.model_dump(), "steps": best}
    about = {
        "model_type": MODEL_TYPE,
        "name": output.name,
        "structured": config.structured,
        "width": model.encoder.encoder.width,
        "languages": sorted(languages),
        "calibration": {"slope": slope},
        "training": training,
    }
    save_deltas(output / "model", model.encoder, model.head, about)
    measures = accuracies(logits, tuning)
    (output / "report.json").write_text(json.dumps({**training, **measures}, indent=2) + "\n", encoding="utf-8")
