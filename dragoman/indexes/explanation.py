"""Explanation of a document's BM25 score, computed from counts by the formula."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from dragoman.indexes.bm25 import BM25, idf
from dragoman.lexicon.query import TermGroup, TranslatedQuery
from dragoman.lexicon.text.tokens import REPEATED

__all__ = ["Statistics", "TermScore", "explain", "rarity", "stored_length"]

_EXACT = 24
_KEPT_BITS = 4


@dataclass(frozen=True, slots=True)
class Statistics:
    """What BM25 asks of a collection, for one language: whole numbers, which add up over the parts of an index."""

    documents: int
    """N: the number of documents with at least one term."""
    length: int
    """Words of all documents together, without stop words."""
    frequencies: Mapping[str, int]
    """The document frequency of each query term."""

    @property
    def average_length(self) -> float:
        """Words per document; 0 without documents."""
        return self.length / self.documents if self.documents else 0.0


@dataclass(frozen=True, slots=True)
class TermScore:
    """The contribution of one query term to a document's score.

    For ``psq``, ``score = weight idf tf / (tf + k1 (1 - b + b |D| / avgdl))``; for ``smt``, score, tf, df and
    idf are weighted sums over the translations.
    """

    tf: float
    df: float
    idf: float
    weight: float
    score: float


def explain(
    query: TranslatedQuery, statistics: Statistics, counts: Mapping[str, int], length: int, bm25: BM25
) -> list[TermScore]:
    """The contribution of each query group to a document's score; they add up to the score.

    ``counts`` holds the document's term frequencies, ``length`` is its number of words.
    """
    return [_explain(query.method, group, statistics, counts, length, bm25) for group in query.groups]


def rarity(group: TermGroup, statistics: Statistics, structured: bool) -> float:
    """A group's idf; unless ``structured``, the weighted sum of its terms' idf."""
    weights = _weights(group, statistics, structured)
    if not weights:
        return 0.0
    if structured:
        return idf(_documents(weights, statistics.frequencies), statistics.documents)
    return math.fsum(w * idf(statistics.frequencies[term], statistics.documents) for term, w in weights.items())


def stored_length(length: int) -> int:
    """A document length as Lucene stores it in one byte: four significant bits of the part above 24."""
    if length < _EXACT:
        return length
    excess = length - _EXACT
    shift = max(excess.bit_length() - _KEPT_BITS, 0)
    return _EXACT + (excess >> shift << shift)


def _explain(
    method: str, group: TermGroup, statistics: Statistics, counts: Mapping[str, int], length: int, bm25: BM25
) -> TermScore:
    structured = method != "smt"
    weights = _weights(group, statistics, structured)
    if not weights:
        return TermScore(0.0, 0.0, 0.0, group.weight, 0.0)
    tf, df = _expected_frequency(weights, counts), _documents(weights, statistics.frequencies)
    group_idf = rarity(group, statistics, structured)
    norm = bm25.k1 * (1 - bm25.b + bm25.b * stored_length(length) / statistics.average_length)
    if structured:
        score = group_idf * _saturate(tf, norm)
    else:
        score = math.fsum(
            weight * idf(statistics.frequencies[term], statistics.documents) * _saturate(counts.get(term, 0), norm)
            for term, weight in weights.items()
        )
    return TermScore(tf, df, group_idf, group.weight, group.weight * score)


def _weights(group: TermGroup, statistics: Statistics, structured: bool) -> dict[str, float]:
    """The weights of a group's terms that are in the index; capped at 1 in a structured query."""
    weights: dict[str, float] = {}
    for alternative in group.alternatives:
        if statistics.frequencies.get(alternative.term, 0):
            weights[alternative.term] = weights.get(alternative.term, 0.0) + alternative.weight
    return {term: min(weight, 1.0) for term, weight in weights.items()} if structured else weights


def _expected_frequency(weights: Mapping[str, float], counts: Mapping[str, int]) -> float:
    return math.fsum(weight * counts.get(term, 0) for term, weight in weights.items())


def _documents(weights: Mapping[str, float], frequencies: Mapping[str, int]) -> float:
    """The expected document frequency. What only repeats another alternative counts where documents have that alone."""
    others = {term: weight for term, weight in weights.items() if not term.startswith(REPEATED)}
    return _expected_frequency(others or weights, frequencies)


def _saturate(tf: float, norm: float) -> float:
    return tf / (tf + norm) if tf else 0.0
