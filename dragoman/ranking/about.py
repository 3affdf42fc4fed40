"""What a MART says of itself, apart from its weights, so that it can be known where there is no torch."""

from __future__ import annotations

from dataclasses import dataclass, field
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
class MartAbout:
    """How a MART is to be used, and where it came from."""

    name: str = DEFAULT
    direction: Direction = "mean"
    placebo: bool = False
    first_stage_weight: float = 0.0
    """What the first stage counts beside the model: see `interpolated`."""
    not_for: list[str] = field(default_factory=list)
    """Pairs `source-target` for which reranking did not gain: not reranked unless asked for."""
    training: dict[str, Any] = field(default_factory=dict)


def interpolated(model: Floats, first_stage: Floats, weight: float) -> Floats:
    """model + weight * log(first_stage): the product of two odds, if each is taken for one.

    `first_stage` is a share of what is attainable; its logarithm makes the order independent of how large the shares of
    a query are. One below `LEAST_SHARE` counts as that.
    """
    return np.asarray(model) + weight * np.log(np.maximum(first_stage, LEAST_SHARE))


def shipped_names() -> list[str]:
    """Names of the models that come with the package."""
    return sorted(path.parent.name for path in SHIPPED.glob("*/config.json"))
