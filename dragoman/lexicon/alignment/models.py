"""Word alignment models in which each generated token chooses its position on its own.

Notation: a sentence of I conditioning tokens (plus NULL) generates J tokens; B sentence pairs at a time.
IBM Model 1: Brown et al. 1993, "The Mathematics of Statistical Machine Translation". Reparametrised Model 2:
Dyer, Chahuneau, Smith 2013, "A Simple, Fast, and Effective Reparameterization of IBM Model 2".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from dragoman.lexicon.alignment.corpus import Chunk, Corpus, Doubles, Floats, Ints

TINY = np.float32(1e-30)


class Posteriors(NamedTuple):
    """Posteriors of the position of each generated token: `cells` (B, J, I) and `null` (B, J) sum to 1 per token."""

    cells: Floats
    null: Floats
    log_likelihood: Doubles
    """(B,), natural logarithm."""
    statistics: tuple[Doubles, ...] = ()
    """Sufficient statistics of the model's parameters, summed over the B weighted pairs."""


class PositionModel(Protocol):
    """Prior over the position of each generated token."""

    name: str

    def posteriors(self, emission: Floats, null: Floats, weights: Floats) -> Posteriors:
        """E-step: `emission` (B, J, I) = t(generated | conditioning), `null` (B, J) = t(generated | NULL).

        Both may be overwritten. Thread-safe, as the model does not change.
        """

    def collect(self, posteriors: Posteriors) -> None:
        """Accumulate the statistics of these posteriors."""

    def update(self) -> None:
        """M-step over the accumulated statistics, which are then reset."""


@dataclass
class LexicalTable:
    """t(generated | conditioning) for every co-occurring pair of classes, and t(generated | NULL)."""

    cells: Floats
    null: Floats

    @classmethod
    def uniform(cls, corpus: Corpus, generated_count: int) -> LexicalTable:
        share = 1.0 / max(generated_count, 1)
        return cls(
            np.full(len(corpus.pair_source), share, dtype=np.float32),
            np.full(generated_count, share, dtype=np.float32),
        )


class Direction:
    """One direction of a corpus: with `inverse`, target sentences generate source sentences."""

    def __init__(self, corpus: Corpus, inverse: bool) -> None:
        self.corpus = corpus
        self.inverse = inverse
        self.generated_classes: Ints = (corpus.sources if inverse else corpus.targets).arrays()[1]
        self.generated_count = (corpus.sources if inverse else corpus.targets).class_count
        self.conditioning_count = (corpus.targets if inverse else corpus.sources).class_count
        self.table = LexicalTable.uniform(corpus, self.generated_count)
        self._pair_conditioning = corpus.pair_target if inverse else corpus.pair_source
        self._support = np.bincount(self._pair_conditioning, minlength=self.conditioning_count)

    def pairs(self, chunk: Chunk) -> Ints:
        """(B, J, I) pair ids."""
        return chunk.pairs.transpose(0, 2, 1) if self.inverse else chunk.pairs

    def generated_ids(self, chunk: Chunk) -> Ints:
        """(B, J) classes of the generated tokens."""
        return self.generated_classes[chunk.source if self.inverse else chunk.target]

    def posteriors(self, chunk: Chunk, positions: PositionModel) -> Posteriors:
        return positions.posteriors(
            self.table.cells[self.pairs(chunk)], self.table.null[self.generated_ids(chunk)], chunk.weights
        )

    def maximise(self, cells: Doubles, null: Doubles, prior: float) -> None:
        """M-step: estimate t(.|.) from expected counts, with a symmetric Dirichlet prior if `prior` > 0.

        With a prior, this is the mean-field variational estimate exp(ψ(c + a) - ψ(Σc + aV)), where V is the number
        of words that co-occur with the conditioning word; otherwise it is the relative frequency.
        """
        totals = np.bincount(self._pair_conditioning, weights=cells, minlength=self.conditioning_count)
        if prior > 0:
            rates = np.exp(-digamma(totals + prior * self._support))
            estimate = np.exp(digamma(cells + prior)) * rates[self._pair_conditioning]
            null_total = np.asarray(null.sum() + prior * max(len(null), 1))
            null_estimate = np.exp(digamma(null + prior) - digamma(null_total))
        else:
            rates = 1.0 / np.maximum(totals, float(TINY))
            estimate = cells * rates[self._pair_conditioning]
            null_estimate = null / max(float(null.sum()), float(TINY))
        self.table = LexicalTable(
            np.maximum(estimate, TINY).astype(np.float32), np.maximum(null_estimate, TINY).astype(np.float32)
        )


class Uniform:
    """IBM Model 1: all positions and NULL are equally probable."""

    name = "model1"

    def posteriors(self, emission: Floats, null: Floats, weights: Floats) -> Posteriors:
        positions = emission.shape[2] + 1
        emission /= np.float32(positions)
        return _independent(emission, null / np.float32(positions))

    def collect(self, posteriors: Posteriors) -> None:
        """The model has no parameters."""

    def update(self) -> None:
        """The model has no parameters."""


class Diagonal:
    """fast_align's Model 2: p(i | j, I, J) proportional to exp(-tension |i/I - j/J|), NULL at a fixed rate.

    The tension is fixed, or each M-step sets it to the maximum of the expected log-likelihood, which is concave
    in it.
    """

    name = "model2"

    def __init__(self, tension: float, null_rate: float, optimise: bool) -> None:
        self.tension = tension
        self.null_rate = null_rate
        self.optimise = optimise
        self._priors: dict[tuple[int, int], Floats] = {}
        self._mass: dict[tuple[int, int], Doubles] = {}
        self._distance = 0.0

    def prior(self, generated: int, conditioning: int) -> Floats:
        """(J, I), rows sum to 1 - null_rate."""
        shape = (generated, conditioning)
        probabilities = self._priors.get(shape)
        if probabilities is None:
            scores = np.exp(-self.tension * _distances(*shape))
            probabilities = ((1 - self.null_rate) * scores / scores.sum(axis=1, keepdims=True)).astype(np.float32)
            self._priors[shape] = probabilities
        return probabilities

    def posteriors(self, emission: Floats, null: Floats, weights: Floats) -> Posteriors:
        shape = emission.shape[1], emission.shape[2]
        emission *= self.prior(*shape)
        posteriors = _independent(emission, null * np.float32(self.null_rate))
        if not self.optimise:
            return posteriors
        mass = (posteriors.cells * weights[:, None, None]).sum(axis=0, dtype=np.float64)
        distance = np.asarray((mass * _distances(*shape)).sum())
        return posteriors._replace(statistics=(mass.sum(axis=1), distance))

    def collect(self, posteriors: Posteriors) -> None:
        if self.optimise:
            mass, distance = posteriors.statistics
            shape = posteriors.cells.shape[1], posteriors.cells.shape[2]
            self._mass[shape] = self._mass.get(shape, 0.0) + mass
            self._distance += float(distance)

    def update(self) -> None:
        if self.optimise and self._mass:
            self.tension = self._best_tension()
            self._priors = {}
        self._mass, self._distance = {}, 0.0

    def _best_tension(self, low: float = 0.1, high: float = 14.0, steps: int = 16) -> float:
        """Bisection on the derivative, Σ mass E[distance] - Σ distance, which decreases with the tension."""
        for _ in range(steps):
            middle = (low + high) / 2
            if self._expected_distance(middle) > self._distance:
                low = middle
            else:
                high = middle
        return (low + high) / 2

    def _expected_distance(self, tension: float) -> float:
        total = 0.0
        for shape, mass in self._mass.items():
            distances = _distances(*shape)
            scores = np.exp(-tension * distances)
            total += float(mass @ ((scores * distances).sum(axis=1) / scores.sum(axis=1)))
        return total


def _distances(generated: int, conditioning: int) -> Doubles:
    rows = np.arange(1, generated + 1) / generated
    columns = np.arange(1, conditioning + 1) / conditioning
    return np.abs(rows[:, None] - columns)


def _independent(joint: Floats, null: Floats) -> Posteriors:
    total = np.maximum(joint.sum(axis=2) + null, TINY)
    scale = np.float32(1) / total
    joint *= scale[:, :, None]
    return Posteriors(joint, null * scale, np.log(total).sum(axis=1, dtype=np.float64))


def digamma(x: Doubles) -> Doubles:
    """ψ(x) for x > 0: recurrence up to x >= 6, then the asymptotic series (error below 1e-9)."""
    shifted = x + 6.0
    below = sum(1.0 / (x + k) for k in range(6))
    inverse = 1.0 / (shifted * shifted)
    series = inverse * (1 / 12 - inverse * (1 / 120 - inverse * (1 / 252 - inverse / 240)))
    result: Doubles = np.log(shifted) - 0.5 / shifted - series - below
    return result
