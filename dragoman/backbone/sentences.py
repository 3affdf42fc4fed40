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
    """Encodes texts as unit vectors; translations of a text have similar vectors."""

    def __init__(self, encoder: Encoder, layer: int | None = None) -> None:
        self._encoder = encoder
        self.layer = encoder.sentence_layer if layer is None else layer
        if not 0 <= self.layer <= encoder.layers:
            raise ValueError(f"layer {self.layer} is not one of {encoder.name}'s 0 to {encoder.layers}")
        self.name = f"{encoder.name}@{self.layer}"
        self.width = encoder.width

    def encode(self, texts: Sequence[str], batch_size: int = 32) -> NDArray[np.float32]:
        """Unit vectors (texts, width); a text without tokens is encoded from the special tokens alone.

        A text that is too long for the model is split into windows of equal length, and the mean is over all their
        tokens. Except for rounding, a vector does not depend on other texts.
        """
        windows: list[tuple[int, list[int]]] = []
        for number, text in enumerate(self._encoder.subwords(texts)):
            windows += [(number, part) for part in cut(text.ids, self._encoder.room)]
        sums = torch.zeros(len(texts), self.width)
        order = sorted(range(len(windows)), key=lambda window: len(windows[window][1]))
        with torch.inference_mode():
            for batch in _batches(order, [len(ids) for _, ids in windows], batch_size):
                sums.index_add_(
                    0, torch.tensor([windows[n][0] for n in batch]), self._sums([windows[n][1] for n in batch])
                )
        unit: NDArray[np.float32] = torch.nn.functional.normalize(sums, dim=-1).numpy()
        return unit

    def _sums(self, rows: list[list[int]]) -> torch.Tensor:
        ids, mask = self._encoder.batch(rows)
        states: torch.Tensor = self._encoder(ids, mask)[self.layer].float()
        return (states * mask[:, :, None]).sum(1).cpu()


def _batches(order: list[int], lengths: list[int], batch_size: int) -> list[list[int]]:
    """Split indices, ordered by ascending length, into batches limited by rows and padded tokens."""
    batches: list[list[int]] = []
    for index in order:
        if not batches or len(batches[-1]) == batch_size or (len(batches[-1]) + 1) * lengths[index] > TOKENS_AT_ONCE:
            batches.append([])
        batches[-1].append(index)
    return batches
