"""An encoder with structured self-attention: our backbone, multilingual-e5-small, or a BERT or XLM-R of transformers.

Each layer gets one more query projection, Q_cross, that begins as a copy of the layer's own. The encoder's weights stay
where they are; Q_cross alone is what a pair of languages adds, and can be changed at any time.
Shapes: B batch, L length, W width, H heads.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from dragoman.backbone.checkpoints import CheckpointError
from dragoman.backbone.deltas.base import encoder_checksum
from dragoman.backbone.deltas.layers import keep_layers, layers_of
from dragoman.backbone.encoder import Encoder
from dragoman.backbone.veco import SelfAttention, attend
from dragoman.reasoning.structured_attention import CONTEXT, PADDING, QUESTION, Masks, structured_attention


@dataclass
class QuestionRow:
    """A context and a question in one row, `<s> context </s> question </s>`."""

    ids: list[int]
    first: int
    """Where the context's subwords begin."""
    second: int
    """Where the question's language begins: after the context's last special token."""


def row_of(encoder: Encoder, context: Sequence[int], question: Sequence[int]) -> QuestionRow:
    """The row of two texts, given as subwords without special tokens."""
    begin = encoder.frame([_SENTINEL]).index(_SENTINEL)
    head = encoder.frame(context)
    return QuestionRow([*head, *encoder.frame(question)[begin:]], begin, len(head))


_SENTINEL = -1
"""Not the id of any subword."""


def languages_of(rows: Sequence[QuestionRow], length: int, device: torch.device) -> Tensor:
    """The language of each position (B, L), for `structured_masks`."""
    languages = torch.full((len(rows), length), PADDING)
    for index, row in enumerate(rows):
        languages[index, : row.second] = CONTEXT
        languages[index, row.second : len(row.ids)] = QUESTION
    return languages.to(device)


_masks: ContextVar[Masks | None] = ContextVar("dragoman_structured_masks", default=None)
"""The masks of the forward pass that this thread computes; None for the encoder's own attention."""


class StructuredSelfAttention(nn.Module):
    """Replaces the attention block of a layer of our own form; without masks it computes the same."""

    def __init__(self, attention: SelfAttention) -> None:
        super().__init__()
        self.heads = attention.heads
        self.in_projection, self.out_projection = attention.in_projection, attention.out_projection
        width = attention.out_projection.in_features
        self.cross = _copy_linear(attention.in_projection.weight[:width], attention.in_projection.bias[:width])

    def forward(self, x: Tensor, mask: Tensor | None, past: None = None) -> tuple[Tensor, None]:
        """The output (B, L, W); `mask` is used only without masks of both queries."""
        query, key, value = (self._split_heads(part) for part in self.in_projection(x).chunk(3, dim=-1))
        masks = _masks.get()
        if masks is None:
            mixed = attend(query, key, value, mask)
        else:
            mixed = structured_attention(query, self._split_heads(self.cross(x)), key, value, masks)
        return self.out_projection(mixed.transpose(1, 2).flatten(-2)), None

    @property
    def own_query(self) -> tuple[Tensor, Tensor]:
        """Weight and bias of Q."""
        projection, width = plain(self.in_projection), plain(self.cross).in_features
        return projection.weight[:width].detach(), projection.bias[:width].detach()

    def _split_heads(self, x: Tensor) -> Tensor:
        return x.view(*x.shape[:2], self.heads, -1).transpose(1, 2)


class StructuredBertAttention(nn.Module):
    """Replaces `attention.self` of a layer of transformers' BERT or XLM-R; without masks it computes the same."""

    def __init__(self, attention: Any) -> None:
        super().__init__()
        self.own = attention
        self.cross = _copy_linear(attention.query.weight, attention.query.bias)

    query = property(lambda self: self.own.query)
    key = property(lambda self: self.own.key)
    value = property(lambda self: self.own.value)

    @property
    def own_query(self) -> tuple[Tensor, Tensor]:
        """Weight and bias of Q."""
        query = plain(self.query)
        return query.weight.detach(), query.bias.detach()

    def forward(self, hidden_states: Tensor, *arguments: Any, **named: Any) -> Any:
        masks = _masks.get()
        if masks is None:
            return self.own(hidden_states, *arguments, **named)
        query, cross, key, value = (
            layer(hidden_states).unflatten(-1, (self.own.num_attention_heads, -1)).transpose(1, 2)
            for layer in (self.query, self.cross, self.key, self.value)
        )
        mixed = structured_attention(query, cross, key, value, masks)
        return mixed.transpose(1, 2).flatten(-2), None


def plain(layer: Any) -> nn.Linear:
    """A linear layer without the update of low rank that it may have."""
    linear: nn.Linear = getattr(layer, "own", layer)
    return linear


def _copy_linear(weight: Tensor, bias: Tensor) -> nn.Linear:
    """A linear layer with copies of a weight and a bias."""
    layer = nn.Linear(weight.shape[1], weight.shape[0], device="meta")
    layer.weight, layer.bias = nn.Parameter(weight.detach().clone()), nn.Parameter(bias.detach().clone())
    return layer


class StructuredEncoder(nn.Module):
    """An encoder whose layers have Q_cross."""

    def __init__(self, encoder: Encoder) -> None:
        """Gives `encoder` its second queries; it computes what it did wherever no masks are given.

        Raises:
            CheckpointError: if its layers are not BERT's.
        """
        super().__init__()
        self.encoder = encoder
        self.checksum = encoder_checksum(encoder)
        """Identifies the encoder's weights, all of them and without what is trained beside them."""
        self.layers = layers_of(encoder)
        self.attention = [_with_cross(layer) for layer in self.layers]
        self.query_changes: dict[str, Tensor] = {}
        """What `change_queries` added to the encoder's own queries, by the names of `queries`."""

    def keep_layers(self, count: int) -> None:
        """Drop the layers above the first `count`.

        Raises:
            CheckpointError: if there are not so many.
        """
        self.layers = keep_layers(self.encoder, count)
        self.attention = self.attention[:count]

    def forward(self, ids: Tensor, mask: Tensor, masks: Masks | None = None) -> list[Tensor]:
        """States (B, L, W) of the embeddings and each layer; without `masks` those of the encoder itself."""
        outer = _masks.set(masks)
        try:
            states: list[Tensor] = self.encoder(ids, mask)
        finally:
            _masks.reset(outer)  # another pass may run on this thread, in the middle of which this one was computed
        return states

    def queries(self) -> dict[str, Tensor]:
        """Weights and biases of each layer's own query, by the names of `cross_parameters`."""
        return {
            f"{index}.{name}": tensor
            for index, block in enumerate(self.attention)
            for name, tensor in zip(("weight", "bias"), block.own_query, strict=True)
        }

    def change_queries(self, changes: Mapping[str, Tensor]) -> None:
        """Add to the encoder's own queries what a baseline without Q_cross has learned.

        Raises:
            CheckpointError: if a name or a shape is not of this encoder.
        """
        queries = self.queries()
        for name, change in changes.items():
            if name not in queries or queries[name].shape != change.shape:
                raise CheckpointError(f"{name} {tuple(change.shape)} is no query of {self.encoder.name}")
            queries[name] += change
        self.query_changes = dict(changes)

    def cross_parameters(self) -> dict[str, Tensor]:
        """Weights and biases of Q_cross by layer: `3.weight` (W, W), `3.bias` (W,)."""
        return {
            f"{index}.{name}": parameter
            for index, block in enumerate(self.attention)
            for name, parameter in plain(block.cross).named_parameters()
        }

    def set_cross(self, weights: Mapping[str, Tensor]) -> None:
        """Take other weights of Q_cross, such as those of another pair of languages; those not named stay.

        Raises:
            CheckpointError: if a name or a shape is not of this encoder.
        """
        parameters = self.cross_parameters()
        for name, weight in weights.items():
            if name not in parameters or parameters[name].shape != weight.shape:
                raise CheckpointError(f"{name} {tuple(weight.shape)} is no part of Q_cross of {self.encoder.name}")
        with torch.no_grad():
            for name, weight in weights.items():
                parameters[name].copy_(weight)


def _with_cross(layer: Any) -> Any:
    """Put a block with Q_cross into a layer, and return it."""
    if isinstance(layer.attention, SelfAttention):
        layer.attention = StructuredSelfAttention(layer.attention)
        return layer.attention
    layer.attention.self = StructuredBertAttention(layer.attention.self)
    return layer.attention.self
