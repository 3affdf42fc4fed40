"""Training of a tagger on labelled sentences of one language, or several, for others."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal, Protocol, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import Field, NonNegativeInt, PositiveInt
from torch import Tensor, nn

from dragoman.backbone.encoder import Encoder
from dragoman.backbone.loading import load_encoder
from dragoman.backbone.sentences import SentenceEncoder
from dragoman.files.atomic import atomic_file
from dragoman.tagging.encoders import EncoderConfig
from dragoman.tagging.labels import accuracy, span_f1
from dragoman.tagging.tagger import TaggerModel, best_labels, load_tagger, padded_states, save_tagger
from dragoman.tagging.words import word_states
from dragoman_lab.backbone.config import ConfigError, Share, TrainingConfig
from dragoman_lab.backbone.corpus import Position
from dragoman_lab.backbone.loop import Batch, EarlyStopping, Report, Source, Trainer
from dragoman_lab.backbone.pretraining import begin_training
from dragoman_lab.backbone.workers import Workers
from dragoman_lab.tagging.fine_tuning import FineTunedTagger, SubwordBatch, SubwordSentences, position_table
from dragoman_lab.tagging.sentences import Sentence, read_sentences
from dragoman_lab.tagging.shuffling import shuffle

TEXTS_AT_ONCE = 1_024
B = TypeVar("B", bound=Batch, covariant=True)


class TaggerTraining(TrainingConfig):
    """Configuration of `dragoman train tagger --config`, in addition to `TrainingConfig`."""

    TEXT: ClassVar[bool] = False

    name: str = ""
    """What answers call the tagger; default: its folder's name."""
    task: str = "ner"
    spans: bool = True
    """Whether labels mark spans (BIO), or each word by itself."""
    encoder: str = "e5-small"
    layer: NonNegativeInt = 8
    """The encoder's layer whose states are read."""
    labelled: list[str] = Field(default_factory=list)
    """Files of labelled sentences: `.conllu`, `.bio` or `.conll`."""
    tuning: list[str] = Field(default_factory=list)
    """Files of sentences for early stopping."""
    more: list[str] = Field(default_factory=list)
    """Further files, of whose sentences the share `more_share` is learned from."""
    more_share: Share = 0.0
    names: dict[str, str] = Field(default_factory=dict)
    """Other names of kinds of labels; those named "" are dropped."""
    languages: list[str] = Field(default_factory=list)
    """Of the files."""
    kind: str = "oit"
    layers: int = 1
    heads: int = 4
    width: int = 384
    kernel: int = 3
    dropout: float = 0.3
    normed: bool = False
    crf: bool = True
    shuffled: NonNegativeInt = 0
    """How many copies of each sentence, in other orders of its words, are learned from in its place."""
    most_copies: NonNegativeInt = 0
    """How many of all copies are made, chosen by chance; 0: all."""
    start_from: str = ""
    """Folder of a tagger of the same labels and encoders whose weights the training begins with."""
    sentences: PositiveInt = 32
    """Of a batch."""
    states: str = ""
    """Folder of the words' states, which trainings can share; default: `states` in the output."""
    patience: PositiveInt = 5
    fine_tune: Literal["", "all", "all_but_positions"] = ""
    """What of the pretrained encoder learns as well: nothing, `all` up to `layer`, or `all_but_positions`. `rates`
    slows it down by the name `pretrained`."""

    FREE: ClassVar[tuple[str, ...]] = (*TrainingConfig.FREE, "states", "name")

    def check(self) -> None:
        super().check()
        if not self.labelled or not self.tuning:
            raise ConfigError("labelled and tuning must name files of labelled sentences")
        if bool(self.more) != bool(self.more_share):
            raise ConfigError("more_share goes together with more")
        if self.start_from and self.fine_tune:
            raise ConfigError("start_from: a training that fine-tunes its encoder begins with the pretrained one")
        self.word_encoder()

    def word_encoder(self) -> EncoderConfig:
        """The encoder above the states.

        Raises:
            ConfigError: if it cannot be.
        """
        try:
            return EncoderConfig(self.kind, self.layers, self.heads, self.width, self.kernel, self.dropout, self.normed)
        except ValueError as error:
            raise ConfigError(str(error)) from error


@dataclass(frozen=True)
class WordBatch:
    """Sentences as states and labels."""

    states: list[NDArray[np.float32]]
    labels: list[list[int]]

    @property
    def tokens(self) -> int:
        return sum(map(len, self.labels))


@dataclass(frozen=True)
class LabelledStates:
    """Sentences with the states of their words."""

    sentences: list[Sentence]
    states: list[NDArray[np.float16]]

    def batch(self, places: Sequence[int], numbers: Mapping[str, int]) -> WordBatch:
        """Some sentences, labels by their numbers."""
        labels = [[numbers[label] for label in self.sentences[place].labels] for place in places]
        return WordBatch([self.states[place].astype(np.float32) for place in places], labels)


class StoredWords:
    """States of words of labelled sentences, computed once for all trainings that share a folder."""

    def __init__(self, encoder: SentenceEncoder, layer: int, folder: Path) -> None:
        self.encoder, self._layer, self._folder = encoder, layer, folder

    def of(self, sentences: Sequence[Sentence]) -> LabelledStates:
        """Sentences with states, which are kept in the folder."""
        pretrained = self.encoder.encoder
        made_from = f"{pretrained.name} {pretrained.checksum} {pretrained.tokenizer_checksum} {self._layer}"
        digest = hashlib.sha256(made_from.encode())
        for sentence in sentences:
            digest.update(repr((sentence.words, sentence.spaces)).encode())
        path = self._folder / f"{digest.hexdigest()[:16]}.npy"
        if not path.exists():
            self._folder.mkdir(parents=True, exist_ok=True)
            with atomic_file(path) as unfinished, unfinished.open("wb") as file:
                np.save(file, self._compute(sentences))
        ends = np.cumsum([len(sentence.words) for sentence in sentences])
        return LabelledStates(list(sentences), np.split(np.load(path), ends[:-1]))

    def _compute(self, sentences: Sequence[Sentence]) -> NDArray[np.float16]:
        computed = []
        for begin in range(0, len(sentences), TEXTS_AT_ONCE):
            some = sentences[begin : begin + TEXTS_AT_ONCE]
            words = [sentence.offsets for sentence in some]
            _, states = word_states(self.encoder, self._layer, [sentence.text for sentence in some], words)
            computed += [sentence_states.astype(np.float16) for sentence_states in states]
        return np.concatenate(computed)


def learning_sentences(config: TaggerTraining) -> list[Sentence]:
    """The sentences that a training learns from, in all the orders that it is to see.

    Raises:
        SentencesError: a file that cannot be used.
    """
    learned = _read(config.labelled, config)
    noise = np.random.default_rng(config.seed)
    if config.more:
        others = _read(config.more, config)
        count = max(1, round(config.more_share * len(others)))
        learned += [others[place] for place in noise.permutation(len(others))[:count]]
    if config.shuffled:
        copies = noise.permutation(len(learned) * config.shuffled)[: config.most_copies or None]
        learned = [shuffle(learned[index // config.shuffled], math.inf, noise, whole=True) for index in copies]
    return learned


def _read(paths: Sequence[str], config: TaggerTraining) -> list[Sentence]:
    return [sentence for path in paths for sentence in read_sentences(Path(path), config.names)]


class Sentences(Protocol[B]):
    """Labelled sentences as a model reads them."""

    @property
    def sentences(self) -> list[Sentence]: ...

    def batch(self, places: Sequence[int], numbers: Mapping[str, int]) -> B: ...


def source_of(learned: Sentences[B], labels: Sequence[str], config: TaggerTraining) -> Source[B]:
    """Batches of sentences of like length; a round has each sentence once."""
    numbers = {label: index for index, label in enumerate(labels)}
    sizes = np.array([len(sentence.words) for sentence in learned.sentences])
    count = -(-len(sizes) // config.sentences)
    digest = hashlib.sha256(
        "\n".join(f"{sentence.words} {sentence.labels}" for sentence in learned.sentences).encode()
    ).hexdigest()

    def draw(start: Position) -> Iterator[tuple[Position, B]]:
        position = start
        while True:
            noise = np.random.default_rng([config.seed, position.round])
            order = np.argsort(sizes + noise.random(len(sizes)) * 4, kind="stable")
            turn = noise.permutation(count)
            for batch_index in range(position.batch, count):
                begin = int(turn[batch_index]) * config.sentences
                last = batch_index + 1 == count
                position = Position(position.round + last, 0 if last else batch_index + 1)
                yield position, learned.batch(order[begin : begin + config.sentences].tolist(), numbers)

    return Source(digest, draw)


def batch_loss(model: TaggerModel, batch: WordBatch, device: torch.device) -> Mapping[str, Tensor]:
    """-log p of the labels, a word."""
    states, mask = padded_states(batch.states, device)
    labels = nn.utils.rnn.pad_sequence([torch.tensor(row) for row in batch.labels], batch_first=True).to(device)
    return {"labels": model.loss(states, labels, mask)}


def tag_sentences(model: TaggerModel, stored: LabelledStates, labels: Sequence[str]) -> list[list[str]]:
    """The labels that a model gives the words of sentences."""
    states = [sentence_states.astype(np.float32) for sentence_states in stored.states]
    return [[labels[label] for label in row] for row, _ in best_labels(model, states)]


def score(gold: Sequence[Sentence], predicted: Sequence[Sequence[str]], of_spans: bool) -> float:
    """F1 of spans, or the share of words with the right label."""
    measure: Callable[..., float] = span_f1 if of_spans else accuracy
    return measure([sentence.labels for sentence in gold], predicted)


def train_tagger(config: TaggerTraining, output: Path, *, resume: bool = False, report: Report | None = None) -> Path:
    """Train, save the best tagger to `output / "model"`, and return that folder.

    Raises:
        ConfigError: if `output` has a training and `resume` is false, or its configuration differs.
        SentencesError: if a file of sentences cannot be used.
        CheckpointError: if the encoder cannot be loaded.
    """
    workers = begin_training(config, output, resume)
    sentences, tuning = learning_sentences(config), _read(config.tuning, config)
    pretrained = load_encoder(config.encoder, str(workers.device))
    if config.layer > pretrained.layers:
        raise ConfigError(f"layer: {pretrained.name} has {pretrained.layers} layers")
    labels = sorted({label for sentence in sentences for label in sentence.labels})
    model, labels = (
        _continue_model(config, pretrained, labels) if config.start_from else _new_model(config, pretrained, labels)
    )
    trainer: Trainer[Any]
    if config.fine_tune:
        whole = FineTunedTagger(pretrained, model, config.layer, positions=config.fine_tune == "all")
        trainer = _fine_tuning(whole, SubwordSentences(pretrained, sentences), tuning, labels, config, output, workers)
    else:
        trainer = _on_states(model, pretrained, sentences, tuning, labels, config, output, workers)
    if resume:
        trainer.restore()
    trainer.run(report)
    if workers.first:
        trainer.take_best()
        training = {**config.model_dump(), "steps": trainer.progress.best_step, "tuning_score": trainer.progress.best}
        about: dict[str, Any] = {"name": config.name} if config.name else {}
        about |= {"task": config.task, "spans": config.spans, "layer": config.layer, "languages": config.languages}
        changed = whole.changed_weights() if config.fine_tune else {}
        save_tagger(output / "model", model.eval(), pretrained, labels, about, changed)
        (output / "report.json").write_text(json.dumps(training, indent=2) + "\n", encoding="utf-8")
    workers.leave()
    return output / "model"


def _new_model(config: TaggerTraining, pretrained: Encoder, labels: list[str]) -> tuple[TaggerModel, list[str]]:
    """A model that has learned nothing, and its labels."""
    positions = None
    if config.kind == "copied":
        table, first = position_table(pretrained)
        positions = table.detach()[first:]
    return TaggerModel(
        pretrained.width, len(labels), config.word_encoder(), crf=config.crf, positions=positions
    ), labels


def _continue_model(config: TaggerTraining, pretrained: Encoder, needed: list[str]) -> tuple[TaggerModel, list[str]]:
    """The model of another training, and its labels.

    Raises:
        ConfigError: it is of another make, or lacks some of the labels `needed`.
        CheckpointError: it cannot be loaded.
    """
    encoder = SentenceEncoder(pretrained, config.layer)
    earlier = load_tagger(Path(config.start_from), encoder, str(encoder.device))
    same = earlier.model.encoder.config == config.word_encoder() and (earlier.model.crf is not None) == config.crf
    if earlier.encoder is not encoder or earlier.layer != config.layer or not same:
        raise ConfigError(f"start_from: {config.start_from} is made otherwise than this configuration says")
    if missing := sorted(set(needed) - set(earlier.labels)):
        raise ConfigError(f"start_from: {config.start_from} has no label {', '.join(missing)}")
    return earlier.model, earlier.labels


def _on_states(
    model: TaggerModel,
    pretrained: Encoder,
    sentences: Sequence[Sentence],
    tuning: Sequence[Sentence],
    labels: Sequence[str],
    config: TaggerTraining,
    output: Path,
    workers: Workers,
) -> Trainer[WordBatch]:
    """The training of a tagger on stored states."""
    stored = StoredWords(
        SentenceEncoder(pretrained, config.layer), config.layer, Path(config.states or output / "states")
    )
    learned, held = workers.after_first(lambda: (stored.of(sentences), stored.of(tuning)))
    stopping = EarlyStopping(
        lambda: {"score": score(held.sentences, tag_sentences(model, held, labels), config.spans)},
        "score",
        config.patience,
    )
    return Trainer(
        model,
        lambda batch, _generator, device: batch_loss(model, batch, device),
        ("labels",),
        source_of(learned, labels, config),
        config,
        output,
        workers,
        stopping,
    )


def _fine_tuning(
    model: FineTunedTagger,
    learned: SubwordSentences,
    tuning: Sequence[Sentence],
    labels: Sequence[str],
    config: TaggerTraining,
    output: Path,
    workers: Workers,
) -> Trainer[SubwordBatch]:
    """The training of a tagger and the encoder below it."""
    held = SubwordSentences(model.encoder, tuning)
    stopping = EarlyStopping(
        lambda: {"score": score(held.sentences, model.tag(held, labels), config.spans)}, "score", config.patience
    )
    return Trainer(
        model,
        lambda batch, _generator, _device: {"labels": model.loss(batch)},
        ("labels",),
        source_of(learned, labels, config),
        config,
        output,
        workers,
        stopping,
    )
