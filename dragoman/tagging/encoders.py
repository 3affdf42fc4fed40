"""Encoders above frozen states: OIT, which knows no order but that of neighbours, and those it is compared with.

OIT (Liu et al. 2020, "On the Importance of Word Order Information in Cross-lingual Sequence Labeling") has
self-attention without positions, and a convolution over three words as its feed-forward net. `transformer` (TrsEnc)
adds sinusoidal positions, `relative` learns one embedding for each distance (Shaw et al. 2018), `copied` takes the
position table of a pretrained encoder and leaves it as it is, and `lstm` is a bidirectional LSTM.
Shapes are (batch, length, width).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

KINDS = ("oit", "transformer", "relative", "copied", "lstm")
POSITION_SIZE = 0.5**0.5
"""The root mean square of sinusoids; that of normed words is 1."""
FARTHEST = 16
"""Words farther apart than this have the relative position of this."""


@dataclass(frozen=True)
class EncoderConfig:
    """What an encoder above the states is made of."""

    kind: str = "oit"
    layers: int = 1
    """0 for a linear layer alone, above an encoder that learns itself."""
    heads: int = 4
    width: int = 384
    kernel: int = 3
    """Words that the feed-forward net reads at once; 1 is the linear one of a Transformer."""
    dropout: float = 0.3
    normed: bool = False
    """Whether words are normed after their projection, and tables of positions scaled to `POSITION_SIZE`.

    Else positions outweigh words, or the other way round, by how a table happens to be made.
    """

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"kind must be one of {', '.join(KINDS)}")
        for name in ("heads", "width", "kernel"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1")
        if self.layers < (self.kind == "lstm"):
            raise ValueError("layers must be at least 0, and 1 of an lstm")
        if self.width % (2 * self.heads):
            raise ValueError("width must be a multiple of twice the heads")
        if not 0 <= self.dropout < 1:
            raise ValueError("dropout must be at least 0 and below 1")


class Attention(nn.Module):
    """Multi-head self-attention; with `relative` the keys and values know how far away they are."""

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__()
        self.heads, self.dropout = config.heads, config.dropout
        self.read = nn.Linear(config.width, 3 * config.width)
        self.out = nn.Linear(config.width, config.width)
        self.distances: nn.Parameter | None = None
        if config.kind == "relative":
            size = config.width // config.heads
            self.distances = nn.Parameter(torch.randn(2, 2 * FARTHEST + 1, size) * size**-0.5)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """Mixed states; `mask` (batch, length) is true at words."""
        shape = (*x.shape[:2], 3, self.heads, -1)
        query, key, value = self.read(x).view(shape).permute(2, 0, 3, 1, 4)  # (B, H, L, W/H)
        allowed = mask[:, None, None, :]
        rate = self.dropout if self.training else 0.0
        if self.distances is None:
            mixed = F.scaled_dot_product_attention(query, key, value, attn_mask=allowed, dropout_p=rate)
        else:
            mixed = self._relative(query, key, value, allowed, rate)
        out: Tensor = self.out(mixed.transpose(1, 2).flatten(2))
        return out

    def _relative(self, query: Tensor, key: Tensor, value: Tensor, allowed: Tensor, rate: float) -> Tensor:
        assert self.distances is not None
        places = torch.arange(query.shape[2], device=query.device)
        apart = (places[None, :] - places[:, None]).clamp(-FARTHEST, FARTHEST) + FARTHEST
        keys, values = self.distances[:, apart]  # (L, L, W/H)
        scores = query @ key.transpose(2, 3) + torch.einsum("bhid,ijd->bhij", query, keys)
        shares = (scores / math.sqrt(query.shape[-1])).masked_fill(~allowed, -torch.inf).softmax(-1)
        shares = F.dropout(shares, rate)
        return shares @ value + torch.einsum("bhij,ijd->bhid", shares, values)


class FeedForward(nn.Module):
    """Convolution, ReLU, convolution; padding is 0 before each, so a row's neighbours in a batch change nothing."""

    def __init__(self, width: int, kernel: int) -> None:
        super().__init__()
        self.inner = nn.Conv1d(width, width, kernel, padding="same")
        self.outer = nn.Conv1d(width, width, kernel, padding="same")

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """States after both convolutions."""
        present = mask[:, None, :]
        x = F.relu(self.inner(x.transpose(1, 2) * present))
        out: Tensor = self.outer(x * present).transpose(1, 2)
        return out


class Block(nn.Module):
    """Attention and feed-forward net, each added to what it read and normed."""

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__()
        self.attention, self.feed_forward = Attention(config), FeedForward(config.width, config.kernel)
        self.norms = nn.ModuleList(nn.LayerNorm(config.width) for _ in range(2))
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """States after the block."""
        x = self.norms[0](x + self.dropout(self.attention(x, mask)))
        out: Tensor = self.norms[1](x + self.dropout(self.feed_forward(x, mask)))
        return out


class WordEncoder(nn.Module):
    """Encodes words by the frozen states of a pretrained encoder."""

    def __init__(self, width: int, config: EncoderConfig, positions: Tensor | None = None) -> None:
        """`width` is that of the states; `positions` (longest, config.width) is the table for `copied`.

        Raises:
            ValueError: if `copied` lacks a table, or it is of another width.
        """
        super().__init__()
        self.config = config
        self.project = nn.Linear(width, config.width)
        self.norm = nn.LayerNorm(config.width) if config.normed else nn.Identity()
        self.dropout = nn.Dropout(config.dropout)
        if config.kind == "copied":
            if positions is None or positions.shape[1] != config.width:
                raise ValueError(f"kind copied: needs a table of positions of width {config.width}")
            table = positions.detach().clone().float()
            if config.normed:
                table *= POSITION_SIZE / table.square().mean().sqrt()
            self.positions = nn.Parameter(table, requires_grad=False)
        if config.kind == "lstm":
            half = config.width // 2
            self.lstm = nn.LSTM(config.width, half, config.layers, batch_first=True, bidirectional=True)
        else:
            self.blocks = nn.ModuleList(Block(config) for _ in range(config.layers))

    def forward(self, states: Tensor, mask: Tensor) -> Tensor:
        """States (batch, length, config.width) of words; `mask` (batch, length) is true at words.

        Raises:
            ValueError: if a row is longer than the table of positions.
        """
        x: Tensor = self.dropout(self.norm(self.project(states)))
        if self.config.kind == "lstm":
            return self._lstm(x, mask)
        if self.config.kind == "transformer":
            x = x + sinusoids(x.shape[1], x.shape[2]).to(x)
        elif self.config.kind == "copied":
            if x.shape[1] > len(self.positions):
                raise ValueError(f"{x.shape[1]} words are more than the table of positions has, {len(self.positions)}")
            x = x + self.positions[: x.shape[1]].to(x.dtype)
        for block in self.blocks:
            x = block(x, mask)
        return x

    def _lstm(self, x: Tensor, mask: Tensor) -> Tensor:
        rows = pack_padded_sequence(x, mask.sum(1).cpu(), batch_first=True, enforce_sorted=False)
        states, _ = pad_packed_sequence(self.lstm(rows)[0], batch_first=True, total_length=x.shape[1])
        out: Tensor = self.dropout(states)
        return out


def sinusoids(length: int, width: int) -> Tensor:
    """Sinusoidal positions (length, width) of Vaswani et al. 2017, sines in even and cosines in odd columns."""
    rates = torch.exp(torch.arange(0, width, 2) * (-math.log(10_000) / width))
    angles = torch.arange(length)[:, None] * rates
    return torch.stack([angles.sin(), angles.cos()], dim=2).flatten(1)
