"""Plain, slow expectation maximisation for the alignment models, to compare the fast code with.

Sentences are lists of integers; each pair is (conditioning, generated). Positions are enumerated, for the
HMM whole paths of states, and everything is done in Python floats and dictionaries.
"""

from __future__ import annotations

import math
from collections import defaultdict
from itertools import product

NULL = -1
Pairs = list[tuple[list[int], list[int], float]]


class Reference:
    """State of one direction: t[generated, conditioning], and the position parameters."""

    def __init__(self, pairs: Pairs, model: str, null_rate: float, tension: float, max_jump: int) -> None:
        self.pairs = pairs
        self.model = model
        self.null_rate = null_rate
        self.tension = tension
        self.max_jump = max_jump
        vocabulary = {g for _, generated, _ in pairs for g in generated}
        self.t: dict[tuple[int, int], float] = defaultdict(lambda: 1.0 / len(vocabulary))
        self.jumps = scaled([math.exp(-0.5 * abs(d - 1)) + 0.02 for d in range(-max_jump, max_jump + 1)])
        self.starts = scaled([math.exp(-0.5 * d) + 0.02 for d in range(max_jump + 1)])

    def posteriors(
        self, conditioning: list[int], generated: list[int]
    ) -> tuple[float, list[dict[int, float]], dict[tuple[int, int], float]]:
        """Likelihood; per generated token, position (or NULL) to posterior; expected moves (from, to)."""
        if self.model == "hmm":
            return self._paths(conditioning, generated)
        likelihood, result = 1.0, []
        for j, g in enumerate(generated):
            prior = self._prior(j, len(generated), len(conditioning))
            joint = {i: prior[i] * self.t[g, conditioning[i]] for i in range(len(conditioning))}
            joint[NULL] = prior[NULL] * self.t[g, NULL]
            total = sum(joint.values())
            likelihood *= total
            result.append({i: value / total for i, value in joint.items()})
        return likelihood, result, {}

    def _prior(self, j: int, length: int, positions: int) -> dict[int, float]:
        if self.model == "model1":
            return dict.fromkeys([NULL, *range(positions)], 1 / (positions + 1))
        scores = [math.exp(-self.tension * abs((i + 1) / positions - (j + 1) / length)) for i in range(positions)]
        prior = {i: (1 - self.null_rate) * score / sum(scores) for i, score in enumerate(scores)}
        return {NULL: self.null_rate, **prior}

    def _jump(self, before: int, to: int) -> float:
        return self.jumps[max(-self.max_jump, min(self.max_jump, to - before)) + self.max_jump]

    def _start(self, to: int) -> float:
        return self.starts[min(to, self.max_jump)]

    def _paths(
        self, conditioning: list[int], generated: list[int]
    ) -> tuple[float, list[dict[int, float]], dict[tuple[int, int], float]]:
        places = range(len(conditioning))
        likelihood = 0.0
        result: list[dict[int, float]] = [defaultdict(float) for _ in generated]
        moves: dict[tuple[int, int], float] = defaultdict(float)
        for path in product([(i, empty) for i in places for empty in (False, True)], repeat=len(generated)):
            probability = 1.0
            for j, (i, empty) in enumerate(path):
                if j == 0:
                    probability *= self._start(i) / sum(self._start(k) for k in places)
                elif not empty:
                    before = path[j - 1][0]
                    probability *= self._jump(before, i) / sum(self._jump(before, k) for k in places)
                elif i != path[j - 1][0]:
                    probability = 0.0
                rate = self.null_rate if empty else 1 - self.null_rate
                probability *= rate * self.t[generated[j], NULL if empty else conditioning[i]]
            likelihood += probability
            for j, (i, empty) in enumerate(path):
                result[j][NULL if empty else i] += probability
                if j == 0:
                    moves[NULL, i] += probability
                elif not empty:
                    moves[path[j - 1][0], i] += probability
        normalised = [{i: value / likelihood for i, value in token.items()} for token in result]
        return likelihood, normalised, {move: value / likelihood for move, value in moves.items()}

    def iterate(self) -> float:
        """One EM step; the log-likelihood before it."""
        counts: dict[tuple[int, int], float] = defaultdict(float)
        totals: dict[int, float] = defaultdict(float)
        moves: dict[int, dict[tuple[int, int], float]] = defaultdict(lambda: defaultdict(float))
        log_likelihood = 0.0
        for conditioning, generated, weight in self.pairs:
            likelihood, posteriors, moved = self.posteriors(conditioning, generated)
            log_likelihood += weight * math.log(likelihood)
            for g, token in zip(generated, posteriors, strict=True):
                for i, value in token.items():
                    c = NULL if i == NULL else conditioning[i]
                    counts[g, c] += weight * value
                    totals[c] += weight * value
            for move, value in moved.items():
                moves[len(conditioning)][move] += weight * value
        self.t = defaultdict(float, {(g, c): value / totals[c] for (g, c), value in counts.items()})
        if self.model == "hmm":
            self._update(moves)
        return log_likelihood

    def _update(self, moves: dict[int, dict[tuple[int, int], float]]) -> None:
        for _ in range(10):
            self.jumps = self._step(self.jumps, moves, start=False)
            self.starts = self._step(self.starts, moves, start=True)

    def _step(self, shares: list[float], moves: dict[int, dict[tuple[int, int], float]], start: bool) -> list[float]:
        counts, bounds = [0.0] * len(shares), [0.0] * len(shares)
        for positions, expected in moves.items():
            for (before, to), value in expected.items():
                if (before == NULL) != start:
                    continue
                indices = [self._index(before, k) for k in range(positions)]
                counts[self._index(before, to)] += value
                for index in indices:
                    bounds[index] += value / sum(shares[k] for k in indices)
        if not sum(counts):
            return shares
        updated = [c / b if b else s for c, b, s in zip(counts, bounds, shares, strict=True)]
        return scaled([max(value, 1e-9) for value in updated])

    def _index(self, before: int, to: int) -> int:
        if before == NULL:
            return min(to, self.max_jump)
        return max(-self.max_jump, min(self.max_jump, to - before)) + self.max_jump


def scaled(values: list[float]) -> list[float]:
    return [value / sum(values) for value in values]
