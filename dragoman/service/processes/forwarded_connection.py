"""The service's side of :mod:`forwarding`: connections of search processes, each of which brings one request."""

from __future__ import annotations

import json
from typing import Any

from dragoman.service.http.connections.protocol import Connection

_LONGEST = 4_096


class ForwardedConnection(Connection):
    """A connection whose first line says who the client is. It is used on the socket of search processes alone."""

    _introduction: bytes | None = b""
    """What has arrived of that line; None once it was read."""

    def data_received(self, received: bytes) -> None:
        if self._introduction is not None:
            line, end, received = (self._introduction + received).partition(b"\n")
            if not end:
                self._introduction = line
                if len(line) > _LONGEST:
                    self.drop()
                return
            self._introduction = None
            self._introduce(json.loads(line))
            if not received:
                return
        super().data_received(received)

    def body_is_left(self) -> bool:
        """The client's own connection decides that."""
        return False

    def _introduce(self, parties: dict[str, Any]) -> None:
        client, server = parties["client"], parties["server"]
        self.client = None if client is None else (str(client[0]), int(client[1]))
        self.server = None if server is None else (str(server[0]), server[1])
