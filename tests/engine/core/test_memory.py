"""Memory of bodies, and the breaker."""

from __future__ import annotations

import pytest

from dragoman.engine.core.errors import Unavailable
from dragoman.engine.core.memory import BodyMemory, BodyShare, MemoryBreaker, anonymous_memory, machine_memory

MIB = 1 << 20


def memory(most: int) -> BodyMemory:
    return BodyMemory(most, MemoryBreaker(1 << 50))


def test_bodies_are_refused_above_the_limit_and_let_in_after_a_release() -> None:
    shared = memory(100 * MIB)
    first, second = shared.share(None), shared.share(None)
    first.take(60 * MIB)
    with pytest.raises(Unavailable) as refused:
        second.take(60 * MIB)
    assert "Retry-After" in refused.value.headers
    assert shared.held == 60 * MIB
    second.take(BodyShare.FREE)
    first.release()
    second.take(60 * MIB)
    second.release()
    assert shared.held == 0


def test_a_key_takes_half_at_most_so_that_others_have_the_rest() -> None:
    shared = memory(100 * MIB)
    shared.share("a").take(40 * MIB)
    with pytest.raises(Unavailable, match="of this API key"):
        shared.share("a").take(20 * MIB)
    shared.share("b").take(40 * MIB)


def test_what_is_larger_than_the_limit_is_let_in_alone() -> None:
    shared = memory(100 * MIB)
    large = shared.share("a")
    large.take(150 * MIB)
    with pytest.raises(Unavailable):
        shared.share("b").take(1 * MIB)
    large.release()
    shared.share("b").take(1 * MIB)
    large.take(150 * MIB)


def test_the_breaker_refuses_before_the_memory_is_taken() -> None:
    has = anonymous_memory()
    assert 0 < has < machine_memory()
    MemoryBreaker(has + 500 * MIB).check()
    with pytest.raises(Unavailable, match="too little memory"):
        MemoryBreaker(has + 500 * MIB).check(600 * MIB)
    with pytest.raises(Unavailable):
        BodyMemory(100 * MIB, MemoryBreaker(1)).share(None).take(1)
