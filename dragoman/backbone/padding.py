"""Rows of ids as one tensor."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from dragoman.backbone.tokenizer import PAD


def padded(rows: Sequence[Sequence[int]], device: torch.device, pad: int = PAD) -> tuple[Tensor, Tensor]:
    """Rows as ids (batch, length), padded at the end to the longest, and their mask (batch, length), true at tokens."""
    length = max(map(len, rows))
    ids = torch.tensor([[*row, *[pad] * (length - len(row))] for row in rows], device=device)
    lengths = torch.tensor([len(row) for row in rows], device=device)
    return ids, torch.arange(length, device=device)[None, :] < lengths[:, None]
