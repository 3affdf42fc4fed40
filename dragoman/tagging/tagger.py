"""A tagger: frozen states of a pretrained encoder, an encoder of words above them, and a CRF or a linear output."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.utils.rnn import pad_sequence

from dragoman.backbone.checkpoints import CONFIG, CheckpointError, fill, read_json, read_tensors, write_tensors
from dragoman.backbone.encoder import Encoder
from dragoman.backbone.loading import load_encoder
from dragoman.backbone.padding import batches
from dragoman.backbone.sentences import SentenceEncoder
from dragoman.files.atomic import atomic_folder
from dragoman.tagging.crf import Crf
from dragoman.tagging.encoders import EncoderConfig, WordEncoder
from dragoman.tagging.labels import spans
from dragoman.tagging.tag import Tag
from dragoman.tagging.words import word_states

MODEL_TYPE = "tagger"
CHANGED = "pretrained."
"""What the names of the encoder's changed weights begin with."""
WORDS_AT_ONCE = 1_024
APOSTROPHES = ("'", "’")


class TaggerModel(nn.Module):
    """Scores labels of words by their states (batch, length, width)."""

    def __init__(
        self, width: int, labels: int, config: EncoderConfig, *, crf: bool = True, positions: Tensor | None = None
    ) -> None:
        """`positions` as for :class:`WordEncoder`."""
        super().__init__()
        self.encoder = WordEncoder(width, config, positions)
        self.output = nn.Linear(config.width, labels)
        self.crf = Crf(labels) if crf else None

    def emissions(self, states: Tensor, mask: Tensor) -> Tensor:
        """The score of each label, (batch, length, labels)."""
        emissions: Tensor = self.output(self.encoder(states, mask)).float()
        return emissions

    def loss(self, states: Tensor, labels: Tensor, mask: Tensor) -> Tensor:
        """-log p of the labels (batch, length), a word."""
        emissions = self.emissions(states, mask)
        if self.crf is None:
            return F.cross_entropy(emissions[mask], labels[mask])
        return -self.crf.log_likelihood(emissions, labels, mask).sum() / mask.sum()

    def best(self, states: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """The likeliest labels (batch, length), and the probability of each."""
        emissions = self.emissions(states, mask)
        if self.crf is None:
            shares, labels = emissions.softmax(-1).max(-1)
            return labels, shares
        labels = self.crf.best(emissions, mask)
        return labels, self.crf.marginals(emissions, mask).gather(2, labels[..., None])[..., 0]


@torch.inference_mode()
def best_labels(model: TaggerModel, states: Sequence[NDArray[np.float32]]) -> list[tuple[list[int], list[float]]]:
    """The likeliest labels of sentences, and their probabilities; a sentence may have no word."""
    device = model.output.weight.device
    best: list[tuple[list[int], list[float]]] = [([], []) for _ in states]
    for batch in batches([len(sentence) for sentence in states], WORDS_AT_ONCE):
        worded = [index for index in batch if len(states[index])]
        if not worded:
            continue
        rows, mask = padded_states([states[index] for index in worded], device)
        labels, scores = model.best(rows, mask)
        for index, row, shares in zip(worded, labels.tolist(), scores.tolist(), strict=True):
            size = len(states[index])
            best[index] = row[:size], shares[:size]
    return best


def padded_states(states: Sequence[NDArray[np.float32]], device: torch.device) -> tuple[Tensor, Tensor]:
    """States (batch, length, width), 0 at padding, and their mask (batch, length)."""
    rows = pad_sequence([torch.from_numpy(sentence) for sentence in states], batch_first=True).to(device)
    lengths = torch.tensor([len(sentence) for sentence in states], device=device)
    return rows, torch.arange(rows.shape[1], device=device)[None, :] < lengths[:, None]


class Tagger:
    """Tags texts: names as spans, or each word by its part of speech."""

    def __init__(self, model: TaggerModel, encoder: SentenceEncoder, about: Mapping[str, Any], name: str) -> None:
        self.model, self.encoder, self.about, self.name = model.eval(), encoder, about, name
        self.labels: list[str] = list(about["labels"])
        self.layer = int(about["layer"])
        self.languages = frozenset(about.get("languages", ()))
        """The languages of the sentences that it learned from."""

    def tag(self, texts: Sequence[str]) -> list[list[Tag]]:
        """The tags of each text, in order; offsets are code points."""
        places, states = word_states(self.encoder, self.layer, texts)
        labelled = best_labels(self.model, states)
        return [
            self._tags(text, offsets, labels, shares)
            for text, offsets, (labels, shares) in zip(texts, places, labelled, strict=True)
        ]

    def _tags(self, text: str, offsets: list[tuple[int, int]], labels: list[int], shares: list[float]) -> list[Tag]:
        named = [self.labels[label] for label in labels]
        if self.about["spans"]:
            parts = [(span.start, span.end, span.label) for span in spans(named)]
        else:
            parts = [(place, place + 1, label) for place, label in enumerate(named)]
        tags = []
        for first, end, label in parts:
            while end > first + 1 and text[slice(*offsets[end - 1])] in APOSTROPHES:
                end -= 1  # that of a possessive plural is no part of the name
            start, stop = offsets[first][0], offsets[end - 1][1]
            tags.append(Tag(text[start:stop], start, stop, label, min(shares[first:end])))
        return tags


def save_tagger(
    folder: Path,
    model: TaggerModel,
    pretrained: Encoder,
    labels: Sequence[str],
    about: Mapping[str, Any],
    changed: Mapping[str, Tensor] = MappingProxyType({}),
) -> None:
    """Write a tagger in bfloat16, whole or not at all.

    The pretrained encoder is named, not written, except for the weights of it that were `changed`. These are written in
    float32: bfloat16 would round away most of what a small learning rate has changed.
    """
    identity = {"labels": list(labels), "crf": model.crf is not None, "word_encoder": asdict(model.encoder.config)}
    identity |= {"encoder": pretrained.name, "encoder_checksum": pretrained.checksum, "width": pretrained.width}
    if changed:
        identity |= {"fine_tuned": True}
    tensors = {name: tensor.to(torch.bfloat16) for name, tensor in model.state_dict().items()}
    tensors |= {f"{CHANGED}{name}": tensor.float() for name, tensor in changed.items()}
    with atomic_folder(folder) as unfinished:
        config = {"model_type": MODEL_TYPE, **about, **identity, "tokenizer": pretrained.tokenizer_checksum}
        (unfinished / CONFIG).write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")
        write_tensors(unfinished, tensors)


def load_tagger(folder: Path, encoder: SentenceEncoder, device: str = "cpu") -> Tagger:
    """A tagger above an encoder that others may use as well; one that changes its encoder has another for itself.

    Raises:
        CheckpointError: if it is missing, damaged, or of another encoder.
    """
    about = read_json(folder / CONFIG)
    if about.get("model_type") != MODEL_TYPE:
        raise CheckpointError(f"{folder / CONFIG}: its model_type is {about.get('model_type')!r}, not {MODEL_TYPE!r}")
    pretrained = encoder.encoder
    here = {"encoder": pretrained.name, "encoder_checksum": pretrained.checksum, "width": encoder.width}
    for name, expected in (here | {"tokenizer": pretrained.tokenizer_checksum}).items():
        if about.get(name) != expected:
            raise CheckpointError(f"{folder / CONFIG}: {name} is {about.get(name)!r}, and what is here is {expected!r}")
    try:
        names = {field.name for field in fields(EncoderConfig)}
        config = EncoderConfig(**{name: setting for name, setting in about["word_encoder"].items() if name in names})
        labels, layer = [str(label) for label in about["labels"]], int(about["layer"])
        tensors = {name: tensor.float() for name, tensor in read_tensors(folder).items()}
        if about.get("fine_tuned"):
            changes = {
                name.removeprefix(CHANGED): tensors.pop(name) for name in list(tensors) if name.startswith(CHANGED)
            }
            encoder = _load_changed_encoder(pretrained.name, changes, layer, device)
        positions = tensors.get("encoder.positions")
        model = TaggerModel(encoder.width, len(labels), config, crf=bool(about["crf"]), positions=positions)
        assert isinstance(about["spans"], bool) and 0 <= layer <= encoder.layer
    except (AssertionError, AttributeError, KeyError, TypeError, ValueError) as error:
        raise CheckpointError(f"{folder / CONFIG}: not usable: {error!r}") from error
    fill(model, tensors, folder)
    return Tagger(model.to(device), encoder, about, str(about.get("name", folder.name)))


def _load_changed_encoder(name: str, weights: Mapping[str, Tensor], layer: int, device: str) -> SentenceEncoder:
    """The pretrained encoder with weights that learned."""
    encoder = load_encoder(name, device)
    parameters = dict(encoder.named_parameters())
    with torch.no_grad():
        for part, weight in weights.items():
            if parameters[part].shape != weight.shape:
                raise ValueError(f"{part}: its shape is {tuple(weight.shape)}, not {tuple(parameters[part].shape)}")
            parameters[part].copy_(weight)
    return SentenceEncoder(encoder, layer)
