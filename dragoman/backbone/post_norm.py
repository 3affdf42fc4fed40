"""A BERT encoder for inference: rows without padding, and only first states in the last layer.

Our backbone's encoder path and Hugging Face's BERT, RoBERTa and XLM-R have the same layers under different names. The
tokens of all rows are packed, so products and norms compute no padding; only attention needs the ends of rows. A
cross-encoder needs only the first state of each row, so the last layer computes only keys and values for all tokens.
Shapes: B rows, T tokens of all rows, L length of a row, W width, H heads.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from importlib.util import find_spec
from itertools import groupby
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from dragoman.backbone.products import Product, product
from dragoman.backbone.veco import Added, BertEncoder
from dragoman.deadline import check_each

BERTS = ("BertModel", "RobertaModel", "XLMRobertaModel")


@dataclass(frozen=True)
class Tokens:
    """Packed rows: (T,) each. Padding may follow the rows.

    `positions` count from 0; `segments` are BERT's token types, None if all are 0.
    """

    ids: Tensor
    positions: Tensor
    lengths: Sequence[int]
    segments: Tensor | None = None


@dataclass(frozen=True)
class Norm:
    """A layer norm's weights."""

    weight: Tensor
    bias: Tensor
    epsilon: float

    @classmethod
    def of(cls, norm: nn.LayerNorm, dtype: torch.dtype) -> Norm:
        """The weights of a module, in `dtype`."""
        return cls(norm.weight.detach().to(dtype), norm.bias.detach().to(dtype), norm.eps)

    def __call__(self, x: Tensor) -> Tensor:
        return F.layer_norm(x, self.weight.shape, self.weight, self.bias, self.epsilon)


@dataclass(frozen=True)
class Layer:
    """The products and norms of a layer; in the last one `read` gives only keys and values, and `query` is separate."""

    read: Product
    query: Product | None
    out: Product
    attention_norm: Norm
    inner: Product
    outer: Product
    feed_forward_norm: Norm

    def combine(self, x: Tensor, mixed: Tensor, extra: Tensor | None) -> Tensor:
        """The output states, from the input states, the attention output and the addition to it."""
        x = self.attention_norm(self.out(mixed).add_(x))
        if extra is not None:
            x = x + extra
        return self.feed_forward_norm(self.outer(self.inner.gelu(x)).add_(x))


@dataclass(frozen=True)
class Embeddings:
    """The embeddings of tokens; `tokens` looks up the rows (T, W) of ids in `dtype`."""

    tokens: Callable[[Tensor], Tensor]
    positions: Tensor
    segments: Tensor | None

    def __call__(self, tokens: Tokens) -> Tensor:
        x = self.tokens(tokens.ids).to(self.positions.dtype) + F.embedding(tokens.positions, self.positions)
        if self.segments is None:
            return x
        return x + (self.segments[0] if tokens.segments is None else F.embedding(tokens.segments, self.segments))


class PostNormEncoder:
    """Computes first states, or states of a layer, with an encoder's weights; embeddings may be shared."""

    def __init__(self, embeddings: Embeddings, norm: Norm, layers: Sequence[Layer], heads: int) -> None:
        self._embeddings, self._norm, self._layers, self.heads = embeddings, norm, layers, heads

    @property
    def device(self) -> torch.device:
        return self._norm.weight.device

    def __call__(self, tokens: Tokens, added: Mapping[int, Added]) -> Tensor:
        """The first states (B, W); `added` as for `Encoder.forward`, of (T, W)."""
        rows = self._rows(tokens)
        last = len(self._layers) - 1
        (x,) = self._states(tokens, rows, (last,), added)
        layer, extra = self._layers[last], added[last](x) if last in added else None
        assert layer.query is not None
        first = x[rows.first]
        mixed = rows.from_first(layer.query(first), layer.read(x))
        return layer.combine(first, mixed, None if extra is None else extra[rows.first])

    def states(self, tokens: Tokens, *layers: int, rows: PackedAttention | None = None) -> tuple[Tensor, ...]:
        """The states (T, W) of layers in ascending order, where 0 is the embeddings.

        `rows` computes the attention; by default that of the encoder itself.

        Raises:
            ValueError: if there is no such layer, or it has only first states.
        """
        whole = len(self._layers) - (self._layers[-1].query is not None)
        if list(layers) != sorted(set(layers)) or not 0 <= layers[0] <= layers[-1] <= whole:
            raise ValueError(f"layers {layers} are not ascending ones of 0 to {whole}")
        return tuple(self._states(tokens, rows or self._rows(tokens), layers, {}))

    def _rows(self, tokens: Tokens) -> PackedAttention:
        return PackedAttention(tokens.lengths, len(tokens.ids), self.device, self.heads)

    def _states(
        self, tokens: Tokens, rows: PackedAttention, layers: Sequence[int], added: Mapping[int, Added]
    ) -> list[Tensor]:
        x = self._norm(self._embeddings(tokens))
        states = [x] if layers[0] == 0 else []
        for index, layer in enumerate(check_each(self._layers[: layers[-1]])):
            extra = added[index](x) if index in added else None
            x = layer.combine(x, rows(layer.read(x)), extra)
            if index + 1 in layers:
                states.append(x)
        return states


class PackedAttention:
    """Attention within each packed row.

    It uses a variable-length kernel if there is one (GPU, 16 bits), else batches of rows of equal length.
    """

    def __init__(self, lengths: Sequence[int], size: int, device: torch.device, heads: int) -> None:
        self.lengths, self.heads, self.size = lengths, heads, size
        ends = torch.tensor([0, *lengths]).cumsum(0)
        self.first = ends[:-1].to(device)
        self._ends = ends.to(device, torch.int32)

    def __call__(self, query_key_value: Tensor) -> Tensor:
        """Mixed values (T, W) of queries, keys and values (T, 3W)."""
        heads = self.split_heads(query_key_value, 3)
        if _has_kernel(heads):
            query, key, value = heads.unbind(1)
            return self._by_kernel(query, key, value, self._ends, max(self.lengths))
        parts, start = [], 0
        for count, length in self._runs():
            query, key, value = _run(heads, start, count, length)
            mixed = F.scaled_dot_product_attention(query, key, value)
            parts.append(mixed.transpose(1, 2).reshape(count * length, -1))
            start += count * length
        if start < self.size:
            parts.append(query_key_value.new_zeros(self.size - start, query_key_value.shape[1] // 3))
        return torch.cat(parts)

    def from_first(self, query: Tensor, key_value: Tensor) -> Tensor:
        """Mixed values (B, W) of the first tokens, from their `query` (B, W) and all keys and values (T, 2W)."""
        queries, heads = self.split_heads(query, 1), self.split_heads(key_value, 2)
        if _has_kernel(heads):
            each = torch.arange(len(query) + 1, device=query.device, dtype=torch.int32)
            key, value = heads.unbind(1)
            return self._by_kernel(queries[:, 0], key, value, each, 1)
        parts, start, row = [], 0, 0
        for count, length in self._runs():
            key, value = _run(heads, start, count, length)
            mixed = F.scaled_dot_product_attention(queries[row : row + count].transpose(1, 2), key, value)
            parts.append(mixed.reshape(count, -1))
            start, row = start + count * length, row + count
        return torch.cat(parts)

    def _by_kernel(self, query: Tensor, key: Tensor, value: Tensor, ends: Tensor, longest: int) -> Tensor:
        from torch.nn.attention import varlen  # brings torch's compiler: 70 MB, for GPUs alone

        out = varlen.varlen_attn(query, key, value, ends, self._ends, longest, max(self.lengths))
        assert isinstance(out, Tensor)  # a pair only if more outputs are requested
        return out.flatten(1)

    def split_heads(self, x: Tensor, parts: int) -> Tensor:
        return x.reshape(len(x), parts, self.heads, -1)

    def _runs(self) -> list[tuple[int, int]]:
        """Runs of consecutive rows of equal length: their number and length."""
        return [(len(list(run)), length) for length, run in groupby(self.lengths)]


def _run(heads: Tensor, start: int, count: int, length: int) -> tuple[Tensor, ...]:
    """Query, key and value of rows of equal length, each (count, H, length, W/H)."""
    rows = heads[start : start + count * length]
    return rows.view(count, length, *heads.shape[1:]).permute(2, 0, 3, 1, 4).unbind(0)


def _has_kernel(x: Tensor) -> bool:
    """Whether torch has a kernel for rows of any length here; an older one has none."""
    return x.is_cuda and x.dtype in (torch.float16, torch.bfloat16) and _torch_has_kernel()


@cache
def _torch_has_kernel() -> bool:
    return find_spec("torch.nn.attention.varlen") is not None


def of_veco(
    model: BertEncoder, dtype: torch.dtype, *, whole: bool = False, more: Sequence[nn.Linear] | None = None
) -> PostNormEncoder:
    """The encoder path of our backbone, or of a model in its form; with `whole` the last layer has all states.

    `more` has one further projection for each layer, computed together with query, key and value for the attention.
    """
    layers = []
    for index, layer in enumerate(map(_any, model.layers)):
        projection = layer.attention.in_projection
        products = (layer.attention.out_projection, layer.feed_forward.inner, layer.feed_forward.outer)
        norms = (layer.attention_norm, layer.feed_forward_norm)
        further = [] if more is None else [more[index]]
        weights = [*projection.weight.chunk(3), *(linear.weight for linear in further)]
        biases = [*projection.bias.chunk(3), *(linear.bias for linear in further)]
        layers.append(_Source(weights, biases, products, norms))
    tables = _Tables(model.tokens, model.positions.weight[model.config.position_offset :])
    return _build(tables, model.embedding_norm, layers, model.config.heads, dtype, whole)


def of_bert(
    model: Any, dtype: torch.dtype, *, whole: bool = False, more: Sequence[nn.Linear] | None = None
) -> PostNormEncoder | None:
    """A BERT, RoBERTa or XLM-R model of transformers, as :func:`of_veco`; None for other models."""
    config = model.config
    supported = config.hidden_act == "gelu" if type(model).__name__ in BERTS else False
    if not supported or config.is_decoder or getattr(config, "position_embedding_type", "absolute") != "absolute":
        return None
    layers = []
    for index, layer in enumerate(model.encoder.layer):
        projections = [layer.attention.self.query, layer.attention.self.key, layer.attention.self.value]
        projections += [] if more is None else [more[index]]
        products = (layer.attention.output.dense, layer.intermediate.dense, layer.output.dense)
        norms = (layer.attention.output.LayerNorm, layer.output.LayerNorm)
        weights, biases = [linear.weight for linear in projections], [linear.bias for linear in projections]
        layers.append(_Source(weights, biases, products, norms))
    embeddings = model.embeddings
    padding = embeddings.position_embeddings.padding_idx  # RoBERTa models count positions from the row after padding
    tables = _Tables(
        embeddings.word_embeddings,
        embeddings.position_embeddings.weight[0 if padding is None else padding + 1 :],
        embeddings.token_type_embeddings.weight,
    )
    return _build(tables, embeddings.LayerNorm, layers, config.num_attention_heads, dtype, whole)


class _Tables(NamedTuple):
    """The embeddings of a source."""

    tokens: nn.Module
    positions: Tensor
    segments: Tensor | None = None


class _Source(NamedTuple):
    """The modules of a source layer: query, key and value; out, inner and outer; both norms."""

    weights: Sequence[Tensor]
    biases: Sequence[Tensor]
    products: Sequence[nn.Linear]
    norms: Sequence[nn.LayerNorm]


def _build(
    tables: _Tables, norm: nn.LayerNorm, layers: Sequence[_Source], heads: int, dtype: torch.dtype, whole: bool
) -> PostNormEncoder:
    last = len(layers) - 1
    between = torch.float32 if dtype == torch.int8 else dtype
    tokens: Callable[[Tensor], Tensor] = tables.tokens
    if isinstance(tokens, nn.Embedding):
        tokens = partial(F.embedding, weight=tokens.weight.detach().to(between))
    segments = None if tables.segments is None else tables.segments.detach().to(between)
    return PostNormEncoder(
        Embeddings(tokens, tables.positions.detach().to(between), segments),
        Norm.of(norm, between),
        [_layer(source, index == last and not whole, dtype, between) for index, source in enumerate(layers)],
        heads,
    )


def _layer(source: _Source, first_only: bool, dtype: torch.dtype, between: torch.dtype) -> Layer:
    def joined_product(weights: Sequence[Tensor], biases: Sequence[Tensor]) -> Product:
        return product(torch.cat([*weights]), torch.cat([*biases]), dtype)

    weights, biases = source.weights, source.biases
    out, inner, outer = (joined_product([linear.weight], [linear.bias]) for linear in source.products)
    read = joined_product(weights[1:], biases[1:]) if first_only else joined_product(weights, biases)
    query = joined_product(weights[:1], biases[:1]) if first_only else None
    attention_norm, feed_forward_norm = (Norm.of(norm, between) for norm in source.norms)
    return Layer(read, query, out, attention_norm, inner, outer, feed_forward_norm)


def _any(module: Any) -> Any:
    return module
