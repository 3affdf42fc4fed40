"""Accepts connections of a socket that several processes have, so that each gets its share of them.

The kernel gives a connection to whoever is there first, which may be one process for all that come at a time. So one
that has more connections than another leaves a new one to it for a moment.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable

from dragoman.service.processes.ledger import Ledger

_LEFT_SECONDS = 0.02
"""How long a connection is left to a process that has fewer; then this one takes it, whatever the other does."""


class Accepting:
    """Accepts the connections of a listener for an event loop, in place of asyncio."""

    def __init__(
        self, listener: socket.socket, make: Callable[[], asyncio.Protocol], ledger: Ledger, count: Callable[[], int]
    ) -> None:
        """``make`` makes a connection's protocol; ``count`` says how many connections there are here."""
        self._loop = asyncio.get_running_loop()
        self._listener, self._make = listener, make
        self._ledger, self._count = ledger, count
        self._connecting: set[asyncio.Task[object]] = set()

    def start(self) -> None:
        """Accept from now on."""
        self._loop.remove_reader(self._listener.fileno())
        self._loop.add_reader(self._listener.fileno(), self._accept)

    def publish(self) -> bool:
        """Tell the others how many connections there are here; returns whether another process has fewer.

        What is told is one more: nothing is told by a process that has not started.
        """
        count = 1 + self._count() + len(self._connecting)
        return any(0 < other < count for other in self._ledger.connections(count))

    def _accept(self) -> None:
        if self.publish():
            self._pause(_LEFT_SECONDS)
        else:
            self._take()

    def _take(self) -> bool:
        """Take a connection; returns whether one was waiting."""
        try:
            accepted, _ = self._listener.accept()
        except (BlockingIOError, InterruptedError, ConnectionAbortedError):
            return False
        except OSError as fault:  # no file is left, for example: there may be one soon
            self._pause(1.0)
            context = {"message": "socket.accept() out of system resource", "exception": fault}
            self._loop.call_exception_handler(context)
            return False
        accepted.setblocking(False)
        connecting = self._loop.create_task(self._loop.connect_accepted_socket(self._make, accepted))
        self._connecting.add(connecting)
        connecting.add_done_callback(self._connecting.discard)
        return True

    def _pause(self, seconds: float) -> None:
        self._loop.remove_reader(self._listener.fileno())
        self._loop.call_later(seconds, self._go_on)

    def _go_on(self) -> None:
        if self._listener.fileno() >= 0:  # else the server has closed it
            self._loop.add_reader(self._listener.fileno(), self._accept)
            while self._take():  # all that nobody else has taken, however late it is: none is left twice
                pass
