"""A document in the ranking of a search, with its scores so far."""

from __future__ import annotations

from dataclasses import dataclass

from dragoman.indexes.dense.index import DenseHit
from dragoman.service.collections.service import CollectionInfo
from dragoman.service.schemas.search import Fusion
from dragoman.service.search.bm25 import Part


@dataclass(frozen=True, slots=True)
class Ranked:
    """A document in the final ranking."""

    collection: CollectionInfo
    key: int
    score: float
    first_stage: float
    part: Part | None = None
    """The BM25 ranking that includes it, or None."""
    passage: DenseHit | None = None
    """Its best passage if dense search found it, or None."""
    fusion: Fusion | None = None
    dense: float | None = None
    """The inner product of the vectors of the query and the best passage, or None."""
    late: float | None = None
    """How well its subwords match the query's, or None."""
    rerank: float | None = None
    """The reranker's score, a probability, or None."""
