"""The servers of a service of several processes: its own, and those of its search processes."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from dragoman.service.http.connections.graceful_server import ChildServer, GracefulServer
from dragoman.service.processes.accepting import Accepting
from dragoman.service.processes.forwarded_connection import ForwardedConnection
from dragoman.service.processes.ledger import Ledger
from dragoman.service.processes.search_processes import BACKLOG, SearchProcesses

logger = logging.getLogger("dragoman")


class _BalancedServer(GracefulServer):
    """A server that leaves connections to processes which have fewer."""

    ledger: Ledger
    _accepting: Sequence[Accepting] = ()

    async def on_tick(self, counter: int) -> bool:
        for accepting in self._accepting:
            accepting.publish()
        return await super().on_tick(counter)

    def accept_fairly(self, sockets: Sequence[socket.socket]) -> None:
        """Accept in place of asyncio, where its loop lets others do that."""
        for listener in sockets:
            listener.listen(BACKLOG)  # asyncio has made it as short as the number that it accepts at a time
        if isinstance(asyncio.get_running_loop(), asyncio.SelectorEventLoop):
            make = partial(self.config.http_protocol_class, **self.protocol_parts())
            self._accepting = [
                Accepting(listener, make, self.ledger, lambda: len(self._connections)) for listener in sockets
            ]
            for accepting in self._accepting:
                accepting.start()

    def protocol_parts(self) -> dict[str, Any]:
        """What uvicorn gives to the protocol of each connection."""
        return {"config": self.config, "server_state": self.server_state, "app_state": self.lifespan.state}


class SharingServer(_BalancedServer):
    """A server beside search processes: it takes what they forward, and stops after them."""

    processes: SearchProcesses
    _forwarded: asyncio.Server

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if not self.started:
            return
        self.accept_fairly(sockets or ())
        make = partial(ForwardedConnection, self._connections, **self.protocol_parts())
        self._forwarded = await asyncio.get_running_loop().create_unix_server(
            make, sock=self.processes.listener, backlog=BACKLOG
        )

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        if self._app.started:
            began = time.monotonic()
            for server in self.servers:
                server.close()
            self._app.stop_uploads()
            seconds = self.config.timeout_graceful_shutdown or 0
            await asyncio.to_thread(self.processes.drain, seconds)
            self.config.timeout_graceful_shutdown = max(1, int(seconds - (time.monotonic() - began)))
            self._forwarded.close()
        await super().shutdown(sockets)


class SearchServer(_BalancedServer, ChildServer):
    """The server of a search process, which stops when its parent says so."""

    ending: Callable[[], bool]

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.accept_fairly(sockets or ())
        logger.info("a search process answers too: %d", os.getpid())

    async def on_tick(self, counter: int) -> bool:
        return await super().on_tick(counter) or self.ending()
