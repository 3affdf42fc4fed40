"""Statements judged by a context: true or false in a closed world, with the sentence of the context that decides.

The row is `<s> context </s> statement </s>`. The state of `<s>`, through a layer with tanh, gives the logit of "true"
(Foroutan et al. 2023; BERT's pooler). Two further scores of each subword find the deciding sentence as `spans` finds an
answer; that of `<s>` says that there is none: nothing in the context speaks of it, so that it is false, or its negation
true.
Shapes: B batch, L length, W width.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from dragoman.backbone.padding import padded
from dragoman.reasoning.spans import masked_scores
from dragoman.reasoning.structured_attention import Masks
from dragoman.reasoning.structured_encoder import Row, StructuredEncoder

MODEL_TYPE = "statements"


@dataclass(frozen=True)
class Judgement:
    """The logit of "true" of a row, and the scores (L, 2) of where the deciding sentence begins and ends."""

    logit: float
    scores: Tensor


class StatementHead(nn.Module):
    """The layers on top of the encoder."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.pooler, self.label, self.evidence = nn.Linear(width, width), nn.Linear(width, 1), nn.Linear(width, 2)
        for layer in (self.pooler, self.label, self.evidence):
            nn.init.normal_(layer.weight, std=0.02)
            nn.init.zeros_(layer.bias)

    def logits(self, first: Tensor) -> Tensor:
        """The logits (B,) of "true" from the states (B, W) of `<s>`."""
        found: Tensor = self.label(torch.tanh(self.pooler(first))).squeeze(-1)
        return found.float()


class StatementReader(nn.Module):
    """The encoder and its head."""

    def __init__(self, encoder: StructuredEncoder) -> None:
        super().__init__()
        self.encoder = encoder
        self.head = StatementHead(encoder.encoder.width)

    def forward(self, rows: Sequence[Row], masks: Masks | None = None) -> tuple[Tensor, Tensor]:
        """Logits (B,) of "true", and scores (B, L, 2) of the deciding sentence as in `spans`."""
        ids, mask = padded([row.ids for row in rows], self.head.label.weight.device, self.encoder.encoder.pad)
        states = self.encoder(ids, mask, masks)[-1]
        return self.head.logits(states[:, 0]), masked_scores(self.head.evidence(states).float(), rows)
