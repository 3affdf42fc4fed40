from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from dragoman.service.access.rate_limit import Meter, Quota

PAUSES = st.lists(st.floats(min_value=0, max_value=10), min_size=1, max_size=60)


@given(
    pauses=PAUSES,
    rate=st.floats(min_value=0.1, max_value=50),
    burst=st.integers(min_value=1, max_value=20),
)
def test_no_stretch_of_time_has_more_than_a_burst_and_the_rate(pauses: list[float], rate: float, burst: int) -> None:
    meter = Meter(Quota(rate, burst, 0))
    at, admitted = 100.0, []
    for pause in pauses:
        at += pause
        if meter.enter(at) is None:
            admitted.append(at)
    for first in range(len(admitted)):
        for last in range(first, len(admitted)):
            assert last - first + 1 <= burst + rate * (admitted[last] - admitted[first]) + 1e-6


@given(
    pauses=PAUSES,
    rate=st.floats(min_value=0.1, max_value=50),
    burst=st.integers(min_value=1, max_value=20),
)
def test_who_waits_as_long_as_told_is_let_in(pauses: list[float], rate: float, burst: int) -> None:
    meter = Meter(Quota(rate, burst, 0))
    at = 0.0
    for pause in pauses:
        at += pause
        wait = meter.enter(at)
        if wait is not None:
            assert 0 < wait <= 1 / rate + 1e-9
            at += wait + 1e-6
            assert meter.enter(at) is None


@given(st.lists(st.booleans(), max_size=100), st.integers(min_value=1, max_value=5))
def test_no_more_are_under_way_than_allowed(comings_and_goings: list[bool], concurrent: int) -> None:
    meter = Meter(Quota(0, 1, concurrent))
    under_way = 0
    for comes in comings_and_goings:
        if comes:
            let_in = meter.enter(0.0) is None
            assert let_in == (under_way < concurrent)
            under_way += let_in
        elif under_way:
            meter.leave()
            under_way -= 1


def test_without_limits_everybody_is_let_in() -> None:
    meter = Meter(Quota(0, 1, 0))
    assert [meter.enter(0.0) for _ in range(1000)] == [None] * 1000


def test_a_changed_quota_counts_at_once_and_what_is_under_way_stays_counted() -> None:
    meter = Meter(Quota(0, 1, 2))
    assert meter.enter(0) is None
    meter.change(Quota(0, 1, 1))
    assert meter.enter(0) is not None
    meter.leave()
    assert meter.enter(0) is None
