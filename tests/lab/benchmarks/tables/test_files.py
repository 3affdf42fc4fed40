"""A small part of the matrix of table files: nearly all are read right, and none is misread."""

from __future__ import annotations

from collections import Counter

import pytest

from dragoman_lab.benchmarks.tables.files import outcome
from dragoman_lab.benchmarks.tables.generated import case


@pytest.mark.parametrize("seed", [1, 11])
def test_files_are_read_right_or_refused(seed: int) -> None:
    outcomes = [outcome(seed, number) for number in range(100)]
    assert [(one.index, one.case.choices, one.reason) for one in outcomes if one.verdict == "misread"] == []
    assert Counter(one.verdict for one in outcomes)["right"] >= 99


def test_a_file_is_the_same_for_the_same_seed() -> None:
    assert case(3, 5) == case(3, 5)
    assert case(3, 5).content != case(4, 5).content
