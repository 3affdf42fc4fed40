"""Fusion of rankings: across collections and languages, or of different scores of the same documents."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from dragoman.indexes.bm25 import Ranking

__all__ = ["RRF_K", "calibrate", "convex", "merge_by_share", "rrf"]

RRF_K = 60
"""The constant of reciprocal rank fusion, as in its paper."""

S = TypeVar("S")
T = TypeVar("T", bound=Hashable)


def merge_by_share(
    rankings: Iterable[tuple[S, Ranking]], order: Callable[[S], Any], k: int | None = None
) -> list[tuple[S, int, float]]:
    """Merge rankings of different documents by each hit's share of the maximal attainable score.

    One query's scores differ in scale between languages and collections, because the number and idf of its
    translated terms differ. Divided by :attr:`Ranking.attainable`, they lie in [0, 1): the idf-weighted part of
    the query that the document covers.

    Args:
        rankings: each with an identifier of its source, such as the collection's name.
        order: of sources, by which ties are broken.
        k: how many hits to return; all by default.

    Returns:
        ``(source, key, share)``, best first; ties by the order of the sources, then by ascending key.
    """
    merged = [
        (-hit.score / ranking.attainable, place, hit.key, source)
        for source, place, ranking in [(source, order(source), ranking) for source, ranking in rankings]
        for hit in ranking.hits
    ]
    merged.sort(key=lambda entry: entry[:3])
    return [(source, key, -share) for share, _, key, source in merged[:k]]


def calibrate(cosine: float, floor: float) -> float:
    """A cosine as a share of its range above ``floor``, the cosine of unrelated texts: 0 at or below it, 1 at 1."""
    return min(1.0, max(0.0, (cosine - floor) / (1.0 - floor)))


def convex(
    shares: Mapping[T, float],
    near: Mapping[T, float],
    weight: Callable[[T], float],
    order: Callable[[T], Any],
    k: int | None = None,
) -> list[tuple[T, float]]:
    """Convex combination of scores (Bruch, Gai & Ingber 2022): ``(1 - weight) share + weight near``.

    Args:
        shares: of the BM25 ranking's attainable score, in [0, 1); 0 for an item that is not in it.
        near: calibrated cosines, in [0, 1]. An item without one is scored by its share alone.
        weight: of an item, in [0, 1].
        order: of items, by which ties are broken.
        k: how many items to return; all by default.

    Returns:
        The items with their scores in [0, 1], best first.

    Raises:
        ValueError: if a weight is outside [0, 1].
    """
    scores = dict(shares)
    for candidate, nearness in near.items():
        near_weight = weight(candidate)
        if not 0 <= near_weight <= 1:
            raise ValueError(f"the weight of a convex combination is {near_weight}; it must lie between 0 and 1")
        scores[candidate] = (1 - near_weight) * shares.get(candidate, 0.0) + near_weight * nearness
    return sorted(scores.items(), key=lambda scored: (-scored[1], order(scored[0])))[:k]


def rrf(
    rankings: Sequence[Sequence[T]],
    order: Callable[[T], Any],
    k: int | None = None,
    constant: float = RRF_K,
    weights: Sequence[float] | None = None,
) -> list[tuple[T, float]]:
    """Reciprocal rank fusion (Cormack, Clarke & Buettcher 2009): ``score(d) = sum_r 1 / (constant + rank_r(d))``.

    Ranks start at 1; a ranking without ``d`` adds nothing. If a ranking holds an item
    twice, its first rank counts. ``weights`` has one factor per ranking; ``order`` of items breaks ties.

    Returns:
        The ``k`` best items (all by default) with their scores, best first.

    Raises:
        ValueError: if ``constant`` or a weight is negative, or there is not one weight per ranking.
    """
    if constant < 0:
        raise ValueError(f"the constant of reciprocal rank fusion is {constant}; it must be at least 0")
    weights = [1.0] * len(rankings) if weights is None else weights
    if len(weights) != len(rankings) or any(weight < 0 for weight in weights):
        raise ValueError(f"{len(rankings)} rankings need as many weights of at least 0, not {list(weights)}")
    scores: dict[T, float] = {}
    seen: list[set[T]] = [set() for _ in rankings]
    for rank in range(1, max(map(len, rankings), default=0) + 1):
        for ranking, ranked, weight in zip(rankings, seen, weights, strict=True):
            if rank <= len(ranking) and ranking[rank - 1] not in ranked:
                ranked.add(ranking[rank - 1])
                scores[ranking[rank - 1]] = scores.get(ranking[rank - 1], 0.0) + weight / (constant + rank)
    return sorted(scores.items(), key=lambda scored: (-scored[1], order(scored[0])))[:k]
