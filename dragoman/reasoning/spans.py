"""Answers of questions as spans of a context, by an encoder with structured self-attention.

The row is `<s> context </s> question </s>`; two scores of each subword of the context say how well an answer begins and
ends there, and those of `<s>` say that there is none (Devlin et al. 2019, section 4.3).
Shapes: B batch, L length, W width.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from dragoman.backbone.padding import pad_rows
from dragoman.reasoning.structured_attention import Masks
from dragoman.reasoning.structured_encoder import QuestionRow, StructuredEncoder

LONGEST = 48
"""Subwords of the longest answer."""


MODEL_TYPE = "spans"


@dataclass(frozen=True)
class Span:
    """An answer: the positions in its row of the first and last subword, and its score, a difference of logits."""

    start: int
    end: int
    score: float


class SpanReader(nn.Module):
    """The encoder, and the scores of beginnings and ends."""

    def __init__(self, encoder: StructuredEncoder) -> None:
        super().__init__()
        self.encoder = encoder
        self.head = nn.Linear(encoder.encoder.width, 2)
        nn.init.normal_(self.head.weight, std=0.02)
        nn.init.zeros_(self.head.bias)

    def forward(self, rows: Sequence[QuestionRow], masks: Masks | None = None) -> Tensor:
        """Scores (B, L, 2) of beginnings and ends; -inf outside of the context and its first position."""
        device = self.head.weight.device
        ids, mask = pad_rows([row.ids for row in rows], device, self.encoder.encoder.pad)
        return masked_scores(self.head(self.encoder(ids, mask, masks)[-1]).float(), rows)


def masked_scores(scores: Tensor, rows: Sequence[QuestionRow]) -> Tensor:
    """`scores` (B, L, 2), -inf outside of the subwords of the contexts and of position 0."""
    allowed = torch.zeros(scores.shape[:2], dtype=torch.bool)
    for index, row in enumerate(rows):
        allowed[index, 0] = True
        allowed[index, row.first : row.second - 1] = True
    return scores.masked_fill(~allowed.to(scores.device)[..., None], -torch.inf)


def best_spans(scores: Tensor, row: QuestionRow, count: int) -> list[Span]:
    """The best `count` spans of a row's `scores` (L, 2), which do not overlap; scored by how far above "no answer"."""
    first, last = row.first, row.second - 1
    if last <= first:
        return []
    sums = scores[first:last, :1] + scores[None, first:last, 1]
    allowed = torch.ones_like(sums, dtype=torch.bool).triu().tril(LONGEST - 1)
    sums = sums.masked_fill(~allowed, -torch.inf)
    none = float(scores[0].sum())
    spans: list[Span] = []
    while len(spans) < count:
        score, place = sums.flatten().max(0)
        if score == -torch.inf:
            break
        start, end = divmod(int(place), last - first)
        spans.append(Span(first + start, first + end, float(score) - none))
        sums[: end + 1, start:] = -torch.inf
    return spans
