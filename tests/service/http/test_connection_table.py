"""The table of connections: who makes room, whose time is over, and whose answers hold too much."""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import given
from hypothesis import strategies as st

from dragoman.service.http.connections.table import RESERVED, ConnectionLimits, Connections

LIMITS = ConnectionLimits(most=4, head_seconds=10, send_seconds=5, slowest=1000, unsent_bytes=100)


@dataclass(eq=False)
class Open:
    """A connection that is only its figures."""

    table: Connections
    size: int = 0
    left: float = LIMITS.send_seconds
    expected_by: float = float("inf")
    dropped: bool = field(default=False)

    def unsent(self) -> int:
        return self.size

    def seconds_left(self, now: float) -> float:
        return self.left

    def drop(self) -> None:
        self.dropped = True
        self.table.leave(self)


def test_who_has_waited_longest_without_a_request_makes_room() -> None:
    table = Connections(LIMITS)
    first, second, busy, other = (Open(table) for _ in range(4))
    for one in (first, second, busy, other):
        assert table.enter(one)
        table.wait(one)
    table.work(busy)
    table.wait(first)  # has had a request, and waits again: it is the last one now
    assert table.enter(Open(table))
    assert [one.dropped for one in (first, second, busy, other)] == [False, True, False, False]


@given(st.lists(st.booleans(), min_size=1, max_size=60))
def test_a_connection_at_work_is_never_closed_for_another(working: list[bool]) -> None:
    table = Connections(LIMITS)
    entered = []
    for works in working:
        connection = Open(table)
        within = table.enter(connection)
        assert within == (len(table) <= LIMITS.most) and table.full == (len(table) > LIMITS.most + RESERVED)
        table.work(connection) if works else table.wait(connection)
        entered.append((connection, works))
    assert not any(connection.dropped for connection, works in entered if works)
    assert len(table) == sum(not connection.dropped for connection, _ in entered)


def test_those_whose_time_is_over_are_closed() -> None:
    table = Connections(LIMITS)
    late, stalled, fine = Open(table, expected_by=7.0), Open(table, left=0.0), Open(table, expected_by=7.1)
    for one in (late, stalled, fine):
        table.enter(one)
    table.sweep(7.0)
    assert (late.dropped, stalled.dropped, fine.dropped) == (True, True, False)


@given(st.lists(st.tuples(st.integers(0, 200), st.floats(0.01, LIMITS.send_seconds)), min_size=2, max_size=12))
def test_only_clients_that_do_not_read_lose_answers_and_no_more_than_must(given: list[tuple[int, float]]) -> None:
    table = Connections(LIMITS)
    clients = [Open(table, size, left) for size, left in given]
    for one in clients:
        table.enter(one)
    table.limit_unsent(0.0)
    dropped = [one for one in clients if one.dropped]
    left = sum(one.size for one in clients if not one.dropped)
    assert all(one.left < LIMITS.send_seconds for one in dropped)
    stalled = [one for one in clients if not one.dropped and one.size and one.left <= LIMITS.send_seconds - 0.25]
    holding = [one for one in clients if one.size]
    assert left <= LIMITS.unsent_bytes or not stalled or len(holding) == 1
    if dropped:
        assert left + max(one.size for one in dropped) > LIMITS.unsent_bytes


def test_one_slow_client_keeps_its_answer_whatever_its_size() -> None:
    table = Connections(LIMITS)
    alone = Open(table, size=10_000, left=0.1)
    table.enter(alone)
    table.limit_unsent(0.0)
    assert not alone.dropped
