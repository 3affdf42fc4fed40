"""Fusion of rankings: across collections and languages, or of different scores of the same documents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["RRF_K", "Scale", "calibrate", "convex", "merge_by_share", "rrf"]

RRF_K = 60
"""The constant of reciprocal rank fusion, as in its paper."""

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Scale = tuple[int, Integers, Floats, float]
"""A ranking: the place of its source in the order that breaks ties, keys, scores, and the maximal attainable score."""


def merge_by_share(rankings: Sequence[Scale], k: int) -> tuple[Integers, Integers, Floats]:
    """Merge rankings of different documents by each hit's share of the maximal attainable score.

    One query's scores differ in scale between languages and collections, because the number and idf of its
    translated terms differ. Divided by the maximal attainable score they lie in [0, 1): the idf-weighted part of
    the query that the document covers.

    Returns:
        The ``k`` best hits, best first, ties by the order of the sources and then by ascending key: for each the index
        of its ranking, its index there, and its share.
    """
    if not rankings:
        return np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0)
    sizes = [len(keys) for _, keys, _, _ in rankings]
    sources = np.repeat(np.arange(len(rankings)), sizes)
    inside = np.concatenate([np.arange(size) for size in sizes])
    shares = np.concatenate([scores / attainable for _, _, scores, attainable in rankings])
    places = np.repeat(np.array([place for place, *_ in rankings]), sizes)
    best = np.lexsort((np.concatenate([keys for _, keys, _, _ in rankings]), places, -shares))[:k]
    return sources[best], inside[best], shares[best]


def calibrate(cosines: Floats, floor: float) -> Floats:
    """Cosines as shares of their range above ``floor``, the cosine of unrelated texts: 0 at or below it, 1 at 1."""
    return ((cosines - floor) / (1.0 - floor)).clip(0.0, 1.0)


def convex(shares: Floats, near: Floats, weights: Floats) -> Floats:
    """Convex combination of scores (Bruch, Gai & Ingber 2022): ``(1 - weight) share + weight near``, in [0, 1].

    Args:
        shares: of the BM25 ranking's attainable score (documents,), in [0, 1); NaN for a document that is not in it,
            which counts 0.
        near: calibrated cosines (documents,), in [0, 1]; a document without one, NaN, has its share alone.
        weights: of the cosines (documents,), in [0, 1].

    Raises:
        ValueError: if a weight is outside [0, 1].
    """
    if not ((weights >= 0) & (weights <= 1)).all():
        raise ValueError(f"the weights of a convex combination are {weights}; they must lie between 0 and 1")
    matched = np.nan_to_num(shares)
    return np.where(np.isnan(near), matched, (1 - weights) * matched + weights * np.nan_to_num(near))


def rrf(ranks: Sequence[Floats], weights: Sequence[float], constant: float = RRF_K) -> Floats:
    """Reciprocal rank fusion (Cormack, Clarke & Buettcher 2009): ``sum_r weight_r / (constant + rank_r)``.

    Args:
        ranks: of the documents (documents,) in each ranking, from 1 on; NaN where one is not in it, which adds nothing.
        weights: one a ranking.

    Raises:
        ValueError: if ``constant`` or a weight is negative, or there is not one weight per ranking.
    """
    if constant < 0:
        raise ValueError(f"the constant of reciprocal rank fusion is {constant}; it must be at least 0")
    if len(weights) != len(ranks) or any(weight < 0 for weight in weights):
        raise ValueError(f"{len(ranks)} rankings need as many weights of at least 0, not {list(weights)}")
    parts = [np.nan_to_num(weight / (constant + ranked)) for ranked, weight in zip(ranks, weights, strict=True)]
    scores: Any = sum(parts)
    return np.asarray(scores, np.float64)
