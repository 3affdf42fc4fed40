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

from dragoman.lexicon.alignment.corpus import Corpus, read_corpus
from dragoman.lexicon.alignment.em import Aligner
from dragoman.lexicon.alignment.models import Diagonal, Direction, digamma
from dragoman.lexicon.alignment.training import AlignmentConfig, SentencePair, stages
from tests.lexicon.alignment.reference import NULL, Reference

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


def fitted(raw: Raw, config: AlignmentConfig) -> Aligner:
    aligner = Aligner(corpus_of(raw), stages(config), config.prior)
    with ThreadPoolExecutor(2) as executor:
        aligner.fit(executor, lambda *_: None)
    return aligner


def numbers(direction: Direction, conditioning: bool) -> list[int]:
    """The corpus' own letter of each class number."""
    inventory = direction.corpus.sources if direction.inverse != conditioning else direction.corpus.targets
    return [int(word) for word in inventory.words]


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("inverse", [False, True])
@given(raw=corpora)
@settings(max_examples=25, deadline=None)
def test_equals_enumeration(model: str, inverse: bool, raw: Raw) -> None:
    config = AlignmentConfig(
        model=model,
        model1_iterations=0,
        iterations=3,
        agreement="none",
        optimise_tension=False,
        null_rate=0.2,
        tension=3.0,
        max_jump=1,
    )
    aligner = fitted(raw, config)
    corpus, direction, fast = aligner.corpus, aligner.directions[inverse], aligner.models[inverse]
    pairs = [(t, s, w) if inverse else (s, t, w) for s, t, w in raw]
    slow = Reference(pairs, model, null_rate=0.2, tension=3.0, max_jump=1)
    for report in aligner.reports[inverse::2]:
        assert report.log_likelihood == pytest.approx(slow.iterate(), rel=1e-4, abs=1e-4)
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
            g_ids = direction.generated_ids(chunk)[row]
            c_ids = from_pair[direction.pairs(chunk)[row, 0]]
            _, expected, _ = slow.posteriors([conditioning[c] for c in c_ids], [generated[g] for g in g_ids])
            for j, token in enumerate(expected):
                assert found.null[row, j] == pytest.approx(token[NULL], abs=1e-3)
                assert found.cells[row, j].tolist() == pytest.approx([token[i] for i in range(len(c_ids))], abs=1e-3)


long_sentences = st.lists(st.integers(0, 12), min_size=1, max_size=14)
long_corpora = st.lists(st.tuples(long_sentences, long_sentences, weights), min_size=1, max_size=12)


@pytest.mark.parametrize("model", MODELS)
@given(raw=long_corpora)
@settings(max_examples=25, deadline=None)
def test_likelihood_never_falls(model: str, raw: Raw) -> None:
    config = AlignmentConfig(model=model, model1_iterations=0, iterations=6, max_jump=3, agreement="none")
    reports = fitted(raw, config).reports
    for direction in ("forward", "backward"):
        values = [report.log_likelihood for report in reports if report.direction == direction]
        assert len(values) == 6
        for before, after in pairwise(values):
            assert after >= before - 1e-4 * (1 + abs(before))


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("prior", [0.0, 0.01])
@pytest.mark.parametrize("agreement", ["none", "product", "geometric"])
@given(raw=long_corpora)
@settings(max_examples=15, deadline=None)
def test_posteriors_sum_to_one(model: str, prior: float, agreement: str, raw: Raw) -> None:
    aligner = fitted(raw, AlignmentConfig(model=model, iterations=3, prior=prior, agreement=agreement))
    for chunk in aligner.corpus.chunks:
        for found in aligner.posteriors(chunk):
            assert np.allclose(found.cells.sum(axis=2) + found.null, 1, atol=1e-4)
            assert found.cells.min() >= 0


@given(raw=long_corpora)
@settings(max_examples=25, deadline=None)
def test_tables_are_distributions(raw: Raw) -> None:
    for prior in (0.0, 0.01):
        aligner = fitted(raw, AlignmentConfig(iterations=2, prior=prior, agreement="none"))
        cells = aligner.directions[0].table.cells
        sums = np.bincount(aligner.corpus.pair_source, weights=cells)
        assert sums.max(initial=0.0) <= 1 + 1e-5


@given(raw=long_corpora)
@settings(max_examples=25, deadline=None)
def test_agreement_counts_the_joint_posteriors(raw: Raw) -> None:
    aligner = fitted(raw, AlignmentConfig(iterations=2))
    for chunk in aligner.corpus.chunks:
        forward, backward = aligner.posteriors(chunk)
        joint = forward.cells * backward.cells.transpose(0, 2, 1)
        for agreement, expected in (("product", joint), ("geometric", np.sqrt(joint))):
            found = aligner.expect(chunk, agreement)
            weighted = expected * chunk.weights[:, None, None]
            assert found.cells[1] is None
            assert np.allclose(found.cells[0].reshape(weighted.shape), weighted, atol=1e-6)
            left = np.maximum(chunk.weights[:, None] - weighted.sum(axis=2), 0)
            assert np.allclose(found.null[0], left, atol=1e-5)


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
    found = model.posteriors(emission.copy(), null, np.ones(30, np.float32))
    model.collect(found)
    model.update()

    def expected_log_likelihood(tension: float) -> float:
        prior = Diagonal(tension, 0.08, optimise=False).prior(6, 7).astype(np.float64)
        return float((found.cells * np.log(prior)).sum())

    best = expected_log_likelihood(model.tension)
    assert all(expected_log_likelihood(model.tension + delta) < best for delta in (-0.05, 0.05))


def test_digamma() -> None:
    points = np.concatenate([np.geomspace(1e-3, 10, 200), np.geomspace(10, 1e7, 50)])
    assert np.allclose(digamma(points), scipy_digamma(points), rtol=1e-9, atol=1e-9)
