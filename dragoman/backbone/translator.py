"""Translation of sentences with our VECO sequence-to-sequence model, and the interface of translators."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import torch

from dragoman.backbone.checkpoints import (
    CONFIG,
    TOKENIZER,
    CheckpointError,
    fill,
    load_vocabulary,
    read_json,
    read_tensors,
    veco_config,
    write_tensors,
)
from dragoman.backbone.constraints.phrases import Phrase, Vocabulary
from dragoman.backbone.constraints.steering import Steering
from dragoman.backbone.padding import pad_rows
from dragoman.backbone.seq2seq import Hypothesis, Seq2Seq, beam_search
from dragoman.backbone.tokenizer import BOS, EOS, Subwords, cut_evenly
from dragoman.backbone.veco import Veco
from dragoman.files.atomic import atomic_folder

TOKENS_AT_ONCE = 2_048
MODEL_TYPE = "veco-seq2seq"


class Translation(NamedTuple):
    """A translated text, and whether it is complete: generation without an end is cut."""

    text: str
    whole: bool = True
    others: tuple[str, ...] = ()
    """Complete ones that were less likely."""


class UnsupportedPair(ValueError):
    """The translator does not support one of the languages; the message lists the supported ones."""


class Translator(ABC):
    """Translates sentences between any two of its languages."""

    name: str
    languages: frozenset[str]

    @abstractmethod
    def translate(
        self, texts: Sequence[str], source: str, target: str, *, beam: int = 5, phrases: Sequence[Sequence[Phrase]] = ()
    ) -> list[Translation]:
        """Translate each text to the target language, led to its ``phrases``, if there are any.

        A text too long for the model is translated in parts.

        Raises:
            UnsupportedPair: if a language is not one of `languages`.
        """

    def check(self, source: str, target: str) -> None:
        """Check the languages.

        Raises:
            UnsupportedPair: if a language is not one of `languages`.
        """
        for language in (source, target):
            if language not in self.languages:
                supported = ", ".join(sorted(self.languages))
                raise UnsupportedPair(f"{self.name} does not support the language {language!r}, only {supported}")


class VecoTranslator(Translator):
    """A `Seq2Seq` model with its vocabulary."""

    def __init__(self, model: Seq2Seq, vocabulary: Subwords, name: str, languages: Sequence[str]) -> None:
        self.model, self.vocabulary = model, vocabulary
        self.name, self.languages = name, frozenset(languages)

    def translate(
        self, texts: Sequence[str], source: str, target: str, *, beam: int = 5, phrases: Sequence[Sequence[Phrase]] = ()
    ) -> list[Translation]:
        self.check(source, target)
        room = self.model.encoder.config.max_length // 2  # a translation may be much longer than its source
        encoded = self.vocabulary.ids(texts)
        parts = [(text_index, part) for text_index, ids in enumerate(encoded) if ids for part in cut_evenly(ids, room)]
        order = sorted(range(len(parts)), key=lambda index: len(parts[index][1]))
        start = self.vocabulary.special(f"<to:{target}>")
        translations: dict[int, Translation] = {}
        rows = max(1, TOKENS_AT_ONCE // beam)
        while order:
            longest = len(parts[order[-1]][1]) + 2
            batch = order[-max(1, rows // longest) :]
            del order[-len(batch) :]
            led = [
                phrases[text_index] if phrases and len(encoded[text_index]) <= room else ()
                for text_index in (parts[index][0] for index in batch)
            ]
            hypotheses = self._translate([parts[index][1] for index in batch], start, beam, led)
            for index, best in zip(batch, hypotheses, strict=True):
                translations[index] = Translation(self.vocabulary.decode(best.tokens), best.whole)
        joined: list[list[Translation]] = [[] for _ in texts]
        for index, (text_index, _) in enumerate(parts):
            joined[text_index].append(translations[index])
        return [
            Translation(" ".join(piece.text for piece in pieces if piece.text), all(piece.whole for piece in pieces))
            for pieces in joined
        ]

    def _translate(
        self, rows: Sequence[Sequence[int]], start: int, beam: int, phrases: Sequence[Sequence[Phrase]]
    ) -> list[Hypothesis]:
        ids, mask = pad_rows([[BOS, *row, EOS] for row in rows], next(self.model.parameters()).device)
        longest = self.model.encoder.config.max_length
        limits = [
            min(longest, 3 * len(row) + 20) for row in rows
        ]  # by row, so a translation does not depend on its batch
        vocabulary = self._vocabulary
        return beam_search(
            self.model, ids, mask, start, beam=beam, limit=limits, special=self.vocabulary.special_ids,
            steerings=[Steering(vocabulary, of_row) if of_row else None for of_row in phrases],
        )  # fmt: skip

    @cached_property
    def _vocabulary(self) -> Vocabulary:
        def pieces() -> list[str]:
            return [self.vocabulary.piece(token).replace("\u2581", " ") for token in range(len(self.vocabulary))]

        return Vocabulary(lambda text: self.vocabulary.ids([text])[0], self.vocabulary.decode, pieces)


def save_seq2seq(folder: Path, model: Seq2Seq, subwords: Subwords, about: Mapping[str, Any]) -> None:
    """Save a translation model with its vocabulary, in bfloat16; `about` must hold its `languages`."""
    tensors = {name: tensor.to(torch.bfloat16) for name, tensor in model.state_dict().items()}
    config = {
        "model_type": MODEL_TYPE,
        **model.encoder.config.as_dict(),
        "decoder_layers": len(model.decoder),
        **about,
    }
    with atomic_folder(folder) as unfinished:
        (unfinished / CONFIG).write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")
        subwords.save(unfinished / TOKENIZER)
        write_tensors(unfinished, tensors)


def load_seq2seq(folder: Path) -> tuple[Seq2Seq, Subwords, dict[str, Any]]:
    """Load a translation model in float32 on the CPU, its vocabulary, and its config.json.

    Raises:
        CheckpointError: if files are missing or damaged, or shapes are wrong.
    """
    about = read_json(folder / CONFIG)
    layers, languages = about.get("decoder_layers"), about.get("languages")
    if not isinstance(layers, int) or not isinstance(languages, list):
        raise CheckpointError(f"{folder / CONFIG}: decoder_layers or languages is missing")
    try:
        model = Seq2Seq(Veco(veco_config(about, folder)), layers)
    except ValueError as error:
        raise CheckpointError(f"{folder / CONFIG}: {error}") from error
    fill(model, {name: tensor.float() for name, tensor in read_tensors(folder).items()}, folder)
    return model.eval(), load_vocabulary(folder, model.encoder.config), about
