"""Training of a bridge (LayAlign, section 3.3): first translation into English, then tasks in English.

The encoder and the LLM stay as they are. The encoder's states are computed once, so a step is one pass through the LLM
for rows of `[before; I_map; separator; after; answer]`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import torch
from pydantic import Field, NonNegativeInt, PositiveInt

from dragoman.backbone.checkpoints import CONFIG, CheckpointError, read_json, read_tensors
from dragoman.backbone.encoder import Encoder
from dragoman.backbone.loading import load_encoder
from dragoman.backbone.padding import batches
from dragoman.backbone.pretrained import smollm2
from dragoman.backbone.pretrained.llm import LanguageModel, load_llm
from dragoman.reasoning.layalign.bridges import pair_of, save_bridge
from dragoman.reasoning.layalign.model import ADAPTERS, FUSIONS, LayAlign, LayAlignConfig, Prompt
from dragoman.reasoning.layalign.reasoner import TEXT, prompt_of
from dragoman.reasoning.layalign.states import FreshStates, States, stored_states
from dragoman_lab.backbone.config import ConfigError, TrainingConfig
from dragoman_lab.backbone.corpus import Position
from dragoman_lab.backbone.loop import EarlyStopping, Report, Source, Trainer
from dragoman_lab.backbone.pretraining import begin_training
from dragoman_lab.reasoning.batches import draw_alike
from dragoman_lab.reasoning.beginning import begin_with_weights
from dragoman_lab.reasoning.examples import Completion, ExamplesError, files_of, read_completions
from dragoman_lab.reasoning.spans import checksum_of
from dragoman_lab.reasoning.words import cached_words, learn_words, link_words


class LayAlignTraining(TrainingConfig):
    """Configuration of `dragoman train layalign --config`, in addition to `TrainingConfig`."""

    TEXT: ClassVar[bool] = False

    name: str = ""
    """What answers call the bridge; default: its folder's name."""
    limits: str = ""
    """What it cannot do, for those who read its answers."""
    stage: Literal["translation", "task"] = "translation"
    encoder: str = "e5-small"
    llm: str = smollm2.NAME
    adapter: str = "mlp"
    fusion: str = "layers"
    compat: bool = False
    hidden: NonNegativeInt = 0
    soft_layer: Annotated[int, Field(ge=-1)] = -1
    before: str = ""
    """Of the LLM's message, what precedes the soft prompt."""
    after: str = ""
    """Of the LLM's message, what follows the soft prompt; `{text}` is the text itself."""
    examples: str = ""
    """Folder of texts and answers to learn from."""
    tuning: str = ""
    """Folder of texts and answers for early stopping."""
    stored: bool = True
    """Whether the encoder's states are computed once and kept on disk, or in each step: 10 kB a subword of e5-small,
    100 kB of mT5-xl."""
    llm_precision: Literal["float32", "bfloat16"] = "float32"
    """Of the LLM's weights in memory; bfloat16 halves it."""
    states: str = ""
    """Folder of the encoder's states and of the LLM, which trainings can share; default: `states` in the output."""
    start: str = ""
    """What this training begins with: the output of an earlier one of the same shape, or a bridge that may have other
    parts, of which it takes those of the same name and shape."""
    word_steps: NonNegativeInt = 0
    """Steps in which the adapter first learns the LLM's embeddings of words, without the LLM; translation alone."""
    length: PositiveInt = 256
    """Longest row, in tokens; longer ones are left out."""
    tuning_examples: PositiveInt = 400
    patience: PositiveInt = 8

    FREE: ClassVar[tuple[str, ...]] = (*TrainingConfig.FREE, "states", "name", "limits")

    def check(self) -> None:
        super().check()
        if not self.examples or not self.tuning:
            raise ConfigError("examples and tuning must be folders of texts and answers")
        for name, choices in (("adapter", ADAPTERS), ("fusion", FUSIONS)):
            if getattr(self, name) not in choices:
                raise ConfigError(f"{name} must be one of {', '.join(choices)}")
        if self.word_steps and (self.adapter == "none" or self.stage != "translation" or self.start):
            raise ConfigError("word_steps: needs an adapter, the stage translation, and no start")
        if self.adapter == "none" and self.fusion == "none" and TEXT not in self.after:
            raise ConfigError("adapter and fusion: with neither the LLM would know nothing of the text")
        self.check_length(self.length)


@dataclass(frozen=True)
class PromptBatch:
    """A batch: places of the encoder's states, and the LLM's tokens around them."""

    places: list[int]
    prompts: list[Prompt]
    tokens: int


@dataclass(frozen=True)
class Material:
    """Texts as the encoder's states, and prompts with answers."""

    states: States
    prompts: list[Prompt]
    lengths: list[int]
    """Tokens of each row."""
    languages: list[str]


def material(
    config: LayAlignTraining, completions: Sequence[Completion], encoder: Encoder, llm: LanguageModel, folder: Path
) -> Material:
    """Texts and answers as the training reads them.

    Raises:
        ExamplesError: if there are none.
    """
    if not completions:
        raise ExamplesError("there must be texts and answers to learn from and to tune by")
    texts = [completion.text for completion in completions]
    states: States = FreshStates(encoder, texts)
    if config.stored:
        states = stored_states(encoder, texts, folder, torch.device(config.device or "cpu"))
    prompts = [
        prompt_of(llm, config.before, config.after, completion.text, completion.answer) for completion in completions
    ]
    sizes = [len(prompt.before) + len(prompt.after) + len(prompt.answer) + 1 for prompt in prompts]
    lengths = [soft + size for soft, size in zip(states.lengths(), sizes, strict=True)]
    return Material(states, prompts, lengths, [completion.language for completion in completions])


def source_of(texts: Material, config: LayAlignTraining, checksum: str) -> Source[PromptBatch]:
    """Batches of rows of like length, none longer than `config.length`."""
    order = sorted(
        (index for index, length in enumerate(texts.lengths) if length <= config.length),
        key=lambda index: texts.lengths[index],
    )
    if not order:
        raise ExamplesError(f"length: no row has at most {config.length} tokens")

    def draw(start: Position) -> Iterator[tuple[Position, PromptBatch]]:
        turn = start.round
        while True:
            noise = np.random.default_rng([config.seed, turn])
            anchor = int(noise.integers(len(order)))
            places = draw_alike(order, anchor, config.tokens // texts.lengths[order[anchor]], noise)
            turn += 1
            yield Position(turn), rows_of(texts, places)

    return Source(checksum, draw)


def rows_of(texts: Material, places: Sequence[int]) -> PromptBatch:
    """The rows of some texts."""
    tokens = sum(texts.lengths[place] for place in places)
    return PromptBatch(list(places), [texts.prompts[place] for place in places], tokens)


def train_layalign(
    config: LayAlignTraining, output: Path, *, resume: bool = False, report: Report | None = None
) -> Path:
    """Train, save the best bridge to `output / "model"`, and return that folder.

    Raises:
        ConfigError: if `output` has a training and `resume` is false, or its configuration differs.
        ExamplesError: if texts or answers cannot be used.
        CheckpointError: if the encoder, the LLM or the weights to begin with cannot be loaded.
    """
    workers = begin_training(config, output, resume)
    cache = Path(config.states or output / "states")
    files, tuning_files = files_of(Path(config.examples)), files_of(Path(config.tuning))
    texts = _all(files)

    def load() -> tuple[Encoder, LanguageModel, Material, Material]:
        encoder = load_encoder(config.encoder, str(workers.device))
        llm = load_llm(config.llm, cache, dtype=getattr(torch, config.llm_precision))
        tuning = _all(tuning_files)[: config.tuning_examples]
        both = [material(config, some, encoder, llm, cache) for some in (texts, tuning)]
        return encoder, llm, both[0], both[1]

    encoder, llm, learned, tuning = workers.after_first(load)
    llm.model.to(workers.device)
    parts = LayAlignConfig(config.adapter, config.fusion, config.compat, config.hidden, config.soft_layer)
    model = LayAlign(llm, encoder.width, encoder.layers, parts)
    if config.start:
        _begin(model, Path(config.start), pair_of(encoder, llm))
    trainer = Trainer(
        model,
        lambda batch, _generator, device: {
            "answers": model.loss(learned.states.read_batch(batch.places, device), batch.prompts)
        },
        ("answers",),
        source_of(learned, config, checksum_of([*files, *tuning_files])),
        config,
        output,
        workers,
        EarlyStopping(lambda: measure(model, tuning, config.tokens), "score", config.patience),
    )
    if resume:
        trainer.restore()
    if config.word_steps and not trainer.progress.step:
        made_from = [checksum_of(files), *pair_of(encoder, llm).values(), config.soft_layer, config.length]
        name = f"words-{hashlib.sha256(json.dumps(made_from).encode()).hexdigest()[:16]}.safetensors"
        inputs, tokens = workers.after_first(
            lambda: cached_words(
                cache / name if config.stored else None,
                lambda: link_words(encoder, llm, texts, learned.states, workers.device, config.soft_layer),
                workers.device,
            )
        )
        learn_words(model, inputs, tokens, config.word_steps, config.seed)
    trainer.run(report)
    if workers.first:
        trainer.take_best()
        about = {"before": config.before, "after": config.after, "stage": config.stage}
        about |= {name: text for name in ("name", "limits") if (text := getattr(config, name))}
        training = {**config.model_dump(), "steps": trainer.progress.best_step}
        languages = sorted({*learned.languages, *(_languages(Path(config.start)) if config.start else [])})
        save_bridge(output / "model", model.eval(), encoder, about | {"languages": languages, "training": training})
        measures = {**training, **measure(model, tuning, config.tokens), **pair_of(encoder, llm)}
        (output / "report.json").write_text(json.dumps(measures, indent=2) + "\n", encoding="utf-8")
    workers.leave()
    return output / "model"


def _begin(model: LayAlign, start: Path, pair: Mapping[str, Any]) -> None:
    """Give a model the best weights of a training, or what it has in common with a bridge: names and shapes.

    Raises:
        CheckpointError: there are none, those of a training are of another shape, or the bridge is of another pair of
            models or of another layer.
    """
    if not (start / CONFIG).exists() or (start / "best").exists():
        begin_with_weights(model, start)
        return
    about, needed = read_json(start / CONFIG), dict(pair)
    if model.bridge.config.adapter != "none":
        needed["soft_layer"] = model.bridge.config.soft_layer
    for name, needed_value in needed.items():
        if about.get(name) != needed_value:
            raise CheckpointError(f"{start / CONFIG}: {name} is {about.get(name)!r}, and here it is {needed_value!r}")
    stored_weights, own_weights = read_tensors(start), model.bridge.state_dict()
    shared = {
        name: tensor
        for name, tensor in stored_weights.items()
        if name in own_weights and own_weights[name].shape == tensor.shape
    }
    if not shared:
        raise CheckpointError(f"{start}: the bridge has nothing in common with {model.bridge.config}")
    model.bridge.load_state_dict(shared, strict=False)


def _languages(start: Path) -> list[str]:
    """What a finished training, or a bridge, learned to read: the next one, of English alone, builds on it."""
    paths = [path for path in (start / "model" / CONFIG, start / CONFIG) if path.exists()]
    return list(read_json(paths[0]).get("languages", [])) if paths else []


def _all(files: Sequence[Path]) -> list[Completion]:
    return [completion for file in files for completion in read_completions(file)]


@torch.inference_mode()
def measure(model: LayAlign, texts: Material, tokens: int) -> Mapping[str, float]:
    """The mean loss a token of an answer, of all texts and by language, and `score`, the loss less than nothing."""
    sums: dict[str, list[float]] = {}
    device = model.bridge.separator.device
    for places in batches(texts.lengths, tokens):
        losses = _losses(model, texts, places, device)
        for place, loss in zip(places, losses, strict=True):
            size = len(texts.prompts[place].answer)
            for name in ("loss", f"loss_{texts.languages[place]}"):
                total = sums.setdefault(name, [0.0, 0.0])
                total[0] += loss * size
                total[1] += size
    means = {name: total / count for name, (total, count) in sorted(sums.items())}
    return {**means, "score": -means["loss"]}


def _losses(model: LayAlign, texts: Material, places: Sequence[int], device: torch.device) -> list[float]:
    values: Any = model.losses(texts.states.read_batch(places, device), [texts.prompts[place] for place in places])
    return [float(loss) for loss in values]
