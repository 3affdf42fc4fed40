"""Training of answers as spans: low-rank updates of a frozen encoder, Q_cross and biases, on code-switched examples."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from itertools import islice
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from dragoman.backbone.encoder import Encoder
from dragoman.backbone.loading import load_encoder
from dragoman.backbone.training.config import ConfigError, TrainingConfig
from dragoman.backbone.training.corpus import Position
from dragoman.backbone.training.distributed import Workers
from dragoman.backbone.training.loop import EarlyStopping, Report, Source, Trainer
from dragoman.backbone.training.pretraining import claim
from dragoman.reasoning.answers import exact, f1
from dragoman.reasoning.deltas import save_deltas
from dragoman.reasoning.examples import Example, ExamplesError, files_of, read_examples
from dragoman.reasoning.inference import SpanScorer
from dragoman.reasoning.low_rank import add_low_rank
from dragoman.reasoning.reading import LEAST_ROOM, PaddedScorer, Request, Scorer, read
from dragoman.reasoning.spans import LONGEST, MODEL_TYPE, SpanReader
from dragoman.reasoning.structured_attention import structured_masks
from dragoman.reasoning.structured_encoder import Row, StructuredEncoder, languages_of, row_of
from dragoman.reasoning.training.calibration import fit_calibration
from dragoman.reasoning.windows import windows

MIN_LENGTH = 16
ANSWERED = 0.9
"""The share of windows with an answer, where a context has windows without one too."""
_NEIGHBOURS = 16
"""A batch is drawn from this many times its examples, which are alike in length."""


@dataclass(frozen=True)
class SpanTraining(TrainingConfig):
    """Configuration of `dragoman train qa --config`, in addition to `TrainingConfig`."""

    TEXT = False

    encoder: str = "e5-small"
    examples: str = ""
    """Folder of examples to learn from."""
    tuning: str = ""
    """Folder of examples for early stopping."""
    structured: bool = True
    """Whether bilingual examples are read with Q_cross; without it all are read by the encoder's own attention."""
    interfering: float = 0.7
    """P_mask: the share of entries of each mask that stay false where the other one is true."""
    rank: int = 32
    first_layer: int = 4
    """The lowest layer that learns, counted from 0."""
    length: int = 384
    """Longest row in training, in subwords."""
    tuning_examples: int = 400
    patience: int = 8

    def check(self) -> None:
        super().check()
        if not self.examples or not self.tuning:
            raise ConfigError("examples and tuning must be folders of examples")
        for name in ("rank", "tuning_examples", "patience"):
            if getattr(self, name) < 1:
                raise ConfigError(f"{name} must be at least 1")
        if not 0 <= self.interfering <= 1:
            raise ConfigError("interfering must lie between 0 and 1")
        self.check_length(self.length)

    def check_encoder(self, encoder: Encoder) -> None:
        """
        Raises:
            ConfigError: if a row or a layer is not of the encoder.
        """
        if not MIN_LENGTH <= self.length <= encoder.max_length:
            raise ConfigError(f"length must lie between {MIN_LENGTH} and {encoder.name}'s {encoder.max_length}")
        if not 0 <= self.first_layer < encoder.layers:
            raise ConfigError(f"first_layer must lie between 0 and {encoder.layers - 1}")


@dataclass(frozen=True)
class Tokenized:
    """An example as subwords; `answers` are the first and last subword of each answer in the context."""

    question: Sequence[int]
    context: Sequence[int]
    answers: list[tuple[int, int]]
    bilingual: bool

    @property
    def length(self) -> int:
        return len(self.question) + len(self.context)


@dataclass(frozen=True)
class SpanBatch:
    """Rows with the positions of the beginnings and ends of their answers; (0, 0) where there is none."""

    rows: list[Row]
    answers: list[list[tuple[int, int]]]
    bilingual: bool

    @property
    def tokens(self) -> int:
        return sum(len(row.ids) for row in self.rows)


def tokenized(encoder: Encoder, examples: Sequence[Example]) -> list[Tokenized]:
    """Examples as subwords; answers without subwords of their own, or with more than `LONGEST`, are left out.

    So are examples that have such answers alone.
    """
    questions = encoder.subwords([one.question for one in examples])
    different = {context: number for number, context in enumerate(dict.fromkeys(one.context for one in examples))}
    contexts = encoder.subwords(list(different))
    found = []
    for example, question in zip(examples, questions, strict=True):
        context = contexts[different[example.context]]
        ends = np.array([end for _, end in context.offsets])
        starts = np.array([start for start, _ in context.offsets])
        answers = []
        for start, end in example.answers:
            first, last = int(np.searchsorted(ends, start, "right")), int(np.searchsorted(starts, end)) - 1
            if first <= last < first + LONGEST:
                answers.append((first, last))
        if answers or not example.answers:
            ids = (np.array(question.ids, np.int32), np.array(context.ids, np.int32))
            found.append(Tokenized(*ids, answers, example.bilingual))  # type: ignore[arg-type]
    return found


def source_of(
    examples: Sequence[Tokenized], encoder: Encoder, config: SpanTraining, checksum: str
) -> Source[SpanBatch]:
    """Batches of examples of like length, all in one language or all in two, in rows of at most `config.length`."""
    kinds = [
        sorted(
            (number for number, one in enumerate(examples) if one.bilingual == bilingual),
            key=lambda n: examples[n].length,
        )
        for bilingual in (False, True)
    ]

    def draw(start: Position) -> Iterator[tuple[Position, SpanBatch]]:
        number = start.round
        while True:
            noise = np.random.default_rng([config.seed, number])
            anchor = int(noise.integers(len(examples)))
            order = kinds[anchor >= len(kinds[0])]
            anchor -= len(kinds[0]) if anchor >= len(kinds[0]) else 0
            count = max(1, config.tokens // min(config.length, examples[order[anchor]].length + 4))
            begin = max(0, min(anchor - count * _NEIGHBOURS // 2, len(order) - count * _NEIGHBOURS))
            near = order[begin : begin + count * _NEIGHBOURS]
            chosen = [examples[place] for place in noise.choice(near, min(count, len(near)), replace=False)]
            number += 1
            yield Position(number), _batch(chosen, encoder, config, noise)

    return Source(checksum, draw)


def _batch(
    chosen: Sequence[Tokenized], encoder: Encoder, config: SpanTraining, noise: np.random.Generator
) -> SpanBatch:
    rows, answers = [], []
    for one in chosen:
        holding, without = _windows(one, encoder, config)
        among = holding if holding and (not without or noise.random() < ANSWERED) else without
        begin, end = among[int(noise.integers(len(among)))]
        row = row_of(encoder, list(one.context[begin:end]), list(one.question))
        rows.append(row)
        inside = _inside(one.answers, begin, end)
        answers.append([(row.first + first - begin, row.first + last - begin) for first, last in inside] or [(0, 0)])
    return SpanBatch(rows, answers, chosen[0].bilingual)


Window = tuple[int, int]


def _windows(one: Tokenized, encoder: Encoder, config: SpanTraining) -> tuple[list[Window], list[Window]]:
    """The windows of a context that hold an answer, and those that touch none; none at all for a long question."""
    room = config.length - len(row_of(encoder, [], list(one.question)).ids)
    if room < config.length // LEAST_ROOM:
        return [], []
    parts = list(windows(len(one.context), room))
    holding = [part for part in parts if _inside(one.answers, *part)]
    without = [(begin, end) for begin, end in parts if all(last < begin or end <= first for first, last in one.answers)]
    return holding, without


def readable(one: Tokenized, encoder: Encoder, config: SpanTraining) -> bool:
    """Whether an example can be learned from: its question leaves room, and a window holds an answer if it has any."""
    holding, without = _windows(one, encoder, config)
    return bool(holding) if one.answers else bool(without)


def _inside(answers: Sequence[tuple[int, int]], begin: int, end: int) -> list[tuple[int, int]]:
    return [(first, last) for first, last in answers if begin <= first and last < end]


def span_loss(
    model: SpanReader, batch: SpanBatch, config: SpanTraining, generator: torch.Generator, device: torch.device
) -> Mapping[str, Tensor]:
    """-log of the probability of all correct beginnings, and of all correct ends, in the mean."""
    masks = None
    if config.structured and batch.bilingual:
        languages = languages_of(batch.rows, max(len(row.ids) for row in batch.rows), device)
        masks = structured_masks(languages, 1 - config.interfering, generator)
    logs = model(batch.rows, masks).log_softmax(1)  # (B, L, 2)
    found = []
    for own, answers in zip(logs, batch.answers, strict=True):
        for side in (0, 1):  # two answers may begin at one place
            places = torch.tensor(sorted({answer[side] for answer in answers}), device=device)
            found.append(own[places, side].logsumexp(0))
    return {"spans": -torch.stack(found).mean()}


def train_spans(config: SpanTraining, output: Path, *, resume: bool = False, report: Report | None = None) -> Path:
    """Train, save the best model's deltas to `output / "model"`, and return that folder.

    Raises:
        ConfigError: if `output` has a training and `resume` is false, or its configuration differs.
        ExamplesError: if examples cannot be used.
        CheckpointError: if the encoder cannot be loaded.
    """
    workers = Workers.join(config.device)
    if workers.first:
        claim(config, output, resume)
    workers.wait()
    torch.manual_seed(config.seed)
    encoder = load_encoder(config.encoder)
    config.check_encoder(encoder)
    files, tuning_files = files_of(Path(config.examples)), files_of(Path(config.tuning))
    given, learned, languages = _learned(files, encoder, config)
    tuning = list(islice((one for file in tuning_files for one in read_examples(file)), config.tuning_examples))
    if not learned or not tuning:
        raise ExamplesError("there must be examples to learn from and to tune by")
    model = trainable(SpanReader(StructuredEncoder(encoder)), config)
    trainer = Trainer(
        model,
        lambda batch, generator, device: span_loss(model, batch, config, generator, device),
        ("spans",),
        source_of(learned, encoder, config, checksum_of([*files, *tuning_files])),
        config,
        output,
        workers,
        EarlyStopping(partial(measured, model, tuning, config.structured), "f1", config.patience),
    )
    if resume:
        trainer.restore()
    trainer.run(report)
    if workers.first:
        trainer.take_best()
        counts = {"examples": len(learned), "left_out": given - len(learned), "steps": trainer.progress.best_step}
        _save(output, model.eval(), tuning, languages, config, counts)
    workers.leave()
    return output / "model"


def _learned(files: Sequence[Path], encoder: Encoder, config: SpanTraining) -> tuple[int, list[Tokenized], set[str]]:
    """How many examples there are, those that can be learned from, and their languages."""
    given, learned, languages = 0, [], set()
    for file in files:
        examples = list(read_examples(file))
        given += len(examples)
        learned += [one for one in tokenized(encoder, examples) if readable(one, encoder, config)]
        languages |= {name for one in examples for name in (one.question_language, one.context_language)}
    return given, learned, languages


def _save(
    output: Path,
    model: SpanReader,
    tuning: Sequence[Example],
    languages: set[str],
    config: SpanTraining,
    counts: Mapping[str, int],
) -> None:
    """Write the deltas, and a report of how well they answer when they are read from disk."""
    training = {**asdict(config), **counts}
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


def trainable(model: SpanReader, config: SpanTraining) -> SpanReader:
    """Freeze the encoder, and give its upper layers updates of low rank and biases that learn."""
    model.encoder.requires_grad_(False)
    generator = torch.Generator().manual_seed(config.seed)
    unused = ["cross.", "cross_norm."]  # the decoder path of our backbone
    if not config.structured:
        unused += ["attention.cross.", "attention.self.cross."]
    for layer in model.encoder.layers[config.first_layer :]:
        add_low_rank(layer, config.rank, generator, unused)
        for name, parameter in layer.named_parameters():
            learns = name.endswith("bias") and not name.startswith(tuple(unused))
            parameter.requires_grad_(parameter.requires_grad or learns)
    return model


def measured(model: SpanReader, examples: Sequence[Example], structured: bool) -> Mapping[str, float]:
    """:func:`measures_of` a model in training."""
    return measures_of(PaddedScorer(model, structured), examples)


def measures_of(scorer: Scorer, examples: Sequence[Example]) -> Mapping[str, float]:
    """F1 and exact match of the best spans, all of them, and of examples in one language and in two."""
    requests = [Request(one.question, one.context, one.bilingual) for one in examples]
    found = read(scorer, requests)
    totals: dict[str, list[float]] = {}
    for example, answers in zip(examples, found, strict=True):
        text = answers[0].text if answers else ""
        references = [example.context[start:end] for start, end in example.answers]
        kind = "two_languages" if example.bilingual else "one_language"
        for name, measure in (("f1", f1), ("exact", exact)):
            value = 100 * measure(text, references, example.context_language)
            totals.setdefault(name, []).append(value)
            totals.setdefault(f"{name}_{kind}", []).append(value)
    return {name: float(np.mean(values)) for name, values in sorted(totals.items())}
