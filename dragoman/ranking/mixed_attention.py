"""Sparse application of the translation attention matrices M of a batch, from word links alone.

M h of a subword is the sum over the subwords of its word, plus T times the sum over each linked word, divided by the
sum of the row. So states are summed by word, the sums are passed along the links, and each subword gets the result of
its word. A subword that is a whole word without links keeps its state, as do special tokens and padding. The cost is
linear in the other subwords and the links, not quadratic in the length.
Shapes: B batch, L length, W width, P mixed positions, S mixed words, E links.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
import torch
from torch import Tensor

from dragoman.ranking.attention import Ints, Links


@dataclass(frozen=True)
class PassageRow:
    """A query and a passage in one row of a batch.

    `query` and `passage` hold the word of each subword (-1 for none), and begin at positions `first` and `second`.
    """

    first: int
    query: Ints
    second: int
    passage: Ints
    links: Links


@dataclass(frozen=True)
class Mixing:
    """The matrices M of a batch, without rows of the identity.

    `positions` (P,) are the other rows, numbered through the batch, and `word` (P,) is the word of each. `left` and
    `right` (2E,) are linked words, with each link in both directions, `weights` (2E,) their T, and `sums` (S,) the row
    sums of M by word.
    """

    positions: Tensor
    word: Tensor
    left: Tensor
    right: Tensor
    weights: Tensor
    sums: Tensor

    @classmethod
    def of(cls, rows: Sequence[PassageRow], length: int, device: torch.device) -> Mixing:
        """The matrices of rows padded to `length`."""
        return cls.at(rows, range(0, len(rows) * length, length), len(rows) * length, device)

    @classmethod
    def at(cls, rows: Sequence[PassageRow], starts: Sequence[int], size: int, device: torch.device) -> Mixing:
        """The matrices of rows that begin at `starts`, of `size` positions in total."""
        word = np.arange(size)  # the id of a word is its first position in the batch
        lefts, rights, weights = [], [], []
        for start, row in zip(starts, rows, strict=True):
            queries = _share(word, start + row.first, row.query)
            passages = _share(word, start + row.second, row.passage)
            if len(row.links.left):
                left, right = _word_ids(queries, row.links.left), _word_ids(passages, row.links.right)
                present = (left >= 0) & (right >= 0)  # truncation may have removed all subwords of a word
                lefts += [left[present], right[present]]
                rights += [right[present], left[present]]
                weights += [row.links.weights[present]] * 2
        empty = [np.zeros(0, np.int64)]
        linked, others = np.concatenate(lefts or empty), np.concatenate(rights or empty)
        link_weights = np.concatenate(weights or [np.zeros(0, np.float32)])
        sizes = np.bincount(word, minlength=len(word))
        sums = sizes + np.bincount(linked, link_weights * sizes[others], minlength=len(word))
        mixed = sizes > 1
        mixed[linked] = True
        positions = np.flatnonzero(mixed[word])
        dense = np.cumsum(mixed) - 1  # consecutive ids of the mixed words
        arrays = (
            positions,
            dense[word[positions]],
            dense[linked],
            dense[others],
            link_weights,
            sums[mixed].astype(np.float32),
        )
        return cls(*map(torch.from_numpy, arrays)).to(device)

    def to(self, device: torch.device) -> Mixing:
        """The same matrices on a device."""
        return Mixing(*(getattr(self, field.name).to(device) for field in fields(self)))

    def __call__(self, h: Tensor) -> Tensor:
        """M h, (B, L, W), or (T, W) of packed rows."""
        flat = h.flatten(0, -2)
        pooled = flat.new_zeros(len(self.sums), flat.shape[1]).index_add(0, self.word, flat[self.positions])
        passed = pooled[self.right] * self.weights[:, None].to(h.dtype)
        mixed = pooled.index_add(0, self.left, passed) / self.sums[:, None].to(h.dtype)
        return flat.index_copy(0, self.positions, mixed[self.word]).view_as(h)


def _share(word: Ints, start: int, pieces: Ints) -> Ints:
    """Set the id of all positions of each word to its first position; return the id of each word, -1 for none."""
    inside = pieces >= 0
    words, positions = pieces[inside], start + np.flatnonzero(inside)
    ids = np.full(int(words.max()) + 1 if len(words) else 0, -1)
    ids[words[::-1]] = positions[::-1]  # the first position of a word is written last
    word[positions] = ids[words]
    return ids


def _word_ids(ids: Ints, words: Ints) -> Ints:
    """The ids of words, -1 for unknown ones."""
    ids_of_words = np.full(len(words), -1)
    inside = words < len(ids)
    ids_of_words[inside] = ids[words[inside]]
    return ids_of_words
