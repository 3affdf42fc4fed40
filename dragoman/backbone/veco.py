"""VECO: one set of weights, used as an encoder or as an encoder-decoder.

"VECO: Variable Encoder-Decoder Pre-training for Cross-lingual Understanding and Generation" (Luo et al., ACL 2021).
N identical post-norm layers of self-attention, optional cross-attention and a feed-forward net:

    encoder path (section 3.1)   H = SelfAttention(X)           X' = FFN(H)
    decoder path (section 3.2)   S = CausalSelfAttention(Y)     Z = CrossAttention(S, X^(N))     Y' = FFN(Z)

Each of the three is wrapped in AddNorm, LayerNorm(x + f(x)). Both paths share the weights of self-attention and FFN;
without cross-attention a layer is that of BERT. There are no language embeddings.
Shapes: B batch, L length, W width, H heads, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F


@dataclass(frozen=True)
class VecoConfig:
    """Sizes of a model. `dropout` applies in training; without `cross_attention` the model is an encoder only."""

    vocabulary: int
    width: int = 256
    layers: int = 6
    heads: int = 4
    feed_forward: int = 1024
    max_length: int = 128
    dropout: float = 0.0
    cross_attention: bool = True
    norm_epsilon: float = 1e-5
    position_offset: int = 0
    """First used row of the position embeddings; 2 in XLM-R, whose table begins with rows for padding."""

    def __post_init__(self) -> None:
        least = {"vocabulary": 1, "width": 1, "layers": 1, "heads": 1, "feed_forward": 1, "max_length": 3}
        for name, low in (least | {"position_offset": 0}).items():
            size = getattr(self, name)
            if type(size) is not int or size < low:
                raise ValueError(f"{name} must be an integer of at least {low}, not {size!r}")
        if self.width % self.heads:
            raise ValueError(f"width {self.width} is not a multiple of heads {self.heads}")
        if type(self.dropout) not in (int, float) or not 0 <= self.dropout < 1:
            raise ValueError(f"dropout must be a number from 0 to below 1, not {self.dropout!r}")
        if type(self.norm_epsilon) not in (int, float) or not self.norm_epsilon > 0:
            raise ValueError(f"norm_epsilon must be a number above 0, not {self.norm_epsilon!r}")
        if type(self.cross_attention) is not bool:
            raise ValueError(f"cross_attention must be true or false, not {self.cross_attention!r}")

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


class SelfAttention(nn.Module):
    """Multi-head self-attention, with query, key and value in one product."""

    def __init__(self, config: VecoConfig) -> None:
        super().__init__()
        self.heads = config.heads
        self.in_projection = nn.Linear(config.width, 3 * config.width)
        self.out_projection = nn.Linear(config.width, config.width)

    def forward(self, x: Tensor, mask: Tensor | None, past: KeyValues | None = None) -> tuple[Tensor, KeyValues]:
        """Attend to `x` (B, L, W) and `past`; returns the output and all keys and values (B, H, L, W/H).

        `mask` is true where a query (row) attends to a key (column); None for full attention.
        """
        query, key, value = (_split_heads(part, self.heads) for part in self.in_projection(x).chunk(3, dim=-1))
        if past is not None:
            key, value = torch.cat((past[0], key), dim=2), torch.cat((past[1], value), dim=2)
        mixed = attend(query, key, value, mask)  # (B, H, L, W/H)
        return self.out_projection(_join(mixed)), (key, value)


class CrossAttention(nn.Module):
    """Multi-head attention from the decoder path to the encoder's last states."""

    def __init__(self, config: VecoConfig) -> None:
        super().__init__()
        self.heads = config.heads
        self.query = nn.Linear(config.width, config.width)
        self.key_value = nn.Linear(config.width, 2 * config.width)
        self.out_projection = nn.Linear(config.width, config.width)

    def keys_values(self, memory: Tensor) -> KeyValues:
        """Keys and values of the encoder's states `memory` (B, L, W)."""
        key, value = self.key_value(memory).chunk(2, dim=-1)
        return _split_heads(key, self.heads), _split_heads(value, self.heads)

    def forward(self, x: Tensor, memory: KeyValues, mask: Tensor | None) -> Tensor:
        mixed = attend(_split_heads(self.query(x), self.heads), *memory, mask)
        out: Tensor = self.out_projection(_join(mixed))
        return out


class FeedForward(nn.Module):
    """Two linear layers with GELU in between."""

    def __init__(self, config: VecoConfig) -> None:
        super().__init__()
        self.inner = nn.Linear(config.width, config.feed_forward)
        self.outer = nn.Linear(config.feed_forward, config.width)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.outer(F.gelu(self.inner(x)))
        return out


class Layer(nn.Module):
    """One layer of both paths: of the encoder without `memory`, of the decoder with it."""

    def __init__(self, config: VecoConfig) -> None:
        super().__init__()
        self.attention = SelfAttention(config)
        self.attention_norm = nn.LayerNorm(config.width, config.norm_epsilon)
        self.cross = CrossAttention(config) if config.cross_attention else None
        self.cross_norm = nn.LayerNorm(config.width, config.norm_epsilon) if config.cross_attention else None
        self.feed_forward = FeedForward(config)
        self.feed_forward_norm = nn.LayerNorm(config.width, config.norm_epsilon)
        self.dropout = nn.Dropout(config.dropout)

    def memory(self, states: Tensor) -> KeyValues:
        """Cross-attention keys and values of the encoder's states (B, L, W)."""
        if self.cross is None:
            raise ValueError("this model was built without cross-attention and has no decoder path")
        return self.cross.keys_values(states)

    def forward(
        self,
        x: Tensor,
        mask: Tensor | None,
        memory: KeyValues | None = None,
        memory_mask: Tensor | None = None,
        past: KeyValues | None = None,
        added: Added | None = None,
    ) -> tuple[Tensor, KeyValues]:
        """The output (B, L, W) of the layer, and the keys and values of its self-attention.

        The result of `added` on the layer's input is added to the self-attention's output (B, L, W).
        """
        attended, seen = self.attention(x, mask, past)
        extra = None if added is None else added(x)
        x = self.attention_norm(x + self.dropout(attended))
        if extra is not None:
            x = x + extra
        if memory is not None:
            if self.cross is None or self.cross_norm is None:
                raise ValueError("this model was built without cross-attention and has no decoder path")
            x = self.cross_norm(x + self.dropout(self.cross(x, memory, memory_mask)))
        return self.feed_forward_norm(x + self.dropout(self.feed_forward(x))), seen


class BertEncoder(nn.Module):
    """The encoder path: embeddings and N layers. Without cross-attention it is a BERT."""

    tokens: nn.Module

    def __init__(self, config: VecoConfig, tokens: nn.Module | None = None) -> None:
        """`tokens` looks up the embeddings (..., W) of ids; the default is a new table."""
        super().__init__()
        self.config = config
        self.tokens = nn.Embedding(config.vocabulary, config.width) if tokens is None else tokens
        self.positions = nn.Embedding(config.max_length + config.position_offset, config.width)
        self.embedding_norm = nn.LayerNorm(config.width, config.norm_epsilon)
        self.dropout = nn.Dropout(config.dropout)
        self.layers = nn.ModuleList(Layer(config) for _ in range(config.layers))

    def embed(self, ids: Tensor, positions: Tensor | None = None) -> Tensor:
        """Token plus position embeddings (B, L, W) of `ids` (B, L); positions count from 0 unless given (B, L).

        Raises:
            ValueError: if `ids` are longer than the model's `max_length`.
        """
        if positions is None:
            if ids.shape[1] > self.config.max_length:
                raise ValueError(f"{ids.shape[1]} tokens are more than this model's {self.config.max_length}")
            positions = torch.arange(ids.shape[1], device=ids.device)
        x = self.tokens(ids) + self.positions(positions + self.config.position_offset)
        if torch.is_autocast_enabled(ids.device.type):  # keep the residual stream in the dtype of the products
            x = x.to(torch.get_autocast_dtype(ids.device.type))
        out: Tensor = self.dropout(self.embedding_norm(x))
        return out

    def encode(
        self,
        ids: Tensor,
        mask: Tensor,
        positions: Tensor | None = None,
        added: Mapping[int, Added] | None = None,
    ) -> list[Tensor]:
        """Encoder path: N + 1 outputs (B, L, W) of the embeddings and layers; `mask` (B, L) is true at tokens.

        `added` maps layers (from 0) to functions whose result is added to the output of the self-attention.
        """
        x = self.embed(ids, positions)
        states, seen = [x], attention_mask(mask)
        for index, layer in enumerate(self.layers):
            x, _ = layer(x, seen, added=added.get(index) if added else None)
            states.append(x)
        return states


class Veco(BertEncoder):
    """The backbone: the encoder path, the decoder path, and a token prediction head tied to the embeddings."""

    tokens: nn.Embedding

    def __init__(self, config: VecoConfig) -> None:
        super().__init__(config)
        self.prediction = nn.Linear(config.width, config.width)
        self.prediction_norm = nn.LayerNorm(config.width, config.norm_epsilon)
        self.prediction_bias = nn.Parameter(torch.zeros(config.vocabulary))

    def initialise(self, generator: torch.Generator) -> None:
        """Initialise all weights from N(0, 0.02) as in BERT; biases 0, norms 1."""
        nn.init.zeros_(self.prediction_bias)
        for module in self.modules():
            if isinstance(module, nn.Linear | nn.Embedding):
                nn.init.normal_(module.weight, std=0.02, generator=generator)
            if isinstance(module, nn.Linear):
                nn.init.zeros_(module.bias)
            if isinstance(module, nn.LayerNorm):
                module.reset_parameters()

    def decode(self, ids: Tensor, mask: Tensor, memory: Tensor, memory_mask: Tensor) -> Tensor:
        """Virtual decoder path: last states (B, L, W) of `ids` (B, L), causal including the diagonal.

        `memory` (B, M, W) is detached: no gradient reaches the encoder path through it (section 3.2).
        """
        x, memory = self.embed(ids), memory.detach()
        causal, cross = causal_mask(mask), attention_mask(memory_mask)
        for layer in self.layers:
            x, _ = layer(x, causal, cast(Layer, layer).memory(memory), cross)
        return x

    def predict(self, states: Tensor) -> Tensor:
        """Logits (..., V) of the tokens at `states` (..., W); the output weights are the token embeddings."""
        x = self.prediction_norm(F.gelu(self.prediction(states)))
        return F.linear(x, self.tokens.weight, self.prediction_bias)


Added = Callable[[Tensor], Tensor]
"""From a layer's input (B, L, W), an addition of the same shape to the output of its self-attention."""

KeyValues = tuple[Tensor, Tensor]
"""Keys and values of one attention, each (B, H, L, W/H)."""


def middle_layer(layers: int) -> int:
    """The default layer of sentence encoding, at the relative height of the 19th of 24 (VECO, section 4.2)."""
    return max(1, round(layers * 19 / 24))


def attend(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None) -> Tensor:
    """Scaled dot-product attention: softmax(QK'/sqrt(W/H)) V, (B, H, L, W/H), where `mask` is true or None.

    Uses PyTorch's fused kernel, except in training on a CPU: its backward pass in bfloat16 is five times slower there
    than explicit products (64 sequences of 32 tokens, 4 heads of 64).
    """
    if query.device.type != "cpu" or not torch.is_grad_enabled():
        return F.scaled_dot_product_attention(query, key, value, attn_mask=mask)
    scores = (query * query.shape[-1] ** -0.5) @ key.transpose(-1, -2)
    if mask is not None:
        scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
    mixed: Tensor = scores.softmax(-1) @ value
    return mixed


def attention_mask(mask: Tensor) -> Tensor | None:
    """(B, 1, 1, L), true at tokens, from `mask` (B, L); None if all are tokens."""
    return None if bool(mask.all()) else mask[:, None, None, :]


def causal_mask(mask: Tensor) -> Tensor:
    """(B, 1, L, L): row t attends to columns up to t. Padding comes last, so no row is empty."""
    length = mask.shape[1]
    lower = torch.ones(length, length, dtype=torch.bool, device=mask.device).tril()
    return lower[None, None] & (mask[:, None, None, :] | torch.eye(length, dtype=torch.bool, device=mask.device))


def _split_heads(x: Tensor, heads: int) -> Tensor:
    return x.reshape(*x.shape[:2], heads, -1).transpose(1, 2)  # (B, L, W) -> (B, H, L, W/H)


def _join(x: Tensor) -> Tensor:
    return x.transpose(1, 2).flatten(-2)  # (B, H, L, W/H) -> (B, L, W)
