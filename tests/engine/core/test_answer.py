"""Answers as JSON: what was not asked for is left out, what is null stays, whatever holds them."""

from __future__ import annotations

import copy
import json
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from dragoman.engine.core.answer import LEFT_OUT, Answer, Degraded, as_json, fields_of, left_out


@dataclass(slots=True, kw_only=True)
class Leaf(Answer):
    score: float
    optional: Any = field(default_factory=left_out)


CONTENTS = (
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text()
)


@given(st.lists(st.tuples(st.floats(allow_nan=False, allow_infinity=False), CONTENTS | st.just(LEFT_OUT)), max_size=5))
def test_what_is_left_out_is_missing_and_the_rest_is_there(parts: list[tuple[float, Any]]) -> None:
    leaves = [Leaf(score=score, optional=optional) for score, optional in parts]
    expected = [
        {"score": score} | ({} if optional is LEFT_OUT else {"optional": optional}) for score, optional in parts
    ]
    assert fields_of({"leaves": tuple(leaves)}) == {"leaves": expected}
    assert json.loads(as_json(copy.deepcopy(leaves))) == expected


def test_a_number_that_is_none_is_null_and_times_are_utc() -> None:
    leaves = [Leaf(score=float("nan")), Leaf(score=float("inf"), optional=datetime(2026, 1, 2, tzinfo=UTC))]
    assert json.loads(as_json(leaves)) == [{"score": None}, {"score": None, "optional": "2026-01-02T00:00:00Z"}]


def test_the_cause_of_a_degraded_stage_is_counted_and_not_shown() -> None:
    degraded = Degraded.of("rerank", "late", "unavailable")
    assert degraded.cause == "unavailable"
    assert as_json(degraded) == b'{"stage":"rerank","reason":"late"}'
