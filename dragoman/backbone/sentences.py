"""Sentence encoding: the mean over all tokens of a middle layer (VECO, section 4.2: the 19th of 24)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from dragoman.backbone.encoder import Encoder
from dragoman.backbone.tokenizer import cut

TOKENS_AT_ONCE = 8_192


class SentenceEncoder:
    """Texts to unit vectors, such that a text and its translation lie close together."""

    def __init__(self, encoder: Encoder, layer: int | None = None) -> None:
        self._encoder = encoder
        self.layer = encoder.sentence_layer if layer is None else layer
        if not 0 <= self.layer <= encoder.layers:
            raise ValueError(f"layer {self.layer} is not one of {encoder.name}'s 0 to {encoder.layers}")
        self.name = f"{encoder.name}@{self.layer}"
        self.width = encoder.width

    def encode(self, texts: Sequence[str], batch_size: int = 32) -> NDArray[np.float32]:
        """(texts, width), rows of length 1; a text without a token is encoded from the special tokens alone.

        A text longer than the model reads is read in windows of equal length, and the mean is over all their tokens.
        A text's vector does not depend on its neighbours, but for rounding.
        """
        windows: list[tuple[int, list[int]]] = []
        for number, text in enumerate(self._encoder.subwords(texts)):
            windows += [(number, part) for part in cut(text.ids, self._encoder.room)]
        sums = torch.zeros(len(texts), self.width)
        order = sorted(range(len(windows)), key=lambda one: len(windows[one][1]))
        with torch.inference_mode():
            for batch in _batches(order, [len(ids) for _, ids in windows], batch_size):
                sums.index_add_(
                    0, torch.tensor([windows[one][0] for one in batch]), self._sums([windows[one][1] for one in batch])
                )
        unit: NDArray[np.float32] = torch.nn.functional.normalize(sums, dim=-1).numpy()
        return unit

    def _sums(self, rows: list[list[int]]) -> torch.Tensor:
        ids, mask = self._encoder.batch(rows)
        states: torch.Tensor = self._encoder(ids, mask)[self.layer].float()
        return (states * mask[:, :, None]).sum(1).cpu()


def _batches(order: list[int], lengths: list[int], batch_size: int) -> list[list[int]]:
    """Cut an order of rising lengths where a batch has enough rows or padded tokens."""
    batches: list[list[int]] = []
    for one in order:
        if not batches or len(batches[-1]) == batch_size or (len(batches[-1]) + 1) * lengths[one] > TOKENS_AT_ONCE:
            batches.append([])
        batches[-1].append(one)
    return batches
