"""What a MART says of itself, apart from its weights, so that it can be known where there is no torch."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dragoman.ranking.attention import Direction

DEFAULT = "mart"
SHIPPED = Path(__file__).parent / "weights"


@dataclass(frozen=True)
class MartAbout:
    """How a MART is to be used, and where it came from."""

    name: str = DEFAULT
    direction: Direction = "mean"
    placebo: bool = False
    first_stage_weight: float = 0.0
    """What the first stage's score, of its attainable share, counts beside the model's own."""
    not_for: list[str] = field(default_factory=list)
    """Pairs `source-target` for which reranking did not gain: not reranked unless asked for."""
    training: dict[str, Any] = field(default_factory=dict)


def shipped_names() -> list[str]:
    """Names of the models that come with the package."""
    return sorted(path.parent.name for path in SHIPPED.glob("*/config.json"))
