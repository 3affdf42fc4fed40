"""Why a document has the score it has: BM25 by its formula, from counts, beside Lucene's own computation."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from dragoman.indexes.bm25 import BM25, idf
from dragoman.lexicon.query import TermGroup, TranslatedQuery

__all__ = ["Statistics", "TermScore", "explain", "rarity", "stored_length"]

_EXACT = 24
_KEPT_BITS = 4


@dataclass(frozen=True, slots=True)
class Statistics:
    """What scores in one language of one index depend on, besides the document."""

    documents: int
    """How many documents have any term."""
    average_length: float
    """Words per document, stop words not counted."""
    frequencies: Mapping[str, int]
    """In how many documents each term of the query occurs."""


@dataclass(frozen=True, slots=True)
class TermScore:
    """What one query term adds to a document's score.

    For ``psq``, ``score = weight idf tf / (tf + k1 (1 - b + b |D| / avgdl))``; for ``smt`` it is the weighted
    sum of that over the translations, and tf, df and idf are the weighted sums of theirs.
    """

    tf: float
    df: float
    idf: float
    weight: float
    score: float


def explain(
    query: TranslatedQuery, statistics: Statistics, counts: Mapping[str, int], length: int, bm25: BM25
) -> list[TermScore]:
    """The part of each of the query's groups in the score of a document; they add up to it.

    ``counts`` says how often the document holds each term, ``length`` how many words it has.
    """
    return [_explain(query.method, group, statistics, counts, length, bm25) for group in query.groups]


def rarity(group: TermGroup, statistics: Statistics, structured: bool) -> float:
    """How much a group is worth: its idf; unless structured, the weighted sum of its terms'."""
    weights = _weights(group, statistics, structured)
    if not weights:
        return 0.0
    if structured:
        return idf(_expected(weights, statistics.frequencies), statistics.documents)
    return math.fsum(w * idf(statistics.frequencies[term], statistics.documents) for term, w in weights.items())


def stored_length(length: int) -> int:
    """A document length as Lucene keeps it in one byte: four significant bits of what exceeds 24."""
    if length < _EXACT:
        return length
    excess = length - _EXACT
    shift = max(excess.bit_length() - _KEPT_BITS, 0)
    return _EXACT + (excess >> shift << shift)


def _explain(
    method: str, group: TermGroup, statistics: Statistics, counts: Mapping[str, int], length: int, bm25: BM25
) -> TermScore:
    structured = method == "psq"
    weights = _weights(group, statistics, structured)
    if not weights:
        return TermScore(0.0, 0.0, 0.0, group.weight, 0.0)
    tf, df = _expected(weights, counts), _expected(weights, statistics.frequencies)
    worth = rarity(group, statistics, structured)
    norm = bm25.k1 * (1 - bm25.b + bm25.b * stored_length(length) / statistics.average_length)
    if structured:
        score = worth * _saturated(tf, norm)
    else:
        score = math.fsum(
            weight * idf(statistics.frequencies[term], statistics.documents) * _saturated(counts.get(term, 0), norm)
            for term, weight in weights.items()
        )
    return TermScore(tf, df, worth, group.weight, group.weight * score)


def _weights(group: TermGroup, statistics: Statistics, structured: bool) -> dict[str, float]:
    """The weight of each of a group's terms that the index holds; in a structured query at most 1."""
    weights: dict[str, float] = {}
    for alternative in group.alternatives:
        if statistics.frequencies.get(alternative.term, 0):
            weights[alternative.term] = weights.get(alternative.term, 0.0) + alternative.weight
    return {term: min(weight, 1.0) for term, weight in weights.items()} if structured else weights


def _expected(weights: Mapping[str, float], counts: Mapping[str, int]) -> float:
    return math.fsum(weight * counts.get(term, 0) for term, weight in weights.items())


def _saturated(tf: float, norm: float) -> float:
    return tf / (tf + norm) if tf else 0.0
