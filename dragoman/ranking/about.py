"""What a MART says of itself, apart from its weights, so that it can be known where there is no torch."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dragoman.ranking.attention import Direction

Floats = NDArray[np.floating[Any]]
DEFAULT = "mart"
LEAST_SHARE = 1e-3
SHIPPED = Path(__file__).parent / "weights"


@dataclass(frozen=True)
class LateInteractionAbout:
    """What joins a model's score: `weight * match`, by a layer of an encoder (see `matching`).

    `encoder` is one that is shipped, by name, or a folder; it reads texts as the model's own does.
    """

    encoder: str
    layer: int
    weight: float

    def __post_init__(self) -> None:
        """
        Raises:
            ValueError: a field of the wrong type, or a number that is not finite.
        """
        if not isinstance(self.encoder, str):
            raise ValueError(f"late_interaction: encoder: {self.encoder!r} is no text")
        if not isinstance(self.layer, int) or isinstance(self.layer, bool):
            raise ValueError(f"late_interaction: layer: {self.layer!r} is no whole number")
        _check_finite("late_interaction", {"weight": self.weight})


@dataclass(frozen=True)
class StandaloneAbout:
    """How a document's score by itself is made of a model's: `scale * (score + weight * share) - offset`.

    `share` is what a structured query of the document by itself says (see `structured`). By scale and offset sigmoids
    are probabilities, relevant documents being as many as others.
    """

    weight: float
    scale: float
    offset: float

    def __post_init__(self) -> None:
        """
        Raises:
            ValueError: a number that is none or not finite, or a scale that is not positive.
        """
        _check_finite("standalone", {"weight": self.weight, "scale": self.scale, "offset": self.offset})
        if self.scale <= 0:
            raise ValueError(f"standalone: scale: {self.scale!r} is not positive")


@dataclass(frozen=True)
class MartAbout:
    """How a MART is to be used, and where it came from."""

    name: str = DEFAULT
    direction: Direction = "mean"
    placebo: bool = False
    first_stage_weight: float = 0.0
    """What the first stage counts beside the scores of documents by themselves: see `interpolated`."""
    not_for: list[str] = field(default_factory=list)
    """Pairs `source-target` for which reranking did not gain: not reranked unless asked for."""
    late_interaction: LateInteractionAbout | None = None
    standalone: StandaloneAbout | None = None
    """None: a document's score is the model's own."""
    training: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, config: Mapping[str, Any]) -> MartAbout:
        """As a model's `config.json` has it.

        Raises:
            TypeError: fields of `late_interaction` or `standalone` that are missing or not known.
            ValueError: one of the wrong type, or a number that is not finite.
        """
        given = {one.name: config[one.name] for one in fields(cls) if one.name in config}
        if (match := given.get("late_interaction")) is not None:
            given["late_interaction"] = LateInteractionAbout(**match)
        if (without := given.get("standalone")) is not None:
            given["standalone"] = StandaloneAbout(**without)
        return cls(**given)


def standalone(model: Floats | float, shares: Floats | float, about: StandaloneAbout | None) -> Floats:
    """The scores of documents by themselves: where no first stage's are known, and what those join where they are."""
    if about is None:
        return np.asarray(model)
    return about.scale * (np.asarray(model) + about.weight * np.asarray(shares)) - about.offset


def interpolated(scores: Floats, first_stage: Floats, weight: float) -> Floats:
    """scores + weight * log(first_stage): the product of two odds, if each is taken for one.

    `first_stage` is a share of what is attainable; its logarithm makes the order independent of how large the shares of
    a query are. One below `LEAST_SHARE` counts as that.
    """
    return np.asarray(scores) + weight * np.log(np.maximum(first_stage, LEAST_SHARE))


def _check_finite(part: str, numbers: Mapping[str, Any]) -> None:
    for name, value in numbers.items():
        if not isinstance(value, int | float) or isinstance(value, bool) or not math.isfinite(value):
            raise ValueError(f"{part}: {name}: {value!r} is no finite number")


def shipped_names() -> list[str]:
    """Names of the models that come with the package."""
    return sorted(path.parent.name for path in SHIPPED.glob("*/config.json"))
