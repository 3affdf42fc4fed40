"""Evaluation of reranking on lists: mean average precision, alone and interpolated with the first stage."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dragoman.ranking.about import StandaloneAbout, interpolate, standalone
from dragoman.ranking.attention import Direction
from dragoman.ranking.passages import Passage, shorten_query
from dragoman.ranking.scoring import AnyScorer
from dragoman_lab.ranking.lists import CandidateList, Lists

WEIGHTS = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 12.0, 16.0, 24.0, 32.0, 64.0, 128.0, 256.0, 512.0)
"""Candidate weights of the first stage; the highest leave its order nearly as it is, which hybrid search needs."""
LISTS_AT_ONCE = 100


@dataclass(frozen=True)
class ScoredList:
    """The candidates of one query: first-stage scores, model scores and relevance.

    `shares` are standalone structured query scores (see `structured_query`); the model scores do not include them.
    """

    name: str
    first_stage: list[float]
    model: list[float]
    shares: list[float]
    relevant: list[bool]
    count: int
    """Number of relevant documents, retrieved or not."""

    def average_precision(self, weight: float | None, about: StandaloneAbout | None = None) -> float:
        """Average precision of the order by `standalone` and `interpolate`, ties in first-stage order.

        With `weight` None, that of the first stage alone; without `about`, the model scores are used unchanged.
        """
        first = np.asarray(self.first_stage)
        scores = standalone(np.asarray(self.model), np.asarray(self.shares), about)
        final = first if weight is None else interpolate(scores, first, weight)
        return average_precision(final, self.relevant, self.count)


def average_precision(scores: NDArray[np.floating[Any]], relevant: Sequence[bool], count: int) -> float:
    """Average precision of documents ordered by score (stable), with `count` relevant documents, retrieved or not."""
    order = np.argsort(-scores, kind="stable")
    ranks = np.flatnonzero(np.asarray(relevant, bool)[order]) + 1
    return float((np.arange(1, len(ranks) + 1) / ranks).sum() / max(1, count))


def evenly_spaced_indices(total: int, count: int | None) -> list[int]:
    """The indices of `count` evenly spaced lists of `total`, or of all."""
    chosen = total if count is None else min(count, total)
    return np.linspace(0, total - 1, chosen).astype(int).tolist() if chosen else []


def rows_of_lists(
    scorer: AnyScorer,
    lists: Lists,
    *,
    depth: int,
    queries: int | None = None,
    direction: Direction = "mean",
    placebo: bool = False,
) -> Iterator[tuple[CandidateList, list[list[Passage]]]]:
    """Lists cut to their best `depth` candidates, with the passages of each candidate.

    Uses `queries` lists, evenly spaced. A query that leaves no room for a passage is shortened, as in searches.
    """
    for index in evenly_spaced_indices(len(lists), queries):
        whole = lists[index]
        query_list = replace(whole, candidates=whole.candidates[:depth])
        texts = [candidate.text for candidate in query_list.candidates]
        links = lists.links(query_list.query, texts, direction, placebo)
        query = shorten_query(scorer.encoder, lists.text(query_list.query))
        yield query_list, scorer.rows(query, [lists.text(text) for text in texts], links)


def score_lists(
    scorer: AnyScorer,
    lists: Lists,
    *,
    depth: int,
    queries: int | None = None,
    direction: Direction = "mean",
    placebo: bool = False,
    step: Callable[[], None] = lambda: None,
) -> list[ScoredList]:
    """Score the candidates of each query; see `rows_of_lists` for the choice of queries and candidates.

    Those of some queries are scored together: `late` encodes a document once that is a candidate of several.
    """
    scored = []
    rows = rows_of_lists(scorer, lists, depth=depth, queries=queries, direction=direction, placebo=placebo)
    while some := list(islice(rows, LISTS_AT_ONCE)):
        documents = [document for _, rows_of_candidates in some for document in rows_of_candidates]
        values, shares = iter(scorer.scores(documents)), iter(scorer.shares(documents))
        for query_list, candidate_rows in some:
            scored.append(
                ScoredList(
                    query_list.name,
                    [candidate.score for candidate in query_list.candidates],
                    list(islice(values, len(candidate_rows))),
                    list(islice(shares, len(candidate_rows))),
                    [candidate.relevant for candidate in query_list.candidates],
                    query_list.relevant,
                )
            )
            step()
    return scored


def mean_average_precision(scored: Sequence[ScoredList], weight: float | None) -> float:
    """MAP of the reranked lists, see `ScoredList.average_precision`."""
    return float(np.mean([query.average_precision(weight) for query in scored])) if scored else 0.0


def best_weight(scored: Mapping[str, Sequence[ScoredList]]) -> float:
    """The weight of `WEIGHTS` with the best mean MAP over the sets."""
    return max(
        WEIGHTS, key=lambda weight: np.mean([mean_average_precision(lists, weight) for lists in scored.values()])
    )
