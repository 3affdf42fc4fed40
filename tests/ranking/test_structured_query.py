"""Standalone structured queries against a plain loop."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.backbone.encoder import Pair
from dragoman.ranking.about import StandaloneAbout, standalone
from dragoman.ranking.attention import Links
from dragoman.ranking.mixed_attention import PassageRow
from dragoman.ranking.passages import Passage
from dragoman.ranking.structured_query import share

WORDS = st.lists(st.sampled_from([-1, 0, 0, 1, 1, 1]), max_size=8).map(
    lambda steps: [-1 if step < 0 else sum(one > 0 for one in steps[: place + 1]) for place, step in enumerate(steps)]
)
"""The word of each subword, in order, with gaps and subwords of no word."""
LINKS = st.lists(
    st.tuples(st.integers(0, 9), st.integers(0, 9), st.integers(1, 64).map(lambda part: part / 64)), max_size=12
)
SURPRISALS = np.array([1.5, 4.0, 9.0, 11.0])


def document(
    query: list[int], ids: list[int], passages: list[list[int]], links: list[tuple[int, int, float]]
) -> list[Passage]:
    left, right, weights = zip(*links, strict=True) if links else ((), (), ())
    linked = Links(np.array(left, np.int64), np.array(right, np.int64), np.array(weights, np.float32))
    found = []
    for words in passages:
        row = [9, *ids, 9, *([0] * len(words)), 9]
        second = len(ids) + 2
        found.append(
            Passage(
                0,
                Pair(row, 1, second),
                PassageRow(1, np.array(query, np.int64), second, np.array(words, np.int64), linked),
            )
        )
    return found


def plainly(
    query: list[int], ids: list[int], passages: list[list[int]], links: list[tuple[int, int, float]], known: bool
) -> float:
    """The share as its equation has it."""
    read = {word for words in passages for word in words if word >= 0}
    total, found = 0.0, 0.0
    for word in {word for word in query if word >= 0}:
        pieces = [subword for subword, of in zip(ids, query, strict=True) if of == word]
        rare = min(16.0, sum(SURPRISALS[subword] if known else 1.0 for subword in pieces))
        expected = sum(weight for left, right, weight in links if left == word and right in read)
        found += rare * 1.1 * expected / (expected + 0.1 * (0.7 + 0.3 * len(read) / 25))
        total += rare
    return found / total if total else 0.0


@given(WORDS, st.lists(WORDS, min_size=1, max_size=3), LINKS, st.booleans(), st.data())
def test_a_share_is_its_equation(
    query: list[int], passages: list[list[int]], links: list[tuple[int, int, float]], known: bool, data: st.DataObject
) -> None:
    ids = data.draw(st.lists(st.integers(0, 3), min_size=len(query), max_size=len(query)))
    found = share(document(query, ids, passages, links), SURPRISALS if known else None)
    assert found == pytest.approx(plainly(query, ids, passages, links, known), abs=1e-6)
    assert 0 <= found <= 1.1


def test_more_translations_of_rarer_words_are_a_greater_share() -> None:
    query, ids = [0, 1], [0, 2]  # of 1.5 and of 9 nats
    passages = [[0, 1, 2]]
    common, rare = [(0, 0, 0.5)], [(1, 0, 0.5)]
    shares = [share(document(query, ids, passages, one), SURPRISALS) for one in ([], common, rare, common + rare)]
    assert shares == sorted(shares) and len(set(shares)) == 4
    longer = share(document(query, ids, [list(range(60))], rare), SURPRISALS)
    assert shares[1] < longer < shares[2]


def test_a_score_alone() -> None:
    model, shares = np.array([1.0, -2.0]), np.array([0.5, 0.25])
    assert standalone(model, shares, None).tolist() == [1.0, -2.0]
    assert standalone(model, shares, StandaloneAbout(8.0, 0.5, 1.0)).tolist() == [1.5, -1.0]
    for wrong in ({"weight": "8"}, {"offset": math.inf}, {"scale": 0.0}, {"scale": True}):
        with pytest.raises(ValueError, match=f"standalone: {next(iter(wrong))}: "):
            StandaloneAbout(**({"weight": 8.0, "scale": 0.5, "offset": 1.0} | wrong))  # type: ignore[arg-type]
