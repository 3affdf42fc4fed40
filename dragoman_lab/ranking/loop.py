"""Listwise training of MART on lists of candidates, with early stopping by retrieval quality on tuning lists."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import torch
from pydantic import Field, NonNegativeInt, PositiveInt
from torch import Tensor
from torch.nn import functional as F

from dragoman.backbone.checkpoints import CONFIG, read_json
from dragoman.backbone.deltas.base import base_of, check_base, encoder_checksum
from dragoman.backbone.deltas.layers import keep_layers, let_learn
from dragoman.backbone.encoder import Encoder
from dragoman.backbone.loading import load_encoder
from dragoman.ranking.about import LEAST_SHARE, RerankerAbout, folder_of
from dragoman.ranking.attention import Direction
from dragoman.ranking.checkpoints import check_whole, fill_mart, load_mart, save_mart
from dragoman.ranking.mart import Mart, MartConfig
from dragoman.ranking.passages import passages
from dragoman.ranking.scoring import Scorer, padded_states, pool_passages
from dragoman_lab.backbone.config import ConfigError, NonNegative, PartialShare, TrainingConfig, used_layers
from dragoman_lab.backbone.loop import EarlyStopping, Report, Trainer
from dragoman_lab.backbone.pretraining import claim
from dragoman_lab.backbone.workers import Workers
from dragoman_lab.ranking.examples import Examples, examples_of, sizes, weighted_shares
from dragoman_lab.ranking.fitting import balanced_cross_entropy, fit
from dragoman_lab.ranking.lists import Lists, checksum_of, lists_in, read_lists
from dragoman_lab.ranking.measuring import best_weight, mean_average_precision, score_lists

LOSSES = ("ranking", "relevance")


class MartTraining(TrainingConfig):
    """Configuration of `dragoman train mart --config`, in addition to `TrainingConfig`."""

    TEXT: ClassVar[bool] = False

    encoder: str = "e5-small"
    start_from: str | None = None
    """A trained MART to continue from, instead of `encoder` and `model`; with `rank`, one of the same shape."""
    lists: str = ""
    """Folder of training lists, with one folder per set."""
    tuning: str = ""
    """Folder of lists for early stopping."""
    set_weights: dict[str, NonNegative] = Field(default_factory=dict)
    """Factors of the sampling shares, by prefix of the sets' names."""
    queries: PositiveInt = 24
    documents: Annotated[int, Field(ge=2)] = 8
    """Of a list, one of them relevant."""
    direction: Direction = "mean"
    placebo: bool = False
    """Train without the table, as the paper's placebo."""
    unlinked: PartialShare = 0.0
    """Probability that a query word loses its links, so that the model learns from the text what the table lacks."""
    relevance: float = 0.1
    """Weight of the `relevance` loss, which calibrates the sigmoid of a score to a probability of relevance."""
    first_stage: float = 0.0
    """Weight of the first stage in the training scores, so that the model learns what the first stage lacks."""
    model: dict[str, Any] = Field(default_factory=dict)
    """Fields of `MartConfig`."""
    rank: NonNegativeInt | None = None
    """Keep the encoder frozen but for updates of this rank of its linear layers, and biases; 0 for biases alone.

    Without it all weights learn that are not `frozen`.
    """
    first_layer: NonNegativeInt = 0
    """With `rank`: the encoder's lowest layer that learns, counted from 0."""
    layers: NonNegativeInt = 0
    """With `rank`: how many of the encoder's first layers are used; 0 for all."""
    frozen: list[str] = Field(default_factory=lambda: ["encoder.model.tokens."])
    """Name prefixes of frozen weights, such as the embeddings, which cover all languages."""
    tuning_queries: PositiveInt = 40
    tuning_depth: PositiveInt = 30
    patience: PositiveInt = 8
    stop_by: Literal["interpolated", "alone"] = "interpolated"
    """The measure that stops the training and chooses the step: MAP with the first stage, or of the model alone.

    Alone is for a model that joins another first stage than that of its lists.
    """
    fit_queries: PositiveInt = 60
    """Lists of each tuning set on which score weights are fitted after training."""

    def check(self) -> None:
        super().check()
        if self.rank is None and (self.first_layer or self.layers):
            raise ConfigError("first_layer and layers are of a frozen encoder: there is no rank")
        if not self.lists or not self.tuning:
            raise ConfigError("lists and tuning must be folders of lists of candidates")
        unknown = sorted(set(self.model) - set(MartConfig.__dataclass_fields__))
        if unknown:
            raise ConfigError(f"model: unknown field {', '.join(unknown)}")


def train_mart(config: MartTraining, output: Path, *, resume: bool = False, report: Report | None = None) -> Path:
    """Train, save the best model to `output / "model"` with its evaluation, and return that folder.

    Raises:
        ConfigError: if `output` has a training and `resume` is false, or its configuration differs.
        ListsError: if lists are not usable.
        CheckpointError: if the encoder cannot be loaded.
    """
    workers = Workers.join(config.device)
    if workers.first:
        claim(config, output, resume)
    workers.wait()
    torch.manual_seed(config.seed)
    sets, tuning = _sets(Path(config.lists), config.languages), _sets(Path(config.tuning), config.languages)
    model, base = initial_model(config)
    for name, lists in [*sets.items(), *tuning.items()]:
        if lists.tokenizer != model.encoder.tokenizer_checksum:
            raise ConfigError(f"{name}: these lists were tokenized for an encoder with another vocabulary")
    source = examples_of(
        sets,
        weighted_shares(sizes(sets), config.smoothing, list(config.set_weights.items())),
        queries=config.queries,
        documents=config.documents,
        direction=config.direction,
        placebo=config.placebo,
        unlinked=config.unlinked,
        seed=config.seed,
    )
    source = replace(source, checksum=source.checksum + checksum_of([tuning[name] for name in sorted(tuning)]))
    trainer = Trainer(
        model,
        lambda batch, generator, device: ranking_losses(model, batch, config),
        LOSSES,
        source,
        config,
        output,
        workers,
        EarlyStopping(lambda: measure(model, tuning, config), config.stop_by, config.patience),
    )
    if resume:
        trainer.restore()
    trainer.run(report)
    if workers.first:
        trainer.take_best()
        outcome = {"steps": trainer.progress.best_step, "sets": sizes(sets)}
        _save(output, model.eval(), base, tuning, config, outcome)
    workers.leave()
    return output / "model"


def _save(
    output: Path,
    model: Mart,
    base: Mapping[str, Any] | None,
    tuning: Mapping[str, Lists],
    config: MartTraining,
    outcome: Mapping[str, Any],
) -> None:
    """Fit the score weights, and write the model and its report."""
    about = RerankerAbout(output.name, config.direction, config.placebo)
    about, fitted = fit(model, about, tuning, queries=config.fit_queries)
    weights = {name: part_weights._asdict() for name, part_weights in fitted.chosen.items()}
    measures = {"measures": measure(model, tuning, config), "fitted": fitted.maps(), "weights": weights}
    training = {**config.model_dump(), **measures, **outcome}
    save_mart(output / "model", model, replace(about, training=training), base)
    (output / "report.json").write_text(json.dumps(training, indent=2) + "\n", encoding="utf-8")


def initial_model(config: MartTraining) -> tuple[Mart, dict[str, Any] | None]:
    """The model with what learns, and the frozen encoder that it changes, as `base_of` names it."""
    if config.rank is not None:
        model, base = _low_rank_model(config, config.rank)
    elif config.start_from is None:
        model, base = _new_model(load_encoder(config.encoder), config), None
    else:
        if "encoder" in read_json(folder_of(config.start_from) / CONFIG):
            raise ConfigError("start_from: its encoder is frozen: continue it with its rank, first_layer and layers")
        model, base = load_mart(config.start_from)[0], None
    if base is None:
        check_whole(model.encoder)
    for name, parameter in model.named_parameters():
        learns = parameter.requires_grad if base else True
        parameter.requires_grad_(learns and not name.startswith(tuple(config.frozen)))
    return model, base


def _low_rank_model(config: MartTraining, rank: int) -> tuple[Mart, dict[str, Any]]:
    """A model over the first layers of a frozen encoder, of which updates of low rank and biases learn."""
    encoder = load_encoder(config.encoder)
    checksum = encoder_checksum(encoder)
    layers = keep_layers(encoder, used_layers(encoder, config.layers, config.first_layer))
    base = base_of(encoder, checksum)
    model = _new_model(encoder, config)
    encoder.requires_grad_(False)
    let_learn(layers[config.first_layer :], rank, torch.Generator().manual_seed(config.seed))
    if config.start_from is not None:
        folder = folder_of(config.start_from)
        about = read_json(folder / CONFIG)
        check_base(folder, about, base)
        if about.get("layers") != base["layers"]:
            raise ConfigError(f"start_from: is of {about.get('layers')} layers, not {base['layers']}")
        fill_mart(model, folder)
    return model, base


def _new_model(encoder: Encoder, config: MartTraining) -> Mart:
    try:
        return Mart(encoder, MartConfig(**config.model), torch.Generator().manual_seed(config.seed))
    except (TypeError, ValueError) as error:
        raise ConfigError(f"model: {error}") from error


def _sets(folder: Path, languages: list[str]) -> dict[str, Lists]:
    all_sets = {str(path.relative_to(folder)): read_lists(path) for path in lists_in(folder)}
    sets = {
        name: lists
        for name, lists in all_sets.items()
        if not languages or {lists.source, lists.target} <= set(languages)
    }
    if not sets:
        raise ConfigError(f"{folder}: has no lists in these languages")
    return sets


def ranking_losses(model: Mart, batch: Examples, config: MartTraining) -> Mapping[str, Tensor]:
    """`ranking`: -log softmax of the relevant document's score in its list; with two documents, the paper's loss.

    `relevance`: binary cross-entropy of each score, with equal total weight of relevant and other documents.
    """
    rows, owner, bounds = [], [], [0]
    for example in batch.examples:
        new_rows = list(passages(model.encoder, example.query, example.documents, example.links))
        owner += [bounds[-1] + row.document for row in new_rows]
        rows += new_rows
        bounds.append(bounds[-1] + len(example.documents))
    scores = model(pool_passages(partial(padded_states, model), rows, config.tokens), owner)
    first = torch.tensor([score for example in batch.examples for score in example.scores], device=scores.device)
    ranked = scores + config.first_stage * first.clamp_min(LEAST_SHARE).log()
    lists = [ranked[begin:end] for begin, end in pairwise(bounds)]
    padded = torch.nn.utils.rnn.pad_sequence(lists, batch_first=True, padding_value=-torch.inf)
    losses = {"ranking": -F.log_softmax(padded, 1)[:, 0].mean()}
    if config.relevance:
        relevant = torch.zeros(len(scores), device=scores.device)
        relevant[bounds[:-1]] = 1
        losses["relevance"] = config.relevance * balanced_cross_entropy(scores, relevant)
    return losses


def measure(model: Mart, tuning: Mapping[str, Lists], config: MartTraining) -> dict[str, float]:
    """Mean MAP over the tuning sets: the model alone, and interpolated with the best weight, and that weight."""
    scorer = Scorer(model)  # in float32: what is fastest here may differ after a resume, and with it the measures
    scored = {
        name: score_lists(
            scorer,
            lists,
            depth=config.tuning_depth,
            queries=config.tuning_queries,
            direction=config.direction,
            placebo=config.placebo,
        )
        for name, lists in tuning.items()
    }
    weight = best_weight(scored)

    def mean(weight: float | None) -> float:
        return float(np.mean([mean_average_precision(lists, weight) for lists in scored.values()]))

    return {"interpolated": mean(weight), "alone": mean(0.0), "first_stage": mean(None), "weight": weight}
