"""The HMM word alignment model: where a token comes from depends on where the one before came from.

Vogel, Ney, Tillmann 1996, "HMM-Based Word Alignment in Statistical Translation", with the empty states of
Och and Ney 2003 (section 2.1.3): a token that NULL generates keeps the position of the one before it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dragoman.lexicon.alignment.corpus import Doubles, Floats
from dragoman.lexicon.alignment.models import TINY, Posteriors

Longs = npt.NDArray[np.intp]
MAXIMISATION_STEPS = 10
SMALLEST_SHARE = 1e-9


class _Passes(NamedTuple):
    """Time-major arrays of the forward-backward algorithm, scaled so that a token's posteriors sum to 1."""

    forward: Floats
    """(J, B, I): from position i, given everything up to token j."""
    empty: Floats
    """(J, B, I): from NULL with i the position kept."""
    arriving: Floats
    """(J, B, I): emission times backward over scale: what a transition into i at j is worth."""
    backward: Floats
    """(J, B, I)"""
    scale: Floats
    """(J, B): probability of token j given those before it."""


class Hmm:
    """First-order HMM over positions: p(i | i', I) = jump(i - i') / Σ jump(k - i'), p(first) likewise.

    Distances beyond `max_jump` share one parameter per side. NULL has a fixed rate. The M-step raises the
    expected log-likelihood by minorise-maximise steps (Hunter 2004, "MM algorithms for generalized
    Bradley-Terry models"), since the normalisation over the positions of a sentence of finite length leaves
    no closed form.
    """

    name = "hmm"

    def __init__(self, null_rate: float, max_jump: int) -> None:
        self.null_rate = null_rate
        self.max_jump = max_jump
        distance = np.arange(-max_jump, max_jump + 1)
        self.jumps: Doubles = _normalised(np.exp(-0.5 * np.abs(distance - 1)) + 0.02)
        self.starts: Doubles = _normalised(np.exp(-0.5 * np.arange(max_jump + 1)) + 0.02)
        self._transitions: dict[int, tuple[Floats, Floats]] = {}
        self._moves: dict[int, Doubles] = {}
        self._first: dict[int, Doubles] = {}

    def transitions(self, positions: int) -> tuple[Floats, Floats]:
        """First position (I,) and moves (I, I) from row to column; each distribution sums to 1."""
        found = self._transitions.get(positions)
        if found is None:
            first = self.starts[self._start_index(positions)]
            moves = self.jumps[self._jump_index(positions)]
            found = (
                (first / first.sum()).astype(np.float32),
                (moves / moves.sum(axis=1, keepdims=True)).astype(np.float32),
            )
            self._transitions[positions] = found
        return found

    def _jump_index(self, positions: int) -> Longs:
        places = np.arange(positions)
        index: Longs = np.clip(places - places[:, None], -self.max_jump, self.max_jump) + self.max_jump
        return index

    def _start_index(self, positions: int) -> Longs:
        return np.minimum(np.arange(positions), self.max_jump)

    def posteriors(self, emission: Floats, null: Floats, weights: Floats) -> Posteriors:
        first, moves = self.transitions(emission.shape[2])
        passes = _forward_backward(emission, null, first, moves, np.float32(self.null_rate))
        cells = passes.forward * passes.backward
        empty = np.einsum("jbi,jbi->bj", passes.empty, passes.backward)
        log_likelihood = np.log(passes.scale).sum(axis=0, dtype=np.float64)
        expected = _expected_moves(passes, moves, weights)
        return Posteriors(cells.transpose(1, 0, 2), empty, log_likelihood, expected)

    def collect(self, found: Posteriors) -> None:
        positions = found.cells.shape[2]
        first, moves = found.statistics
        self._first[positions] = self._first.get(positions, 0.0) + first
        self._moves[positions] = self._moves.get(positions, 0.0) + moves

    def update(self) -> None:
        rows = [(self._jump_index(positions), expected) for positions, expected in sorted(self._moves.items())]
        self.jumps = _maximise(self.jumps, rows)
        rows = [
            (self._start_index(positions)[None, :], expected[None, :])
            for positions, expected in sorted(self._first.items())
        ]
        self.starts = _maximise(self.starts, rows)
        self._transitions, self._moves, self._first = {}, {}, {}


def _forward_backward(emission: Floats, null: Floats, first: Floats, moves: Floats, null_rate: np.float32) -> _Passes:
    """`emission` (B, J, I), `null` (B, J)."""
    words = np.ascontiguousarray(emission.transpose(1, 0, 2)) * (np.float32(1) - null_rate)
    nothing = null.T[:, :, None] * null_rate
    length = len(words)
    forward, empty = np.empty_like(words), np.empty_like(words)
    scale = np.empty(words.shape[:2], dtype=np.float32)
    reached: Floats = np.broadcast_to(first, words.shape[1:])
    kept = reached
    for j in range(length):
        np.multiply(reached, words[j], out=forward[j])
        np.multiply(kept, nothing[j], out=empty[j])
        kept = forward[j] + empty[j]
        np.maximum(kept.sum(axis=1), TINY, out=scale[j])
        inverse = (np.float32(1) / scale[j])[:, None]
        forward[j] *= inverse
        empty[j] *= inverse
        kept *= inverse
        reached = kept @ moves
    backward = np.ones_like(words)
    words /= scale[:, :, None]
    nothing = nothing / scale[:, :, None]
    transposed = np.ascontiguousarray(moves.T)
    for j in range(length - 1, 0, -1):
        words[j] *= backward[j]
        np.multiply(nothing[j], backward[j], out=backward[j - 1])
        backward[j - 1] += words[j] @ transposed
    return _Passes(forward, empty, words, backward, scale)


def _expected_moves(passes: _Passes, moves: Floats, weights: Floats) -> tuple[Doubles, Doubles]:
    """Expected first positions (I,) and moves (I, I), summed over tokens and weighted sentence pairs."""
    before = passes.forward + passes.empty
    first = (before[0] * passes.backward[0] * weights[:, None]).sum(axis=0, dtype=np.float64)
    arriving = passes.arriving[1:] * weights[:, None]
    expected = (before[:-1].transpose(0, 2, 1) @ arriving).sum(axis=0, dtype=np.float64)
    return first, expected * moves


def _maximise(shares: Doubles, rows: list[tuple[Longs, Doubles]]) -> Doubles:
    """Shares that raise Σ expected log(share / Σ of the shares in its row).

    `rows` pairs index matrices (which share a cell uses) with expected counts of the same shape.
    """
    size = len(shares)
    counts = np.zeros(size)
    for index, expected in rows:
        np.add.at(counts, index, expected)
    if counts.sum() <= 0:
        return shares
    for _ in range(MAXIMISATION_STEPS):
        bounds = np.zeros(size)
        for index, expected in rows:
            rates = expected.sum(axis=1) / shares[index].sum(axis=1)
            np.add.at(bounds, index, np.broadcast_to(rates[:, None], index.shape))
        updated = np.where(bounds > 0, counts / np.maximum(bounds, 1e-300), shares)
        shares = _normalised(np.maximum(updated, SMALLEST_SHARE))
    return shares


def _normalised(values: Doubles) -> Doubles:
    result: Doubles = values / values.sum()
    return result
