"""One ranking out of several: of other collections or languages, or of other ways to score the same documents."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import TypeVar

from dragoman.indexes.bm25 import Ranking

__all__ = ["RRF_K", "normalised", "rrf"]

RRF_K = 60
"""The constant of reciprocal rank fusion, as in its paper."""

S = TypeVar("S")
T = TypeVar("T", bound=Hashable)


def normalised(rankings: Iterable[tuple[S, Ranking]], k: int | None = None) -> list[tuple[S, int, float]]:
    """Merge rankings of different documents by the share of its attainable score that each hit has.

    Scores of one query in different languages or collections differ in scale, with the number and the idf of
    the terms that its translation finds there. Divided by :attr:`Ranking.attainable`, they lie in [0, 1): the
    part of the query, weighted by how telling its terms are there, that the document covers.

    Args:
        rankings: each with what identifies its documents' source, such as a collection's name.
        k: how many of the best to return; all by default.

    Returns:
        ``(source, key, share)``, best first; ties in the order of the rankings, then by ascending key.
    """
    merged = [
        (-hit.score / ranking.attainable, position, hit.key, source)
        for position, (source, ranking) in enumerate(rankings)
        for hit in ranking.hits
    ]
    merged.sort(key=lambda entry: entry[:3])
    return [(source, key, -share) for share, _, key, source in merged[:k]]


def rrf(
    rankings: Sequence[Sequence[T]],
    k: int | None = None,
    constant: float = RRF_K,
    weights: Sequence[float] | None = None,
) -> list[tuple[T, float]]:
    """Reciprocal rank fusion (Cormack, Clarke & Buettcher 2009): ``score(d) = sum_r 1 / (constant + rank_r(d))``.

    Ranks start at 1; a ranking without ``d`` adds nothing. An item that a ranking holds twice counts at its
    first rank. With ``weights``, one for each ranking, its part of the sum is multiplied by it.

    Returns:
        The ``k`` best items (all by default) with their scores, best first; ties in the order of first
        appearance, the rankings read side by side from the top.

    Raises:
        ValueError: for a negative ``constant`` or weight, or another number of weights than of rankings.
    """
    if constant < 0:
        raise ValueError(f"the constant of reciprocal rank fusion is {constant}; it must be at least 0")
    weights = [1.0] * len(rankings) if weights is None else weights
    if len(weights) != len(rankings) or any(weight < 0 for weight in weights):
        raise ValueError(f"{len(rankings)} rankings need as many weights of at least 0, not {list(weights)}")
    scores: dict[T, float] = {}
    seen: list[set[T]] = [set() for _ in rankings]
    for rank in range(1, max(map(len, rankings), default=0) + 1):
        for ranking, known, weight in zip(rankings, seen, weights, strict=True):
            if rank <= len(ranking) and ranking[rank - 1] not in known:
                known.add(ranking[rank - 1])
                scores[ranking[rank - 1]] = scores.get(ranking[rank - 1], 0.0) + weight / (constant + rank)
    return sorted(scores.items(), key=lambda item: -item[1])[:k]
