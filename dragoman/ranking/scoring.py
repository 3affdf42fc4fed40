"""Scores of documents for a query: passages, batches by a budget of tokens, and MART's mean over a document's passages.

A document is read up to its first 800 subwords, in equal passages as long as the model reads beside the query; what
is left out is said, never hidden. Passages of all documents are sorted by length and batched by their padded tokens.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from dragoman.backbone.encoder import Encoder, Pair
from dragoman.backbone.tokenizer import cut
from dragoman.ranking.attention import Ints, TranslationReference, Words, word_of_pieces
from dragoman.ranking.mart import Mart
from dragoman.ranking.mixing import Mixing, Row

DOCUMENT_SUBWORDS = 800
TOKENS_AT_ONCE = 8_192


class QueryTooLong(ValueError):
    """A query that leaves no room for a passage beside it."""


@dataclass(frozen=True)
class Score:
    """A document's score, and whether it was read only up to its first subwords."""

    value: float
    truncated: bool


@dataclass(frozen=True)
class Read:
    """A text as the model reads it: its subwords, the word each lies in (-1: none), and its words."""

    ids: list[int]
    pieces: Ints
    words: Words


@dataclass(frozen=True)
class Passage:
    """One row to be read: of which document, and its matrix M's words and links."""

    document: int
    pair: Pair
    row: Row


def read(encoder: Encoder, texts: Sequence[str], words: Sequence[Words]) -> list[Read]:
    """Texts with their words, whose spans lie in them, in the model's subwords."""
    return [
        Read(found.ids, word_of_pieces(own.spans, found.offsets), own)
        for found, own in zip(encoder.subwords(texts), words, strict=True)
    ]


def passages(
    encoder: Encoder, query: Read, documents: Sequence[Read], reference: TranslationReference
) -> Iterator[Passage]:
    """The rows that stand for documents, at least one each.

    Raises:
        QueryTooLong: there is no room for a passage beside the query.
    """
    room = encoder.room_beside(len(query.ids))
    if room < 1:
        raise QueryTooLong(f"the query has {len(query.ids)} subwords, which leaves no room for a passage beside it")
    for number, document in enumerate(documents):
        links = reference.links(document.words)
        start = 0
        for ids in cut(document.ids[:DOCUMENT_SUBWORDS], room):
            pair, pieces = encoder.pair(query.ids, ids), document.pieces[start : start + len(ids)]
            start += len(ids)
            yield Passage(number, pair, Row(pair.first, query.pieces, pair.second, pieces, links))


class Scorer:
    """Scores documents with a model in evaluation mode, in the thread that calls."""

    def __init__(self, model: Mart, tokens_at_once: int = TOKENS_AT_ONCE) -> None:
        self.model, self.encoder = model.eval(), model.encoder
        self._tokens = tokens_at_once

    def score(self, query: Read, documents: Sequence[Read], reference: TranslationReference) -> list[Score]:
        """A score for each document; it is the same, but for rounding, whatever else is scored beside it.

        Raises:
            QueryTooLong: there is no room for a passage beside the query.
        """
        rows = list(passages(self.encoder, query, documents, reference))
        if not rows:
            return []
        with torch.inference_mode():
            pooled = torch.empty(len(rows), self.encoder.width)
            for batch in batches([len(row.pair.ids) for row in rows], self._tokens):
                pooled[batch] = self.pooled([rows[one] for one in batch]).cpu()
            device = next(self.model.parameters()).device
            values = self.model(pooled.to(device), [row.document for row in rows]).tolist()
        return [
            Score(value, len(document.ids) > DOCUMENT_SUBWORDS)
            for value, document in zip(values, documents, strict=True)
        ]

    def pooled(self, rows: Sequence[Passage]) -> Tensor:
        """The pooled states (rows, width) of passages that are read together."""
        device = next(self.model.parameters()).device
        length = max(len(row.pair.ids) for row in rows)
        ids = _padded([row.pair.ids for row in rows], length, self.encoder.pad, device)
        mask = _padded([[1] * len(row.pair.ids) for row in rows], length, 0, device).bool()
        positions = [row.pair.positions for row in rows if row.pair.positions is not None]
        segments = [row.pair.segments for row in rows if row.pair.segments is not None]
        return self.model.pooled(
            ids,
            mask,
            Mixing.of([row.row for row in rows], length, device),
            positions=_padded(positions, length, 0, device) if positions else None,
            segments=_padded(segments, length, 0, device) if segments else None,
        )


def batches(lengths: Sequence[int], tokens: int) -> Iterator[list[int]]:
    """Numbers of rows by falling length, cut where a batch would hold more padded tokens; one row at least."""
    batch: list[int] = []
    for number in sorted(range(len(lengths)), key=lambda one: -lengths[one]):
        if batch and (len(batch) + 1) * lengths[batch[0]] > tokens:
            yield batch
            batch = []
        batch.append(number)
    if batch:
        yield batch


def _padded(rows: Sequence[Sequence[int]], length: int, fill: int, device: torch.device) -> Tensor:
    return torch.tensor([[*row, *[fill] * (length - len(row))] for row in rows], device=device)
