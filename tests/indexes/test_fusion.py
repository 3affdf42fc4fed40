"""Fusion of rankings against its definitions."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.indexes.fusion import RRF_K, calibrate, convex, merge_by_share, rrf

NAN = math.nan
unit = st.floats(0, 1)
ranks = st.lists(st.integers(1, 30) | st.just(NAN), min_size=8, max_size=8)
values = st.lists(unit | st.just(NAN), min_size=8, max_size=8)


@given(st.lists(st.tuples(ranks, st.floats(0, 5)), min_size=1, max_size=4))
def test_rrf_is_the_weighted_sum_of_reciprocal_ranks(weighted: list[tuple[list[float], float]]) -> None:
    fused = rrf([np.array(ranked) for ranked, _ in weighted], [weight for _, weight in weighted])
    for item, score in enumerate(fused.tolist()):
        parts = [weight / (RRF_K + ranked[item]) for ranked, weight in weighted if not math.isnan(ranked[item])]
        assert score == pytest.approx(sum(parts))


def test_rrf_refuses_a_negative_constant() -> None:
    with pytest.raises(ValueError, match="-1"):
        rrf([np.ones(1)], [1.0], constant=-1)


@pytest.mark.parametrize("weights", [[1.0], [1.0, -1.0], [1.0, 1.0, 1.0]])
def test_rrf_refuses_weights_that_do_not_fit(weights: list[float]) -> None:
    with pytest.raises(ValueError, match="weights"):
        rrf([np.ones(1), np.ones(1)], weights)


@given(
    st.lists(
        st.tuples(
            st.integers(0, 2), st.dictionaries(st.integers(0, 9), st.integers(0, 5), max_size=6), st.integers(6, 9)
        ),
        max_size=4,
    ),
    st.integers(1, 9),
)
def test_shares_make_scales_comparable(rankings: list[tuple[int, dict[int, int], int]], k: int) -> None:
    """Against plain Python: by share, then by the place of the source, then by key."""
    scales = [
        (place, np.array(list(scores), np.int64), np.array(list(scores.values()), np.float64), float(attainable))
        for place, scores, attainable in rankings
    ]
    merged = [
        (-score / attainable, place, key, source)
        for source, (place, scores, attainable) in enumerate(rankings)
        for key, score in scores.items()
    ]
    sources, inside, shares = merge_by_share(scales, k)
    found = [
        (-share, scales[source][0], int(scales[source][1][index]))
        for source, index, share in zip(sources.tolist(), inside.tolist(), shares.tolist(), strict=True)
    ]
    assert found == [entry[:3] for entry in sorted(merged)[:k]]


@given(values, values, st.lists(unit, min_size=8, max_size=8))
def test_convex_weighs_both_scores(shares: list[float], near: list[float], weights: list[float]) -> None:
    fused = convex(np.array(shares), np.array(near), np.array(weights))
    for share, nearness, weight, score in zip(shares, near, weights, fused.tolist(), strict=True):
        matched = 0.0 if math.isnan(share) else share
        expected = matched if math.isnan(nearness) else (1 - weight) * matched + weight * nearness
        assert score == pytest.approx(expected)
        assert 0 <= score <= 1 + 1e-9


@pytest.mark.parametrize("weight", [-0.1, 1.1, NAN])
def test_convex_refuses_other_weights(weight: float) -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        convex(np.ones(2), np.ones(2), np.array([0.5, weight]))


@given(st.floats(-1, 1), st.floats(0, 0.99))
def test_a_calibrated_cosine_is_the_share_above_the_floor(cosine: float, floor: float) -> None:
    found = float(calibrate(np.array([cosine]), floor)[0])
    assert 0 <= found <= 1
    assert found == 0 if cosine <= floor else found == pytest.approx((cosine - floor) / (1 - floor))
