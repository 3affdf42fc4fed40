"""How well a model reranks lists: mean average precision, alone and interpolated with the first stage."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dragoman.ranking.about import StandaloneAbout, interpolated, standalone
from dragoman.ranking.attention import Direction
from dragoman.ranking.passages import Passage, shortened
from dragoman.ranking.scoring import Scorer
from dragoman.ranking.training.lists import CandidateList, Lists

WEIGHTS = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 12.0, 16.0, 24.0, 32.0)
"""Weights of the first stage beside the model that are tried."""


@dataclass(frozen=True)
class Scored:
    """The candidates of one query: scores of the first stage and of the model, and which are relevant.

    `shares` are what structured queries of each by itself say (see `structured`); the model's scores are without them.
    """

    name: str
    first_stage: list[float]
    model: list[float]
    shares: list[float]
    relevant: list[bool]
    count: int
    """How many documents are relevant, retrieved or not."""

    def average_precision(self, weight: float | None, about: StandaloneAbout | None = None) -> float:
        """Of the order by `standalone` and `interpolated`, ties in first-stage order.

        Without a weight of the first stage alone; without `about` the model's scores are the documents'.
        """
        first = np.asarray(self.first_stage)
        scores = standalone(np.asarray(self.model), np.asarray(self.shares), about)
        together = first if weight is None else interpolated(scores, first, weight)
        return average_precision(together, self.relevant, self.count)


def average_precision(scores: NDArray[np.floating[Any]], relevant: Sequence[bool], count: int) -> float:
    """Of documents ordered by score, ties as they come, when `count` documents are relevant, given or not."""
    order = np.argsort(-scores, kind="stable")
    ranks = np.flatnonzero(np.asarray(relevant, bool)[order]) + 1
    return float((np.arange(1, len(ranks) + 1) / ranks).sum() / max(1, count))


def at_even_distances(many: int, wanted: int | None) -> list[int]:
    """The numbers of `wanted` of `many` lists at even distances, or of all."""
    chosen = many if wanted is None else min(wanted, many)
    return np.linspace(0, many - 1, chosen).astype(int).tolist() if chosen else []


def rows_of_lists(
    scorer: Scorer,
    lists: Lists,
    *,
    depth: int,
    queries: int | None = None,
    direction: Direction = "mean",
    placebo: bool = False,
) -> Iterator[tuple[CandidateList, list[list[Passage]]]]:
    """Lists cut to their best `depth` candidates, and these as the model reads them, each as its passages.

    Of `queries` lists `at_even_distances`. A query that leaves no room for a passage is read in part, as in
    searches.
    """
    for number in at_even_distances(len(lists), queries):
        whole = lists[number]
        one = replace(whole, candidates=whole.candidates[:depth])
        texts = [candidate.text for candidate in one.candidates]
        links = lists.links(one.query, texts, direction, placebo)
        query = shortened(scorer.encoder, lists.text(one.query))
        yield one, scorer.rows(query, [lists.text(text) for text in texts], links)


def score_lists(
    scorer: Scorer,
    lists: Lists,
    *,
    depth: int,
    queries: int | None = None,
    direction: Direction = "mean",
    placebo: bool = False,
    step: Callable[[], None] = lambda: None,
) -> list[Scored]:
    """The candidates of each query scored, of which queries and how many see `rows_of_lists`."""
    found = []
    rows = rows_of_lists(scorer, lists, depth=depth, queries=queries, direction=direction, placebo=placebo)
    for one, documents in rows:
        found.append(
            Scored(
                one.name,
                [candidate.score for candidate in one.candidates],
                scorer.values(documents),
                scorer.shares(documents),
                [candidate.relevant for candidate in one.candidates],
                one.relevant,
            )
        )
        step()
    return found


def mean_average_precision(scored: Sequence[Scored], weight: float | None) -> float:
    """MAP of the lists reranked, see `Scored.average_precision`."""
    return float(np.mean([one.average_precision(weight) for one in scored])) if scored else 0.0


def best_weight(scored: Mapping[str, Sequence[Scored]]) -> float:
    """The weight of `WEIGHTS` with the best mean over the sets of their MAP."""
    return max(WEIGHTS, key=lambda weight: np.mean([mean_average_precision(one, weight) for one in scored.values()]))
