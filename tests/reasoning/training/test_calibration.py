"""The probabilities of answers, fitted."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from dragoman.backbone.encoder import Encoder
from dragoman.reasoning.reading import PaddedScorer
from dragoman.reasoning.training.calibration import fit_calibration, logistic, temperature
from tests.reasoning.samples import examples, reader


@pytest.mark.parametrize(("slope", "offset"), [(0.7, -1.0), (2.0, 0.5)])
def test_the_probability_of_an_answer_is_found_again(slope: float, offset: float) -> None:
    noise = np.random.default_rng(1)
    scores = noise.normal(0, 3, 20_000)
    labels = noise.random(20_000) < 1 / (1 + np.exp(-(slope * scores + offset)))
    assert logistic(scores, labels) == pytest.approx((slope, offset), abs=0.08)


def test_separable_scores_have_finite_weights_and_useless_ones_no_slope() -> None:
    slope, offset = logistic(np.array([-2.0, -1.0, 1.0, 2.0]), np.array([False, False, True, True]))
    assert 1 < slope < 100 and abs(offset) < 1
    assert logistic(np.array([-1.0, 1.0]), np.array([True, False]))[0] == 0.0
    assert logistic(np.zeros(0), np.zeros(0, bool)) == (1.0, 0.0)


def test_the_temperature_is_found_again() -> None:
    noise = np.random.default_rng(2)
    scores, right = [], []
    for _ in range(4000):
        row = noise.normal(0, 4, 3)
        shares = np.exp(row / 2.5)
        right.append(np.arange(3) == noise.choice(3, p=shares / shares.sum()))
        scores.append(row)
    assert temperature(scores, right) == pytest.approx(2.5, rel=0.15)
    assert temperature([], []) == 1.0


def test_a_reader_is_calibrated_by_texts_that_answer_and_others(encoder: Encoder) -> None:
    torch.manual_seed(0)
    found = fit_calibration(PaddedScorer(reader(encoder), structured=True), list(examples(20)))
    assert found.slope >= 0 and np.isfinite(found.offset) and 0.25 <= found.temperature <= 16
