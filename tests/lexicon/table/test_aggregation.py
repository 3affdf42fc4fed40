"""Marginals of a joint distribution recovered from its conditionals, and sums per pair."""

from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.lexicon.table import aggregation
from dragoman.lexicon.table.aggregation import marginals, strongest
from dragoman.lexicon.table.table import Table


def table_of_joint(joint: np.ndarray) -> Table:
    forward = joint / joint.sum(1, keepdims=True)
    backward = joint / joint.sum(0, keepdims=True)
    return Table.from_entries(
        "en",
        "de",
        [(f"s{i}", f"t{j}", forward[i, j], backward[i, j]) for i, j in zip(*np.nonzero(joint), strict=True)],
    )


@given(st.integers(0, 2**32 - 1))
def test_marginals_of_a_joint_distribution_are_recovered(seed: int) -> None:
    joint = np.random.default_rng(seed).random((4, 5)) + 0.3
    joint /= joint.sum()
    p_s, p_t = marginals(table_of_joint(joint))
    assert p_s == pytest.approx(joint.sum(1), abs=2e-3)
    assert p_t == pytest.approx(joint.sum(0), abs=2e-3)


def test_rows_with_less_mass_are_normalised() -> None:
    whole = Table.from_entries("en", "de", [("a", "x", 1, 1), ("b", "y", 1, 1)])
    less = Table.from_entries("en", "de", [("a", "x", 0.1, 0.1), ("b", "y", 1, 1)])
    assert np.array_equal(marginals(whole)[0], marginals(less)[0])


def test_marginals_are_those_of_the_inverse() -> None:
    table = Table.from_entries("en", "de", [("a", "x", 0.5, 1), ("a", "y", 0.5, 0.2), ("b", "y", 1, 0.8)])
    assert [side.tolist() for side in marginals(table)] == [
        side.tolist() for side in reversed(marginals(table.inverse()))
    ]


def test_an_impossible_term_still_counts_a_little() -> None:
    p_s, _ = marginals(Table.from_entries("en", "de", [("a", "x", 1, 0), ("b", "x", 1, 1)]))
    assert 0 < p_s[0] < 0.01
    assert p_s.sum() == pytest.approx(1)


contributions = st.lists(
    st.tuples(
        st.integers(0, 3),
        st.integers(0, 3),
        st.sampled_from([0, 0.25, 0.5]),
        st.sampled_from([0, 0.5]),
        st.integers(0, 3),
    ),
    max_size=20,
)


@given(contributions, st.sampled_from([0, 2, 1 << 16]))
def test_sums_and_strongest_origins(rows: list[tuple[int, int, float, float, int]], block: int) -> None:
    sums: dict[tuple[int, int], list[float]] = defaultdict(lambda: [0.0, 0.0])
    by_origin: dict[tuple[int, int], dict[int, float]] = defaultdict(lambda: defaultdict(float))
    for s, t, forward, backward, origin in rows:
        sums[s, t][0] += forward
        sums[s, t][1] += backward
        by_origin[s, t][origin] += forward + backward
    expected = [
        (*pair, *sums[pair], min(by_origin[pair], key=lambda o: (-by_origin[pair][o], o))) for pair in sorted(sums)
    ]
    columns = [np.array([row[i] for row in rows], dtype=float if i in (2, 3) else int) for i in range(5)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(aggregation, "_BLOCK", block)
        patch.setattr(aggregation, "_BLOCKS", 20)
        found = [column.tolist() for column in strongest(*columns)]
    assert list(zip(*found, strict=True)) == expected
