"""Scores of documents for a query: passages, batches by a token budget, and MART's mean over a document's passages.

The first 800 subwords of a document are read, in equal passages as long as fits with the query; truncation is reported.
Passages of all documents are sorted by length and batched by their padded tokens.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Protocol

import torch
from torch import Tensor

from dragoman.backbone.checkpoints import CONFIG, CheckpointError, read_json
from dragoman.backbone.encoder import Encoder
from dragoman.backbone.loading import load_encoder
from dragoman.backbone.padding import batches
from dragoman.backbone.sentences import SentenceEncoder
from dragoman.ranking.about import LATE, MART, RerankerAbout, folder_of
from dragoman.ranking.attention import Links
from dragoman.ranking.checkpoints import load_mart
from dragoman.ranking.inference import for_inference
from dragoman.ranking.late import LateScorer, late_about
from dragoman.ranking.mart import Mart, Rows
from dragoman.ranking.memory import DECIMALS, TOKENS_AT_ONCE, TOKENS_AT_ONCE_ON_GPU, while_memory_lasts
from dragoman.ranking.mixed_attention import Mixing
from dragoman.ranking.passages import Passage, ReadPart, TokenizedText, read_part, rows
from dragoman.ranking.structured_query import share


class AnyScorer(Protocol):
    """Scores documents: a :class:`Scorer`, a :class:`LateScorer` or a `cross_encoder.CrossEncoderScorer`."""

    encoder: Encoder
    """Of which only the tokenizer is used."""

    def read_part(self, query: TokenizedText, documents: Sequence[TokenizedText]) -> ReadPart: ...

    def rows(
        self, query: TokenizedText, documents: Sequence[TokenizedText], links: Sequence[Links]
    ) -> list[list[Passage]]: ...

    def shares(self, documents: Sequence[Sequence[Passage]]) -> list[float]: ...

    def scores(self, documents: Sequence[Sequence[Passage]]) -> list[float]: ...


class Scorer:
    """Scores documents with a MART in evaluation mode, in the calling thread; tokenization is thread-safe."""

    def __init__(self, model: Mart, tokens_at_once: int | None = None, dtype: torch.dtype = torch.float32) -> None:
        """`dtype` applies to encoders with BERT layers."""
        self.model, self.encoder = model.eval(), model.encoder
        self._states = for_inference(model, dtype) or partial(padded_states, model)
        self._surprisals = model.encoder.surprisals()
        self._device = next(model.parameters()).device.type
        on_gpu = self._device != "cpu"
        self._tokens = tokens_at_once or (TOKENS_AT_ONCE_ON_GPU if on_gpu else TOKENS_AT_ONCE)

    def read_part(self, query: TokenizedText, documents: Sequence[TokenizedText]) -> ReadPart:
        """The query, cut so that a passage fits, and the documents that are truncated."""
        return read_part(self.encoder, query, documents)

    def rows(
        self, query: TokenizedText, documents: Sequence[TokenizedText], links: Sequence[Links]
    ) -> list[list[Passage]]:
        """Each document's passages, with its links to the query.

        Raises:
            QueryTooLong: if the query leaves no room for a passage.
        """
        return rows(self.encoder, query, documents, links)

    def shares(self, documents: Sequence[Sequence[Passage]]) -> list[float]:
        """The structured query score of each document alone, given as its passages."""
        return [round(share(document, self._surprisals), DECIMALS) for document in documents]

    def scores(self, documents: Sequence[Sequence[Passage]]) -> list[float]:
        """The scores of documents, given as their passages, of any queries; but for rounding, each is its own."""
        if not documents:
            return []
        scores = while_memory_lasts(lambda tokens: self._scores(documents, tokens), self._tokens)
        return [round(score, DECIMALS) for score in scores]

    def _scores(self, documents: Sequence[Sequence[Passage]], tokens: int) -> list[float]:
        passages = [passage for document in documents for passage in document]
        owner = [index for index, document in enumerate(documents) for _ in document]
        # Training evaluates under autocast, but scores are served in 32 bits, and packed weights need them.
        with torch.inference_mode(), torch.autocast(self._device, enabled=False):
            scores: list[float] = self.model(pool_passages(self._states, passages, tokens), owner).tolist()
        return scores


def load_scorer(
    name_or_path: str = LATE,
    device: str = "cpu",
    dtype: torch.dtype = torch.float32,
    sentences: Callable[[str], SentenceEncoder] | None = None,
) -> tuple[AnyScorer, RerankerAbout]:
    """Load a reranker, and its settings: a MART or a `late`, one shipped or in a folder, or a cross-encoder.

    A cross-encoder is one of Hugging Face, by its name or folder. `dtype` is of a MART. `sentences` gives the sentence
    encoder of a name or folder, which is loaded without it.

    Raises:
        CheckpointError: if there is no such model, or its files are pickled, damaged or inconsistent.
    """
    folder = folder_of(name_or_path)
    config = read_json(folder / CONFIG) if folder.is_dir() else {}
    kind = config.get("model_type")
    if kind == MART:
        model, about = load_mart(str(folder), device)
        return Scorer(model, dtype=dtype), about
    if kind != LATE:
        from dragoman.ranking.cross_encoder import (
            check_kind,
            load_cross_encoder,
        )  # transformers takes seconds to import

        if folder.is_dir():  # before anything else is looked for
            check_kind(name_or_path, config)
        return load_cross_encoder(name_or_path, device)
    late, about = late_about(folder)
    encoder = sentences(late.encoder) if sentences else SentenceEncoder(load_encoder(late.encoder, device))
    try:
        return LateScorer(encoder, late), about
    except ValueError as error:
        raise CheckpointError(f"{folder / CONFIG}: {error}") from error


def rows_of(encoder: Encoder, passages: Sequence[Passage], device: torch.device) -> Rows:
    """A padded batch of passages."""
    pairs = [passage.pair for passage in passages]
    length = max(len(pair.ids) for pair in pairs)
    positions = [pair.positions for pair in pairs if pair.positions is not None]
    segments = [pair.segments for pair in pairs if pair.segments is not None]
    return Rows(
        _pad_rows([pair.ids for pair in pairs], length, encoder.pad, device),
        _pad_rows([[1] * len(pair.ids) for pair in pairs], length, 0, device).bool(),
        Mixing.of([passage.row for passage in passages], length, device),
        _pad_rows([[0] * pair.second for pair in pairs], length, 1, device),
        _pad_rows(positions, length, 0, device) if positions else None,
        _pad_rows(segments, length, 0, device) if segments else None,
    )


States = Callable[[Sequence[Passage]], Tensor]
"""Computes the pooled states (B, W) of a batch of passages."""


def padded_states(model: Mart, passages: Sequence[Passage]) -> Tensor:
    """Pooled states by the model itself, for training and for encoders without BERT layers."""
    return model.pool_rows(rows_of(model.encoder, passages, next(model.parameters()).device))


def pool_passages(states: States, passages: Sequence[Passage], tokens: int) -> Tensor:
    """The pooled states (passages, width) of passages, in batches of similar length with at most `tokens` tokens."""
    order: list[int] = []
    parts = []
    for batch in batches([len(passage.pair.ids) for passage in passages], tokens):
        order += batch
        parts.append(states([passages[index] for index in batch]))
    inverse = torch.empty(len(order), dtype=torch.long)
    inverse[torch.tensor(order)] = torch.arange(len(order))
    return torch.cat(parts)[inverse.to(parts[0].device)]


def _pad_rows(rows: Sequence[Sequence[int]], length: int, fill: int, device: torch.device) -> Tensor:
    return torch.tensor([[*row, *[fill] * (length - len(row))] for row in rows], device=device)
