"""The encoder interface of ranking, reasoning and tagging, for our backbone and Hugging Face checkpoints.

`load_encoder("e5-small")` loads multilingual-e5-small from its package;
`load_encoder("/path")` or `load_encoder("xlm-roberta-base")` loads a folder trained by this project, or an encoder of
transformers (BERT, XLM-R, the encoder of T5 or mT5, …). Only safetensors are read, and code in a checkpoint is never
run.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from dragoman.backbone.padding import pad_rows
from dragoman.backbone.pooling import Pooling
from dragoman.backbone.post_norm import PostNormEncoder, of_veco
from dragoman.backbone.tokenizer import BOS, EOS, MASK, PAD, Encoded, Subwords
from dragoman.backbone.veco import Added, BertEncoder, Veco


@dataclass(frozen=True)
class Pair:
    """Two texts in one row: its ids, and the positions where the subwords of each text begin."""

    ids: list[int]
    first: int
    second: int
    positions: list[int] | None = None
    """Position ids; None if they count up from 0."""
    segments: list[int] | None = None
    """Token type ids (BERT's segments); None if the model does not use them."""


class Encoder(nn.Module, ABC):
    """A text encoder: gives one vector per subword and layer."""

    name: str
    width: int
    layers: int
    max_length: int
    """Maximal number of tokens in a row, including special tokens."""
    sentence_layer: int
    """The layer whose states encode a sentence; 0 is the embeddings."""
    pad: int
    mask_id: int | None = None
    """The token that hides another one in masked language modelling, if there is one."""
    prefixes: Mapping[str, str] = MappingProxyType({})
    """What precedes a sentence before it is encoded, by its kind: `query` or `passage`."""
    pooling: Pooling = Pooling()
    """How the states of the sentence layer become the vector of a text."""
    precisions: tuple[torch.dtype, ...] = (torch.float32, torch.bfloat16)
    """The precisions that change no ranking noticeably, as measured."""
    unrelated_cosine: float | None = None
    """The cosine of unrelated sentences, from which on similarity is counted; None if it is to be measured."""
    checksum: str | None = None
    """Identifies the weights, if they are one file."""

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
        """States (batch, length, width) of the embeddings and each layer; `mask` (batch, length) is true at tokens.

        `positions` and `segments` (batch, length) are those of `pair`. `added` maps layers (from 0) to functions whose
        result is added to the output of the layer's attention, before the feed-forward net.

        Raises:
            CheckpointError: if `added` is given for a model without BERT layers.
        """

    @abstractmethod
    def subwords(self, texts: Sequence[str]) -> list[Encoded]:
        """The subwords of texts without special tokens, with offsets."""

    @abstractmethod
    def frame(self, ids: Sequence[int]) -> list[int]:
        """Put `ids` between the special tokens of this model."""

    @abstractmethod
    def pair(self, first: Sequence[int], second: Sequence[int]) -> Pair:
        """The subwords of two texts in one row, in the model's pair format."""

    @property
    @abstractmethod
    def tokenizer_checksum(self) -> str:
        """Identifies the tokenizer: encoders with the same checksum can share tokenized texts."""

    def surprisals(self) -> NDArray[np.float64] | None:
        """-log p of each subword; None if the vocabulary has no probabilities."""
        return None

    def for_inference(
        self, dtype: torch.dtype, *, whole: bool = False, more: Sequence[nn.Linear] | None = None
    ) -> PostNormEncoder | None:
        """A several times faster encoder for first states and inner layers; None without BERT layers.

        With `whole` it computes all states of the last layer, and no first states alone. It computes in `dtype`
        (float32, 16 bits or int8), and must be rebuilt when weights change.
        `more` has one further projection for each layer, computed for the attention together with query, key and value.

        Raises:
            RuntimeError: for int8 without a kernel.
        """
        return None

    @property
    def room(self) -> int:
        """Maximal number of subwords of a text in a row."""
        return self.max_length - len(self.frame([]))

    def room_beside(self, first: int) -> int:
        """Maximal length of the second text of a pair whose first has `first` subwords; below 1 if there is no room."""
        return self.max_length - len(self.pair([], []).ids) - first

    def batch(self, rows: Sequence[Sequence[int]]) -> tuple[Tensor, Tensor]:
        """Padded ids (batch, length) with special tokens, and their mask, on this encoder's device.

        Raises:
            ValueError: if a row is longer than `room`.
        """
        framed = [self.frame(row) for row in rows]
        length = max(map(len, framed))
        if length > self.max_length:
            raise ValueError(f"{length} subwords are more than {self.name} reads, {self.max_length}")
        return pad_rows(framed, next(self.parameters()).device, self.pad)


class NativeEncoder(Encoder):
    """A model in the form of our backbone's encoder path, with a vocabulary of ours."""

    def __init__(self, model: BertEncoder, vocabulary: Subwords, name: str, sentence_layer: int) -> None:
        super().__init__()
        self.model, self.vocabulary, self.name = model, vocabulary, name
        self.width, self.layers = model.config.width, model.config.layers
        self.max_length, self.sentence_layer = model.config.max_length, sentence_layer
        self.mask_id = MASK

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

    def for_inference(
        self, dtype: torch.dtype, *, whole: bool = False, more: Sequence[nn.Linear] | None = None
    ) -> PostNormEncoder | None:
        return of_veco(self.model, dtype, whole=whole, more=more)

    def subwords(self, texts: Sequence[str]) -> list[Encoded]:
        return self.vocabulary.encode(texts)

    @property
    def tokenizer_checksum(self) -> str:
        return self.vocabulary.checksum


class VecoEncoder(NativeEncoder):
    """The encoder path of a VECO model."""

    model: Veco
    pad = PAD

    def frame(self, ids: Sequence[int]) -> list[int]:
        return [BOS, *ids, EOS]

    def pair(self, first: Sequence[int], second: Sequence[int]) -> Pair:
        """`<s> first </s> <s> second </s>`; positions restart at the second, as in TLM."""
        ids = [*self.frame(first), *self.frame(second)]
        return Pair(ids, 1, len(first) + 3, [*range(len(first) + 2), *range(len(second) + 2)])

    def room_beside(self, first: int) -> int:
        """The length of a row, since positions restart; 0 if the first text is too long."""
        return self.room if first <= self.room else 0
