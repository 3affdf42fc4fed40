"""The one interface through which ranking, reasoning and tagging get an encoder: ours, or a Hugging Face checkpoint.

`load_encoder("small")` is the shipped backbone, `load_encoder("/path")` or `load_encoder("xlm-roberta-base")` any
other: a folder that this project trained, or an encoder of transformers (BERT, XLM-R, the encoder of T5 or mT5, …).
Only safetensors are read and no code that comes with a checkpoint is run.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from dragoman.backbone.padding import padded
from dragoman.backbone.post_norm import PostNormEncoder, of_veco
from dragoman.backbone.tokenizer import BOS, EOS, PAD, Encoded, Subwords
from dragoman.backbone.veco import Added, Veco


@dataclass(frozen=True)
class Pair:
    """Two texts in one row: its ids, and at which of them the subwords of each text begin."""

    ids: list[int]
    first: int
    second: int
    positions: list[int] | None = None
    """Given where they don't just count up from 0."""
    segments: list[int] | None = None
    """Which text each place belongs to (BERT's token types), given where the model was taught to tell them so."""


class Encoder(nn.Module, ABC):
    """A text encoder: subwords with offsets in, one vector per subword and layer out."""

    name: str
    width: int
    layers: int
    max_length: int
    """Most subwords in a row, special ones included."""
    sentence_layer: int
    """The layer whose mean over tokens encodes a sentence, 0 being the embeddings."""
    pad: int

    @abstractmethod
    def forward(
        self,
        ids: Tensor,
        mask: Tensor,
        *,
        positions: Tensor | None = None,
        segments: Tensor | None = None,
        added: Mapping[int, Added] | None = None,
    ) -> list[Tensor]:
        """States (batch, length, width) of the embeddings and of each layer; `mask` (batch, length) true at tokens.

        `positions` and `segments` (batch, length) are those of `pair`; `added` holds, by a layer's number from 0, what
        joins the output of its attention, and so the input of its feed-forward net.

        Raises:
            CheckpointError: `added` for a model whose layers are not BERT's.
        """

    @abstractmethod
    def subwords(self, texts: Sequence[str]) -> list[Encoded]:
        """Subwords of texts without special tokens, with offsets into the texts."""

    @abstractmethod
    def framed(self, ids: Sequence[int]) -> list[int]:
        """A row of subwords between this model's special tokens."""

    @abstractmethod
    def pair(self, first: Sequence[int], second: Sequence[int]) -> Pair:
        """Two texts' subwords in one row, as this model was taught to read pairs."""

    @property
    @abstractmethod
    def tokenizer_checksum(self) -> str:
        """Stands for how texts become subwords: what one encoder has read another of the same checksum can use."""

    def surprisals(self) -> NDArray[np.float64] | None:
        """How rare each subword is, -log of its share; None where the vocabulary does not say."""
        return None

    def for_inference(self, dtype: torch.dtype) -> PostNormEncoder | None:
        """The same encoder, several times faster, for first states and inner layers; None if its layers are not BERT's.

        It computes in `dtype` and is to be made anew where weights change.
        """
        return None

    @property
    def room(self) -> int:
        """Most subwords of text in a row."""
        return self.max_length - len(self.framed([]))

    def room_beside(self, first: int) -> int:
        """Most subwords of the second text of a pair whose first has so many; below 1 where there is no room left."""
        return self.max_length - len(self.pair([], []).ids) - first

    def batch(self, rows: Sequence[Sequence[int]]) -> tuple[Tensor, Tensor]:
        """Framed and padded ids (batch, length) and their mask, on this encoder's device.

        Raises:
            ValueError: a row longer than `room`.
        """
        framed = [self.framed(row) for row in rows]
        length = max(map(len, framed))
        if length > self.max_length:
            raise ValueError(f"{length} subwords are more than {self.name} reads, {self.max_length}")
        return padded(framed, next(self.parameters()).device, self.pad)


class VecoEncoder(Encoder):
    """The encoder path of a VECO model."""

    def __init__(self, model: Veco, vocabulary: Subwords, name: str, sentence_layer: int) -> None:
        super().__init__()
        self.model, self.vocabulary, self.name = model, vocabulary, name
        self.width, self.layers = model.config.width, model.config.layers
        self.max_length, self.sentence_layer = model.config.max_length, sentence_layer
        self.pad = PAD

    def forward(
        self,
        ids: Tensor,
        mask: Tensor,
        *,
        positions: Tensor | None = None,
        segments: Tensor | None = None,
        added: Mapping[int, Added] | None = None,
    ) -> list[Tensor]:
        return self.model.encode(ids, mask, positions, added)

    def surprisals(self) -> NDArray[np.float64]:
        return self.vocabulary.surprisals()

    def for_inference(self, dtype: torch.dtype) -> PostNormEncoder | None:
        return of_veco(self.model, dtype)

    def subwords(self, texts: Sequence[str]) -> list[Encoded]:
        return self.vocabulary.encode(texts)

    @property
    def tokenizer_checksum(self) -> str:
        return self.vocabulary.checksum

    def framed(self, ids: Sequence[int]) -> list[int]:
        return [BOS, *ids, EOS]

    def pair(self, first: Sequence[int], second: Sequence[int]) -> Pair:
        """`<s> first </s> <s> second </s>`, positions starting anew at the second, as in TLM."""
        ids = [*self.framed(first), *self.framed(second)]
        return Pair(ids, 1, len(first) + 3, [*range(len(first) + 2), *range(len(second) + 2)])

    def room_beside(self, first: int) -> int:
        """All of a row, since positions start anew; none if the first text has more itself."""
        return self.room if first <= self.room else 0
