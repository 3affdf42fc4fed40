"""Inference: pooled states of packed passages, with each translation head folded into one product."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from dragoman.backbone.packing import pack_rows
from dragoman.backbone.post_norm import Norm, PostNormEncoder
from dragoman.backbone.products import Product
from dragoman.backbone.veco import Added
from dragoman.ranking.mart import Mart, TranslationHead
from dragoman.ranking.mixed_attention import Mixing

if TYPE_CHECKING:
    from dragoman.ranking.passages import Passage


@dataclass(frozen=True)
class _Head:
    """A MAT layer's head. Rows of M sum to 1, so W_o (M (W_v h + b_v)) + b_o = M (W_o W_v h) + W_o b_v + b_o."""

    product: Product
    bias: Tensor
    norm: Norm

    def __call__(self, h: Tensor, mixing: Mixing) -> Tensor:
        return self.norm(mixing(self.product(h)).add_(h).add_(self.bias))


class PooledStates:
    """Computes `Mart.pool_rows`, (B, W) in float32 for B passages. Rebuild it when the model's weights change."""

    def __init__(self, model: Mart, encoder: PostNormEncoder, dtype: torch.dtype) -> None:
        self._encoder, self._pad = encoder, model.encoder.pad
        self._sides = None if model.sides is None else model.sides.weight.detach().to(dtype)
        self._pool = Product(model.pool.weight.to(dtype), model.pool.bias.to(dtype))
        self._heads = {int(layer): _head(head, dtype) for layer, head in model.heads.items()}  # type: ignore[arg-type]

    def __call__(self, passages: Sequence[Passage]) -> Tensor:
        tokens = pack_rows([passage.pair for passage in passages], self._pad, self._encoder.device)
        starts = [0, *accumulate(tokens.lengths)][:-1]
        mixing = Mixing.at([passage.row for passage in passages], starts, len(tokens.ids), self._encoder.device)
        added: dict[int, Added] = {layer: partial(head, mixing=mixing) for layer, head in self._heads.items()}
        if self._sides is not None:
            added[0] = partial(_both, added.get(0), self._side_embeddings(passages, starts, len(tokens.ids)))
        return torch.tanh(self._pool(self._encoder(tokens, added))).float()

    def _side_embeddings(self, passages: Sequence[Passage], starts: Sequence[int], size: int) -> Tensor:
        """Embeddings (T, W) of the query side and the passage side."""
        assert self._sides is not None
        sides = np.zeros(size, np.int64)
        for start, passage in zip(starts, passages, strict=True):
            sides[start + passage.pair.second : start + len(passage.pair.ids)] = 1
        return self._sides[torch.from_numpy(sides).to(self._encoder.device)]


def for_inference(model: Mart, dtype: torch.dtype = torch.float32) -> PooledStates | None:
    """The model for inference, several times faster; None if the encoder does not have BERT layers."""
    encoder = model.encoder.for_inference(dtype)
    return None if encoder is None else PooledStates(model, encoder, dtype)


def _head(head: TranslationHead, dtype: torch.dtype) -> _Head:
    with (
        torch.no_grad(),
        torch.autocast(head.out.weight.device.type, enabled=False),
    ):  # training evaluates under autocast
        product = Product((head.out.weight @ head.value.weight).to(dtype), None)
        return _Head(product, head.out(head.value.bias).to(dtype), Norm.of(head.norm, dtype))


def _both(first: Added | None, sides: Tensor, h: Tensor) -> Tensor:
    return sides if first is None else first(h) + sides
