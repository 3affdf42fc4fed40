"""Statements judged by a context: true or false in a closed world, with the sentence of the context that decides.

The row is `<s> context </s> statement </s>`. Two scores of each subword find the sentence that decides, as `spans`
finds an answer; those of `<s>` say that there is none: nothing in the context supports what is said. The mean state of
the statement, through a layer with tanh, gives the logit that it is said, not denied. True is what is supported and
said, or not supported and denied:

    p(true) = s a + (1 - s) (1 - a),   s = p(support), a = p(said)

The paper (Foroutan et al. 2023) has one logit from `<s>` alone. To learn this exclusive or from labels, at `<s>`, takes
far longer than all else.
Shapes: B batch, L length, W width.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from dragoman.backbone.padding import pad_rows
from dragoman.reasoning.spans import masked_scores
from dragoman.reasoning.structured_attention import Masks
from dragoman.reasoning.structured_encoder import QuestionRow, StructuredEncoder

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

    def logits(self, statements: Tensor, scores: Tensor) -> Tensor:
        """The logits (B,) of "true" from the statements' mean states (B, W) and the scores (B, L, 2) of sentences."""
        said = self.label(torch.tanh(self.pooler(statements))).squeeze(-1).float()
        return both_or_neither(support(scores), said)


def statement_mean(states: Tensor, row: QuestionRow) -> Tensor:
    """The mean (W,) of a row's states (L, W) over its statement and the special token at the end."""
    return states[row.second : len(row.ids)].mean(0)


def support(scores: Tensor) -> Tensor:
    """The logits (B,) that there is a sentence that decides, from `scores` (B, L, 2), in the mean of both ends."""
    logs = scores.log_softmax(1)
    none = logs[:, 0].clamp(max=-1e-6)
    some = torch.log(-torch.expm1(none))
    return (some - none).mean(-1)


def both_or_neither(first: Tensor, second: Tensor) -> Tensor:
    """The logits of `p q + (1 - p)(1 - q)` from those of p and q."""
    logs = [F.logsigmoid(sign * each) for each in (first, second) for sign in (1, -1)]
    return torch.logaddexp(logs[0] + logs[2], logs[1] + logs[3]) - torch.logaddexp(logs[0] + logs[3], logs[1] + logs[2])


class StatementReader(nn.Module):
    """The encoder and its head."""

    def __init__(self, encoder: StructuredEncoder) -> None:
        super().__init__()
        self.encoder = encoder
        self.head = StatementHead(encoder.encoder.width)

    def forward(self, rows: Sequence[QuestionRow], masks: Masks | None = None) -> tuple[Tensor, Tensor]:
        """Logits (B,) of "true", and scores (B, L, 2) of the deciding sentence as in `spans`."""
        ids, mask = pad_rows([row.ids for row in rows], self.head.label.weight.device, self.encoder.encoder.pad)
        states = self.encoder(ids, mask, masks)[-1]
        scores = masked_scores(self.head.evidence(states).float(), rows)
        means = torch.stack([statement_mean(row_states, row) for row_states, row in zip(states, rows, strict=True)])
        return self.head.logits(means, scores), scores
