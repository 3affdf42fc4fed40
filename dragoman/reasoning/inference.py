"""Readers on the unpadded inference path, with structured attention for rows in two languages."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path

import torch
from torch import Tensor, nn

from dragoman.backbone.checkpoints import CONFIG, CheckpointError
from dragoman.backbone.encoder import Pair
from dragoman.backbone.packing import pack_rows
from dragoman.backbone.post_norm import PackedAttention
from dragoman.backbone.products import fastest
from dragoman.reasoning.deltas import load_about, load_structured
from dragoman.reasoning.question_answering import Calibration
from dragoman.reasoning.spans import MODEL_TYPE as SPANS
from dragoman.reasoning.spans import masked_scores
from dragoman.reasoning.statements import MODEL_TYPE as STATEMENTS
from dragoman.reasoning.statements import Judgement, StatementHead, statement_mean
from dragoman.reasoning.structured_attention import bilingual_attention
from dragoman.reasoning.structured_encoder import QuestionRow

Dtype = torch.dtype | None


class StructuredPackedAttention(PackedAttention):
    """Attention within each packed row, by Q alone, or by Q and Q_cross where a row has a second language."""

    def __init__(
        self, rows: Sequence[QuestionRow], bilingual: Sequence[bool], size: int, device: torch.device, heads: int
    ) -> None:
        super().__init__([len(row.ids) for row in rows], size, device, heads)
        self._seconds = [row.second if two else None for row, two in zip(rows, bilingual, strict=True)]

    def __call__(self, projections: Tensor) -> Tensor:
        """Mixed values (T, W) of Q, K, V and Q_cross (T, 4W)."""
        width = projections.shape[1] // 4
        if not any(self._seconds):
            return super().__call__(projections[:, : 3 * width])
        out = projections.new_zeros(self.size, width)
        start = 0
        for length, second in zip(self.lengths, self._seconds, strict=True):
            heads = projections[start : start + length].view(1, length, 4, self.heads, -1)
            query, key, value, other = heads.permute(2, 0, 3, 1, 4).unbind(0)  # (1, H, L, W/H)
            if second is None:
                mixed = nn.functional.scaled_dot_product_attention(query, key, value)
            else:
                mixed = bilingual_attention(query, other, key, value, second)
            out[start : start + length] = mixed[0].transpose(0, 1).flatten(1)
            start += length
        return out


TOKENS_AT_ONCE, TOKENS_AT_ONCE_ON_GPU = 1_024, 16_384


class PackedReader:
    """An encoder with the deltas of a trained reader, for inference."""

    def __init__(self, folder: Path, model_type: str, head: Callable[[int], nn.Module], device: str, dtype: Dtype):
        self.about = load_about(folder, model_type)
        self.name = str(self.about.get("name", folder.name))
        self.languages = frozenset(self.about.get("languages", ()))
        """The languages of the examples that it learned from."""
        try:
            self.head = head(int(self.about["width"]))
        except (KeyError, TypeError, ValueError) as error:
            raise CheckpointError(f"{folder}: width is not usable: {error!r}") from error
        self._structured = bool(self.about.get("structured"))
        structured = load_structured(folder, self.about, self.head, device)
        self.encoder, self._device = structured.encoder, torch.device(device)
        self.tokens_at_once = TOKENS_AT_ONCE if self._device.type == "cpu" else TOKENS_AT_ONCE_ON_GPU
        """Subwords of a pass: on a CPU more are no faster, and whoever waits for the pass waits longer."""
        precision = dtype or fastest(self._device.type, (torch.float32, torch.bfloat16))
        more = [block.cross for block in structured.attention] if self._structured else None
        fast = self.encoder.for_inference(precision, whole=True, more=more)
        if fast is None:
            raise CheckpointError(f"{folder}: the layers of {self.encoder.name} are not BERT's")
        self._fast = fast
        self.encoder.to("meta")

    def states(self, rows: Sequence[QuestionRow], bilingual: Sequence[bool]) -> Tensor:
        """The last states (T, W) of all positions of all rows, one row after another."""
        tokens = pack_rows([Pair(row.ids, 0, 0) for row in rows], self.encoder.pad, self._device)
        attention = None
        if self._structured:
            attention = StructuredPackedAttention(rows, bilingual, len(tokens.ids), self._device, self._fast.heads)
        (states,) = self._fast.states(tokens, self.encoder.layers, rows=attention)
        return states[: sum(len(row.ids) for row in rows)].float()


class SpanScorer(PackedReader):
    """A trained reader of answers for inference; it implements `reading.Scorer`."""

    def __init__(self, folder: Path, device: str = "cpu", dtype: Dtype = None) -> None:
        """`dtype` is the precision, by default the fastest on this machine.

        Raises:
            CheckpointError: if the folder holds no reader, or its encoder is missing or another one.
        """
        super().__init__(folder, SPANS, lambda width: nn.Linear(width, 2), device, dtype)
        try:
            self.calibration = Calibration(**self.about.get("calibration", {}))
        except TypeError as error:
            raise CheckpointError(f"{folder}: calibration is not usable: {error!r}") from error

    def scores(self, rows: Sequence[QuestionRow], bilingual: Sequence[bool]) -> list[Tensor]:
        """Scores (L, 2) of each row, -inf outside of contexts and the first position."""
        with torch.inference_mode():
            return _split_rows(self.head(self.states(rows, bilingual)).cpu(), rows)


class StatementScorer(PackedReader):
    """A trained reader of statements for inference."""

    head: StatementHead

    def __init__(self, folder: Path, device: str = "cpu", dtype: Dtype = None) -> None:
        """`dtype` is the precision, by default the fastest on this machine.

        Raises:
            CheckpointError: if the folder holds no such reader, or its encoder is missing or another one.
        """
        super().__init__(folder, STATEMENTS, StatementHead, device, dtype)
        try:
            calibration = self.about["calibration"]
            self._slope = float(calibration["slope"])
            if len(calibration) > 1 or not math.isfinite(self._slope):  # an offset would have changed labels
                raise ValueError(calibration)
        except (KeyError, TypeError, ValueError) as error:
            raise CheckpointError(f"{folder / CONFIG}: calibration is not usable: {error!r}") from error

    def judge(self, rows: Sequence[QuestionRow], bilingual: Sequence[bool]) -> list[Judgement]:
        """The judgement of each row."""
        with torch.inference_mode():
            states = self.states(rows, bilingual)
            scores = _split_rows(self.head.evidence(states), rows)
            parts = torch.split(states, [len(row.ids) for row in rows])
            means = [statement_mean(row_states, row) for row_states, row in zip(parts, rows, strict=True)]
            logits = [
                float(self.head.logits(mean[None], row_scores[None]))
                for mean, row_scores in zip(means, scores, strict=True)
            ]
        return [Judgement(logit, row_scores.cpu()) for logit, row_scores in zip(logits, scores, strict=True)]

    def probability(self, logit: float) -> float:
        """The calibrated probability of "true"."""
        return 1 / (1 + math.exp(-max(-60.0, min(60.0, self._slope * logit))))


def _split_rows(scores: Tensor, rows: Sequence[QuestionRow]) -> list[Tensor]:
    """Scores (T, 2) of packed rows as those of each row (L, 2)."""
    split = torch.split(scores, [len(row.ids) for row in rows])
    return [masked_scores(row_scores[None], [row])[0] for row_scores, row in zip(split, rows, strict=True)]
