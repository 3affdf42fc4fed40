"""The request-header timeout: closes connections that send their request headers too slowly."""

from __future__ import annotations

import asyncio
from typing import cast

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

KEEP_ALIVE_SECONDS = 75
"""How long an idle connection is kept for a next request. Clients and proxies drop theirs earlier (httpx after 5
seconds, most proxies after 60), so that none sends a request while the server closes."""


def with_header_timeout(seconds: float) -> type[asyncio.Protocol]:
    """uvicorn's protocol with a request-header timeout in seconds.

    uvicorn itself closes idle connections only, and only after the first request.
    """

    class HeaderTimeout(H11Protocol):
        _deadline: asyncio.TimerHandle | None = None
        _begun = True
        """Whether some of a request's head has arrived; the first one's is expected at once."""

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            self._wait(seconds)

        def connection_lost(self, exc: Exception | None) -> None:
            self._stop_waiting()
            super().connection_lost(exc)

        def data_received(self, data: bytes) -> None:
            if not self._begun:
                self._begun = True
                self._wait(seconds)
            super().data_received(data)

        def handle_events(self) -> None:
            super().handle_events()
            if self.conn.their_state is not h11.IDLE:
                self._stop_waiting()

        def on_response_complete(self) -> None:
            self._begun = bool(self.conn.trailing_data[0])
            self._wait(seconds if self._begun else KEEP_ALIVE_SECONDS)
            super().on_response_complete()

        def _wait(self, longest: float) -> None:
            self._stop_waiting()
            self._deadline = self.loop.call_later(longest, self._close)

        def _stop_waiting(self) -> None:
            if self._deadline is not None:
                self._deadline.cancel()
                self._deadline = None

        def _close(self) -> None:
            if self.conn.their_state is h11.IDLE and not self.transport.is_closing():
                self.transport.close()

    return cast(type[asyncio.Protocol], HeaderTimeout)
