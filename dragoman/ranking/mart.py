"""MART: a cross-encoder with translation attention in some layers ("Mixed Attention Transformer").

A MAT layer mixes the states of words that translate each other by the translation attention matrix M:

    TH(h) = W_o (M (W_v h))        a = LN_MH(h + MH(h))        b = LN_TH(h + TH(h))        out = LN(a + b + FFN(a + b))

a is the output of the original attention, b is the translation head's. A document's score is linear in the mean of the
tanh-pooled first states of its passages. Shapes: B batch, L length, W width.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import torch
from torch import Tensor, nn

from dragoman.backbone.encoder import Encoder
from dragoman.ranking.mixed_attention import Mixing

Start = Literal["zero_gamma", "official"]


@dataclass(frozen=True)
class MartConfig:
    """`mat_layers` count from 0, negative numbers from the end: -3, -2 are the paper's 10th and 11th of 12."""

    mat_layers: list[int] = field(default_factory=lambda: [-3, -2])
    start: Start = "zero_gamma"
    sides: bool = True
    """Learn embeddings of query and passage side, initially 0, for encoders without segment embeddings."""
    dropout: float = 0.1
    norm_epsilon: float = 1e-12

    def layer_indices(self, layers: int) -> list[int]:
        """The MAT layers of an encoder with `layers` layers, counted from 0.

        Raises:
            ValueError: if a layer does not exist or is repeated.
        """
        indices = [layer + layers if layer < 0 else layer for layer in self.mat_layers]
        if not all(0 <= layer < layers for layer in indices) or len(set(indices)) != len(indices):
            raise ValueError(f"mat_layers {self.mat_layers} must be distinct layers of {layers}")
        return sorted(indices)


@dataclass(frozen=True)
class Rows:
    """A batch of query-passage pairs: all tensors are (B, L), except the matrices M.

    `mask` is true at tokens, `sides` is 1 from the beginning of the passage; `positions` and `segments` are inputs of
    some encoders (see `Encoder.pair`).
    """

    ids: Tensor
    mask: Tensor
    mixing: Mixing
    sides: Tensor
    positions: Tensor | None = None
    segments: Tensor | None = None


class TranslationHead(nn.Module):
    """The translation head b = LN_TH(h + TH(h)) of one MAT layer."""

    def __init__(self, width: int, config: MartConfig) -> None:
        super().__init__()
        self.value = nn.Linear(width, width)
        self.out = nn.Linear(width, width)
        self.norm = nn.LayerNorm(width, config.norm_epsilon)
        self.dropout = nn.Dropout(config.dropout)

    def initialise(self, start: Start, generator: torch.Generator) -> None:
        """`official`: W ~ N(0, 0.02), gain 1 of the norm. `zero_gamma`: gain 0, so the encoder's output is unchanged.

        With `zero_gamma`, W_v and W_o start as the identity: links take effect as soon as the gain grows, while small
        random weights would have to grow first. Biases are 0.
        """
        for linear in (self.value, self.out):
            if start == "zero_gamma":
                nn.init.eye_(linear.weight)
            else:
                nn.init.normal_(linear.weight, std=0.02, generator=generator)
            nn.init.zeros_(linear.bias)
        nn.init.constant_(self.norm.weight, 0.0 if start == "zero_gamma" else 1.0)
        nn.init.zeros_(self.norm.bias)

    def forward(self, h: Tensor, mixing: Mixing) -> Tensor:
        if self.training:
            mixed = self.dropout(self.out(mixing(self.value(h))))
        else:  # rows of M sum to 1, so W_o (M (W_v h + b_v)) + b_o = M (W_o W_v h) + W_o b_v + b_o: one product
            weight = self.out.weight @ self.value.weight
            mixed = mixing(nn.functional.linear(h, weight)) + self.out(self.value.bias)
        out: Tensor = self.norm(h + mixed)
        return out


class Mart(nn.Module):
    """An encoder with translation heads, and a score for each query and document."""

    def __init__(self, encoder: Encoder, config: MartConfig, generator: torch.Generator | None = None) -> None:
        """The encoder becomes part of the model.

        Raises:
            ValueError: if the encoder does not have the `mat_layers`.
        """
        super().__init__()
        self.config, self.encoder = config, encoder
        self.heads = nn.ModuleDict(
            {str(layer): TranslationHead(encoder.width, config) for layer in config.layer_indices(encoder.layers)}
        )
        self.sides = nn.Embedding(2, encoder.width) if config.sides else None
        self.pool = nn.Linear(encoder.width, encoder.width)
        self.dropout = nn.Dropout(config.dropout)
        self.score = nn.Linear(encoder.width, 1)
        generator = generator or torch.Generator().manual_seed(0)
        for head in self.heads.values():
            head.initialise(config.start, generator)  # type: ignore[operator]
        if self.sides is not None:
            nn.init.zeros_(self.sides.weight)
        for linear in (self.pool, self.score):
            nn.init.normal_(linear.weight, std=0.02, generator=generator)
            nn.init.zeros_(linear.bias)

    def states(self, rows: Rows) -> list[Tensor]:
        """The N + 1 hidden states (B, L, W) of the encoder with its MAT layers."""
        added = {int(layer): _mixed_by(head, rows.mixing) for layer, head in self.heads.items()}
        if self.sides is not None:
            side = self.sides(rows.sides)
            added[0] = _both(added.get(0), side)
        return self.encoder(  # type: ignore[no-any-return]
            rows.ids, rows.mask, positions=rows.positions, segments=rows.segments, added=added
        )

    def pool_rows(self, rows: Rows) -> Tensor:
        """The tanh-pooled first states (B, W) of the passages, in float32."""
        return torch.tanh(self.pool(self.states(rows)[-1][:, 0])).float()

    def forward(self, pooled: Tensor, documents: Sequence[int]) -> Tensor:
        """Scores (documents,) from the `pooled` states (B, W) of passages; passage r is from document `documents[r]`.

        The mean is over a document's own passages, so a score does not depend on the rest of the batch.
        """
        owner = torch.tensor(documents, device=pooled.device)
        count = torch.bincount(owner)
        mean = pooled.new_zeros(len(count), pooled.shape[1]).index_add(0, owner, pooled) / count[:, None]
        out: Tensor = self.score(self.dropout(mean))[:, 0]
        return out


def _mixed_by(head: nn.Module, mixing: Mixing) -> Any:
    return lambda h: head(h, mixing)


def _both(first: Any, second: Tensor) -> Any:
    return lambda h: second.to(h.dtype) if first is None else first(h) + second.to(h.dtype)
