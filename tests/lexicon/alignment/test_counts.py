"""Symmetrisation against plain loops, and counting in parts."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.lexicon.alignment import counts as alignment_counts
from dragoman.lexicon.alignment.counts import SYMMETRISATIONS, JointCounts, occurrences
from dragoman.lexicon.alignment.models import Posteriors

Links = set[tuple[int, int]]


def random_posteriors(rng: np.random.Generator, batch: int, length: int, positions: int) -> Posteriors:
    values = rng.dirichlet([0.3] * (positions + 1), size=(batch, length)).astype(np.float32)
    return Posteriors(values[:, :, 1:], values[:, :, 0], np.zeros(batch))


def hard(posteriors: Posteriors, row: int) -> Links:
    result = set()
    for j, values in enumerate(posteriors.cells[row].tolist()):
        i = values.index(max(values))
        if values[i] >= posteriors.null[row, j]:
            result.add((j, i))
    return result


def grown(forward: Links, backward: Links, rows: int, columns: int) -> Links:
    links, both = forward & backward, forward | backward
    while True:
        before = set(links)
        for down, right in ((-1, 0), (0, -1), (1, 0), (0, 1), (-1, -1), (-1, 1), (1, -1), (1, 1)):
            near = {(j + down, i + right) for j, i in links} & both - links
            for axis in (0, 1):
                taken = {link[axis] for link in links}
                for j in range(rows):
                    for i in range(columns):
                        link = (j, i)
                        if link in near and link not in links and link[axis] not in taken:
                            taken.add(link[axis])
                            links.add(link)
        if links == before:
            return links


@given(st.integers(0, 10_000), st.integers(1, 6), st.integers(1, 6))
@settings(max_examples=150, deadline=None)
def test_symmetrisations(seed: int, rows: int, columns: int) -> None:
    rng = np.random.default_rng(seed)
    forward, backward = random_posteriors(rng, 3, rows, columns), random_posteriors(rng, 3, columns, rows)
    found = {name: join(forward, backward) for name, join in SYMMETRISATIONS.items()}
    for row in range(3):
        p, q = forward.cells[row], backward.cells[row].T
        assert found["product"][row] == pytest.approx(p * q)
        assert found["geometric"][row] == pytest.approx(np.sqrt(p * q))
        assert found["mean"][row] == pytest.approx((p + q) / 2)
        a, b = hard(forward, row), {(j, i) for i, j in hard(backward, row)}
        expected = {"intersection": a & b, "union": a | b, "grow-diag": grown(a, b, rows, columns)}
        for name, links in expected.items():
            assert set(map(tuple, np.argwhere(found[name][row]).tolist())) == links
            assert set(np.unique(found[name][row])) <= {0.0, 1.0}


def ids(values: list[int]) -> npt.NDArray[np.int32]:
    return np.array(values, dtype=np.int32)


def test_joint_counts_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(alignment_counts, "COMPACTION_SIZE", 7)
    rng = np.random.default_rng(3)
    expected = np.zeros((5, 6))
    joint = JointCounts(6)
    for size in (0, 3, 11, 4, 0, 9, 2):
        s, t, v = rng.integers(0, 5, size), rng.integers(0, 6, size), rng.random(size, dtype=np.float32)
        np.add.at(expected, (s, t), v)
        joint.add(s.astype(np.int32), t.astype(np.int32), v)
    sources, targets, counts = joint.result()
    assert list(zip(sources.tolist(), targets.tolist(), strict=True)) == list(
        map(tuple, np.argwhere(expected).tolist())
    )
    assert counts == pytest.approx(expected[expected > 0])


def test_joint_counts_of_nothing() -> None:
    assert [len(part) for part in JointCounts(0).result()] == [0, 0, 0]
    joint = JointCounts(3)
    joint.add(ids([]), ids([]), np.empty(0, np.float32))
    assert [len(part) for part in joint.result()] == [0, 0, 0]


def test_occurrences() -> None:
    tokens = [
        (ids([0, 1, 1, 2]).reshape(2, 2), np.array([1.0, 0.5], np.float32)),
        (ids([2]).reshape(1, 1), np.array([2.0], np.float32)),
    ]
    assert occurrences(tokens, ids([0, 0, 1]), 3).tolist() == [2.5, 2.5, 0.0]
