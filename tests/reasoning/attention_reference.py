"""Structured self-attention as the paper writes it, in float64, one position at a time where masks are concerned."""

from __future__ import annotations

import torch
from torch import Tensor

from dragoman.reasoning.structured_attention import PADDING, Masks


def reference(query: Tensor, cross: Tensor, key: Tensor, value: Tensor, masks: Masks) -> Tensor:
    """rownorm(M1 * exp(QK'/sqrt(D)) + M2 * exp(Q_cross K'/sqrt(D))) V, (B, H, L, D) in float64."""
    query, cross, key, value = (x.double() for x in (query, cross, key, value))
    scale = query.shape[-1] ** -0.5
    own = (query @ key.transpose(-1, -2) * scale).exp() * masks.within[:, None]
    other = (cross @ key.transpose(-1, -2) * scale).exp() * masks.across[:, None]
    weights = own + other
    return weights / weights.sum(-1, keepdim=True) @ value


def masks_without_interference(languages: Tensor) -> Masks:
    """M1 and M2 for α = 0, entry by entry."""
    batch, length = languages.shape
    within = torch.zeros(batch, length, length, dtype=torch.bool)
    across = torch.zeros_like(within)
    for row in range(batch):
        for i in range(length):
            for j in range(length):
                if languages[row, j] == PADDING:
                    continue
                same = languages[row, i] == languages[row, j]
                within[row, i, j] = bool(same) or i == 0 or j == 0
                across[row, i, j] = not bool(same) or i == 0 or j == 0
    return Masks(within, across)
