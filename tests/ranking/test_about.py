"""What a reranker's configuration says: read as it was written, or refused."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.ranking.about import LEAST_SHARE, HybridAbout, LateAbout, RerankerAbout, StandaloneAbout

ABOUT = RerankerAbout(
    "a", "mean", False, 0.5, ["en-de"], LateAbout("e5-small", 8, 1.5), StandaloneAbout(1.0, 2.0, 3.0), {"steps": 3},
    HybridAbout(10.0, 0.2, 1.0),
)  # fmt: skip


def test_it_is_read_as_it_was_written() -> None:
    assert RerankerAbout.of(asdict(ABOUT)) == ABOUT
    assert RerankerAbout.of(asdict(RerankerAbout()) | {"model_type": "mart"}) == RerankerAbout()


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"name": 3}, "name: 3 is not a string"),
        ({"direction": "sideways"}, "direction: 'sideways' is not one of forward, backward, mean"),
        ({"not_for": "en-de"}, "not_for: 'en-de' is not a list of strings"),
        ({"not_for": [3]}, "not_for: .3. is not a list of strings"),
        ({"first_stage_weight": float("nan")}, "first_stage_weight: nan is not a finite number"),
        ({"first_stage_weight": "1"}, "first_stage_weight: '1' is not a finite number"),
        ({"hybrid": {"weight": "ten", "scale": 1.0, "offset": 0.0}}, "hybrid: weight: 'ten' is not a finite number"),
        ({"hybrid": {"weight": -1.0, "scale": 1.0, "offset": 0.0}}, "hybrid: weight: -1.0 is negative"),
        ({"hybrid": {"weight": 1.0, "scale": 0.0, "offset": 0.0}}, "hybrid: scale: 0.0 is not positive"),
    ],
)
def test_what_is_no_setting_is_refused(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        RerankerAbout.of(asdict(ABOUT) | wrong)


def test_a_field_that_hybrid_lacks_is_refused() -> None:
    with pytest.raises(TypeError):
        RerankerAbout.of({"hybrid": {"weight": 1.0}})


@given(
    st.lists(st.tuples(st.floats(-9, 9), st.floats(0, 1)), min_size=1, max_size=9),
    st.floats(0, 128), st.floats(0.01, 4), st.floats(-9, 9),
)  # fmt: skip
def test_the_logits_of_both_are_their_formula(
    scores: list[tuple[float, float]], weight: float, scale: float, offset: float
) -> None:
    alone, hybrid = map(np.array, zip(*scores, strict=True))
    found = HybridAbout(weight, scale, offset).logits(alone, hybrid)
    expected = [scale * (one + weight * np.log(max(LEAST_SHARE, share))) - offset for one, share in scores]
    assert found == pytest.approx(expected)
