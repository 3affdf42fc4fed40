"""M applied to states: the translation attention matrix of a batch, from its word links alone.

M h of a subword is the sum over the subwords of its own word, plus T times that over each linked word, divided by the
row's sum. So states are summed by word, the sums are passed along the links, and each subword takes its word's: the
cost grows with the subwords and the links, never with the square of the length.
Shapes: B batch, L length, W width, E links.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from dragoman.ranking.attention import Links


@dataclass(frozen=True)
class Row:
    """A query and a passage as they stand in one row of a batch.

    `query` and `passage` hold the word of each subword (-1: of none) and begin at `first` and `second`.
    """

    first: int
    query: Sequence[int]
    second: int
    passage: Sequence[int]
    links: Links


@dataclass(frozen=True)
class Mixing:
    """The matrices M of a batch.

    `word` (B, L) numbers each place's word by the first place of it in the batch, special tokens and padding being
    words of their own. `left`, `right` (2E,) are linked words, each link given both ways, and `weights` (2E,) their T.
    `sums` (B L,) are the sums of M's rows, by word.
    """

    word: Tensor
    left: Tensor
    right: Tensor
    weights: Tensor
    sums: Tensor

    @classmethod
    def of(cls, rows: Sequence[Row], length: int, device: torch.device) -> Mixing:
        """The matrices of rows that are padded to `length`."""
        word: list[list[int]] = []
        left: list[int] = []
        right: list[int] = []
        weights: list[float] = []
        count = 0
        for row in rows:
            places = list(range(count, count + length))  # a place is its own word, unless it shares one
            queries = _share(places, row.first, row.query)
            passages = _share(places, row.second, row.passage)
            count += length
            word.append(places)
            for query, passage, weight in zip(row.links.left, row.links.right, row.links.weights, strict=True):
                if query in queries and passage in passages:  # a word may have lost its subwords to a cut
                    left += [queries[query], passages[passage]]
                    right += [passages[passage], queries[query]]
                    weights += [weight, weight]
        words = torch.tensor(word, device=device)
        sizes = torch.bincount(words.flatten(), minlength=count).float()
        one, other = (torch.tensor(side, dtype=torch.long, device=device) for side in (left, right))
        given = torch.tensor(weights, device=device)
        sums = sizes.index_add(0, one, given * sizes[other])
        return cls(words, one, other, given, sums.clamp(min=1.0))  # a number that no word has stays without subwords

    def __call__(self, h: Tensor) -> Tensor:
        """M h, (B, L, W)."""
        flat, word = h.flatten(0, 1), self.word.flatten()
        pooled = torch.zeros_like(flat).index_add(0, word, flat)
        passed = pooled[self.right] * self.weights[:, None].to(h.dtype)
        mixed = pooled.index_add(0, self.left, passed) / self.sums[:, None].to(h.dtype)
        return mixed[word].view_as(h)


def _share(places: list[int], start: int, words: Sequence[int]) -> dict[int, int]:
    """Number all places of a word as its first; returns each word's number."""
    known: dict[int, int] = {}
    for offset, word in enumerate(words):
        if word >= 0:
            places[start + offset] = known.setdefault(word, places[start + offset])
    return known
