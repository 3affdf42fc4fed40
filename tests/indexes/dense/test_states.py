"""The states of subwords that a dense index keeps: their codec, and MaxSim over any history of changes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from dragoman.indexes.dense.index import DenseIndex, Embedded
from dragoman.indexes.dense.state_codec import StateCodec

WIDTH = 4
GRID = np.linspace(-1, 1, 256, dtype=np.float32)
EXACT = StateCodec(np.tile(GRID[None, :, None], (WIDTH, 1, 1)), np.zeros(WIDTH), np.eye(WIDTH), layer=2)
"""Each of the dimensions in 8 bits: the codes lose next to nothing."""

STATES = st.lists(st.lists(st.sampled_from([-1.0, -0.5, 0.0, 0.25, 1.0]), min_size=WIDTH, max_size=WIDTH), max_size=5)
DOCUMENTS = st.tuples(st.integers(0, 5), st.lists(STATES, max_size=6))
STEPS = st.lists(
    st.tuples(st.just("put"), st.lists(DOCUMENTS, max_size=3))
    | st.tuples(st.just("delete"), st.lists(st.integers(0, 5), max_size=3))
    | st.tuples(st.sampled_from(["compact", "copy"]), st.none()),
    max_size=10,
)


def rows(states: list[list[float]]) -> NDArray[np.float32]:
    return np.array(states, np.float32).reshape(-1, WIDTH)


def embedded(key: int, passages: list[list[list[float]]], codec: StateCodec = EXACT) -> Embedded:
    """A document whose n-th passage has the vector (n, 0, 0, 0)."""
    spans = [(10 * number, 10 * number + 9) for number in range(len(passages))]
    vectors = np.zeros((len(passages), WIDTH), np.float32)
    vectors[:, 0] = range(len(passages))
    codes = codec.encode(rows([state for states in passages for state in states]))
    return Embedded(key, 1, spans, vectors, state_counts=[len(states) for states in passages], state_codes=codes)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(STEPS, STATES, st.sampled_from([1.0, -1.0]))
def test_any_history_gives_the_maxsim_of_brute_force(monkeypatch, steps, query, sign) -> None:
    """Of the two passages nearest to the query, the last or the first ones, unless they are long."""
    monkeypatch.setattr("dragoman.indexes.dense.index._COMPARED_SUBWORDS", 6)
    index, model = DenseIndex(WIDTH, EXACT), {}
    for step, argument in steps:
        if step == "put":
            index.put([embedded(key, passages) for key, passages in argument])
            model.update(dict(argument))
        elif step == "delete":
            index.delete(argument)
            for key in argument:
                model.pop(key, None)
        elif step == "compact":
            index._compact()
        else:
            documents = index.get(index.generations)
            index = DenseIndex(WIDTH, EXACT)
            index.put(documents)
        assert index.state_bytes == WIDTH * sum(len(states) for passages in model.values() for states in passages)
    kept = index.state_codes(np.array([sign, 0, 0, 0], np.float32), range(7))
    assert kept is not None
    found = EXACT.maxima(kept.codes, kept.lengths, rows(query)) if kept.rows else []
    for key in range(7):
        passages = model.get(key, [])
        nearest = passages[::-1] if sign > 0 else passages
        compared = nearest[:2] if sum(map(len, nearest[:2])) <= 6 else nearest[:1]
        states = rows([state for passage in compared for state in passage])
        assert (key in kept.rows) == bool(len(states))
        if len(states):
            own = found[kept.rows.index(key)]
            np.testing.assert_allclose(own, (rows(query) @ states.T).max(1), atol=0.03)


def test_states_that_were_dropped_stay_away() -> None:
    index = DenseIndex(WIDTH, EXACT)
    index.put([embedded(1, [[[1.0] * 4, [0.5] * 4]])])
    assert index.state_bytes == 8
    index.drop_states()
    index.put([embedded(3, [[[1.0] * 4]])])
    index._compact()
    assert index.state_bytes == 0
    assert index.state_codes(np.ones(WIDTH, np.float32), [3]) is None
    assert [hit.key for hit in index.search(np.ones(WIDTH, np.float32), 2)] == [1, 3]


def test_documents_without_states_or_with_other_ones_are_refused() -> None:
    index = DenseIndex(WIDTH, EXACT)
    good = embedded(1, [[[1.0] * 4]])
    for bad in (good._replace(state_counts=[2]), good._replace(state_counts=(), state_codes=None)):
        with pytest.raises(ValueError, match="codes"):
            index.put([bad])
    assert len(index) == 0
    index.put([good])
    assert index.state_bytes == WIDTH


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 1000))
def test_a_trained_codec_comes_near_its_states(tmp_path_factory, seed: int) -> None:
    random = np.random.default_rng(seed)
    states = random.standard_normal((600, 8)).astype(np.float32)
    states /= np.linalg.norm(states, axis=1, keepdims=True)
    errors = []
    for size in (2, 4, 8):
        codec = StateCodec.train(states, size, layer=3)
        codes = codec.encode(states)
        assert (codes.shape, codes.dtype) == ((600, size), np.uint8)
        np.testing.assert_allclose(codec._rotation @ codec._rotation.T, np.eye(8), atol=1e-5)
        rotated = (states - codec._mean) @ codec._rotation.T
        nearest = np.linalg.norm(rotated.reshape(600, size, 1, -1) - codec.centroids[None], axis=-1).argmin(-1)
        assert (codes == nearest).mean() > 0.999
        cosines = codec.decode(codes) @ states[:5].T
        largest = [cosines[:1].max(0), cosines[1:200].max(0), cosines[200:].max(0)]
        found = codec.maxima(codes, [1, 199, 400], states[:5])
        np.testing.assert_allclose(found, largest, atol=1e-5)
        alone = codec.maxima(codes[1:200], [199], states[:5])
        assert (found[1:2] == alone).all()  # a document's products are its own
        errors.append(float(np.square(states - codec.decode(codes)).sum(1).mean()))
    assert errors == sorted(errors, reverse=True)
    path = tmp_path_factory.mktemp("codec") / "codec.safetensors"
    codec.save(path)
    loaded = StateCodec.load(path)
    assert (loaded.size, loaded.width, loaded.layer) == (8, 8, 3)
    assert (loaded.encode(states) == codes).mean() > 0.97  # the centroids are kept in 16 bits
    assert loaded.decode(loaded.encode(states[:0])).shape == (0, 8)


def test_a_damaged_codec_is_named(tmp_path: Path) -> None:
    path = tmp_path / "codec.safetensors"
    path.write_bytes(b"no")
    with pytest.raises(ValueError, match=r"codec\.safetensors is not a codec"):
        StateCodec.load(path)
    with pytest.raises(ValueError, match="are not those of codes"):
        StateCodec(np.zeros((2, 16, 4)), np.zeros(8), np.eye(8), 1)
    with pytest.raises(ValueError, match="do not fit"):
        StateCodec(np.zeros((2, 256, 4)), np.zeros(8), np.eye(7), 1)
    with pytest.raises(ValueError, match="not finite"):
        StateCodec(np.full((2, 256, 4), np.nan), np.zeros(8), np.eye(8), 1)
