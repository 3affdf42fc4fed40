"""Turns go to the callers fairly, however many one of them asks for."""

from __future__ import annotations

from concurrent.futures import Future

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.engine.core.errors import ClientDisconnected, Unavailable
from dragoman.engine.core.turns import Turn, Turns, caller, hold_turn, on_behalf_of, turn, waiting_for_models


def test_one_caller_leaves_a_turn_to_another() -> None:
    turns = Turns(4, 3)
    many = [turns.take("a") for _ in range(10)]
    assert [one.done() for one in many] == [True] * 3 + [False] * 7
    assert turns.take("b").done()


def test_who_holds_the_fewest_comes_next() -> None:
    turns = Turns(2, 2)
    many = [turns.take("a") for _ in range(5)]
    late = turns.take("b")
    assert not late.done()
    turns.give_back("a")
    assert late.done()
    assert sum(one.done() for one in many) == 2


def test_a_turn_that_is_given_up_while_it_is_waited_for_is_never_taken() -> None:
    turns = Turns(1, 1)
    first, left, last = (turns.take("a") for _ in range(3))
    turns.withdraw("a", left)
    turns.withdraw("a", first)
    assert last.done()
    assert not left.done()
    assert turns.waiting() == 0


@given(st.lists(st.tuples(st.sampled_from("abc"), st.booleans()), max_size=60))
def test_no_turn_is_lost_and_none_made_up(steps: list[tuple[str, bool]]) -> None:
    turns = Turns(4, 3)
    open_: list[tuple[str, Future[None]]] = []
    for name, takes in steps:
        if takes:
            open_.append((name, turns.take(name)))
        elif open_:
            turns.withdraw(*open_.pop(0))
        holding = [name for name, one in open_ if one.done()]
        assert len(holding) <= 4
        assert all(holding.count(name) <= 3 for name in holding)
        idle = {name for name, one in open_ if not one.done()}
        assert len(holding) == 4 or all(holding.count(name) == 3 for name in idle)
    for name, one in open_:
        turns.withdraw(name, one)
    assert [turns.take(name).done() for name in "abca"] == [True] * 4


def test_of_a_caller_who_goes_on_without_a_turn_others_get_theirs() -> None:
    turns = Turns(4, 3)
    for _ in range(8):
        turns.take_anyway("a")
    assert turns.take("b").done()
    assert not turns.take("a").done()


def test_who_waits_for_the_models_lets_others_compute() -> None:
    turns = Turns(1, 1)
    assert turns.take("a").done()
    with hold_turn(Turn(turns, "a")):
        assert caller() == "a"
        with waiting_for_models():
            other = turns.take("b")
            assert other.done()
            turns.give_back("b")
        assert not turns.take("b").done()
    assert caller() is None


def test_a_block_waits_for_its_turn_and_gives_it_back_whatever_happens() -> None:
    turns = Turns(1, 1)
    with turn(turns, 5.0):
        with pytest.raises(Unavailable, match="waited too long"), turn(turns, 0.0):
            raise AssertionError("there is no second turn")
        with pytest.raises(ClientDisconnected), turn(turns, 5.0, lambda: True):
            raise AssertionError("there is no second turn")
    with pytest.raises(ZeroDivisionError), turn(turns, 5.0):
        raise ZeroDivisionError
    with turn(turns, 0.0):
        assert turns.waiting() == 0


def test_work_without_a_turn_has_a_caller_too() -> None:
    with on_behalf_of("a"):
        assert caller() == "a"
        with hold_turn(Turn(Turns(1, 1), "b")):
            assert caller() == "b"
    assert caller() is None
