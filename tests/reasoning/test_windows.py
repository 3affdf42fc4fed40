"""Windows cover a context, fit a row and overlap."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.reasoning.windows import OVERLAP, windows


@given(st.integers(0, 5000), st.integers(1, 600))
def test_windows_cover_everything_and_fit(length: int, room: int) -> None:
    found = list(windows(length, room))
    assert found[0][0] == 0 and found[-1][1] == length
    assert all(0 <= start <= end <= start + room for start, end in found)
    overlap = min(OVERLAP, room // 2)
    for (_, before), (start, _) in itertools.pairwise(found):
        assert before - start >= overlap
    assert len(found) == 1 if length <= room else len(found) == -(-(length - overlap) // (room - overlap))


def test_a_question_without_room_beside_it_is_an_error() -> None:
    with pytest.raises(ValueError, match="no room"):
        list(windows(10, 0))
