"""Training of answers as spans: low-rank updates of a frozen encoder, Q_cross and biases, on code-switched examples."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import partial
from itertools import islice
from pathlib import Path
from typing import ClassVar

import numpy as np
import torch
from pydantic import NonNegativeInt, PositiveInt
from torch import Tensor

from dragoman.backbone.deltas.layers import let_learn
from dragoman.backbone.encoder import Encoder
from dragoman.backbone.loading import load_encoder
from dragoman.reasoning.deltas import load_cross, save_deltas
from dragoman.reasoning.inference import SpanScorer
from dragoman.reasoning.question_answering import PaddedScorer, Request, Scorer, answer_requests
from dragoman.reasoning.spans import MODEL_TYPE, SpanReader
from dragoman.reasoning.structured_attention import structured_masks
from dragoman.reasoning.structured_encoder import StructuredEncoder, languages_of
from dragoman_lab.backbone.config import ConfigError, Share, TrainingConfig, used_layers
from dragoman_lab.backbone.loop import EarlyStopping, Report, Trainer
from dragoman_lab.backbone.pretraining import begin_training
from dragoman_lab.reasoning.answers import exact, f1
from dragoman_lab.reasoning.batches import RowBatch, TokenizedExample, is_readable, source_of, tokenize
from dragoman_lab.reasoning.beginning import begin_with
from dragoman_lab.reasoning.calibration import fit_calibration
from dragoman_lab.reasoning.examples import Example, ExamplesError, files_of, read_examples

MIN_LENGTH = 16


class SpanTraining(TrainingConfig):
    """Configuration of `dragoman train qa --config`, in addition to `TrainingConfig`."""

    TEXT: ClassVar[bool] = False

    encoder: str = "e5-small"
    examples: str = ""
    """Folder of examples to learn from."""
    tuning: str = ""
    """Folder of examples for early stopping."""
    structured: bool = True
    """Whether bilingual examples are read with Q_cross; without it all are read by the encoder's own attention."""
    interfering: Share = 0.7
    """P_mask: the share of entries of each mask that stay false where the other one is true."""
    rank: NonNegativeInt = 32
    """Of the updates of linear layers; 0 trains biases alone (BitFit)."""
    layers: NonNegativeInt = 0
    """How many of the encoder's first layers are used; 0 for all."""
    cross: str = ""
    """Folder of a Q_cross that was trained before, whose weights stay as they are; without it Q_cross learns too."""
    cross_learns: bool = False
    """Whether the Q_cross of that folder learns too, by an update of low rank."""
    first_layer: int = 4
    """The lowest layer that learns, counted from 0."""
    length: int = 384
    """Longest row in training, in subwords."""
    start: str = ""
    """Output of an earlier training of the same shape, whose best weights this one begins with."""
    tuning_examples: PositiveInt = 400
    patience: PositiveInt = 8

    def check(self) -> None:
        super().check()
        if not self.examples or not self.tuning:
            raise ConfigError("examples and tuning must be folders of examples")
        if self.cross_learns and not self.cross:
            raise ConfigError("cross_learns: there is no cross; without one Q_cross learns anyway")
        self.check_length(self.length)

    def check_encoder(self, encoder: Encoder) -> None:
        """
        Raises:
            ConfigError: if a row or a layer is not of the encoder.
        """
        if not MIN_LENGTH <= self.length <= encoder.max_length:
            raise ConfigError(f"length must lie between {MIN_LENGTH} and {encoder.name}'s {encoder.max_length}")
        used_layers(encoder, self.layers, self.first_layer)


def span_loss(
    model: SpanReader, batch: RowBatch, config: SpanTraining, generator: torch.Generator, device: torch.device
) -> Mapping[str, Tensor]:
    """The loss of the correct answers of a batch, with masks drawn anew."""
    masks = None
    if config.structured and batch.bilingual:
        languages = languages_of(batch.rows, max(len(row.ids) for row in batch.rows), device)
        masks = structured_masks(languages, 1 - config.interfering, generator)
    return {"spans": place_loss(model(batch.rows, masks), batch.answers)}


def place_loss(scores: Tensor, answers: Sequence[Sequence[tuple[int, int]]]) -> Tensor:
    """-log of the probability of all correct beginnings, and of all correct ends, in the mean; `scores` (B, L, 2)."""
    likelihoods = []
    for row_scores, correct in zip(scores.log_softmax(1), answers, strict=True):
        for side in (0, 1):  # two answers may begin at one place
            places = torch.tensor(sorted({answer[side] for answer in correct}), device=scores.device)
            likelihoods.append(row_scores[places, side].logsumexp(0))
    return -torch.stack(likelihoods).mean()


def train_spans(config: SpanTraining, output: Path, *, resume: bool = False, report: Report | None = None) -> Path:
    """Train, save the best model's deltas to `output / "model"`, and return that folder.

    Raises:
        ConfigError: if `output` has a training and `resume` is false, or its configuration differs.
        ExamplesError: if examples cannot be used.
        CheckpointError: if the encoder, Q_cross or the weights to begin with cannot be loaded.
    """
    workers = begin_training(config, output, resume)
    model = SpanReader(structured_encoder(config))
    if config.start:
        begin_with(model, Path(config.start), cross=not config.cross)
    encoder = model.encoder.encoder
    files, tuning_files = files_of(Path(config.examples)), files_of(Path(config.tuning))
    count, learned, languages = _read_learnable(files, encoder, config)
    tuning = list(islice((example for file in tuning_files for example in read_examples(file)), config.tuning_examples))
    if not learned or not tuning:
        raise ExamplesError("there must be examples to learn from and to tune by")
    trainer = Trainer(
        model,
        lambda batch, generator, device: span_loss(model, batch, config, generator, device),
        ("spans",),
        source_of(learned, encoder, config, checksum_of([*files, *tuning_files])),
        config,
        output,
        workers,
        EarlyStopping(partial(measure, model, tuning, config.structured), "f1", config.patience),
    )
    if resume:
        trainer.restore()
    trainer.run(report)
    if workers.first:
        trainer.take_best()
        counts = {"examples": len(learned), "left_out": count - len(learned), "steps": trainer.progress.best_step}
        _save(output, model.eval(), tuning, languages, config, counts)
    workers.leave()
    return output / "model"


def _read_learnable(
    files: Sequence[Path], encoder: Encoder, config: SpanTraining
) -> tuple[int, list[TokenizedExample], set[str]]:
    """How many examples there are, those that can be learned from, and their languages."""
    count, learned, languages = 0, [], set()
    for file in files:
        examples = list(read_examples(file))
        count += len(examples)
        learned += [example for example in tokenize(encoder, examples) if is_readable(example, encoder, config)]
        languages |= {name for example in examples for name in (example.question_language, example.context_language)}
    return count, learned, languages


def _save(
    output: Path,
    model: SpanReader,
    tuning: Sequence[Example],
    languages: set[str],
    config: SpanTraining,
    counts: Mapping[str, int],
) -> None:
    """Write the deltas, and a report of how well they answer when they are read from disk."""
    training = {**config.model_dump(), **counts}
    about = {
        "model_type": MODEL_TYPE,
        "name": output.name,
        "structured": config.structured,
        "width": model.encoder.encoder.width,
        "languages": sorted(languages),
        "calibration": asdict(fit_calibration(PaddedScorer(model, config.structured), tuning)),
        "training": training,
    }
    save_deltas(output / "model", model.encoder, model.head, about)
    measures = measures_of(SpanScorer(output / "model"), tuning)
    (output / "report.json").write_text(json.dumps({**training, **measures}, indent=2) + "\n", encoding="utf-8")


def checksum_of(files: Sequence[Path]) -> str:
    """Identifies the content of files of examples."""
    digest = hashlib.sha256()
    for file in files:
        digest.update(hashlib.sha256(file.read_bytes()).digest())
    return digest.hexdigest()


def structured_encoder(config: SpanTraining) -> StructuredEncoder:
    """The configured encoder with its Q_cross, of which learns what `make_trainable` says.

    Raises:
        CheckpointError: if the encoder or Q_cross cannot be loaded.
        ConfigError: if a row or a layer is not of the encoder.
    """
    encoder = load_encoder(config.encoder)
    config.check_encoder(encoder)
    structured = StructuredEncoder(encoder)
    structured.keep_layers(config.layers or encoder.layers)
    if config.cross:
        load_cross(Path(config.cross), structured)
    return make_trainable(structured, config)


def make_trainable(structured: StructuredEncoder, config: SpanTraining) -> StructuredEncoder:
    """Freeze an encoder, and give its upper layers updates of low rank and biases that learn."""
    structured.requires_grad_(False)
    generator = torch.Generator().manual_seed(config.seed)
    cross = ["attention.cross.", "attention.self.cross."]
    fixed = not config.structured or bool(config.cross and not config.cross_learns)
    let_learn(
        structured.layers[config.first_layer :],
        config.rank,
        generator,
        without=cross if fixed else [],
        still=[] if config.structured else cross,
    )
    return structured


def measure(model: SpanReader, examples: Sequence[Example], structured: bool) -> Mapping[str, float]:
    """:func:`measures_of` a model in training."""
    return measures_of(PaddedScorer(model, structured), examples)


def measures_of(scorer: Scorer, examples: Sequence[Example]) -> Mapping[str, float]:
    """F1 and exact match of the best spans, all of them, and of examples in one language and in two."""
    requests = [Request(example.question, example.context, example.bilingual) for example in examples]
    answers_of_all = answer_requests(scorer, requests)
    totals: dict[str, list[float]] = {}
    for example, answers in zip(examples, answers_of_all, strict=True):
        text = answers[0].text if answers else ""
        references = [example.context[start:end] for start, end in example.answers]
        kind = "two_languages" if example.bilingual else "one_language"
        for name, metric in (("f1", f1), ("exact", exact)):
            score = 100 * metric(text, references, example.context_language)
            totals.setdefault(name, []).append(score)
            totals.setdefault(f"{name}_{kind}", []).append(score)
    return {name: float(np.mean(values)) for name, values in sorted(totals.items())}
