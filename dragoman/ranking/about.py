"""Settings and metadata of a reranker, readable without torch."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from dragoman.ranking.attention import Direction

Floats = NDArray[np.floating[Any]]
MART = "mart"
"""The kind of a reranker that was trained."""
LATE = "late"
"""The reranker without trained weights, of the encoder e5-small."""
LEAST_SHARE = 1e-3
SHIPPED = Path(__file__).parent / "weights"


@dataclass(frozen=True)
class LateAbout:
    """What the reranker `late` compares texts by: `match + cosine * (similarity of sentences)`, see `late`.

    `encoder` is the name or the folder of an encoder, `layer` the one whose states are matched.
    """

    encoder: str
    layer: int
    cosine: float

    def __post_init__(self) -> None:
        """
        Raises:
            ValueError: if a field has the wrong type or a number is not finite.
        """
        if not isinstance(self.encoder, str):
            raise ValueError(f"late: encoder: {self.encoder!r} is not a string")
        if not isinstance(self.layer, int) or isinstance(self.layer, bool):
            raise ValueError(f"late: layer: {self.layer!r} is not an integer")
        _check_finite("late", {"cosine": self.cosine})


@dataclass(frozen=True)
class StandaloneAbout:
    """A document's standalone score: `scale * (score + weight * share) - offset`.

    `share` is the score of a structured query on the document alone (see `structured_query`). Scale and offset
    calibrate the sigmoid to a probability, for equal numbers of relevant and other documents.
    """

    weight: float
    scale: float
    offset: float

    def __post_init__(self) -> None:
        """
        Raises:
            ValueError: if a value is not a finite number, or the scale is not positive.
        """
        _check_finite("standalone", {"weight": self.weight, "scale": self.scale, "offset": self.offset})
        if self.scale <= 0:
            raise ValueError(f"standalone: scale: {self.scale!r} is not positive")


@dataclass(frozen=True)
class HybridAbout:
    """How a standalone score and that of hybrid search join: `scale * (standalone + weight * log(hybrid)) - offset`.

    Scale and offset calibrate the sigmoid to a probability, as those of :class:`StandaloneAbout`.
    """

    weight: float
    scale: float
    offset: float

    def __post_init__(self) -> None:
        """
        Raises:
            ValueError: if a value is not a finite number, the weight is negative, or the scale is not positive.
        """
        _check_finite("hybrid", {"weight": self.weight, "scale": self.scale, "offset": self.offset})
        if self.weight < 0:
            raise ValueError(f"hybrid: weight: {self.weight!r} is negative")
        if self.scale <= 0:
            raise ValueError(f"hybrid: scale: {self.scale!r} is not positive")

    def logits(self, scores: Floats, hybrid: Floats) -> Floats:
        """The final logits of documents, of their standalone scores and those of hybrid search."""
        return self.scale * interpolate(scores, hybrid, self.weight) - self.offset


@dataclass(frozen=True)
class RerankerAbout:
    """Settings of a reranker for scoring, and its training record."""

    name: str = "mart"
    direction: Direction = "mean"
    placebo: bool = False
    first_stage_weight: float = 0.0
    """Weight of the first stage in interpolation with standalone scores (see `interpolate`)."""
    not_for: list[str] = field(default_factory=list)
    """Language pairs `source-target` without a gain from reranking; these are reranked only on request."""
    late: LateAbout | None = None
    """Of the reranker without trained weights; None for a MART."""
    standalone: StandaloneAbout | None = None
    """None: the standalone score is the model's score."""
    training: dict[str, Any] = field(default_factory=dict)
    hybrid: HybridAbout | None = None
    """None: nothing was fitted to the scores of hybrid search."""

    def __post_init__(self) -> None:
        """
        Raises:
            ValueError: if a field has the wrong type, or a number is not finite.
        """
        for name, text in (("name", self.name), ("direction", self.direction)):
            if not isinstance(text, str):
                raise ValueError(f"{name}: {text!r} is not a string")
        if self.direction not in get_args(Direction):
            raise ValueError(f"direction: {self.direction!r} is not one of {', '.join(get_args(Direction))}")
        if not isinstance(self.not_for, list) or not all(isinstance(pair, str) for pair in self.not_for):
            raise ValueError(f"not_for: {self.not_for!r} is not a list of strings")
        _check_finite("reranker", {"first_stage_weight": self.first_stage_weight})

    @classmethod
    def of(cls, config: Mapping[str, Any]) -> RerankerAbout:
        """Build from a model's `config.json`.

        Raises:
            TypeError: if fields of `late`, `standalone` or `hybrid` are missing or unknown.
            ValueError: if a field has the wrong type or a number is not finite.
        """
        settings = {field.name: config[field.name] for field in fields(cls) if field.name in config}
        for name, kind in (("late", LateAbout), ("standalone", StandaloneAbout), ("hybrid", HybridAbout)):
            if settings.get(name) is not None:
                settings[name] = kind(**settings[name])
        return cls(**settings)


def standalone(model: Floats | float, shares: Floats | float, about: StandaloneAbout | None) -> Floats:
    """Standalone scores of documents, without a first stage; `interpolate` combines them with one."""
    if about is None:
        return np.asarray(model)
    return about.scale * (np.asarray(model) + about.weight * np.asarray(shares)) - about.offset


def interpolate(scores: Floats, first_stage: Floats, weight: float) -> Floats:
    """scores + weight * log(first_stage): log-linear interpolation with the first stage.

    `first_stage` is the share of the attainable score. With the logarithm, the order does not depend on the scale of a
    query's shares. Shares below `LEAST_SHARE` are raised to it.
    """
    return np.asarray(scores) + weight * np.log(np.maximum(first_stage, LEAST_SHARE))


def _check_finite(part: str, figures: Mapping[str, Any]) -> None:
    for name, figure in figures.items():
        if not isinstance(figure, int | float) or isinstance(figure, bool) or not math.isfinite(figure):
            raise ValueError(f"{part}: {name}: {figure!r} is not a finite number")


def shipped_names() -> list[str]:
    """Names of the models in the package."""
    return sorted(path.parent.name for path in SHIPPED.glob("*/config.json"))


def folder_of(name_or_path: str) -> Path:
    """The folder of a shipped reranker, or one given by its path."""
    return SHIPPED / name_or_path if name_or_path in shipped_names() else Path(name_or_path)


def name_of(name_or_path: str) -> str | None:
    """The name that a reranker's configuration gives it; None where there is none that can be read.

    That of a cross-encoder is the name of its folder.
    """
    folder = folder_of(name_or_path)
    try:
        config = json.loads((folder / "config.json").read_text("utf-8"))
        of_ours = config.get("model_type") in (MART, LATE)
        return RerankerAbout.of(config).name if of_ours else folder.resolve().name
    except (AttributeError, OSError, TypeError, ValueError):
        return None


def sigmoid(logit: float) -> float:
    """1 / (1 + exp(-logit)), without overflow for any logit."""
    return 1 / (1 + math.exp(-logit)) if logit >= 0 else math.exp(logit) / (1 + math.exp(logit))
