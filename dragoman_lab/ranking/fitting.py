"""Score weights of a reranker, fitted on tuning lists.

The weight of standalone structured queries maximises MAP with and without the first stage; the weight of the first
stage maximises MAP of the combination; scale and offset calibrate scores to probabilities (minimal
balanced cross-entropy). Language pairs without a gain over the first stage are recorded; they are reranked only on
request.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from dragoman.ranking.about import Floats, RerankerAbout, StandaloneAbout, interpolate
from dragoman.ranking.mart import Mart
from dragoman.ranking.scoring import Scorer
from dragoman_lab.ranking.lists import Lists, ListsError
from dragoman_lab.ranking.measuring import WEIGHTS, average_precision, rows_of_lists

SHARE_WEIGHTS = (0.0, 10.0, 20.0, 30.0, 45.0, 60.0, 80.0, 100.0, 120.0)
DEPTH = 30
"""Number of candidates of each list for fitting."""
_REGULARISATION = 1e-4
"""Weight of the squared logarithm of the scale, see `calibration`."""


class Weights(NamedTuple):
    """Weights of the model's score, the log of the first stage's share, and the standalone share."""

    model: float = 0.0
    first_stage: float = 0.0
    share: float = 0.0


FIRST_STAGE = Weights(first_stage=1.0)


@dataclass(frozen=True)
class Question:
    """The scores of the candidates of one question by each part, and their relevance."""

    first_stage: Floats
    model: Floats
    shares: Floats
    relevant: list[bool]
    count: int

    def scores(self, weights: Weights) -> Floats:
        """The weighted scores of the candidates."""
        model = weights.model * self.model + weights.share * self.shares
        return interpolate(model, self.first_stage, weights.first_stage)

    def average_precision(self, weights: Weights) -> float:
        return average_precision(self.scores(weights), self.relevant, self.count)


@dataclass(frozen=True)
class Fit:
    """The questions of each tuning set, and the best weights of each combination of parts."""

    sets: Mapping[str, list[Question]]
    chosen: Mapping[str, Weights]

    def maps(self) -> dict[str, dict[str, float]]:
        """MAP by combination, of each set and their `mean`."""
        maps_of_sets = {
            name: {set_name: self.map(set_name, weights) for set_name in self.sets}
            for name, weights in self.chosen.items()
        }
        return {name: {**maps, "mean": float(np.mean(list(maps.values())))} for name, maps in maps_of_sets.items()}

    def map(self, name: str, weights: Weights) -> float:
        """MAP of one set with these weights."""
        return float(np.mean([question.average_precision(weights) for question in self.sets[name]]))


def fit(model: Mart, about: RerankerAbout, tuning: Mapping[str, Lists], *, queries: int) -> tuple[RerankerAbout, Fit]:
    """Fit the settings of a MART on `queries` evenly spaced lists of each set.

    Raises:
        ListsError: if there is no list.
    """
    scorer = Scorer(model)
    tuning = {name: lists for name, lists in tuning.items() if len(lists)}
    sets = {name: list(_questions(scorer, lists, about, queries)) for name, lists in tuning.items()}
    pairs = {name: f"{lists.source}-{lists.target}" for name, lists in tuning.items()}
    return fit_questions(about, sets, pairs, WEIGHTS, SHARE_WEIGHTS)


def fit_questions(
    about: RerankerAbout,
    sets: Mapping[str, list[Question]],
    pairs: Mapping[str, str],
    first_stage_weights: Sequence[float],
    share_weights: Sequence[float],
) -> tuple[RerankerAbout, Fit]:
    """Fit the settings of a reranker on the questions of sets, whose language pairs are `pairs`.

    Raises:
        ListsError: if there is no set.
    """
    if not sets:
        raise ListsError("no tuning list to fit weights on")
    result = Fit(sets, _choose_weights(sets, first_stage_weights, share_weights))
    alone = _standalone(result)
    about = replace(
        about,
        first_stage_weight=float(f"{alone.scale * result.chosen['all'].first_stage:.4g}"),
        standalone=alone,
        not_for=_without_gain(result, pairs),
    )
    return about, result


def _questions(scorer: Scorer, lists: Lists, about: RerankerAbout, queries: int) -> Iterator[Question]:
    rows = rows_of_lists(scorer, lists, depth=DEPTH, queries=queries, direction=about.direction, placebo=about.placebo)
    for query_list, documents in rows:
        yield Question(
            np.asarray([candidate.score for candidate in query_list.candidates]),
            np.asarray(scorer.scores(documents)),
            np.asarray(scorer.shares(documents)),
            [candidate.relevant for candidate in query_list.candidates],
            query_list.relevant,
        )


def _choose_weights(
    sets: Mapping[str, list[Question]], first_stage_weights: Sequence[float], share_weights: Sequence[float]
) -> dict[str, Weights]:
    """The best weights of each combination.

    The standalone score of a document is the same in searches (all parts) and without a first stage. So the mean MAP of
    both cases decides the weight of the structured query.
    """
    pairs = []
    for share in share_weights:
        alone = Weights(1.0, share=share)
        pairs.append(
            (best_weights(sets, [alone._replace(first_stage=weight) for weight in first_stage_weights]), alone)
        )
    combined, standalone = max(pairs, key=lambda pair: sum(_mean(sets, weights) for weights in pair))
    structured = [Weights(0.0, weight, share) for weight, share in product(first_stage_weights, share_weights)]
    return {
        "first stage": FIRST_STAGE,
        "with the model": best_weights(sets, [Weights(1.0, weight) for weight in first_stage_weights]),
        "with structured queries": best_weights(sets, structured),
        "all": combined,
        "model alone": Weights(1.0),
        "structured queries alone": Weights(share=1.0),
        "standalone": standalone,
    }


def best_weights(sets: Mapping[str, list[Question]], weights: list[Weights]) -> Weights:
    """The weights with the best mean MAP over the sets."""
    return max(weights, key=lambda candidate: _mean(sets, candidate))


def _mean(sets: Mapping[str, list[Question]], weights: Weights) -> float:
    all_sets = Fit(sets, {})
    return float(np.mean([all_sets.map(name, weights) for name in sets]))


def _without_gain(result: Fit, pairs: Mapping[str, str]) -> list[str]:
    """The language pairs (`pairs` maps each set to its pair) without a gain over the first stage."""
    maps = result.maps()
    gains: dict[str, float] = {}
    for name, pair in pairs.items():
        gains[pair] = gains.get(pair, 0.0) + maps["all"][name] - maps["first stage"][name]
    return sorted(pair for pair, gain in gains.items() if gain <= 0)


def _standalone(result: Fit) -> StandaloneAbout:
    """The standalone settings with fitted scale and offset."""
    weights = result.chosen["standalone"]
    relevant = [
        is_relevant for questions in result.sets.values() for question in questions for is_relevant in question.relevant
    ]
    scale, offset = calibration(_scores(result, weights), relevant)
    return StandaloneAbout(weights.share, float(f"{scale:.4g}"), round(offset, 4))


def _scores(result: Fit, weights: Weights) -> Floats:
    """The scores of all candidates."""
    return np.concatenate([question.scores(weights) for questions in result.sets.values() for question in questions])


def calibration(scores: Floats, relevant: Sequence[bool]) -> tuple[float, float]:
    """Scale and offset that calibrate sigmoids of `scale * score - offset` to probabilities of relevance.

    A weak regularisation towards scale 1 keeps it positive and finite for uninformative or perfect scores.
    """
    labels, values = torch.as_tensor(relevant, dtype=torch.float64), torch.as_tensor(scores)
    fitted = torch.zeros(2, dtype=torch.float64, requires_grad=True)
    optimizer = torch.optim.LBFGS([fitted], max_iter=200, line_search_fn="strong_wolfe")

    def loss() -> Tensor:
        optimizer.zero_grad()
        logits = fitted[0].exp() * values - fitted[1]
        penalised = balanced_cross_entropy(logits, labels) + _REGULARISATION * fitted[0].square()
        penalised.backward()  # type: ignore[no-untyped-call]
        return penalised

    optimizer.step(loss)  # type: ignore[no-untyped-call]
    log_scale, offset = fitted.detach().tolist()
    return math.exp(log_scale), offset


def balanced_cross_entropy(logits: Tensor, labels: Tensor) -> Tensor:
    """Binary cross-entropy of scores (N,), with equal total weight of relevant (label 1) and other documents."""
    weights = torch.where(labels > 0, 0.5 / labels.sum(), 0.5 / (1 - labels).sum())
    return F.binary_cross_entropy_with_logits(logits, labels, weights, reduction="sum")
