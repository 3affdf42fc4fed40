"""What is counted by this process alone, or by all processes of a service together: limits, and what jobs yield to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from dragoman.engine.core.admission import Limit
from dragoman.engine.core.priority import Traffic
from dragoman.service.access.rate_limit import Meter, Quota


def _alone(name: str, quota: Quota) -> Meter:
    return Meter(quota)


@dataclass(frozen=True, slots=True)
class Shares:
    """What makes the limits of a service; by default those of one process."""

    limit: Callable[[int, str], Limit] = Limit
    meter: Callable[[str, Quota], Meter] = _alone
    """By the name of a caller."""
    traffic: Callable[[], Traffic] = Traffic
    metrics: Path | None = None
    """The folder in which other processes keep their metrics."""


ALONE = Shares()
