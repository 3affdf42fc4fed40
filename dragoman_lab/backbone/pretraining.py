"""Pre-training of the backbone, from plain text files to a folder that `load_encoder` opens."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

import torch
from pydantic import Field, PositiveInt

from dragoman.backbone.checkpoints import CONFIG, fill, load_subwords, read_json, read_tensors, save_veco
from dragoman.backbone.tokenizer import Subwords
from dragoman.backbone.veco import Veco, VecoConfig, middle_layer
from dragoman.files.atomic import atomic_file
from dragoman_lab.backbone.config import ConfigError, Share, TrainingConfig
from dragoman_lab.backbone.corpus import Corpus, prepare
from dragoman_lab.backbone.loop import Report, Trainer, pairs_of
from dragoman_lab.backbone.objectives import OBJECTIVES, crop_pairs, losses, parse_objectives
from dragoman_lab.backbone.text_files import CorpusError, TextFile
from dragoman_lab.backbone.vocabulary import train_subwords
from dragoman_lab.backbone.workers import Workers

Config = TypeVar("Config", bound=TrainingConfig)


class PretrainingConfig(TrainingConfig):
    """What `dragoman train backbone --config` reads; `[model]` holds the sizes of `VecoConfig`."""

    tokenizer: str | None = None
    """A tokenizer.json to use; without one it is that of `start_from`, or trained on the same text, dictionaries
    left out."""
    tokenizer_characters: PositiveInt = 20_000_000
    start_from: str | None = None
    """A VECO folder whose weights the training starts from, such as one made by `from_xlm_roberta`."""
    model: dict[str, Any] = Field(default_factory=dict)
    """Sizes of `VecoConfig`; what is not given is as in `start_from`, if there is one."""
    objectives: list[str] = Field(default_factory=lambda: ["is", "cs", "tlm"])
    sentence_layer: int | None = None
    """Layer of the sentence encoding; without it, `middle_layer`."""
    crop: Share = 0.0
    """Share of the pairs of which one side is cut to a random span, so that short queries are learned too."""

    def sizes(self) -> dict[str, Any]:
        """The model's sizes: those of `start_from`, if any, and over them what `model` says.

        Raises:
            CheckpointError: `start_from` is no VECO folder.
        """
        if self.start_from is None:
            return self.model
        about = read_json(Path(self.start_from) / CONFIG)
        return {name: about[name] for name in VecoConfig.__dataclass_fields__ if name in about} | self.model

    def check(self) -> None:
        super().check()
        try:
            parse_objectives(self.objectives)
        except ValueError as error:
            raise ConfigError(str(error)) from error
        unknown = sorted(set(self.model) - set(VecoConfig.__dataclass_fields__))
        if unknown:
            fields = ", ".join(VecoConfig.__dataclass_fields__)
            raise ConfigError(f"model: unknown field {', '.join(unknown)}; known are {fields}")
        if self.start_from is None:
            self.check_sizes(self.model)

    def check_sizes(self, model: Mapping[str, Any]) -> None:
        """
        Raises:
            ConfigError: a model of these sizes cannot be trained as configured.
        """
        try:
            sizes = VecoConfig(**{"vocabulary": 24_000, **model})
        except ValueError as error:
            raise ConfigError(f"model: {error}") from error
        if "cs" in self.objectives and not sizes.cross_attention:
            raise ConfigError("model: cross_attention is false, and the objective cs needs it")
        self.check_length(sizes.max_length)
        if self.sentence_layer is not None and not 0 <= self.sentence_layer <= sizes.layers:
            raise ConfigError(f"sentence_layer must lie between 0 and {sizes.layers}")


def pretrain(config: PretrainingConfig, output: Path, *, resume: bool = False, report: Report | None = None) -> Path:
    """Train, and save the model to `output / "model"` with the learning curves next to it; returns that folder.

    With `resume` a training in `output` goes on from its newest checkpoint, or starts if there is none.

    Raises:
        ConfigError: `output` holds a training already and `resume` is false, or it is another configuration's.
        CorpusError: training text that cannot be used.
        CheckpointError: `start_from` or the tokenizer cannot be used.
    """
    config.check_sizes(config.sizes())  # before the folder is claimed, so that a path can be set right
    config.files()
    workers = Workers.join(config.device)
    if workers.first:
        claim(config, output, resume)
        _text(config, output)
    workers.wait()
    subwords, corpus = _text(config, output)
    model = _model(config, len(subwords), corpus)
    layer = middle_layer(model.config.layers) if config.sentence_layer is None else config.sentence_layer
    objectives = parse_objectives(config.objectives)

    def loss(pairs: Any, generator: torch.Generator, device: torch.device) -> Any:
        pairs = crop_pairs(pairs, config.crop, generator)
        return losses(model, pairs, objectives, generator, device, sentence_layer=layer)

    trainer = Trainer(model, loss, OBJECTIVES, pairs_of(corpus, config), config, output, workers)
    if resume:
        trainer.restore()
    trainer.run(report)
    if workers.first:
        about = {
            "languages": corpus.languages,
            "sentence_layer": layer,
            "objectives": list(objectives),
            "steps": trainer.progress.step,
            "tokens": trainer.progress.tokens,
        }
        save_veco(output / "model", model, subwords, about)
    workers.leave()
    return output / "model"


def claim(config: Config, output: Path, resume: bool) -> None:
    """Make `output` the folder of this training, or see that it is.

    Raises:
        ConfigError: it holds a training already and `resume` is false, or it is another configuration's.
    """
    config_path = output / "config.json"
    if config_path.exists():
        if not resume:
            raise ConfigError(f"{output} holds a training already: resume it, or choose another folder")
        differing = config.differing_fields(type(config).parse(read_json(config_path)))
        if differing:
            raise ConfigError(f"{output} was begun with another {', '.join(differing)} (see {config_path})")
    output.mkdir(parents=True, exist_ok=True)
    with atomic_file(config_path) as unfinished:
        unfinished.write_text(json.dumps(config.model_dump(), indent=2) + "\n", encoding="utf-8")


def begin_training(config: TrainingConfig, output: Path, resume: bool) -> Workers:
    """Join the processes of a training, claim its folder and seed what is drawn.

    Raises:
        ConfigError: if `output` has a training and `resume` is false, or its configuration differs.
    """
    workers = Workers.join(config.device)
    if workers.first:
        claim(config, output, resume)
    workers.wait()
    torch.manual_seed(config.seed)
    return workers


def _text(config: PretrainingConfig, output: Path) -> tuple[Subwords, Corpus]:
    files, tokenizer_path = config.files(), output / "tokenizer.json"
    if config.tokenizer is not None:
        subwords = load_subwords(Path(config.tokenizer).parent, Path(config.tokenizer).name)
    elif config.start_from is not None:
        subwords = load_subwords(Path(config.start_from))
    elif tokenizer_path.exists():
        subwords = load_subwords(output)
    else:
        text = [file for file in files if not file.dictionary]
        size = int(config.sizes().get("vocabulary", 24_000))
        subwords = _learn(config, text, size)
        with atomic_file(tokenizer_path) as unfinished:
            subwords.save(unfinished)
    if config.start_from is not None and load_subwords(Path(config.start_from)).checksum != subwords.checksum:
        raise ConfigError("tokenizer: the weights of start_from were learned with another one")
    length = int(config.sizes().get("max_length", VecoConfig(vocabulary=1).max_length))
    return subwords, prepare(files, subwords, Path(config.prepared or output / "tokens"), length)


def _learn(config: PretrainingConfig, text: list[TextFile], size: int) -> Subwords:
    try:
        return train_subwords(text, size, smoothing=config.smoothing, characters=config.tokenizer_characters)
    except CorpusError:
        raise
    except ValueError as error:
        raise ConfigError(f"model: vocabulary: {error}") from error


def _model(config: PretrainingConfig, vocabulary: int, corpus: Corpus) -> Veco:
    model = Veco(VecoConfig(**{**config.sizes(), "vocabulary": vocabulary}))
    model.initialise(torch.Generator().manual_seed(config.seed))
    if config.start_from is None:
        model.prediction_bias.data = torch.from_numpy(corpus.log_frequencies(vocabulary))
    else:
        folder = Path(config.start_from)
        stored_weights = {name: tensor.float() for name, tensor in read_tensors(folder).items()}
        fresh_weights = model.state_dict()
        fill(model, {name: fresh_weights[name] for name in fresh_weights if ".cross" in name} | stored_weights, folder)
    return model
