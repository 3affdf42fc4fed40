"""Callers without a key: how many requests each address may send to what is open, and how often it may fail to sign in.

An address has limits of its own, so that nobody locks others out. Behind a proxy all callers have the proxy's.
"""

from __future__ import annotations

import ipaddress
import time
from collections import OrderedDict

from starlette.types import Scope

from dragoman.engine.core.errors import TooManyRequests
from dragoman.service.access.rate_limit import Meter, Quota

_ADDRESSES = 4_096
"""Addresses that are remembered; the one that was not seen for longest is forgotten first."""
_V6_NETWORK = 64
"""A subscriber of IPv6 has a whole network of this prefix."""


class Visitors:
    """A token bucket for each address. Call it from the event loop's thread only."""

    def __init__(self, rate: float, burst: int, of: str) -> None:
        """``rate``: requests per second, 0 for no limit; ``of`` says what there are too many of."""
        self._quota = Quota(rate, burst, 0)
        self._of = of
        self._meters: OrderedDict[str, Meter] = OrderedDict()

    def check(self, scope: Scope) -> None:
        """Count a request.

        Raises:
            TooManyRequests: this address has sent too many.
        """
        address = client_address(scope)
        meter = self._meters.get(address)
        if meter is None:
            meter = self._meters[address] = Meter(self._quota)
            if len(self._meters) > _ADDRESSES:
                self._meters.popitem(last=False)
        else:
            self._meters.move_to_end(address)
        wait = meter.enter(time.monotonic())
        if wait is not None:
            fault = TooManyRequests(f"too many {self._of} from this address; wait as Retry-After says", wait)
            fault.headers = {**fault.headers, "Connection": "close"}  # more of them may be on their way already
            raise fault
        meter.leave()


def client_address(scope: Scope) -> str:
    """The address that a request comes from; of IPv6 its network."""
    client = scope.get("client")
    host = str(client[0]) if client else ""
    if ":" not in host:
        return host
    try:
        return str(ipaddress.ip_network((host.partition("%")[0], _V6_NETWORK), strict=False))
    except ValueError:
        return host
