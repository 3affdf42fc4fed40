"""Training of a translator from a backbone: all language pairs of the text, in both directions, in one model."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

import torch
from pydantic import PositiveInt
from torch import Tensor

from dragoman.backbone.checkpoints import load_veco
from dragoman.backbone.padding import pad_rows
from dragoman.backbone.seq2seq import Seq2Seq, translation_loss
from dragoman.backbone.tokenizer import BOS, EOS, Subwords
from dragoman.backbone.translator import save_seq2seq
from dragoman.backbone.veco import Veco
from dragoman_lab.backbone.config import ConfigError, PartialShare, TrainingConfig
from dragoman_lab.backbone.corpus import Ids, Pairs, prepare
from dragoman_lab.backbone.loop import Report, Trainer, pairs_of
from dragoman_lab.backbone.pretraining import claim
from dragoman_lab.backbone.workers import Workers


class TranslationConfig(TrainingConfig):
    """Configuration of `dragoman train translator --config`."""

    start_from: str = ""
    """The VECO folder whose layers initialise encoder and decoder."""
    random_start: bool = False
    """Use only its sizes and vocabulary, with random weights, for comparison."""
    decoder_layers: PositiveInt = 2
    which_layers: Literal["last", "first"] = "last"
    label_smoothing: PartialShare = 0.1
    dropout: PartialShare = 0.1

    def check(self) -> None:
        super().check()
        if not self.start_from:
            raise ConfigError("start_from must name a folder with a backbone")
        if self.raw:
            raise ConfigError("raw: a translator is trained only on parallel text")


def train_translator(
    config: TranslationConfig, output: Path, *, resume: bool = False, report: Report | None = None
) -> Path:
    """Train, save the model to `output / "model"` for `load_translator`, and return that folder.

    Raises:
        ConfigError, CorpusError, CheckpointError: as for `pretrain`.
    """
    workers = Workers.join(config.device)
    source, subwords, _ = load_veco(Path(config.start_from))
    config.check_length(source.config.max_length)
    _check(config, source, subwords)
    prepared = Path(config.prepared or output / "tokens")
    if workers.first:
        claim(config, output, resume)
        prepare(config.files(), subwords, prepared, source.config.max_length)
    workers.wait()
    corpus = prepare(config.files(), subwords, prepared, source.config.max_length)
    if config.random_start:
        source.initialise(torch.Generator().manual_seed(config.seed))
        source.prediction_bias.data = torch.from_numpy(corpus.log_frequencies(len(subwords)))
    model = Seq2Seq(source, config.decoder_layers, config.which_layers, config.dropout)
    loss = TranslationLoss(model, subwords, config.label_smoothing)
    trainer = Trainer(model, loss, loss.names, pairs_of(corpus, config), config, output, workers)
    if resume:
        trainer.restore()
    trainer.run(report)
    if workers.first:
        about = {"languages": corpus.languages, "steps": trainer.progress.step, "tokens": trainer.progress.tokens}
        save_seq2seq(output / "model", model.eval(), subwords, about)
    workers.leave()
    return output / "model"


def _check(config: TranslationConfig, source: Veco, subwords: Subwords) -> None:
    if not source.config.cross_attention:
        raise ConfigError("start_from: a backbone without cross-attention has no decoder path to copy")
    if config.decoder_layers > source.config.layers:
        raise ConfigError(f"decoder_layers must lie between 1 and {source.config.layers}")
    for language in sorted({language for file in config.files() for language in file.languages}):
        try:
            subwords.special(f"<to:{language}>")
        except KeyError as error:
            raise ConfigError(
                f"start_from: the vocabulary of {config.start_from} has no token for {language}; "
                "exclude the language, or use a backbone that was trained on it"
            ) from error


class TranslationLoss:
    """The mean translation loss of a parallel batch over both directions."""

    names = ("translation",)

    def __init__(self, model: Seq2Seq, subwords: Subwords, label_smoothing: float) -> None:
        self._model, self._subwords, self._smoothing = model, subwords, label_smoothing

    def __call__(self, pairs: Pairs, generator: torch.Generator, device: torch.device) -> Mapping[str, Tensor]:
        first, second = pairs.languages
        forward = self._loss(pairs.x, pairs.y, second, device)
        return {"translation": (forward + self._loss(pairs.y, pairs.x, first, device)) / 2}

    def _loss(self, source: list[Ids], target: list[Ids], language: str, device: torch.device) -> Tensor:
        start = self._subwords.special(f"<to:{language}>")
        encoder_input = pad_rows([[BOS, *row.tolist(), EOS] for row in source], device)
        decoder_input = pad_rows([[start, *row.tolist(), EOS] for row in target], device)
        return translation_loss(self._model, encoder_input, decoder_input, self._smoothing)
