"""Fits what judges statements: a logistic function of the figures, and the probabilities from which on it labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn import functional as F

from dragoman.engine.qa.judging.evidence import Features
from dragoman.engine.qa.judging.weights import LABELS, products

__all__ = ["LEAST_LABELS", "Labelled", "fit_logistic", "fit_rules"]

_DECAY = 0.1
_LEAST_SCALE = 1e-3
_PRIOR_RIGHT, _PRIOR = 1.5, 2.0
"""A rule counts as if it had been used twice more, and right in one and a half of these."""
LEAST_LABELS = 50
_NEVER = 2.0
"""A threshold that no probability reaches."""


@dataclass(frozen=True)
class Labelled:
    """The figures of a statement, the right label, and the article that it is about."""

    features: NDArray[np.float64]
    label: str
    article: str
    opposed: bool = False
    """Whether it is never called true, whatever its figures."""


def fit_logistic(examples: Sequence[Labelled], least_right: float) -> dict[str, Any]:
    """Weights, offsets and thresholds as `load_weights` reads them.

    A threshold is the least probability from which on so large a share of the labels is right, where each article is
    judged by weights that were fitted on the others.
    """
    figures = np.stack([example.features for example in examples])
    center, scale = figures.mean(0), figures.std(0) + _LEAST_SCALE
    terms = products((figures - center) / scale)
    labels = np.array([LABELS.index(example.label) for example in examples])
    articles = np.array([example.article for example in examples])
    unseen = np.empty((len(examples), len(LABELS)))
    for article in sorted(set(articles)):
        rest = articles != article
        weights, offsets = _fit(terms[rest], labels[rest])
        unseen[~rest] = _softmax(terms[~rest] @ weights.T + offsets)
    weights, offsets = _fit(terms, labels)
    opposed = np.array([example.opposed for example in examples], bool)
    usable = {"true": ~opposed, "false": np.ones_like(opposed)}
    return {
        "features": list(Features.__dataclass_fields__),
        "center": center.round(5).tolist(),
        "scale": scale.round(5).tolist(),
        "weights": weights.round(4).tolist(),
        "offsets": offsets.round(4).tolist(),
        "thresholds": {
            label: threshold(unseen[rows], labels[rows], label, least_right) for label, rows in usable.items()
        },
    }


def threshold(probabilities: NDArray[np.float64], labels: NDArray[np.int64], label: str, least_right: float) -> float:
    """The least probability of a label, the likelier one of true and false, from which on enough are right.

    None is low enough where it would be fewer than :data:`LEAST_LABELS`, whose share may be chance.
    """
    place = LABELS.index(label)
    likelier = probabilities[:, :2].argmax(1) == place
    scores, right = probabilities[likelier, place], labels[likelier] == place
    order = np.argsort(-scores, kind="stable")
    shares = np.cumsum(right[order]) / np.arange(1, len(order) + 1)
    enough = np.flatnonzero(shares[LEAST_LABELS - 1 :] >= least_right) + LEAST_LABELS - 1
    return round(float(scores[order][enough[-1]]), 4) if len(enough) else _NEVER


def fit_rules(rulings: Sequence[tuple[str, bool]], rules: Sequence[str]) -> dict[str, float]:
    """The share of each rule's labels that are right, held back a little where there are few."""
    shares = {}
    for rule in rules:
        right = [was_right for name, was_right in rulings if name == rule]
        shares[rule] = round((sum(right) + _PRIOR_RIGHT) / (len(right) + _PRIOR), 3)
    return shares


def _fit(terms: NDArray[np.float64], labels: NDArray[np.int64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    x, y = torch.from_numpy(terms), torch.from_numpy(labels)
    weights = torch.zeros(len(LABELS), terms.shape[1], dtype=torch.float64, requires_grad=True)
    offsets = torch.zeros(len(LABELS), dtype=torch.float64, requires_grad=True)
    optimizer = torch.optim.LBFGS([weights, offsets], max_iter=200, line_search_fn="strong_wolfe")

    def loss() -> torch.Tensor:
        optimizer.zero_grad()
        total = F.cross_entropy(x @ weights.T + offsets, y) + _DECAY * (weights**2).sum()
        total.backward()  # type: ignore[no-untyped-call]
        return total

    optimizer.step(loss)  # type: ignore[no-untyped-call]
    return weights.detach().numpy(), offsets.detach().numpy()


def _softmax(logits: NDArray[np.float64]) -> NDArray[np.float64]:
    odds = np.exp(logits - logits.max(1, keepdims=True))
    shares: NDArray[np.float64] = odds / odds.sum(1, keepdims=True)
    return shares
