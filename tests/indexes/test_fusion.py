"""Fusion of rankings against its definitions."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.indexes.bm25 import Hit, Ranking
from dragoman.indexes.fusion import RRF_K, calibrate, convex, merge_by_share, rrf

items = st.lists(st.integers(0, 30), unique=True, max_size=15)


@given(st.lists(st.tuples(items, st.floats(0, 5)), max_size=4))
def test_rrf_is_the_weighted_sum_of_reciprocal_ranks(weighted: list[tuple[list[int], float]]) -> None:
    rankings, weights = [one for one, _ in weighted], [weight for _, weight in weighted]
    fused = dict(rrf(rankings, int, weights=weights))
    assert set(fused) == {item for ranking in rankings for item in ranking}
    for item, score in fused.items():
        places = [(weight, ranking.index(item) + 1) for ranking, weight in weighted if item in ranking]
        assert score == pytest.approx(sum(weight / (RRF_K + rank) for weight, rank in places))
    assert list(fused.values()) == sorted(fused.values(), reverse=True)


@given(st.lists(items, max_size=4))
def test_rrf_is_the_sum_of_reciprocal_ranks(rankings: list[list[int]]) -> None:
    fused = dict(rrf(rankings, int))
    assert set(fused) == {item for ranking in rankings for item in ranking}
    for item, score in fused.items():
        expected = sum(1 / (RRF_K + ranking.index(item) + 1) for ranking in rankings if item in ranking)
        assert score == pytest.approx(expected)
    assert list(fused.values()) == sorted(fused.values(), reverse=True)


def test_rrf_breaks_ties_by_the_order_and_cuts() -> None:
    assert [item for item, _ in rrf([["c", "b"], ["a", "d"]], ord)] == ["a", "c", "b", "d"]
    assert rrf([["a", "b"], ["c", "d"]], ord, k=1) == [("a", 1 / 61)]
    assert rrf([["a", "a", "b"]], ord) == [("a", 1 / 61), ("b", 1 / 63)]
    assert rrf([], ord) == [] == rrf([[], []], ord)


def test_rrf_refuses_a_negative_constant() -> None:
    with pytest.raises(ValueError, match="-1"):
        rrf([["a"]], ord, constant=-1)


@pytest.mark.parametrize("weights", [[1.0], [1.0, -1.0], [1.0, 1.0, 1.0]])
def test_rrf_refuses_weights_that_do_not_fit(weights: list[float]) -> None:
    with pytest.raises(ValueError, match="weights"):
        rrf([["a"], ["b"]], ord, weights=weights)


def test_normalised_makes_scales_comparable() -> None:
    german = Ranking([Hit(1, 6.0), Hit(2, 2.0)], attainable=10.0)
    russian = Ranking([Hit(1, 60.0), Hit(7, 50.0), Hit(5, 50.0)], attainable=80.0)
    fused = merge_by_share([("de", german), ("ru", russian), ("sw", Ranking())], str)
    assert [(source, key) for source, key, _ in fused] == [
        ("ru", 1),
        ("ru", 5),
        ("ru", 7),
        ("de", 1),
        ("de", 2),
    ]
    assert [share for *_, share in fused] == pytest.approx([0.75, 0.625, 0.625, 0.6, 0.2])
    assert merge_by_share([("de", german), ("ru", russian)], str, k=2) == fused[:2]


def test_ties_are_broken_by_the_order_of_the_sources() -> None:
    same = Ranking([Hit(3, 1.0)], attainable=2.0)
    assert merge_by_share([("b", same), ("a", same)], str) == [("a", 3, 0.5), ("b", 3, 0.5)]


unit = st.floats(0, 1)
values = st.dictionaries(st.integers(0, 20), unit, max_size=12)


@given(values, values, unit, unit)
def test_convex_weighs_both_scores(shares: dict[int, float], near: dict[int, float], even: float, odd: float) -> None:
    def weight_of(item: int) -> float:
        return odd if item % 2 else even

    fused = convex(shares, near, weight_of, int)
    assert {item for item, _ in fused} == shares.keys() | near.keys()
    for item, score in fused:
        alone = shares.get(item, 0.0) if item not in near else None
        weight = weight_of(item)
        expected = (1 - weight) * shares.get(item, 0.0) + weight * near[item] if alone is None else alone
        assert score == pytest.approx(expected)
        assert 0 <= score <= 1 + 1e-9
    assert fused == sorted(fused, key=lambda scored: (-scored[1], scored[0]))  # ties by the order of the items
    assert convex(shares, near, weight_of, int, 3) == fused[:3]


def test_convex_keeps_a_document_that_has_no_embedding_yet_and_refuses_other_weights() -> None:
    assert convex({1: 0.9, 2: 0.5}, {2: 0.9, 3: 0.8}, lambda item: 0.5, int) == [(1, 0.9), (2, 0.7), (3, 0.4)]
    for weight in (-0.1, 1.1):
        with pytest.raises(ValueError, match="between 0 and 1"):
            convex({}, {1: 0.5}, lambda item, weight=weight: weight, int)  # type: ignore[misc]


@given(st.floats(-1, 1), st.floats(0, 0.99))
def test_a_calibrated_cosine_is_the_share_above_the_floor(cosine: float, floor: float) -> None:
    found = calibrate(cosine, floor)
    assert 0 <= found <= 1
    assert found == 0 if cosine <= floor else found == pytest.approx((cosine - floor) / (1 - floor))
