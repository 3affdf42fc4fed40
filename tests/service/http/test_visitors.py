"""Callers without a key: each address has limits of its own."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.engine.core.errors import TooManyRequests
from dragoman.service.http.visitors import _ADDRESSES, Visitors, client_address


def scope(host: str | None) -> dict[str, object]:
    return {"client": None if host is None else (host, 4711)}


def refused(visitors: Visitors, host: str) -> bool:
    try:
        visitors.check(scope(host))
    except TooManyRequests as fault:
        assert int(fault.headers["Retry-After"]) > 0
        return True
    return False


def test_one_address_locks_no_other_out() -> None:
    visitors = Visitors(rate=0.001, burst=3, of="requests")
    assert [refused(visitors, "192.0.2.1") for _ in range(5)] == [False, False, False, True, True]
    assert not refused(visitors, "192.0.2.2")


def test_a_network_of_ipv6_is_one_caller() -> None:
    visitors = Visitors(rate=0.001, burst=1, of="requests")
    assert not refused(visitors, "2001:db8::1")
    assert refused(visitors, "2001:db8::ffff") and refused(visitors, "2001:db8::2%eth0")
    assert not refused(visitors, "2001:db8:0:1::1")


def test_without_a_rate_nobody_is_refused() -> None:
    visitors = Visitors(rate=0, burst=1, of="requests")
    assert not any(refused(visitors, "192.0.2.1") for _ in range(100))


def test_addresses_are_forgotten_the_longest_unseen_first() -> None:
    visitors = Visitors(rate=0.001, burst=1, of="requests")
    assert not refused(visitors, "seen") and not refused(visitors, "unseen")
    for number in range(_ADDRESSES - 2):
        visitors.check(scope(f"a{number}"))
    assert refused(visitors, "seen")
    visitors.check(scope("one more"))
    assert len(visitors._meters) == _ADDRESSES
    assert refused(visitors, "seen") and not refused(visitors, "unseen")


@given(st.text(max_size=60))
def test_any_address_is_some_caller(host: str) -> None:
    assert client_address(scope(host)) == client_address(scope(host))
    assert client_address(scope(None)) == ""


@pytest.mark.parametrize("host", ["192.0.2.1", "unix"])
def test_other_addresses_are_themselves(host: str) -> None:
    assert client_address(scope(host)) == host
