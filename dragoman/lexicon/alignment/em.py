"""Expectation maximisation of both alignment directions in parallel, with or without agreement.

With agreement, both directions learn from the product of their posteriors (Liang, Taskar, Klein 2006, "Alignment
by Agreement") or from the geometric mean (one step of the projection of Ganchev, Graça and Taskar 2008, "Better
Alignments = Better Translations?") instead of from their own posteriors.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, Future
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from dragoman.lexicon.alignment.corpus import Chunk, Corpus, Doubles, Progress
from dragoman.lexicon.alignment.models import Direction, PositionModel, Posteriors

AGREEMENTS = ("none", "product", "geometric")
_MAX_PENDING = 6

Argument = TypeVar("Argument")
Result = TypeVar("Result")


class Stage(NamedTuple):
    """Some iterations of one model. `start` creates the untrained model."""

    name: str
    start: Callable[[], PositionModel]
    iterations: int
    agreement: str


@dataclass(frozen=True)
class IterationReport:
    """One EM iteration in one direction, measured before the parameter update."""

    direction: str
    model: str
    iteration: int
    log_likelihood: float
    perplexity: float
    """exp(-log-likelihood per generated token)."""


class Expectation(NamedTuple):
    """Expected counts of one chunk per direction: flat pair ids, counts of pairs and of NULL, posteriors."""

    pairs: npt.NDArray[np.intp]
    cells: tuple[Doubles, Doubles | None]
    """The second is None if both directions share their counts."""
    null: tuple[Doubles, Doubles]
    posteriors: tuple[Posteriors, Posteriors]


class Aligner:
    """Both directions of a corpus with their models, which :meth:`fit` trains."""

    def __init__(self, corpus: Corpus, stages: Iterable[Stage], prior: float) -> None:
        self.corpus = corpus
        self.stages = [stage for stage in stages if stage.iterations]
        self.prior = prior
        self.directions = Direction(corpus, inverse=False), Direction(corpus, inverse=True)
        self.models = self.stages[0].start(), self.stages[0].start()
        self.reports: list[IterationReport] = []
        self._tokens = [
            sum(float(c.weights.sum()) * direction.pairs(c).shape[1] for c in corpus.chunks)
            for direction in self.directions
        ]

    def fit(self, executor: Executor, progress: Progress) -> None:
        """Run all stages; `progress` reports the phase "align" in cells."""
        total = self.corpus.counts.cells * sum(stage.iterations for stage in self.stages)
        done = 0
        for stage in self.stages:
            self.models = stage.start(), stage.start()
            for iteration in range(1, stage.iterations + 1):
                for cells in self.iterate(executor, stage.agreement, iteration):
                    done += cells
                    progress("align", done, total)

    def iterate(self, executor: Executor, agreement: str, iteration: int) -> Iterator[int]:
        """One EM iteration; yields the number of cells of each finished chunk, and updates after the last."""
        cells = [np.zeros(len(self.corpus.pair_source)) for _ in range(1 if agreement != "none" else 2)]
        null = [np.zeros(direction.generated_count) for direction in self.directions]
        log_likelihoods = [0.0, 0.0]
        chunks = self.corpus.chunks
        expectations = map_in_order(executor, lambda chunk: self.expect(chunk, agreement), chunks)
        for chunk, expected in zip(chunks, expectations, strict=True):
            for total, part in zip(cells, expected.cells, strict=False):
                if part is not None:
                    np.add.at(total, expected.pairs, part)
            for side, direction in enumerate(self.directions):
                posteriors = expected.posteriors[side]
                generated = direction.generated_ids(chunk).ravel().astype(np.intp)
                np.add.at(null[side], generated, expected.null[side].ravel())
                log_likelihoods[side] += float((posteriors.log_likelihood * chunk.weights).sum())
                self.models[side].collect(posteriors)
            yield chunk.pairs.size
        for side, direction in enumerate(self.directions):
            direction.maximise(cells[side % len(cells)], null[side], self.prior)
            self._report(side, iteration, log_likelihoods[side])
            self.models[side].update()

    def expect(self, chunk: Chunk, agreement: str) -> Expectation:
        """E-step of one chunk. Thread-safe, as it changes nothing."""
        forward, backward = self.posteriors(chunk)
        weights = chunk.weights.astype(np.float64)
        pairs = chunk.pairs.ravel().astype(np.intp)
        if agreement == "none":
            first = forward.cells * weights[:, None, None]
            second = backward.cells.transpose(0, 2, 1) * weights[:, None, None]
            null = forward.null * weights[:, None], backward.null * weights[:, None]
            return Expectation(pairs, (first.ravel(), second.ravel()), null, (forward, backward))
        joint = forward.cells * backward.cells.transpose(0, 2, 1)
        if agreement == "geometric":
            np.sqrt(joint, out=joint)
        null = (
            np.maximum(1 - joint.sum(axis=2), 0) * weights[:, None],
            np.maximum(1 - joint.sum(axis=1), 0) * weights[:, None],
        )
        shared = joint * weights[:, None, None]
        return Expectation(pairs, (shared.ravel(), None), null, (forward, backward))

    def posteriors(self, chunk: Chunk) -> tuple[Posteriors, Posteriors]:
        """Forward (B, m, n) and backward (B, n, m)."""
        forward, backward = (
            direction.posteriors(chunk, model) for direction, model in zip(self.directions, self.models, strict=True)
        )
        return forward, backward

    def _report(self, side: int, iteration: int, log_likelihood: float) -> None:
        perplexity = float(np.exp(-log_likelihood / max(self._tokens[side], 1e-9)))
        direction, model = ("forward", "backward")[side], self.models[side].name
        self.reports.append(IterationReport(direction, model, iteration, log_likelihood, perplexity))


def map_in_order(
    executor: Executor, function: Callable[[Argument], Result], arguments: Iterable[Argument]
) -> Iterator[Result]:
    """Like `executor.map`, but with at most _MAX_PENDING submitted calls."""
    pending: deque[Future[Result]] = deque()
    try:
        for argument in arguments:
            pending.append(executor.submit(function, argument))
            if len(pending) >= _MAX_PENDING:
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()
    finally:
        for future in pending:
            future.cancel()
