"""What judges is fitted: labels that are given are right often enough on articles that were not fitted on."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest

from dragoman.engine.qa.judging.evidence import Features
from dragoman.engine.qa.judging.weights import products
from dragoman_lab.reasoning.judgements import LEAST_LABELS, Labelled, fit_logistic, fit_rules, threshold

LABELS = ("true", "false", "unknown")


def test_labels_that_figures_tell_apart_are_learned() -> None:
    noise = np.random.default_rng(1)
    width = len(fields(Features))
    examples = []
    for number in range(300):
        figures = noise.normal(size=width)
        figures[:3] = 4 * np.eye(3)[number % 3] + noise.normal(size=3)
        examples.append(Labelled(figures, LABELS[number % 3], f"a{number % 5}"))
    about = fit_logistic(examples, 0.9)
    figures = (np.stack([each.features for each in examples]) - about["center"]) / about["scale"]
    logits = products(figures) @ np.array(about["weights"]).T + about["offsets"]
    assert np.mean(logits.argmax(1) == [number % 3 for number in range(300)]) > 0.9
    assert all(0 < about["thresholds"][label] < 1 for label in ("true", "false"))


def test_what_is_never_called_true_has_no_say_in_the_threshold_of_true() -> None:
    noise = np.random.default_rng(2)
    figures = noise.normal(size=(600, len(fields(Features))))
    figures[:, 0] += 4 * (np.arange(600) % 3 == 0)
    labels = [LABELS[number % 3] for number in range(600)]
    labels[:180:3] = ["false"] * 60  # which look true
    thresholds = [
        fit_logistic(
            [
                Labelled(row, label, f"a{number % 5}", opposed and number < 180)
                for number, (row, label) in enumerate(zip(figures, labels, strict=True))
            ],
            0.8,
        )["thresholds"]
        for opposed in (False, True)
    ]
    assert thresholds[1]["true"] < thresholds[0]["true"] and thresholds[1]["false"] == thresholds[0]["false"]


def test_a_threshold_is_the_least_probability_with_enough_right() -> None:
    probabilities = np.array([[0.9, 0.1, 0], [0.8, 0.2, 0], [0.7, 0.3, 0], [0.6, 0.4, 0], [0.1, 0.2, 0.7]])
    probabilities = probabilities.repeat(LEAST_LABELS, 0)
    labels = np.array([0, 0, 1, 1, 1]).repeat(LEAST_LABELS)
    assert threshold(probabilities[1::LEAST_LABELS], labels[1::LEAST_LABELS], "true", 0.5) > 1  # too few to tell
    assert threshold(probabilities, labels, "true", 1.0) == 0.8
    assert threshold(probabilities, labels, "true", 0.5) == 0.6
    assert threshold(probabilities, np.ones(len(labels), int), "true", 0.5) > 1


def test_a_rule_that_was_seldom_used_is_less_sure() -> None:
    rules = fit_rules([("stands", True)] * 98 + [("name", True)], ("stands", "name", "amount"))
    assert rules == {"stands": 0.995, "name": pytest.approx(5 / 6, abs=1e-3), "amount": 0.75}
