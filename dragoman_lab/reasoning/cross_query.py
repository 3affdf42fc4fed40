"""Pre-training of Q_cross by masked language modelling of parallel text, everything else frozen.

A row is an English sentence followed by the same one in another language, read with structured attention (α = 0). An
encoder without a layer that predicts subwords, as multilingual-e5-small is, first learns one (`trains = "head"`). The
baseline on code-switched text alone (`trains = "query"`) trains the encoder's own queries in the same way.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, cast

import numpy as np
import torch
from pydantic import Field, NonNegativeInt, PositiveInt
from torch import Tensor, nn
from torch.nn import functional as F

from dragoman.backbone.checkpoints import CONFIG, CheckpointError, read_json, read_tensors, write_tensors
from dragoman.backbone.encoder import Encoder
from dragoman.backbone.loading import load_encoder
from dragoman.backbone.padding import pad_rows
from dragoman.backbone.tokenizer import Subwords
from dragoman.files.atomic import atomic_folder
from dragoman.reasoning.deltas import encoder_of, load_cross, save_cross
from dragoman.reasoning.structured_attention import Masks, plain_masks, structured_masks
from dragoman.reasoning.structured_encoder import QuestionRow, StructuredEncoder, languages_of, row_of
from dragoman_lab.backbone.config import ConfigError, TrainingConfig
from dragoman_lab.backbone.corpus import Corpus, Pairs, Position, prepare
from dragoman_lab.backbone.loop import Report, Source, Trainer, pairs_of
from dragoman_lab.backbone.pretraining import begin_training

MASKED = 0.15
FIRST = "en"
IGNORED = -1


class CrossQueryTraining(TrainingConfig):
    """Configuration of `dragoman train qa --config` with `task = "cross_query"`, in addition to `TrainingConfig`."""

    encoder: str = "e5-small"
    layers: NonNegativeInt = 0
    """How many of the encoder's first layers are used; 0 for all."""
    trains: Literal["head", "cross", "query"] = "cross"
    """The layer that predicts subwords, Q_cross, or the encoder's own queries."""
    head: str = ""
    """Output of the training of a head, which the others use."""
    start: str = ""
    """Folder of a Q_cross to begin with, such as one shared by all pairs of languages for that of a pair."""
    vocabulary: PositiveInt = 20_000
    """How many subwords are predicted: the most frequent ones of the text."""
    length: Annotated[int, Field(ge=3)] = 96
    """Longest sentence, in subwords and two special tokens."""

    def check(self) -> None:
        super().check()
        if (self.trains == "head") == bool(self.head):
            raise ConfigError("head must name the output of the training of a head, unless that is what is trained")
        self.check_length(self.length)

    def check_encoder(self, encoder: Encoder) -> None:
        """
        Raises:
            ConfigError: if the encoder hides no tokens, or a row or the layers are not of it.
        """
        if encoder.mask_id is None:
            raise ConfigError(f"encoder: {self.encoder} has no token that hides another")
        if self.layers > encoder.layers:
            raise ConfigError(f"layers must be at most {encoder.name}'s {encoder.layers}")
        most = (encoder.max_length - len(row_of(encoder, [], []).ids)) // 2 + 2
        if self.length > most:
            raise ConfigError(f"length must be at most {most}: {encoder.name} reads {encoder.max_length} subwords")


class SubwordHead(nn.Module):
    """Predicts subwords by the encoder's own embeddings (V, W) of the most frequent ones."""

    targets: Tensor
    embeddings: Tensor

    def __init__(self, encoder: Encoder, counts: np.ndarray[Any, Any], size: int) -> None:
        super().__init__()
        frequent = np.sort(np.argsort(-counts, kind="stable")[: min(size, int((counts > 0).sum()))])
        shares = (counts[frequent] + 1) / (counts[frequent] + 1).sum()
        self.dense, self.norm = nn.Linear(encoder.width, encoder.width), nn.LayerNorm(encoder.width)
        self.bias = nn.Parameter(torch.tensor(np.log(shares), dtype=torch.float32))
        places = np.full(len(counts), IGNORED)
        places[frequent] = np.arange(len(frequent))
        self.register_buffer("targets", torch.from_numpy(frequent))
        self.register_buffer("places", torch.from_numpy(places))
        self.register_buffer("embeddings", _embeddings(encoder, self.targets), persistent=False)

    def forward(self, states: Tensor) -> Tensor:
        """Scores (N, V) of the subwords at the states (N, W)."""
        inner = self.norm(F.gelu(self.dense(states)))
        scores: Tensor = F.linear(inner, self.embeddings.to(inner.dtype), self.bias.to(inner.dtype))
        return scores.float()


def _embeddings(encoder: Encoder, ids: Tensor) -> Tensor:
    """The embeddings of subwords, less what they have in common, and of length 1."""
    model: Any = cast(Any, encoder).model
    table = model.tokens if hasattr(model, "tokens") else model.get_input_embeddings()
    vectors: Tensor = table(ids).detach().float()
    vectors = vectors - vectors.mean(0)
    return F.normalize(vectors, dim=1)


class CrossQueryModel(nn.Module):
    """The encoder with Q_cross, and the head."""

    def __init__(self, encoder: StructuredEncoder, head: SubwordHead, trains: str) -> None:
        super().__init__()
        self.encoder, self.head, self._trains = encoder, head, trains
        self.requires_grad_(False)
        if trains == "head":
            head.requires_grad_(True)
        else:
            for parameter in encoder.cross_parameters().values():
                parameter.requires_grad_(True)

    def forward(self, rows: Sequence[QuestionRow], ids: Tensor, mask: Tensor) -> Tensor:
        """The last states (B, L, W) of rows whose padded ids may be masked."""
        languages = languages_of(rows, ids.shape[1], ids.device)
        masks = structured_masks(languages)
        if self._trains == "query":  # the copies of the queries stand for them everywhere
            plain = plain_masks(languages)
            masks = Masks(plain.across, plain.within)
        states: list[Tensor] = self.encoder(ids, mask, masks)
        return states[-1]


@dataclass(frozen=True)
class ParallelRows:
    """Rows of parallel sentences."""

    rows: list[QuestionRow]

    @property
    def tokens(self) -> int:
        return sum(len(row.ids) for row in self.rows)


def masked_loss(
    model: CrossQueryModel, batch: ParallelRows, generator: torch.Generator, device: torch.device
) -> Mapping[str, Tensor]:
    """Cross-entropy of 15% of the subwords: 80% of them masked, 10% replaced by another, 10% as they are."""
    encoder, head = model.encoder.encoder, model.head
    ids, mask = pad_rows([row.ids for row in batch.rows], torch.device("cpu"), encoder.pad)
    targets = head.places.cpu()[ids] if isinstance(head.places, Tensor) else ids
    special = torch.zeros_like(mask)
    for index, row in enumerate(batch.rows):
        special[index, : row.first] = True
        special[index, [row.second - 1, len(row.ids) - 1]] = True
    drawn = torch.rand(ids.shape, generator=generator) < MASKED
    chosen = drawn & mask & ~special & (targets != IGNORED)
    if not chosen.any():
        return {}
    kind = torch.rand(ids.shape, generator=generator)
    other = head.targets.cpu()[torch.randint(len(head.targets), ids.shape, generator=generator)]
    hidden = torch.where(chosen & (kind < 0.8), encoder.mask_id or 0, torch.where(chosen & (kind >= 0.9), other, ids))
    states = model(batch.rows, hidden.to(device), mask.to(device))
    return {"masked": F.cross_entropy(head(states[chosen.to(device)]), targets[chosen].to(device))}


def train_cross_query(
    config: CrossQueryTraining, output: Path, *, resume: bool = False, report: Report | None = None
) -> Path:
    """Train, save Q_cross or the head to `output / "model"`, and return that folder.

    Raises:
        ConfigError: if `output` has a training and `resume` is false, or its configuration differs.
        CorpusError: training text that cannot be used, or is not parallel to English.
        CheckpointError: if the encoder, the head or the start cannot be loaded.
    """
    encoder = load_encoder(config.encoder)
    config.check_encoder(encoder)
    files = [file for file in config.files() if FIRST in file.languages and len(file.languages) == 2]
    if not files:
        raise ConfigError("parallel: no file is parallel to English")
    workers = begin_training(config, output, resume)
    corpus = prepare(files, cast(Subwords, _Ids(encoder)), Path(config.prepared or output / "tokens"), config.length)
    model = _model(config, encoder, corpus)
    trainer = Trainer(
        model,
        lambda batch, generator, device: masked_loss(model, batch, generator, device),
        ("masked",),
        _rows_of(pairs_of(corpus, config), encoder),
        config,
        output,
        workers,
    )
    if resume:
        trainer.restore()
    trainer.run(report)
    if workers.first:
        _save(output / "model", model, config, corpus)
    workers.leave()
    return output / "model"


class _Ids:
    """An encoder's tokenizer as text is prepared by."""

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder
        self.checksum = encoder.tokenizer_checksum

    def ids(self, texts: list[str]) -> list[list[int]]:
        return [encoded.ids for encoded in self._encoder.subwords(texts)]


def _model(config: CrossQueryTraining, encoder: Encoder, corpus: Corpus) -> CrossQueryModel:
    structured = StructuredEncoder(encoder)
    structured.keep_layers(config.layers or encoder.layers)
    if config.start:
        load_cross(Path(config.start), structured, always_cross=True)
    ids = [int(section_ids.max()) for section in corpus.sections for section_ids in section.ids]
    size = 1 + max(*ids, encoder.pad, *row_of(encoder, [], []).ids)
    if config.head:
        head = _load_head(Path(config.head) / "model", structured, size)
    else:
        head = SubwordHead(encoder, corpus.counts(size), config.vocabulary)
    return CrossQueryModel(structured, head, config.trains)


def _load_head(folder: Path, structured: StructuredEncoder, size: int) -> SubwordHead:
    """A trained head, for texts whose ids are below `size`.

    Raises:
        CheckpointError: if it is missing, damaged, or of another encoder or number of layers.
    """
    encoder, about = structured.encoder, read_json(folder / CONFIG)
    for name, expected in encoder_of(structured).items():
        if name != "encoder" and about.get(name) != expected:  # a folder may have moved
            raise CheckpointError(f"{folder / CONFIG}: {name} is {about.get(name)!r}, and {expected!r} is used")
    weights = read_tensors(folder)
    try:
        counts = np.zeros(max(size, int(weights["targets"].max()) + 1))
        counts[weights["targets"].numpy()] = 1
        head = SubwordHead(encoder, counts, len(weights["targets"]))
        head.load_state_dict({**weights, "places": head.places})
    except (KeyError, IndexError, RuntimeError) as error:
        raise CheckpointError(f"{folder}: does not fit {encoder.name}: {error}") from error
    return head


def _rows_of(source: Source[Pairs], encoder: Encoder) -> Source[ParallelRows]:
    """Batches of parallel sentences as rows, English first."""

    def draw(start: Position) -> Iterator[tuple[Position, ParallelRows]]:
        for position, pairs in source.draw(start):
            sides = (pairs.x, pairs.y) if pairs.languages[0] == FIRST else (pairs.y, pairs.x)
            rows = [row_of(encoder, x.tolist(), y.tolist()) for x, y in zip(*sides, strict=True)]
            yield position, ParallelRows(rows)

    return Source(source.checksum, draw)


def _save(folder: Path, model: CrossQueryModel, config: CrossQueryTraining, corpus: Corpus) -> None:
    if config.trains == "head":
        tensors = {name: tensor for name, tensor in model.head.state_dict().items() if name != "places"}
        with atomic_folder(folder) as unfinished:
            write_tensors(unfinished, tensors)
            about = {**config.model_dump(), **encoder_of(model.encoder)}
            (unfinished / CONFIG).write_text(json.dumps(about, indent=2) + "\n", encoding="utf-8")
        return
    about = {"trains": config.trains, "languages": corpus.languages, "training": config.model_dump()}
    save_cross(folder, model.encoder, about)
