"""Fits the probabilities of answers: that a text has one, and which of the best spans it is, or none of these."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from dragoman.reasoning.question_answering import (
    ANSWERS,
    Answer,
    Calibration,
    Request,
    Scorer,
    answer_requests,
    log_length,
)
from dragoman_lab.reasoning.answers import f1
from dragoman_lab.reasoning.examples import Example

_STEPS = 50
_TEMPERATURES = np.geomspace(0.25, 16, 31)
_OTHERS = np.linspace(-20, 20, 81)
_TEXTS = 5
"""So many texts are read for a question over collections, by default."""
_LEAST = 1e-12
RIGHT = 0.5
"""From this F1 on a span counts as the answer."""


def fit_calibration(scorer: Scorer, examples: Sequence[Example]) -> Calibration:
    """The calibration by examples with answers, each with its text alone and among others, and with others alone.

    Others are contexts of other examples in the same language, without the answer's text. More text has a better best
    span that is wrong, so that the probability of an answer depends on the length of what was read.
    """
    return calibration_of(read_questions(scorer, examples))


def calibration_of(readings: Sequence[QuestionReading]) -> Calibration:
    """The calibration by what was found for questions."""
    readable = [reading for reading in readings if reading.answers]
    lengths = [reading.length for reading in readable if reading.texts == 1]
    length = float(np.mean(lengths)) if lengths else 1.0
    rows = [[reading.answers[0].score, -log_length(reading.length, length)] for reading in readable]
    slope, per_length, offset = logistic(
        np.array(rows).reshape(-1, 2), np.array([reading.answered for reading in readable])
    )
    answered = [reading for reading in readable if reading.answered]
    scores = [[answer.score for answer in each.answers] for each in answered]
    temperature, other = fit_softmax(scores, [reading.right for reading in answered])
    return Calibration(slope, offset, temperature, other, per_length, length)


@dataclass(frozen=True)
class QuestionReading:
    """The best spans of some texts for a question, which of them are right, and how much was read."""

    answers: list[Answer]
    right: list[bool]
    texts: int
    length: int
    """Subwords of all texts."""
    answered: bool
    """Whether one of the texts answers."""


def read_questions(scorer: Scorer, examples: Sequence[Example]) -> list[QuestionReading]:
    """Each question over one text and over five, with the text that answers and without it."""
    requests: list[Request] = []
    groups: list[tuple[Example, range, bool]] = []
    for seed, example in enumerate(example for example in examples if example.answers):
        context, others = [example.context], _others(example, examples, random.Random(seed))
        for texts in (context, others[:1], [*context, *others[: _TEXTS - 1]], others):
            if texts:
                groups.append((example, range(len(requests), len(requests) + len(texts)), texts[0] is example.context))
                requests += [Request(example.question, text, example.bilingual) for text in texts]
    answers = answer_requests(scorer, requests, ANSWERS)
    lengths = [len(encoded.ids) for encoded in scorer.encoder.subwords([request.context for request in requests])]
    readings = []
    for example, places, answered in groups:
        pairs = [(answer, answered and place == places[0]) for place in places for answer in answers[place]]
        best = sorted(pairs, key=lambda pair: -pair[0].score)[:ANSWERS]
        right = [answers_here and _agrees(answer, example) for answer, answers_here in best]
        length = sum(lengths[place] for place in places)
        readings.append(QuestionReading([answer for answer, _ in best], right, len(places), length, answered))
    return readings


def _others(example: Example, among: Sequence[Example], noise: random.Random) -> list[str]:
    """Contexts of other examples in the same language that lack the example's answers, at most five."""
    texts = [example.context[start:end].lower() for start, end in example.answers]
    contexts = dict.fromkeys(other.context for other in among if other.context_language == example.context_language)
    usable = [
        context
        for context in contexts
        if context != example.context and not any(text in context.lower() for text in texts)
    ]
    return noise.sample(usable, min(_TEXTS, len(usable)))


def _agrees(answer: Answer, example: Example) -> bool:
    references = [example.context[start:end] for start, end in example.answers]
    return f1(answer.text, references, example.context_language) >= RIGHT


def logistic(rows: NDArray[np.float64], labels: NDArray[np.bool_]) -> tuple[float, ...]:
    """Weights of the columns of `rows` (N, F), none below 0, and the offset, of the logistic regression of `labels`.

    By Newton's method with a slight prior; without rows the weights are 1 and the offset 0.
    """
    if not len(rows):
        return (*[1.0] * rows.shape[1], 0.0)
    rows = np.concatenate([rows, np.ones((len(rows), 1))], 1)
    weights = np.zeros(rows.shape[1])
    weights[0] = 1.0 / max(1.0, float(rows[:, 0].std()))
    prior = np.full(rows.shape[1], 1e-3)
    for _ in range(_STEPS):
        chances = 1 / (1 + np.exp(-np.clip(rows @ weights, -50, 50)))
        gradient = rows.T @ (chances - labels) + prior * weights
        curvature = (rows * (chances * (1 - chances))[:, None]).T @ rows + np.diag(prior)
        step = np.linalg.solve(curvature, gradient)
        weights -= step / max(1.0, float(np.abs(step).max()))
    return (*np.maximum(weights[:-1], 0.0).tolist(), float(weights[-1]))


def fit_softmax(scores: Sequence[Sequence[float]], right: Sequence[Sequence[bool]]) -> tuple[float, float | None]:
    """Temperature, and the score of "another part of the text", by which what is right is most probable.

    Where none of a row is right, "another part" is. Its score is the same for all rows, so that a best span that
    scores high leaves it little.
    """
    if not scores:
        return 1.0, None
    widest = max(len(row) for row in scores)
    rows = np.array([[*row, *[-np.inf] * (widest - len(row))] for row in scores])
    good = np.array([[*row, *[False] * (widest - len(row))] for row in right])
    missed = ~good.any(1)

    def loss(temperature: float, other: float) -> float:
        highest = np.maximum(rows.max(1), other)
        weights = np.exp((rows - highest[:, None]) / temperature)
        rest = np.exp((other - highest) / temperature)
        chosen = (weights * good).sum(1) + missed * rest
        return float(-np.log(np.maximum(chosen / (weights.sum(1) + rest), _LEAST)).sum())

    return min(((float(t), float(o)) for t, o in product(_TEMPERATURES, _OTHERS)), key=lambda pair: loss(*pair))


def fit_slope(logits: NDArray[np.float64], labels: NDArray[np.bool_]) -> float:
    """The slope by which sigmoid(slope * logit) is the probability of a label; what the logit's sign says stays.

    Without an offset the share of true labels among the examples has no say.
    """
    slope, _ = logistic(np.concatenate([logits, -logits])[:, None], np.concatenate([labels, ~labels]))
    return slope
