"""BM25 as Lucene computes it, and the rankings it produces.

``score(D, Q) = sum_t boost_t idf(t) tf / (tf + k1 (1 - b + b |D| / avgdl))``, with
``idf(t) = ln(1 + (N - df + 0.5) / (df + 0.5))`` and without the constant factor ``k1 + 1`` of Robertson et al.
(1994). N is the number of documents with at least one term. |D| is rounded down to fit into one byte: it is exact
up to 40 words, and less than an eighth too low above.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dragoman.indexes.shard_group import Unsearched

__all__ = ["BM25", "Hit", "Parts", "Ranking", "idf"]


@dataclass(frozen=True, slots=True)
class BM25:
    """The parameters: k1 sets the saturation of the term frequency, b the normalisation by document length.

    Raises:
        ValueError: if k1 is negative or not finite, or b is outside [0, 1].
    """

    k1: float = 0.9
    b: float = 0.4

    def __post_init__(self) -> None:
        if not (math.isfinite(self.k1) and self.k1 >= 0):
            raise ValueError(f"BM25 k1 is {self.k1}; it must be a finite number of at least 0")
        if not 0 <= self.b <= 1:
            raise ValueError(f"BM25 b is {self.b}; it must lie between 0 and 1")


class Hit(NamedTuple):
    """A matching document, identified by its database key."""

    key: int
    score: float


@dataclass(frozen=True, slots=True)
class Ranking:
    """The best hits of one query in one language of one collection, best first, ties by ascending key."""

    hits: list[Hit] = field(default_factory=list)
    attainable: float = 0.0
    """The maximal attainable score of the query: ``sum_t boost_t idf(t)``; 0 if the index has none of its terms."""
    unsearched: tuple[Unsearched, ...] = ()


class Parts(NamedTuple):
    """The scores of chosen documents for each group of a query, for a group weight of 1, and together."""

    scores: NDArray[np.float32]
    """(documents, groups); 0 where no term of the group is in the document."""
    attainable: NDArray[np.float64]
    """The maximal attainable score of each group (groups,)."""
    totals: NDArray[np.float32]
    """(documents,) the weighted sums, as a ranking has them; 0 for a document with no term."""
    unsearched: tuple[Unsearched, ...] = ()


def idf(document_frequency: float, documents: int) -> float:
    """``ln(1 + (N - df + 0.5) / (df + 0.5))``, where df is capped at N."""
    df = min(document_frequency, float(documents))
    return math.log(1 + (documents - df + 0.5) / (df + 0.5))
