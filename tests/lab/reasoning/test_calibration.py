"""The probabilities of answers, fitted."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from dragoman.backbone.encoder import Encoder
from dragoman.reasoning.question_answering import PaddedScorer
from dragoman_lab.reasoning.calibration import fit_calibration, fit_slope, fit_softmax, logistic, read_questions
from tests.reasoning.samples import examples, reader


@pytest.mark.parametrize(("slope", "offset"), [(0.7, -1.0), (2.0, 0.5)])
def test_the_probability_of_an_answer_is_found_again(slope: float, offset: float) -> None:
    noise = np.random.default_rng(1)
    scores = noise.normal(0, 3, 20_000)
    labels = noise.random(20_000) < 1 / (1 + np.exp(-(slope * scores + offset)))
    assert logistic(scores[:, None], labels) == pytest.approx((slope, offset), abs=0.08)


def test_separable_scores_have_finite_weights_and_useless_ones_no_slope() -> None:
    slope, offset = logistic(np.array([[-2.0], [-1.0], [1.0], [2.0]]), np.array([False, False, True, True]))
    assert 1 < slope < 100 and abs(offset) < 1
    assert logistic(np.array([[-1.0], [1.0]]), np.array([True, False]))[0] == 0.0
    assert logistic(np.zeros((0, 1)), np.zeros(0, bool)) == (1.0, 0.0)


def test_a_second_column_is_found_again() -> None:
    noise = np.random.default_rng(3)
    rows = noise.normal(0, 2, (20_000, 2))
    labels = noise.random(20_000) < 1 / (1 + np.exp(-(rows @ np.array([0.8, 0.3]) - 0.5)))
    assert logistic(rows, labels) == pytest.approx((0.8, 0.3, -0.5), abs=0.08)


def test_temperature_and_the_score_of_another_part_are_found_again() -> None:
    noise = np.random.default_rng(2)
    scores, right = [], []
    for _ in range(4000):
        row = noise.normal(0, 4, 3)
        weights = np.exp(np.append(row, 1.5) / 2.5)
        chosen = noise.choice(4, p=weights / weights.sum())
        right.append([one == chosen for one in range(3)])
        scores.append(row.tolist())
    temperature, other = fit_softmax(scores, right)
    assert temperature == pytest.approx(2.5, rel=0.2) and other == pytest.approx(1.5, abs=0.6)
    assert fit_softmax([], []) == (1.0, None)


def test_the_slope_of_labels_is_found_again_whatever_their_share() -> None:
    noise = np.random.default_rng(4)
    logits = noise.normal(1, 3, 20_000)
    labels = noise.random(20_000) < 1 / (1 + np.exp(-0.4 * logits))
    assert fit_slope(logits, labels) == pytest.approx(0.4, abs=0.03)
    assert fit_slope(-logits, ~labels) == pytest.approx(fit_slope(logits, labels))


def test_a_reader_is_calibrated_by_texts_that_answer_and_others(encoder: Encoder) -> None:
    torch.manual_seed(0)
    scorer = PaddedScorer(reader(encoder), structured=True)
    found = fit_calibration(scorer, list(examples(20)))
    assert found.slope >= 0 and np.isfinite(found.offset) and 0.25 <= found.temperature <= 16
    assert found.per_length >= 0 and found.length > 1
    assert found.other is not None and -20 <= found.other <= 20


def test_questions_are_served_as_many_texts_would_be(encoder: Encoder) -> None:
    torch.manual_seed(0)
    found = read_questions(PaddedScorer(reader(encoder), structured=True), list(examples(20)))
    assert {(one.texts > 1, one.answered) for one in found} == {(a, b) for a in (False, True) for b in (False, True)}
    for one in found:
        assert len(one.answers) == len(one.right) <= 3 and (one.answered or not any(one.right))
        assert [answer.score for answer in one.answers] == sorted((a.score for a in one.answers), reverse=True)
