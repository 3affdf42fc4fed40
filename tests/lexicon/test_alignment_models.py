"""The fast models against plain enumeration, and the properties of expectation maximisation."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import digamma as scipy_digamma

from dragoman.lexicon.alignment import AlignmentConfig, SentencePair, fit, position_model
from dragoman.lexicon.alignment_corpus import Corpus, read_corpus
from dragoman.lexicon.alignment_models import Diagonal, Direction, PositionModel, digamma
from tests.lexicon.alignment_reference import NULL, Reference

MODELS = ["model1", "model2", "hmm"]


@dataclass(frozen=True)
class Word:
    word: str

    @property
    def term(self) -> str:
        return self.word


def words(letters: list[int]) -> list[Word]:
    return [Word(str(letter)) for letter in letters]


sentences = st.lists(st.integers(0, 4), min_size=1, max_size=3)
weights = st.sampled_from([0.25, 1.0, 2.0])
corpora = st.lists(st.tuples(sentences, sentences, weights), min_size=1, max_size=6)
Raw = list[tuple[list[int], list[int], float]]


def corpus_of(raw: Raw) -> Corpus:
    pairs = (SentencePair(words(source), words(target), weight) for source, target, weight in raw)
    with ThreadPoolExecutor(2) as executor:
        return read_corpus(pairs, 100, 9.0, lambda *_: None, executor)


def step(direction: Direction, model: PositionModel) -> float:
    """One EM step through the public parts; the log-likelihood before it."""
    cells, null = np.zeros(len(direction.table.cells)), np.zeros(len(direction.table.null))
    total = 0.0
    for chunk in direction.corpus.chunks:
        found = direction.posteriors(chunk, model, collect=True)
        scaled = found.cells * chunk.weights[:, None, None]
        np.add.at(cells, direction.pairs(chunk), scaled)
        np.add.at(null, direction.generated(chunk), found.null * chunk.weights[:, None])
        total += float(found.log_likelihood @ chunk.weights)
    direction.maximise(cells, null, 0.0)
    model.update()
    return total


def numbers(direction: Direction, conditioning: bool) -> list[int]:
    """The corpus' own letter of each class number."""
    inventory = direction.corpus.sources if direction.inverse != conditioning else direction.corpus.targets
    return [int(word) for word in inventory.words]


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("inverse", [False, True])
@given(raw=corpora)
@settings(max_examples=25, deadline=None)
def test_equals_enumeration(model: str, inverse: bool, raw: Raw) -> None:
    corpus = corpus_of(raw)
    direction = Direction(corpus, inverse)
    config = AlignmentConfig(model=model, optimise_tension=False, null_rate=0.2, tension=3.0, max_jump=1)
    fast = position_model(model, config)
    pairs = [(t, s, w) if inverse else (s, t, w) for s, t, w in raw]
    slow = Reference(pairs, model, null_rate=0.2, tension=3.0, max_jump=1)
    for _ in range(3):
        assert step(direction, fast) == pytest.approx(slow.iterate(), rel=1e-4, abs=1e-4)
    generated, conditioning = numbers(direction, False), numbers(direction, True)
    of_pair = corpus.pair_source if inverse else corpus.pair_target
    from_pair = corpus.pair_target if inverse else corpus.pair_source
    for g, c, value in zip(of_pair, from_pair, direction.table.cells, strict=True):
        assert value == pytest.approx(slow.t[generated[g], conditioning[c]], rel=2e-3, abs=1e-5)
    for g, value in enumerate(direction.table.null):
        assert value == pytest.approx(slow.t[generated[g], NULL], rel=2e-3, abs=1e-5)
    for chunk in corpus.chunks:
        found = direction.posteriors(chunk, fast)
        for row in range(len(chunk.weights)):
            g_ids = direction.generated(chunk)[row]
            c_ids = from_pair[direction.pairs(chunk)[row, 0]]
            _, expected, _ = slow.posteriors([conditioning[c] for c in c_ids], [generated[g] for g in g_ids])
            for j, token in enumerate(expected):
                assert found.null[row, j] == pytest.approx(token[NULL], abs=1e-3)
                assert found.cells[row, j].tolist() == pytest.approx(
                    [token[i] for i in range(len(c_ids))], abs=1e-3
                )


long_sentences = st.lists(st.integers(0, 12), min_size=1, max_size=14)
long_corpora = st.lists(st.tuples(long_sentences, long_sentences, weights), min_size=1, max_size=12)


@pytest.mark.parametrize("model", MODELS)
@given(raw=long_corpora)
@settings(max_examples=25, deadline=None)
def test_likelihood_never_falls(model: str, raw: Raw) -> None:
    config = AlignmentConfig(model=model, model1_iterations=0, iterations=6, max_jump=3)
    for inverse in (False, True):
        _, reports = fit(Direction(corpus_of(raw), inverse), config, "any")
        values = [report.log_likelihood for report in reports]
        for before, after in pairwise(values):
            assert after >= before - 1e-4 * (1 + abs(before))


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("prior", [0.0, 0.01])
@given(raw=long_corpora)
@settings(max_examples=25, deadline=None)
def test_posteriors_sum_to_one(model: str, prior: float, raw: Raw) -> None:
    config = AlignmentConfig(model=model, iterations=3, prior=prior)
    direction = Direction(corpus_of(raw), inverse=False)
    positions, _ = fit(direction, config, "any")
    for chunk in direction.corpus.chunks:
        found = direction.posteriors(chunk, positions)
        sums = found.cells.sum(axis=2) + found.null
        assert np.allclose(sums, 1, atol=1e-4)
        assert found.cells.min() >= 0


@given(raw=long_corpora)
@settings(max_examples=25, deadline=None)
def test_tables_are_distributions(raw: Raw) -> None:
    for prior, most in ((0.0, 1.0 + 1e-5), (0.01, 1.0 + 1e-5)):
        direction = Direction(corpus_of(raw), inverse=False)
        fit(direction, AlignmentConfig(iterations=2, prior=prior), "any")
        sums = np.bincount(direction.corpus.pair_source, weights=direction.table.cells)
        assert sums.max() <= most
        assert prior > 0 or np.allclose(sums, 1, atol=1e-4)


def test_pairs_are_numbered_once() -> None:
    raw: Raw = [([0, 1], [2, 3], 1.0), ([1, 0], [3, 2], 1.0), ([0, 1, 1], [2], 1.0)]
    corpus = corpus_of(raw)
    keys = list(zip(corpus.pair_source.tolist(), corpus.pair_target.tolist(), strict=True))
    assert keys == sorted(set(keys)) and len(keys) == 4
    sources, targets = corpus.sources.arrays()[1], corpus.targets.arrays()[1]
    for chunk in corpus.chunks:
        assert np.array_equal(
            corpus.pair_source[chunk.pairs],
            np.broadcast_to(sources[chunk.source][:, None, :], chunk.pairs.shape),
        )
        assert np.array_equal(
            corpus.pair_target[chunk.pairs],
            np.broadcast_to(targets[chunk.target][:, :, None], chunk.pairs.shape),
        )


def test_tension_is_the_maximum() -> None:
    rng = np.random.default_rng(5)
    model = Diagonal(4.0, 0.08, optimise=True)
    emission = rng.random((30, 6, 7), dtype=np.float32)
    null = rng.random((30, 6), dtype=np.float32)
    found = model.posteriors(emission.copy(), null, np.ones(30, np.float32), collect=True)
    model.update()

    def expected_log_likelihood(tension: float) -> float:
        prior = Diagonal(tension, 0.08, optimise=False).prior(6, 7).astype(np.float64)
        return float((found.cells * np.log(prior)).sum())

    best = expected_log_likelihood(model.tension)
    assert all(expected_log_likelihood(model.tension + delta) < best for delta in (-0.05, 0.05))


def test_digamma() -> None:
    points = np.concatenate([np.geomspace(1e-3, 10, 200), np.geomspace(10, 1e7, 50)])
    assert np.allclose(digamma(points), scipy_digamma(points), rtol=1e-9, atol=1e-9)
