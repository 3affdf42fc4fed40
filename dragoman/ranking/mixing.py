"""M applied to states: the translation attention matrix of a batch, from its word links alone.

M h of a subword is the sum over the subwords of its own word, plus T times that over each linked word, divided by the
row's sum. So states are summed by word, the sums are passed along the links, and each subword takes its word's. A
subword that is a whole word without links keeps its state, as do special tokens and padding: only the others are
touched, and the cost grows with them and the links, never with the square of the length.
Shapes: B batch, L length, W width, P places touched, S words touched, E links.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
import torch
from torch import Tensor

from dragoman.ranking.attention import Ints, Links


@dataclass(frozen=True)
class Row:
    """A query and a passage as they stand in one row of a batch.

    `query` and `passage` hold the word of each subword (-1: of none) and begin at `first` and `second`.
    """

    first: int
    query: Ints
    second: int
    passage: Ints
    links: Links


@dataclass(frozen=True)
class Mixing:
    """The matrices M of a batch, but for the rows that are the identity's.

    `places` (P,) are the others, counted through the batch, and `word` (P,) is the word that each belongs to. `left`
    and `right` (2E,) are linked words, each link given both ways, `weights` (2E,) their T, and `sums` (S,) the sums of
    M's rows, by word.
    """

    places: Tensor
    word: Tensor
    left: Tensor
    right: Tensor
    weights: Tensor
    sums: Tensor

    @classmethod
    def of(cls, rows: Sequence[Row], length: int, device: torch.device) -> Mixing:
        """The matrices of rows that are padded to `length`."""
        return cls.at(rows, range(0, len(rows) * length, length), len(rows) * length, device)

    @classmethod
    def at(cls, rows: Sequence[Row], starts: Sequence[int], size: int, device: torch.device) -> Mixing:
        """The matrices of rows that begin at `starts` of `size` places."""
        word = np.arange(size)  # a word is numbered by its first place in the batch
        one, other, weights = [], [], []
        for start, row in zip(starts, rows, strict=True):
            queries = _share(word, start + row.first, row.query)
            passages = _share(word, start + row.second, row.passage)
            if len(row.links.left):
                left, right = _numbers(queries, row.links.left), _numbers(passages, row.links.right)
                there = (left >= 0) & (right >= 0)  # a word may have lost its subwords to a cut
                one += [left[there], right[there]]
                other += [right[there], left[there]]
                weights += [row.links.weights[there]] * 2
        nothing = [np.zeros(0, np.int64)]
        lefts, rights = np.concatenate(one or nothing), np.concatenate(other or nothing)
        given = np.concatenate(weights or [np.zeros(0, np.float32)])
        sizes = np.bincount(word, minlength=len(word))
        sums = sizes + np.bincount(lefts, given * sizes[rights], minlength=len(word))
        touched = sizes > 1
        touched[lefts] = True
        places = np.flatnonzero(touched[word])
        dense = np.cumsum(touched) - 1  # words touched, numbered without gaps
        found = places, dense[word[places]], dense[lefts], dense[rights], given, sums[touched].astype(np.float32)
        return cls(*map(torch.from_numpy, found)).to(device)

    def to(self, device: torch.device) -> Mixing:
        """The same matrices on a device."""
        return Mixing(*(getattr(self, one.name).to(device) for one in fields(self)))

    def __call__(self, h: Tensor) -> Tensor:
        """M h, (B, L, W), or (T, W) of rows one after the other."""
        flat = h.flatten(0, -2)
        pooled = flat.new_zeros(len(self.sums), flat.shape[1]).index_add(0, self.word, flat[self.places])
        passed = pooled[self.right] * self.weights[:, None].to(h.dtype)
        mixed = pooled.index_add(0, self.left, passed) / self.sums[:, None].to(h.dtype)
        return flat.index_copy(0, self.places, mixed[self.word]).view_as(h)


def _share(word: Ints, start: int, pieces: Ints) -> Ints:
    """Number all places of a word as its first; returns the number of each word, -1 for one without a place."""
    inside = pieces >= 0
    own, places = pieces[inside], start + np.flatnonzero(inside)
    numbers = np.full(int(own.max()) + 1 if len(own) else 0, -1)
    numbers[own[::-1]] = places[::-1]  # the first place of a word is written last
    word[places] = numbers[own]
    return numbers


def _numbers(known: Ints, words: Ints) -> Ints:
    """The numbers of words, -1 for one beyond those known."""
    found = np.full(len(words), -1)
    inside = words < len(known)
    found[inside] = known[words[inside]]
    return found
