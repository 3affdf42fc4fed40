from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from threading import Event
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.deadline import check
from dragoman.engine.core.errors import ClientDisconnected, TooManyRequests, Unavailable
from dragoman.engine.models.queue.batches import Limits
from dragoman.engine.models.queue.gathering import gather
from dragoman.engine.models.queue.worker import UNFINISHED, Worker

pytestmark = pytest.mark.slow


class Machine:
    """Computes upper case; a text ``bad`` fails its batch. Waits at ``gate`` with each batch."""

    def __init__(self) -> None:
        self.batches: list[tuple[Any, list[str]]] = []
        self.gate = Event()
        self.begun = Event()

    def __call__(self, task: Any, texts: list[str]) -> Sequence[Any]:
        self.batches.append((task, texts))
        self.begun.set()
        assert self.gate.wait(30)
        if "bad" in texts:
            raise ValueError("bad text")
        return [KeyError(text) if text == "odd" else f"{task}:{text.upper()}" for text in texts]


@contextmanager
def working(queue: int = 100, batch: int = 4, batch_cost: int = 1000) -> Iterator[tuple[Machine, Worker]]:
    machine = Machine()
    worker = Worker(machine, queue, lambda task: Limits(batch, batch_cost))
    try:
        yield machine, worker
    finally:
        machine.gate.set()
        worker.close()


def held(machine: Machine, worker: Worker) -> Any:
    """Keep the worker busy with one item, so that what comes after gathers."""
    first = worker.submit("hold", ["first"])
    assert machine.begun.wait(10)
    return first


def test_where_a_batch_is_padded_each_item_costs_as_much_as_the_most_expensive() -> None:
    machine = Machine()
    worker = Worker(machine, 100, lambda task: Limits(8, 24, padded=True))
    first = worker.submit("hold", ["first"])
    assert machine.begun.wait(10)
    futures = worker.submit("t", list("abcdefg"), costs=[1, 2, 3, 10, 4, 50, 1])
    machine.gate.set()
    gather([*first, *futures], 10)
    worker.close()
    assert [texts for task, texts in machine.batches if task == "t"] == [list("abc"), list("de"), ["f"], ["g"]]


def test_items_of_many_clients_share_a_forward_pass() -> None:
    with working() as (machine, worker):
        held(machine, worker)
        futures = [worker.submit("t", [letter])[0] for letter in "abcdef"]
        machine.gate.set()
        assert gather(futures, 10) == [f"t:{letter.upper()}" for letter in "abcdef"]
        assert machine.batches[1:] == [("t", ["a", "b", "c", "d"]), ("t", ["e", "f"])]


def test_a_long_request_does_not_keep_a_short_one_waiting() -> None:
    with working() as (machine, worker):
        held(machine, worker)
        long = worker.submit("t", [f"long{n}" for n in range(20)])
        short = worker.submit("t", ["short"])
        other = worker.submit("u", ["other"])
        machine.gate.set()
        gather([*long, *short, *other], 10)
        assert "short" in machine.batches[1][1]
        assert machine.batches[2] == ("u", ["other"])


def test_a_batch_has_its_limits() -> None:
    with working(batch_cost=10) as (machine, worker):
        held(machine, worker)
        futures = worker.submit("t", ["x" * 50, "abc", "abcd", "abcde"])
        machine.gate.set()
        gather(futures, 10)
        assert [texts for _, texts in machine.batches[1:]] == [["x" * 50], ["abc", "abcd"], ["abcde"]]


def test_a_batch_is_as_large_as_its_kind_of_task_computes_in_the_given_time(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [0.0]
    monkeypatch.setattr(time, "perf_counter", lambda: clock[0])
    machine, costs = Machine(), [0.125, 0.0625]

    def compute(task: str, texts: list[str]) -> Sequence[Any]:
        results = machine(task, texts)
        clock[0] += costs[len(machine.batches) > 8] * sum(map(len, texts))
        return results

    worker = Worker(compute, 2000, lambda task: Limits(1000, 160, seconds=5.0))
    first = worker.submit("t", ["x"])
    assert machine.begun.wait(10)
    futures = worker.submit("t", ["x"] * 1100)
    machine.gate.set()
    gather([*first, *futures], 10)
    worker.close()
    sizes = [len(texts) for _, texts in machine.batches]
    assert sizes[:9] == [1] + [40] * 8  # eight characters a second
    assert sizes[9:-1] == sorted(sizes[9:-1])
    assert 60 < sizes[-2] <= 80  # sixteen a second


def test_a_batch_makes_way_for_an_urgent_task_and_then_ends() -> None:
    begun, done = Event(), Event()
    batches: list[tuple[str, int]] = []

    def compute(task: str, texts: list[str]) -> list[str]:
        batches.append((task, len(texts)))
        begun.set()
        until = time.monotonic() + 30
        while task == "long" and not done.is_set() and time.monotonic() < until:
            check()
            time.sleep(0.01)
        for _ in range(30 if task == "urgent" else 0):  # it makes way for nobody itself
            check()
            time.sleep(0.01)
        return [f"{task}:{text}" for text in texts]

    worker = Worker(compute, 100, lambda task: Limits(4, 100), urgent=lambda task: "urgent" in task)
    long = worker.submit("long", ["a", "b"])
    assert begun.wait(10)
    other = worker.submit("other", ["x"])
    urgent = worker.submit("urgent", list("abcdef"))
    more = worker.submit("more urgent", ["y"])
    assert gather(urgent, 10) == [f"urgent:{letter}" for letter in "abcdef"]
    assert gather(more, 10) == ["more urgent:y"]
    assert not long[0].done() and not other[0].done()
    done.set()
    assert gather([*long, *other], 10) == ["long:a", "long:b", "other:x"]
    assert batches in (
        [("long", 2), ("urgent", 4), ("more urgent", 1), ("urgent", 2), ("other", 1)],
        [("long", 2), ("urgent", 4), ("urgent", 2), ("more urgent", 1), ("other", 1)],
    )
    assert worker.waiting() == {}
    worker.close()


def test_a_batch_makes_way_no_longer_than_it_is_computed_itself() -> None:
    begun = Event()
    spans: list[tuple[str, float, float]] = []

    def compute(task: str, texts: list[str]) -> list[str]:
        started = time.monotonic()
        begun.set()
        for _ in range(60 if task == "long" else 1):
            check()
            time.sleep(0.02 if task == "long" else 0.2)
        spans.append((task, started, time.monotonic()))
        return texts

    worker = Worker(compute, 100, lambda task: Limits(1, 100), urgent=lambda task: task == "urgent")
    long = worker.submit("long", ["a"])
    assert begun.wait(10)
    urgent = worker.submit("urgent", list("abcdefghijklmnop"))
    gather([*long, *urgent], 60)
    worker.close()
    (_, started, ended), *_ = [span for span in spans if span[0] == "long"]
    aside = [end - begin for task, begin, end in spans if task == "urgent" and started < begin and end < ended]
    assert 2 <= len(aside) <= 10  # 16 of them take 3.2 seconds, and the batch itself 1.2


def test_an_urgent_task_comes_next_but_not_twice_in_a_row() -> None:
    machine = Machine()
    worker = Worker(machine, 100, lambda task: Limits(2, 100), urgent=lambda task: task == "urgent")
    first = worker.submit("hold", ["first"])
    assert machine.begun.wait(10)
    others = worker.submit("other", list("abcd"))
    urgent = worker.submit("urgent", list("abcdef"))
    machine.gate.set()
    gather([*first, *others, *urgent], 10)
    worker.close()
    assert [task for task, _ in machine.batches[1:]] == ["urgent", "other", "urgent", "other", "urgent"]


def test_of_a_kind_of_task_whose_pace_is_unknown_the_first_batch_is_small() -> None:
    machine = Machine()
    worker = Worker(machine, 1000, lambda task: Limits(1000, 160, seconds=2.0))
    futures = worker.submit("t", ["x"] * 100)
    machine.gate.set()
    gather(futures, 10)
    worker.close()
    assert len(machine.batches[0][1]) == 20


def test_one_bad_item_fails_alone() -> None:
    with working() as (machine, worker):
        held(machine, worker)
        futures = worker.submit("t", ["a", "bad", "b", "odd"])
        machine.gate.set()
        assert [futures[0].result(10), futures[2].result(10)] == ["t:A", "t:B"]
        with pytest.raises(ValueError, match="bad text"):
            futures[1].result(10)
        with pytest.raises(KeyError):
            futures[3].result(10)
        assert gather(worker.submit("t", ["c"]), 10) == ["t:C"]


def test_a_full_queue_refuses_and_says_when_to_come_again() -> None:
    with working(queue=3) as (machine, worker):
        held(machine, worker)
        worker.submit("t", ["a", "b"])
        with pytest.raises(TooManyRequests) as refused:
            worker.submit("t", ["c", "d"])
        assert refused.value.headers["Retry-After"] == "1"
        worker._limit.pace.note(4, 34.0)
        with pytest.raises(TooManyRequests) as refused:
            worker.admit("t", 2)
        assert refused.value.headers["Retry-After"] == "17"  # for the two that wait
        worker.admit("t", 1)
        worker.submit("t", ["c"])
        assert len(worker.submit("t", ["d"] * 50, background=True)) == 50


def test_a_request_longer_than_the_queue_is_taken_when_nothing_waits() -> None:
    with working(queue=3) as (machine, worker):
        machine.gate.set()
        assert len(gather(worker.submit("t", ["a"] * 10), 10)) == 10


def test_cancelled_items_are_never_computed_and_make_room() -> None:
    with working(queue=3) as (machine, worker):
        held(machine, worker)
        cancelled = worker.submit("t", ["a", "b", "c"])
        for future in cancelled:
            future.cancel()
        stay = worker.submit("t", ["d", "e"])
        machine.gate.set()
        assert gather(stay, 10) == ["t:D", "t:E"]
        assert machine.batches[1:] == [("t", ["d", "e"])]


def test_a_client_that_goes_away_takes_its_items_along() -> None:
    with working() as (machine, worker):
        held(machine, worker)
        futures = worker.submit("t", ["a", "b"])
        with pytest.raises(ClientDisconnected, match="client disconnected"):
            gather(futures, 10, cancelled=lambda: True)
        with pytest.raises(Unavailable, match=r"longer than 0\.01 seconds"):
            gather(worker.submit("t", ["c"]), 0.01)
        machine.gate.set()
        gather(worker.submit("t", ["d"]), 10)
        assert machine.batches[1:] == [("t", ["d"])]


def test_background_work_gives_way_but_is_not_starved() -> None:
    with working(batch=1) as (machine, worker):
        held(machine, worker)
        background = worker.submit("slow", ["b"] * 3, background=True)
        asked = worker.submit("t", ["a"] * 16)
        machine.gate.set()
        gather([*background, *asked], 10)
        order = [task for task, _ in machine.batches[1:]]
        assert order[0] == "t"
        assert 5 <= order.index("slow") <= 9
        assert order.count("slow") == 3


class Counting:
    """Each item, a list of one number, is computed so many times; other tasks are answered at once."""

    def __init__(self) -> None:
        self.batches: list[tuple[Any, list[Any]]] = []

    def __call__(self, task: Any, items: list[Any]) -> Sequence[Any]:
        self.batches.append((task, [list(item) for item in items]))
        if task != "count":
            return [item.upper() for item in items]
        time.sleep(0.002)
        for item in items:
            item[0] -= 1
        return [item if item[0] == 0 else UNFINISHED for item in items]


def test_unfinished_items_go_on_before_new_ones_and_give_way_to_other_tasks() -> None:
    machine = Counting()
    worker = Worker(machine, 100, lambda task: Limits(3, 1000))
    try:
        long = worker.submit("count", [[60]])[0]
        short = [worker.submit("count", [[3]])[0] for _ in range(7)]
        others = [worker.submit("upper", [letter])[0] for letter in "abc"]
        assert gather(others, 20) == list("ABC") and not long.done()
        gather([long, *short], 20)
    finally:
        worker.close()
    counts = [items for task, items in machine.batches if task == "count"]
    assert max(map(len, counts)) == 3 and len(counts) == 60  # the long one was in every batch
    assert worker.waiting() == {}


def test_background_items_that_were_begun_wait_for_live_ones_and_fill_their_batches() -> None:
    machine = Counting()
    worker = Worker(machine, 100, lambda task: Limits(4, 1000))
    try:
        background = worker.submit("count", [[20] for _ in range(80)], background=True)
        while len(machine.batches) < 3:
            time.sleep(0.001)
        begun = len(machine.batches)
        live = [worker.submit("count", [[10]])[0] for _ in range(2)]
        gather(live, 20)
        mixed = machine.batches[begun : begun + 12]
        assert len(machine.batches) - begun < 20, (
            "live items need 10 batches of their own, and one in eight is not theirs"
        )
        gather(background, 60)
    finally:
        worker.close()
    assert any(len(items) == 4 for _, items in mixed), "where live items leave room, begun ones go on"
    assert len(machine.batches) < 80 * 20 / 4 + 20
    assert worker.waiting() == {}


def test_closing_fails_unfinished_items() -> None:
    worker = Worker(Counting(), 100, lambda task: Limits(3, 1000))
    futures = [worker.submit("count", [[10**9]])[0] for _ in range(5)]
    time.sleep(0.05)
    worker.close()
    for future in futures:
        with pytest.raises(Unavailable):
            future.result(10)


def test_closing_fails_what_waits_and_takes_nothing_more() -> None:
    before = set(threading.enumerate())  # with the workers of other tests
    with working() as (machine, worker):
        first = held(machine, worker)
        waiting = worker.submit("t", ["a"]) + worker.submit("t", ["b"], background=True)
        closing = threading.Thread(target=worker.close)
        closing.start()
        for future in waiting:
            with pytest.raises(Unavailable, match="stopping"):
                future.result(10)
        machine.gate.set()
        closing.join(10)
        assert first[0].result(10) == "hold:FIRST"
        with pytest.raises(Unavailable, match="stopping"):
            worker.submit("t", ["c"])
        assert not [one for one in set(threading.enumerate()) - before if one.name == "dragoman-worker"]


def test_a_wrong_number_of_results_is_a_fault_and_not_a_hang() -> None:
    worker = Worker(lambda task, texts: ["one"], 10, lambda task: Limits(4, 100))
    with pytest.raises(Exception, match="1 results for 2 texts"):
        gather(worker.submit("t", ["a", "b"]), 10)
    worker.close()


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from("tu"), st.lists(st.sampled_from(["a", "bb", "bad", "odd"]), max_size=6))),
    st.integers(1, 5),
)
def test_every_item_gets_its_own_result_whatever_the_batches(requests, batch: int) -> None:
    with working(queue=1000, batch=batch, batch_cost=5) as (machine, worker):
        machine.gate.set()
        results: list[Callable[[], None]] = []
        for task, texts in requests:
            for text, future in zip(texts, worker.submit(task, texts), strict=True):
                results.append(lambda task=task, text=text, future=future: _check(task, text, future))
        for check in results:
            check()
        time.sleep(0)
        assert worker._waiting == 0


def _check(task: str, text: str, future: Any) -> None:
    fault = future.exception(10)
    if text == "bad":
        assert isinstance(fault, ValueError)
    elif text == "odd":
        assert isinstance(fault, KeyError)
    else:
        assert future.result() == f"{task}:{text.upper()}"


@pytest.mark.parametrize(("seconds", "status"), [(60, 3), (0, 0)])
def test_a_thread_that_is_left_at_its_work_is_left_with_the_process(seconds: float, status: int) -> None:
    program = f"""
import time
from dragoman.engine.models.queue import abandoned, worker
worker._WAIT_SECONDS = 0.2
working = worker.Worker(lambda task, items: time.sleep({seconds}) or items, 10, lambda task: worker.Limits(1, 1))
working.submit("task", ["item"])
while working.waiting():
    time.sleep(0.01)
working.close()
print("closed")
abandoned.exit_if_computing(3)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (status, "closed\n"), done.stderr
