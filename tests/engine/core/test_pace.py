from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from hypothesis import given
from hypothesis import strategies as st

from dragoman.engine.core.errors import TooManyRequests
from dragoman.engine.core.pace import Pace

COUNTS = st.integers(0, 10_000)
DONE = st.lists(st.tuples(COUNTS, st.floats(0, 1e6)), max_size=40)


def paced(done: list[tuple[int, float]]) -> Pace:
    made = Pace()
    for items, seconds in done:
        made.note(items, seconds)
    return made


@given(DONE, COUNTS, COUNTS)
def test_a_caller_waits_one_to_sixty_whole_seconds_and_longer_the_more_waits(
    done: list[tuple[int, float]], one: int, other: int
) -> None:
    pace = paced(done)
    fewer, more = (pace.wait(items) for items in sorted((one, other)))
    assert 1 <= fewer <= more <= 60
    told = TooManyRequests("full", more).headers["Retry-After"]
    assert told.isdecimal() and more <= int(told) < more + 1


@given(st.floats(1e-6, 1e3), st.lists(st.integers(1, 100), min_size=1), COUNTS)
def test_at_a_steady_pace_it_is_the_time_that_what_waits_takes(each: float, batches: list[int], waiting: int) -> None:
    found = paced([(items, items * each) for items in batches]).wait(waiting)
    assert abs(found - min(max(1.0, waiting * each), 60.0)) < 1e-6


@given(DONE, st.floats(1e-3, 1))
def test_what_was_long_ago_does_not_count(done: list[tuple[int, float]], each: float) -> None:
    pace = paced([*done, *[(1, 0.0)] * 7, *[(1, each)] * 15])
    assert abs(pace.wait(20) - max(1.0, 20 * each)) < 1e-6


@given(st.integers(1, 14), st.integers(0, 100))
def test_items_of_many_steps_take_the_time_of_all_of_them(steps: int, seconds: int) -> None:
    stepwise = paced([*[(0, seconds)] * steps, (1, seconds)])
    assert stepwise.wait(1) == paced([(1, seconds * (steps + 1))]).wait(1)


def test_one_that_took_long_says_little_of_the_next() -> None:
    assert paced([(10, 1.0), (10, 1.0), (1, 300.0), (10, 1.0)]).wait(50) == 5.0


def test_before_anything_was_done_it_is_a_second() -> None:
    assert paced([]).wait(4_000) == paced([(0, 9.0)]).wait(4_000) == 1.0


def test_many_threads_may_use_it() -> None:
    pace = Pace()

    def use(number: int) -> float:
        pace.note(number % 3, 0.5)
        return pace.wait(number)

    with ThreadPoolExecutor(8) as threads:
        assert all(1 <= found <= 60 for found in threads.map(use, range(2_000)))
