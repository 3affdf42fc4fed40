"""Weights of what joins a trained MART's score, fitted on tuning lists.

Late interaction and structured queries of documents by themselves, by MAP with the first stage and without; the first
stage, by MAP of all together; a scale and an offset by which scores are probabilities (least balanced cross-entropy);
and the language pairs in which all together have not more than the first stage, for which the model is then not used
unless asked for.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from dragoman.backbone.weights import shipped_names
from dragoman.ranking.about import Floats, LateInteractionAbout, MartAbout, StandaloneAbout, interpolated
from dragoman.ranking.mart import Mart
from dragoman.ranking.matching import LateInteraction, load_late_interaction
from dragoman.ranking.scoring import TOKENS_AT_ONCE, Scorer
from dragoman.ranking.training.lists import Lists, ListsError
from dragoman.ranking.training.measuring import WEIGHTS, average_precision, rows_of_lists

MATCH_WEIGHTS = (0.0, 5.0, 10.0, 15.0, 20.0, 30.0, 40.0, 50.0, 65.0)
SHARE_WEIGHTS = (0.0, 10.0, 20.0, 30.0, 45.0, 60.0, 80.0, 100.0, 120.0)
DEPTH = 30
"""Candidates of each list that are fitted on."""
_HOLD = 1e-4
"""Weight of the square of a scale's logarithm, see `_as_probabilities`."""


class Weights(NamedTuple):
    """What MART, late interaction, the log of the first stage's share, and a document's share by itself count."""

    mart: float = 0.0
    match: float = 0.0
    first_stage: float = 0.0
    share: float = 0.0


FIRST_STAGE = Weights(first_stage=1.0)


@dataclass(frozen=True)
class Question:
    """What each part says of the candidates of one question, and which are relevant."""

    first_stage: Floats
    model: Floats
    match: Floats
    shares: Floats
    relevant: list[bool]
    count: int

    def scores(self, weights: Weights) -> Floats:
        """By such weights."""
        model = weights.mart * self.model + weights.match * self.match + weights.share * self.shares
        return interpolated(model, self.first_stage, weights.first_stage)

    def average_precision(self, weights: Weights) -> float:
        return average_precision(self.scores(weights), self.relevant, self.count)


@dataclass(frozen=True)
class Fit:
    """The questions of each tuning set, and the weights that are best for each combination of parts."""

    sets: Mapping[str, list[Question]]
    chosen: Mapping[str, Weights]

    def maps(self) -> dict[str, dict[str, float]]:
        """MAP by combination, of each set and of their `mean`."""
        found = {name: {one: self.map(one, weights) for one in self.sets} for name, weights in self.chosen.items()}
        return {name: {**maps, "mean": float(np.mean(list(maps.values())))} for name, maps in found.items()}

    def map(self, name: str, weights: Weights) -> float:
        """MAP of one set by such weights."""
        return float(np.mean([one.average_precision(weights) for one in self.sets[name]]))


def fit(
    model: Mart,
    about: MartAbout,
    tuning: Mapping[str, Lists],
    late_interaction: LateInteractionAbout | None,
    *,
    queries: int,
) -> tuple[MartAbout, Fit]:
    """How a model is to be used, by `queries` lists of each set at even distances, and what was found.

    Of `late_interaction` the encoder and layer count; None: there is to be none.

    Raises:
        ListsError: there is no list to fit by.
        CheckpointError: late interaction's encoder cannot be loaded, or does not read texts as the model's does.
    """
    device = next(model.parameters()).device.type
    plain = late_interaction and replace(late_interaction, encoder=_place(late_interaction), weight=1.0)
    match = load_late_interaction(replace(about, late_interaction=plain), model.encoder, device)
    scorer = Scorer(model)
    tuning = {name: lists for name, lists in tuning.items() if len(lists)}
    if not tuning:
        raise ListsError("there is no tuning list to fit weights by")
    sets = {name: list(_questions(scorer, match, lists, about, queries)) for name, lists in tuning.items()}
    found = Fit(sets, _chosen(sets, MATCH_WEIGHTS if match else (0.0,)))
    chosen = found.chosen["all"]
    by_itself = _standalone(found)
    about = replace(
        about,
        first_stage_weight=float(f"{by_itself.scale * chosen.first_stage:.4g}"),
        late_interaction=replace(match.about, weight=chosen.match) if match and chosen.match else None,
        standalone=by_itself,
        not_for=_without_gain(found, {name: f"{one.source}-{one.target}" for name, one in tuning.items()}),
    )
    return about, found


def _questions(
    scorer: Scorer, match: LateInteraction | None, lists: Lists, about: MartAbout, queries: int
) -> Iterator[Question]:
    rows = rows_of_lists(scorer, lists, depth=DEPTH, queries=queries, direction=about.direction, placebo=about.placebo)
    for one, documents in rows:
        with torch.inference_mode():
            met = match.matches(documents, TOKENS_AT_ONCE) if match else np.zeros(len(documents))
        yield Question(
            np.asarray([candidate.score for candidate in one.candidates]),
            np.asarray(scorer.values(documents)),
            met,
            np.asarray(scorer.shares(documents)),
            [candidate.relevant for candidate in one.candidates],
            one.relevant,
        )


def _chosen(sets: Mapping[str, list[Question]], matches: Sequence[float]) -> dict[str, Weights]:
    """The best weights of each combination, late interaction counting one of `matches`.

    A document's score by itself is the same in searches (all together) and where there is no first stage (standalone),
    so that the mean of both decides what late interaction and its structured query count.
    """
    orders = []
    for match, share in product(matches, SHARE_WEIGHTS):
        by_itself = Weights(1.0, match, share=share)
        orders.append((best_weights(sets, [by_itself._replace(first_stage=weight) for weight in WEIGHTS]), by_itself))
    everything, standalone = max(orders, key=lambda two: sum(_mean(sets, weights) for weights in two))
    chosen = {"first stage": FIRST_STAGE}
    if any(matches):
        alone = [Weights(0.0, one, weight) for one, weight in product(matches, WEIGHTS)]
        chosen["with late interaction"] = best_weights(sets, alone)
    structured = [Weights(0.0, 0.0, weight, share) for weight, share in product(WEIGHTS, SHARE_WEIGHTS)]
    return chosen | {
        "with MART": best_weights(sets, [Weights(1.0, 0.0, weight) for weight in WEIGHTS]),
        "with structured queries": best_weights(sets, structured),
        "all": everything,
        "standalone": standalone,
    }


def best_weights(sets: Mapping[str, list[Question]], weights: list[Weights]) -> Weights:
    """The weights with the best mean of the sets' MAP."""
    return max(weights, key=lambda given: _mean(sets, given))


def _mean(sets: Mapping[str, list[Question]], weights: Weights) -> float:
    found = Fit(sets, {})
    return float(np.mean([found.map(name, weights) for name in sets]))


def _without_gain(found: Fit, pairs: Mapping[str, str]) -> list[str]:
    """The pairs of languages, given for each set, in which all together have not more than the first stage."""
    maps = found.maps()
    gains: dict[str, float] = {}
    for name, pair in pairs.items():
        gains[pair] = gains.get(pair, 0.0) + maps["all"][name] - maps["first stage"][name]
    return sorted(pair for pair, gain in gains.items() if gain <= 0)


def _standalone(found: Fit) -> StandaloneAbout:
    """How documents' scores by themselves are made of the model's and late interaction's."""
    weights = found.chosen["standalone"]
    scale, offset = _as_probabilities(found, _scores(found, weights))
    return StandaloneAbout(weights.share, float(f"{scale:.4g}"), round(offset, 4))


def _scores(found: Fit, weights: Weights) -> Floats:
    """Of all candidates."""
    return np.concatenate([one.scores(weights) for questions in found.sets.values() for one in questions])


def _as_probabilities(found: Fit, scores: Floats) -> tuple[float, float]:
    """Scale and offset by which sigmoids of `scale * score - offset` are best as probabilities.

    The scale is held near 1, by little, so that scores that say nothing (it would be 0), or all (infinite), have one.
    """
    relevant = np.concatenate([one.relevant for questions in found.sets.values() for one in questions])
    right, given = torch.as_tensor(relevant, dtype=torch.float64), torch.as_tensor(scores)
    fitted = torch.zeros(2, dtype=torch.float64, requires_grad=True)
    optimizer = torch.optim.LBFGS([fitted], max_iter=200, line_search_fn="strong_wolfe")

    def loss() -> Tensor:
        optimizer.zero_grad()
        logits = fitted[0].exp() * given - fitted[1]
        found = balanced_cross_entropy(logits, right) + _HOLD * fitted[0].square()
        found.backward()  # type: ignore[no-untyped-call]
        return found

    optimizer.step(loss)  # type: ignore[no-untyped-call]
    log_scale, offset = fitted.detach().tolist()
    return math.exp(log_scale), offset


def balanced_cross_entropy(logits: Tensor, right: Tensor) -> Tensor:
    """Binary cross-entropy of scores (N,); the relevant documents' (1 in `right`) weigh as much as the others'."""
    weights = torch.where(right > 0, 0.5 / right.sum(), 0.5 / (1 - right).sum())
    return F.binary_cross_entropy_with_logits(logits, right, weights, reduction="sum")


def _place(late_interaction: LateInteractionAbout) -> str:
    """Its encoder as it is found from any folder."""
    shipped = late_interaction.encoder in shipped_names()
    return late_interaction.encoder if shipped else str(Path(late_interaction.encoder).resolve())
