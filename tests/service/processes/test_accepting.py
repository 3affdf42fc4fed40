"""Connections that a busy search process has left to another are taken in the end."""

from __future__ import annotations

import asyncio
import socket
import time
from pathlib import Path

from dragoman.service.processes.accepting import Accepting
from dragoman.service.processes.ledger import Ledger


def test_what_another_process_does_not_take_is_taken_by_a_busy_one(tmp_path: Path) -> None:
    other, own = (Ledger(tmp_path / "counts", place, 2) for place in (0, 1))
    other.connections(1)  # it has fewer, and accepts nothing
    listener = socket.create_server(("127.0.0.1", 0))
    listener.setblocking(False)

    async def serve() -> int:
        made: list[asyncio.Protocol] = []

        def make() -> asyncio.Protocol:
            made.append(asyncio.Protocol())
            return made[-1]

        accepting = Accepting(listener, make, own, lambda: 5)
        accepting.start()
        clients = [socket.create_connection(listener.getsockname()) for _ in range(20)]
        until = time.monotonic() + 30
        while len(made) < len(clients) and time.monotonic() < until:
            time.sleep(0.1)  # the loop is busy for longer than connections are left
            await asyncio.sleep(0.01)
        for client in clients:
            client.close()
        asyncio.get_running_loop().remove_reader(listener.fileno())
        return len(made)

    assert asyncio.run(serve()) == 20
    for closed in (listener, own, other):
        closed.close()
