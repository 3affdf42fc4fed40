"""Padding of rows of ids, and batches of rows of similar length."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor

from dragoman.backbone.tokenizer import PAD
from dragoman.deadline import check


def pad_rows(rows: Sequence[Sequence[int]], device: torch.device, pad: int = PAD) -> tuple[Tensor, Tensor]:
    """Ids (batch, length), padded at the end, and their mask (batch, length), true at tokens."""
    length = max(map(len, rows))
    ids = torch.tensor([[*row, *[pad] * (length - len(row))] for row in rows], device=device)
    lengths = torch.tensor([len(row) for row in rows], device=device)
    return ids, torch.arange(length, device=device)[None, :] < lengths[:, None]


def batches(lengths: Sequence[int], tokens: int) -> Iterator[list[int]]:
    """Batches of row indices by descending length, with at most `tokens` padded tokens, but at least one row."""
    batch: list[int] = []
    for row in sorted(range(len(lengths)), key=lambda index: -lengths[index]):
        if batch and (len(batch) + 1) * lengths[batch[0]] > tokens:
            yield batch
            check()
            batch = []
        batch.append(row)
    if batch:
        yield batch
