"""A deadline stops the work that it was opened for, and no other."""

from __future__ import annotations

import threading

import pytest

from dragoman.deadline import DeadlinePassed, WorkCancelled, check, check_each, deadline, remaining


def test_work_without_a_deadline_is_never_stopped() -> None:
    check()
    assert remaining(3.0) == 3.0


def test_a_passed_deadline_stops_the_work_and_ends_with_its_block() -> None:
    with deadline(0.0), pytest.raises(DeadlinePassed):
        check()
    check()


def test_the_earlier_of_two_deadlines_counts() -> None:
    with deadline(0.0), deadline(100.0):
        assert remaining(50.0) == 0.0
        with pytest.raises(DeadlinePassed):
            check()
    with deadline(100.0), deadline(0.0), pytest.raises(DeadlinePassed):
        check()


def test_work_is_cancelled_from_outside_also_within_an_inner_deadline() -> None:
    gone = threading.Event()
    with deadline(100.0, gone.is_set):
        check()
        gone.set()
        with deadline(100.0), pytest.raises(WorkCancelled):
            while True:
                check()


def test_other_threads_have_deadlines_of_their_own() -> None:
    faults: list[BaseException] = []

    def work() -> None:
        try:
            check()
        except BaseException as fault:
            faults.append(fault)

    with deadline(0.0):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    assert not faults


def test_a_loop_is_stopped_on_its_way() -> None:
    with deadline(100.0):
        assert list(check_each(range(5), interval=2)) == [0, 1, 2, 3, 4]
    with deadline(0.0), pytest.raises(DeadlinePassed):
        list(check_each([1]))
