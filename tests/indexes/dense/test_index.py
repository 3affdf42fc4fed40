from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.indexes.dense.index import DenseIndex, Embedded
from dragoman.indexes.dense.parts import to_8_bits
from dragoman.indexes.dense.sharded_index import ShardedDenseIndex

WIDTH = 4

VECTORS = st.lists(st.sampled_from([-1.0, 0.0, 0.5, 1.0]), min_size=WIDTH, max_size=WIDTH)
DOCUMENTS = st.tuples(st.integers(0, 6), st.lists(VECTORS, max_size=4))
STEPS = st.lists(
    st.tuples(st.just("put"), st.lists(DOCUMENTS, max_size=3))
    | st.tuples(st.just("delete"), st.lists(st.integers(0, 6), max_size=3))
    | st.tuples(st.sampled_from(["compact", "copy"]), st.none()),
    max_size=12,
)


def embedded(key: int, generation: int, vectors: list[list[float]]) -> Embedded:
    spans = [(10 * number, 10 * number + 9) for number in range(len(vectors))]
    return Embedded(key, generation, spans, np.array(vectors, np.float32).reshape(-1, WIDTH))


def brute_force(model: dict[int, Embedded], query: np.ndarray, k: int) -> list[tuple[int, float, int, int]]:
    hits = []
    for key, document in model.items():
        if len(document.spans):
            scores = document.vectors @ query
            best = int(np.argmax(scores))
            hits.append((key, float(scores[best]), document.generation, document.spans[best][0]))
    return sorted(hits, key=lambda hit: (-hit[1], hit[0]))[:k]


@settings(max_examples=150, deadline=None)
@given(STEPS, VECTORS, st.integers(1, 8), st.sets(st.integers(0, 7)))
def test_any_history_gives_the_hits_of_brute_force(steps, query, k, others) -> None:
    index, model = DenseIndex(WIDTH), {}
    vector = np.array(query, np.float32)
    for generation, (step, argument) in enumerate(steps):
        if step == "put":
            documents = [embedded(key, generation, vectors) for key, vectors in argument]
            index.put(documents)
            model.update({document.key: document for document in documents})
        elif step == "delete":
            index.delete(argument)
            for key in argument:
                model.pop(key, None)
        elif step == "compact":
            index._compact()
        else:
            documents = index.get(index.generations)
            index = DenseIndex(WIDTH)
            index.put(documents)
        assert index.generations == {key: document.generation for key, document in model.items()}
        assert len(index) == sum(len(document.spans) for document in model.values())
        hits = [(hit.key, hit.score, hit.generation, hit.start) for hit in index.search(vector, k)]
        assert hits == brute_force(model, vector, k)
    for shards in (1, 2, 3):
        with ThreadPoolExecutor(shards) as pool:
            sharded = ShardedDenseIndex(shards, pool, WIDTH)
            sharded.put(list(model.values()))
            check_nearest(sharded.search(vector, k, np.array(sorted(others), np.int64)), model, vector, k, others)


def check_nearest(found, model, vector, k, others) -> None:
    """The best documents in order, and the others that were asked for in any."""
    ranked = [hit[:3] for hit in brute_force(model, vector, len(model))]
    assert not found.unsearched
    assert list(zip(*(column.tolist() for column in found.best), strict=True)) == ranked[:k]
    further = zip(*(column.tolist() for column in found.others), strict=True)
    assert sorted(further) == sorted(hit for hit in ranked[k:] if hit[0] in others)


def test_many_passages_agree_with_numpy() -> None:
    noise = np.random.default_rng(0)
    width, documents = 32, 3000
    index = DenseIndex(width)
    vectors = noise.standard_normal((documents, 3, width)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=2, keepdims=True)
    index.put([Embedded(key, 1, [(0, 1), (2, 3), (4, 5)], vectors[key]) for key in range(documents)])
    gone = set(range(0, documents, 3))
    index.delete(gone)
    for query in noise.standard_normal((20, width)).astype(np.float32):
        scores = (vectors @ query).max(axis=1)
        expected = [key for key in np.argsort(-scores).tolist() if key not in gone][:100]
        hits = index.search(query, 100)
        assert [hit.key for hit in hits] == expected
        np.testing.assert_allclose([hit.score for hit in hits], scores[expected], rtol=1e-5)
        best, others = index.nearest(query, 100, np.array(range(0, documents, 2), np.int64))
        assert best.keys.tolist() == expected
        wanted = {key for key in range(0, documents, 2) if key not in gone} - set(expected)
        assert set(others.keys.tolist()) == wanted
        assert others.scores.tolist() == [one.score for one in index.score(query, others.keys.tolist())]


def test_replaced_documents_are_compacted() -> None:
    index = DenseIndex(WIDTH)
    for generation in range(3000):
        index.put([embedded(1, generation, [[1, 0, 0, 0]])])
    assert len(index) == 1
    assert len(index._keys) < 1100
    assert index.search(np.array([1, 0, 0, 0], np.float32), 3)[0].generation == 2999


def test_one_document_with_all_the_best_passages_does_not_hide_the_others() -> None:
    index = DenseIndex(WIDTH)
    index.put([embedded(1, 1, [[1, 0, 0, 0]] * 500), embedded(2, 1, [[0.5, 0, 0, 0]]), embedded(3, 1, [])])
    hits = index.search(np.array([1, 0, 0, 0], np.float32), 10)
    assert [(hit.key, hit.score, hit.start) for hit in hits] == [(1, 1.0, 0), (2, 0.5, 0)]


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_invalid_vectors_are_refused_without_changes(bad: float) -> None:
    index = DenseIndex(WIDTH)
    index.put([embedded(1, 1, [[1, 0, 0, 0]])])
    with pytest.raises(ValueError, match="document 1: a vector is not finite"):
        index.put([embedded(1, 2, [[bad, 0, 0, 0]])])
    with pytest.raises(ValueError, match="passages of width 4"):
        index.put([Embedded(1, 2, [(0, 1)], np.ones((1, 5), np.float32))])
    assert index.generations == {1: 1}
    with pytest.raises(ValueError, match="at least 1"):
        index.search(np.ones(WIDTH, np.float32), 0)
    with pytest.raises(ValueError, match=r"not \(4,\)"):
        index.search(np.ones(3, np.float32), 1)


def test_the_scores_of_chosen_documents_are_those_of_a_search() -> None:
    noise = np.random.default_rng(2)
    index = DenseIndex(WIDTH)
    index.put([embedded(key, 1, noise.standard_normal((key % 4, WIDTH)).tolist()) for key in range(40)])
    index.delete(range(0, 40, 5))
    vector = noise.standard_normal(WIDTH).astype(np.float32)
    found = {hit.key: hit for hit in index.search(vector, 40)}
    chosen = index.score(vector, [3, 5, 7, 8, 11, 99])  # 5 is deleted, 8 has no passage, 99 is unknown
    assert {hit.key for hit in chosen} == {3, 7, 11}
    for hit in chosen:
        assert hit._replace(score=0) == found[hit.key]._replace(score=0)
        assert hit.score == pytest.approx(found[hit.key].score, rel=1e-5)
    assert index.score(vector, []) == index.score(vector, [99]) == []


def test_a_hit_names_the_best_sentence_of_its_passage_also_in_a_copy() -> None:
    eye = np.eye(WIDTH, dtype=np.float32)
    several = Embedded(
        1,
        1,
        [(0, 0), (0, 30)],
        np.stack([eye[3], eye[0]]),
        [(1, 0, 9), (1, 10, 19), (1, 20, 30)],
        to_8_bits(eye[[0, 1, 2]]),
    )
    single = Embedded(2, 1, [(0, 12)], 0.5 * eye[[0]])
    index = DenseIndex(WIDTH)
    index.put([several, single])
    for generation in range(2, 1600):  # its numbers grow until they are given anew
        index.put([single._replace(key=3, generation=generation)])
    copied = DenseIndex(WIDTH)
    copied.put(index.get(index.generations))
    for one in (index, copied):
        for axis, sentence in enumerate([(0, 9), (10, 19), (20, 30)]):
            vector = 2 * eye[0] + 3 * eye[axis] - eye[3]
            best = one.search(vector, 1)[0]
            assert (best.key, best.start, best.end, best.sentence) == (1, 0, 30, sentence)
        assert one.search(eye[3], 1)[0].sentence == (0, 0)  # the title
        assert one.search(eye[0], 2)[1].sentence == (0, 12)
    with pytest.raises(ValueError, match=r"vectors \(2, 4\) for 3 sentences"):
        index.put([several._replace(sentence_codes=to_8_bits(eye[[0, 1]]))])
