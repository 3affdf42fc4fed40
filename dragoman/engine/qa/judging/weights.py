"""The figures that turn what was compared into labels: fitted by a command of the lab, kept as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from dragoman.engine.qa.judging.evidence import Features

__all__ = ["LABELS", "MODEL_TYPE", "Label", "Logistic", "Weights", "load_weights", "products"]

MODEL_TYPE = "judgement"
Label = Literal["true", "false", "unknown"]
LABELS: tuple[Label, ...] = ("true", "false", "unknown")


@dataclass(frozen=True)
class Logistic:
    """A multinomial logistic function of the features and their products by twos, and the probability from which on
    each label is given."""

    center: NDArray[np.float64]
    scale: NDArray[np.float64]
    """What is taken from each feature, and what it is divided by then."""
    weights: NDArray[np.float64]
    """(labels, terms)"""
    offsets: NDArray[np.float64]
    thresholds: Mapping[str, float]

    def probabilities(self, features: Features) -> dict[Label, float]:
        """The probability of each label."""
        logits = self.weights @ products((features.array() - self.center) / self.scale) + self.offsets
        odds = np.exp(logits - logits.max())
        return dict(zip(LABELS, (odds / odds.sum()).tolist(), strict=True))

    def choose(self, features: Features) -> tuple[Label, float]:
        """True or false where its probability is at least its threshold; else unknown. And the label's probability."""
        probabilities = self.probabilities(features)
        likelier: Label = "true" if probabilities["true"] >= probabilities["false"] else "false"
        if probabilities[likelier] >= self.thresholds[likelier]:
            return likelier, probabilities[likelier]
        return "unknown", probabilities["unknown"]


def products(figures: NDArray[np.float64]) -> NDArray[np.float64]:
    """Figures (..., F), their squares and their products by twos (..., F + F (F + 1) / 2)."""
    first, second = np.triu_indices(figures.shape[-1])
    return np.concatenate([figures, figures[..., first] * figures[..., second]], -1)


@dataclass(frozen=True)
class Weights:
    """What judges: the probability that each rule is right, and a function for one language and one for two."""

    name: str
    languages: frozenset[str]
    """Those of the statements that it was fitted on."""
    rules: Mapping[str, float]
    same: Logistic
    across: Logistic


def load_weights(folder: Path) -> Weights:
    """The weights of a folder.

    Raises:
        ValueError: they are damaged, or of other features.
    """
    place = folder / "config.json"
    try:
        about = json.loads(place.read_text(encoding="utf-8"))
        rules = {str(name): float(share) for name, share in about["rules"].items()}
        languages = frozenset(map(str, about["languages"]))
        same, across = _logistic(about["same"]), _logistic(about["across"])
        return Weights(str(about.get("name", folder.name)), languages, rules, same, across)
    except (AttributeError, KeyError, OSError, TypeError, ValueError) as error:
        raise ValueError(f"{place}: not usable: {error!r}") from error


def _logistic(about: Mapping[str, Any]) -> Logistic:
    names = list(Features.__dataclass_fields__)
    if about["features"] != names:
        raise ValueError(f"features {about['features']}; {names} are known")
    center, scale, weights, offsets = (
        np.array(about[name], np.float64) for name in ("center", "scale", "weights", "offsets")
    )
    terms = len(names) + len(names) * (len(names) + 1) // 2
    shapes = (center.shape, scale.shape, weights.shape, offsets.shape)
    if shapes != ((len(names),), (len(names),), (len(LABELS), terms), (len(LABELS),)):
        raise ValueError(f"shapes {shapes}")
    if not all(np.isfinite(part).all() for part in (center, scale, weights, offsets)) or not (scale > 0).all():
        raise ValueError("a weight is not finite, or a scale not positive")
    thresholds = {label: float(about["thresholds"][label]) for label in ("true", "false")}
    return Logistic(center, scale, weights, offsets, thresholds)
