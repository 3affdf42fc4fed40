"""Java and numpy make the same bits of the largest sums."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.indexes.dense import coded_maxima
from dragoman.indexes.dense.coded_maxima import largest_sums
from dragoman.indexes.java import jvm
from dragoman.indexes.java.jvm import JavaError


@pytest.fixture(scope="module", autouse=True)
def java() -> None:
    jvm.run(lambda: None)
    assert jvm.is_running()


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 60), st.integers(1, 30), st.lists(st.integers(1, 90), min_size=1))
def test_java_adds_as_numpy_does(seed: int, parts: int, columns: int, lengths: list[int]) -> None:
    random = np.random.default_rng(seed)
    tables = random.standard_normal((parts, 256, columns)).astype(np.float32)
    codes = random.integers(0, 256, (sum(lengths), parts)).astype(np.uint8)
    expected = coded_maxima._by_numpy(tables, codes, lengths)
    assert np.array_equal(largest_sums(tables, codes, lengths), expected)
    assert np.array_equal(largest_sums(tables, np.asfortranarray(codes), lengths), expected)


def test_searches_at_the_same_time_have_buffers_of_their_own() -> None:
    random = np.random.default_rng(1)
    asked = []
    for columns in range(1, 17):
        lengths = random.integers(1, 50, columns).tolist()
        tables = random.standard_normal((48, 256, columns)).astype(np.float32)
        asked.append((tables, random.integers(0, 256, (sum(lengths), 48)).astype(np.uint8), lengths))
    largest = max(asked, key=lambda question: question[0].size + question[1].size)
    with ThreadPoolExecutor(6) as pool:
        found = list(pool.map(lambda question: largest_sums(*question), [largest] * 30 + asked * 5))
    for question, answer in zip([largest] * 30 + asked * 5, found, strict=True):
        assert np.array_equal(answer, coded_maxima._by_numpy(*question))
    assert len(coded_maxima._FREE) == coded_maxima._MOST_BUFFERS


def test_numpy_takes_over_where_java_cannot(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*arguments: object) -> None:
        raise JavaError("java.lang.OutOfMemoryError", "Java heap space", "")

    tables, codes = np.ones((2, 256, 3), np.float32), np.zeros((4, 2), np.uint8)
    monkeypatch.setattr(coded_maxima, "_by_java", fail)
    assert largest_sums(tables, codes, [1, 3]).tolist() == [[2.0] * 3] * 2
