"""The passages of a dense index in its order, their products with a query, and the documents that they make best."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["NONE", "BestPassages", "Keys", "Nearest", "Passages", "Vectors", "inner_products"]

Vectors = NDArray[np.float32]
Keys = NDArray[np.int64]


class Nearest(NamedTuple):
    """Documents and the inner products of their best passages: arrays (documents,)."""

    keys: Keys
    scores: NDArray[np.float64]
    generations: Keys

    def at(self, places: NDArray[np.int64] | NDArray[np.bool_]) -> Nearest:
        """Those at some places."""
        return Nearest(self.keys[places], self.scores[places], self.generations[places])


NONE = Nearest(np.zeros(0, np.int64), np.zeros(0), np.zeros(0, np.int64))


class Passages(NamedTuple):
    """Passages in the order of their ids, each with the key and the generation of its document: arrays (passages,)."""

    ids: Keys
    keys: Keys
    generations: Keys

    def at(self, places: NDArray[np.int64]) -> Passages:
        """Those at some places."""
        return Passages(*(part[places] for part in self))

    def places(self, ids: Sequence[int]) -> Keys:
        """Where passages are; where none was deleted, the ids themselves."""
        numbered = np.array(ids, np.int64)
        if not len(self.ids) or self.ids[-1] == len(self.ids) - 1:
            return numbered
        places: Keys = np.searchsorted(self.ids, numbered)
        return places

    def best(self, scores: Vectors) -> Keys:
        """The place of each document's best passage, the first of equal ones; best first, ties by ascending key."""
        order = np.lexsort((-scores, self.keys))  # which keeps the order of ids
        keys = self.keys[order]
        begins = np.ones(len(keys), np.bool_)
        np.not_equal(keys[1:], keys[:-1], out=begins[1:])
        first = order[begins]
        best: Keys = first[np.lexsort((self.keys[first], -scores[first]))]
        return best

    def nearest(self, places: Keys, scores: Vectors) -> Nearest:
        """The documents of passages at some places."""
        return Nearest(self.keys[places], scores[places].astype(np.float64), self.generations[places])


class BestPassages(NamedTuple):
    """Documents, and the ids of their best passages."""

    ids: list[int]
    nearest: Nearest


def inner_products(rows: Vectors, vector: Vectors) -> Vectors:
    """The inner product of each row with a vector; unlike a product of matrices, whatever rows there are beside it."""
    products: Vectors = np.einsum("ij,j->i", rows, vector)
    return products
