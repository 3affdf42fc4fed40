"""Fits the probabilities of answers: that a text has one, and which of the best spans it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dragoman.reasoning.answers import f1
from dragoman.reasoning.examples import Example
from dragoman.reasoning.reading import Calibration, Request, Scorer, read

_STEPS = 50
_TEMPERATURES = np.geomspace(0.25, 16, 61)
_RIGHT = 0.5
"""From this F1 on a span counts as the answer."""


def fit_calibration(scorer: Scorer, examples: Sequence[Example]) -> Calibration:
    """The calibration by examples with answers, and by as many of their questions over texts that do not answer.

    The latter are the contexts of other examples in the same language, without the answer's text.
    """
    answered = [one for one in examples if one.answers]
    others = [other for one in answered if (other := _unanswered(one, answered)) is not None]
    found = read(scorer, [Request(one.question, one.context, one.bilingual) for one in [*answered, *others]])
    best = np.array([answers[0].score if answers else -np.inf for answers in found])
    known = np.isfinite(best)
    slope, offset = logistic(best[known], (np.arange(len(best)) < len(answered))[known])
    margins, right = [], []
    for example, answers in zip(answered, found, strict=False):
        references = [example.context[start:end] for start, end in example.answers]
        agree = [f1(one.text, references, example.context_language) >= _RIGHT for one in answers]
        if any(agree):
            margins.append(np.array([one.score for one in answers]))
            right.append(np.array(agree))
    return Calibration(slope, offset, temperature(margins, right))


def _unanswered(example: Example, among: Sequence[Example]) -> Example | None:
    """The example's question over the first other context that lacks its answers."""
    texts = [example.context[start:end].lower() for start, end in example.answers]
    place = among.index(example)
    for other in [*among[place + 1 :], *among[:place]]:
        same = other.context_language == example.context_language and other.context != example.context
        if same and not any(text in other.context.lower() for text in texts):
            return replace(example, context=other.context, answers=[])
    return None


def logistic(scores: NDArray[np.float64], labels: NDArray[np.bool_]) -> tuple[float, float]:
    """Slope and offset of the logistic regression of labels on scores, by Newton's method with a slight prior."""
    if not len(scores):
        return 1.0, 0.0
    rows = np.stack([scores, np.ones_like(scores)], 1)
    weights = np.array([1.0 / max(1.0, float(scores.std())), 0.0])
    prior = np.array([1e-3, 1e-3])
    for _ in range(_STEPS):
        chances = 1 / (1 + np.exp(-np.clip(rows @ weights, -50, 50)))
        gradient = rows.T @ (chances - labels) + prior * weights
        curvature = (rows * (chances * (1 - chances))[:, None]).T @ rows + np.diag(prior)
        step = np.linalg.solve(curvature, gradient)
        weights -= step / max(1.0, float(np.abs(step).max()))
    return float(max(weights[0], 0.0)), float(weights[1])


def temperature(scores: Sequence[NDArray[np.float64]], right: Sequence[NDArray[np.bool_]]) -> float:
    """The temperature of a softmax by which the right ones of each row's scores are most probable."""

    def loss(one: float) -> float:
        total = 0.0
        for row, good in zip(scores, right, strict=True):
            shares = np.exp((row - row.max()) / one)
            total -= float(np.log(shares[good].sum() / shares.sum()))
        return total

    return float(min(_TEMPERATURES, key=loss)) if scores else 1.0
