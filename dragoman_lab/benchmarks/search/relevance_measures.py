"""How far probabilities hold: calibration error, Brier score, and what is said of answers as a whole."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
BINS = 10


def calibration_error(probabilities: Floats, outcomes: Floats) -> float:
    """The expected calibration error in ten bins of equal mass: the mean of how far a bin's mean is off."""
    order = np.argsort(probabilities, kind="stable")
    bins = [places for places in np.array_split(order, BINS) if len(places)]
    errors = [len(places) * abs(probabilities[places].mean() - outcomes[places].mean()) for places in bins]
    return float(sum(errors) / max(1, len(probabilities)))


def brier(probabilities: Floats, outcomes: Floats) -> float:
    """The mean squared error of probabilities."""
    return float(((probabilities - outcomes) ** 2).mean())


def brier_of_base_rate(outcomes: Floats) -> float:
    """That of the mean outcome, said of everything."""
    return float(outcomes.var())


def share(said: Sequence[str], label: str) -> float:
    """How many of the answers are called so."""
    return sum(each == label for each in said) / max(1, len(said))


def chance_error(probabilities: Floats, draws: int = 100) -> float:
    """The calibration error of outcomes that these probabilities are true of: what chance makes of so few."""
    generator = np.random.default_rng(0)
    drawn = generator.random((draws, len(probabilities))) < probabilities
    return float(np.mean([calibration_error(probabilities, outcomes.astype(np.float64)) for outcomes in drawn]))
