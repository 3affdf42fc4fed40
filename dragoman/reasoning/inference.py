"""Scores of spans on the unpadded inference path, with structured attention for rows in two languages."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import torch
from torch import Tensor, nn

from dragoman.backbone.checkpoints import CheckpointError
from dragoman.backbone.encoder import Pair
from dragoman.backbone.packing import packed
from dragoman.backbone.post_norm import PackedAttention
from dragoman.backbone.products import fastest
from dragoman.reasoning.deltas import load_about, load_structured
from dragoman.reasoning.reading import Calibration
from dragoman.reasoning.spans import MODEL_TYPE, masked_scores
from dragoman.reasoning.structured_attention import bilingual_attention
from dragoman.reasoning.structured_encoder import Row


class StructuredPackedAttention(PackedAttention):
    """Attention within each packed row, by Q alone, or by Q and Q_cross where a row has a second language."""

    def __init__(
        self, rows: Sequence[Row], bilingual: Sequence[bool], size: int, device: torch.device, heads: int
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


class SpanScorer:
    """A trained reader for inference; it implements `reading.Scorer`."""

    def __init__(self, folder: Path, device: str = "cpu", dtype: torch.dtype | None = None) -> None:
        """`dtype` is the precision, by default the fastest on this machine.

        Raises:
            CheckpointError: if the folder holds no reader, or its encoder is missing or another one.
        """
        about = load_about(folder, MODEL_TYPE)
        self.name = str(about.get("name", folder.name))
        self.languages = frozenset(about.get("languages", ()))
        """The languages of the examples that it learned from."""
        try:
            self.calibration = Calibration(**about.get("calibration", {}))
            width = int(about["width"])
        except (KeyError, TypeError, ValueError) as error:
            raise CheckpointError(f"{folder}: calibration or width is not usable: {error!r}") from error
        self._structured = bool(about.get("structured"))
        self._head = nn.Linear(width, 2)
        structured = load_structured(folder, about, self._head, device)
        self.encoder, self._device = structured.encoder, torch.device(device)
        precision = dtype or fastest(self._device.type, (torch.float32, torch.bfloat16))
        more = [block.cross for block in structured.attention] if self._structured else None
        fast = self.encoder.for_inference(precision, whole=True, more=more)
        if fast is None:
            raise CheckpointError(f"{folder}: the layers of {self.encoder.name} are not BERT's")
        self._fast = fast
        self.encoder.to("meta")

    def scores(self, rows: Sequence[Row], bilingual: Sequence[bool]) -> list[Tensor]:
        """Scores (L, 2) of each row, -inf outside of contexts and the first position."""
        tokens = packed([Pair(row.ids, 0, 0) for row in rows], self.encoder.pad, self._device)
        heads = self._fast.heads
        attention = None
        if self._structured:
            attention = StructuredPackedAttention(rows, bilingual, len(tokens.ids), self._device, heads)
        with torch.inference_mode():
            (states,) = self._fast.states(tokens, self.encoder.layers, rows=attention)
            scores = self._head(states.float())
            lengths = [len(row.ids) for row in rows]
            scores = scores[: sum(lengths)].cpu()
            split = torch.split(scores, lengths)
            return [masked_scores(own[None], [row])[0] for own, row in zip(split, rows, strict=True)]
