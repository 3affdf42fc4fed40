"""Counts that several processes have together; each object here is one process's."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from threading import Thread

import pytest

from dragoman.engine.core.errors import TooManyRequests
from dragoman.engine.core.priority import background
from dragoman.service.access.rate_limit import Quota
from dragoman.service.processes.ledger import Ledger
from dragoman.service.processes.search_processes import SearchFolder
from dragoman.service.processes.shared_limits import SharedLimit, SharedMeter, SharedTraffic


@pytest.fixture
def ledgers(tmp_path: Path) -> Iterator[tuple[Ledger, Ledger]]:
    both = Ledger(tmp_path / "counts", 0, 2), Ledger(tmp_path / "counts", 1, 2)
    yield both
    for ledger in both:
        ledger.close()


def test_a_limit_holds_over_both(ledgers: tuple[Ledger, Ledger]) -> None:
    here, there = (SharedLimit(ledger, 3, "searches are under way") for ledger in ledgers)
    three = here.place("a"), there.place("b"), here.place("a")
    refused = pytest.raises(TooManyRequests, match="3 searches")
    with three[0], three[1], three[2], refused, there.place("c"):
        pass
    with there.place("a"), there.place("a"), there.place("a"):
        pass


def test_background_work_yields_to_the_requests_of_both(tmp_path: Path) -> None:
    opened = [SearchFolder(tmp_path).open_shares(place, 2) for place in (0, 1)]
    here, there = (shares.traffic() for _, shares in opened)
    with background(60), there.live():
        assert here.wait_until_idle(60)  # nothing to wait for: it is no request itself
    passed: list[bool] = []
    waiting = Thread(target=lambda: passed.append(here.wait_until_idle(60)))
    with there.live():
        with there.live(), here.live():
            waiting.start()
        assert not here.wait_until_idle(0.05)
        assert not passed
    waiting.join(60)
    assert passed == [True]
    for ledger, _ in opened:
        ledger.close()


def test_requests_of_a_process_that_has_ended_hold_up_nobody(ledgers: tuple[Ledger, Ledger]) -> None:
    here, there = map(SharedTraffic, ledgers)
    with there.live():
        ledgers[0].forget(1)
        assert ledgers[0].requests == (0, 0)
        assert here.wait_until_idle(60)


def test_one_caller_cannot_take_all(ledgers: tuple[Ledger, Ledger]) -> None:
    here, there = (SharedLimit(ledger, 8, "searches") for ledger in ledgers)
    places = [limit.place("greedy") for limit in (here, there, here, there, here, there, here)]
    for place in places:
        place.__enter__()
    with pytest.raises(TooManyRequests, match="for this caller"), there.place("greedy"):
        pass
    with there.place("other"):
        pass
    for place in places:
        place.__exit__(None, None, None)


def test_counts_of_a_process_that_has_ended_are_taken_back(ledgers: tuple[Ledger, Ledger]) -> None:
    here, there = (SharedLimit(ledger, 2, "searches") for ledger in ledgers)
    place = there.place("a")
    place.__enter__()
    with here.place("a"), pytest.raises(TooManyRequests), here.place("b"):
        pass
    ledgers[0].forget(1)
    with here.place("a"), here.place("b"):
        pass
    place.__exit__(None, None, None)


def test_a_rate_is_shared_and_what_is_given_back_counts_for_nothing(ledgers: tuple[Ledger, Ledger]) -> None:
    here, there = (SharedMeter(ledger, "key", Quota(1.0, 3, 0)) for ledger in ledgers)
    assert [meter.enter(100.0) for meter in (here, there, here)] == [None, None, None]
    assert there.enter(100.0) == 1.0
    here.give_back()
    assert there.enter(100.0) is None
    assert here.enter(102.0) is None and there.enter(102.0) is None and here.enter(102.0) == 1.0


def test_concurrent_requests_of_a_key_are_counted_together(ledgers: tuple[Ledger, Ledger]) -> None:
    here, there = (SharedMeter(ledger, "key", Quota(0, 1, 2)) for ledger in ledgers)
    assert here.enter(1.0) is None and there.enter(1.0) is None
    assert here.enter(1.0) == there.enter(1.0) == 1.0
    there.leave()
    assert here.enter(1.0) is None


def test_connections_are_told_without_a_lock(ledgers: tuple[Ledger, Ledger]) -> None:
    here, there = ledgers
    with here.hold():
        assert there.connections(7) == (0, 7)
        assert here.connections(3) == (3, 7)
    here.forget(1)
    assert here.connections(4) == (4, 0)


def test_many_names_have_entries_of_their_own(ledgers: tuple[Ledger, Ledger]) -> None:
    here, there = ledgers
    for index in range(1000):
        with here.hold():
            here.entry(f"name {index}").add(index)
    with there.hold():
        assert [there.entry(f"name {index}").total for index in range(1000)] == list(range(1000))


def test_processes_add_one_after_the_other(tmp_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from dragoman.service.processes.ledger import Ledger\n"
        "ledger = Ledger(Path(sys.argv[1]), int(sys.argv[2]), 2)\n"
        "for _ in range(3000):\n"
        "    with ledger.hold(): ledger.entry('name').put_tokens(ledger.entry('name').tokens[0] + 1, 0.0)\n"
    )
    ledger = Ledger(tmp_path / "counts", 0, 2)
    command = [sys.executable, "-c", program, str(tmp_path / "counts")]
    running = [subprocess.Popen([*command, str(place)]) for place in (0, 1)]
    assert [process.wait(120) for process in running] == [0, 0]
    with ledger.hold():
        assert ledger.entry("name").tokens == (6000.0, 0.0)
    ledger.close()
