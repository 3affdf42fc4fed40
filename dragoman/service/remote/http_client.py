"""HTTP/1.1 to one server, over TCP, TLS or a Unix socket, on the thread of one event loop.

A client for all of HTTP takes 1 to 2 ms of Python for each request, which is as long as a model takes to encode a
query. This one knows what a worker answers, and keeps connections.
"""

from __future__ import annotations

import asyncio
import ssl
import time
from collections import deque
from collections.abc import AsyncGenerator, Mapping
from urllib.parse import urlsplit

from dragoman.service.remote.responses import Head, ProtocolError, ResponseReader

__all__ = ["ConnectError", "ConnectTimeout", "Disconnected", "HttpClient", "ReadTimeout", "Response"]

UNIX = "unix://"
"""What the address of a socket in the file system begins with."""
_KEPT = 16
"""Most connections that are kept for a next request."""
_KEPT_SECONDS = 5.0
_NEXT_ADDRESS_SECONDS = 0.25
"""After this the next address of a name is tried beside the one before (RFC 8305)."""
"""How long they are: a server may close them later, and a request that it has not read would be lost."""


class ConnectError(ConnectionError):
    """There is no connection."""


class Disconnected(ConnectionError):
    """The connection ended before the response did."""


class ConnectTimeout(TimeoutError):
    """A connection took too long."""


class ReadTimeout(TimeoutError):
    """The server sent nothing for too long."""


class HttpClient:
    """Sends requests to the server at ``url``, with ``headers``."""

    def __init__(self, url: str, headers: Mapping[str, str]) -> None:
        self._socket = url.removeprefix(UNIX) if url.startswith(UNIX) else None
        self._url = urlsplit("http://worker" if self._socket else url.rstrip("/"))
        host = self._url.netloc.rpartition("@")[2]
        host = host if host.isascii() else host.encode("idna").decode()
        self._head = "".join(f"{name}: {text}\r\n" for name, text in {"Host": host, **headers}.items())
        self._idle: list[_Channel] = []
        self._tls: ssl.SSLContext | None = None

    async def send(
        self,
        method: str,
        path: str,
        body: bytes = b"",
        headers: Mapping[str, str] | None = None,
        *,
        seconds: float | None = None,
        connect_seconds: float | None = None,
    ) -> Response:
        """The response, whose body is still to be read; it has to be closed.

        ``seconds`` may pass without anything from the server, and ``connect_seconds`` until there is a connection.

        Raises:
            ConnectionError: there is no connection, it ended, or what came is no response.
            TimeoutError: it took too long.
        """
        lines = "".join(f"{name}: {text}\r\n" for name, text in (headers or {}).items())
        head = f"{method} {self._url.path}{path} HTTP/1.1\r\n{self._head}{lines}Content-Length: {len(body)}\r\n\r\n"
        channel = self._take_idle() or await self._connect(connect_seconds or seconds)
        try:
            channel.send(head.encode("latin-1"), body)
            return Response(self, channel, await channel.head(seconds), seconds)
        except BaseException:
            channel.abort()
            raise

    def keep(self, channel: _Channel) -> None:
        """Keep a connection for a next request, if it can be used again."""
        if channel.reusable and len(self._idle) < _KEPT:
            channel.idle_since = time.monotonic()
            self._idle.append(channel)
        else:
            channel.abort()

    def close(self) -> None:
        """Close all connections that are kept."""
        while self._idle:
            self._idle.pop().abort()

    def _take_idle(self) -> _Channel | None:
        oldest = time.monotonic() - _KEPT_SECONDS
        while self._idle:
            channel = self._idle.pop()
            if channel.reusable and channel.idle_since > oldest:
                return channel
            channel.abort()
        return None

    async def _connect(self, seconds: float | None) -> _Channel:
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(seconds):
                if self._socket is not None:
                    _, channel = await loop.create_unix_connection(_Channel, self._socket)
                else:
                    tls = self._context() if self._url.scheme == "https" else None
                    port = self._url.port or (443 if tls else 80)
                    host = self._url.hostname or ""
                    _, channel = await loop.create_connection(
                        _Channel, host, port, ssl=tls, happy_eyeballs_delay=_NEXT_ADDRESS_SECONDS
                    )
        except TimeoutError as fault:
            raise ConnectTimeout from fault
        except (OSError, UnicodeError, ValueError) as fault:  # also a name or a port that is none
            raise ConnectError from fault
        return channel

    def _context(self) -> ssl.SSLContext:
        if self._tls is None:
            import httpx  # takes a while, and few need it: its list of authorities

            self._tls = httpx.create_ssl_context(trust_env=False)
        return self._tls


class Response:
    """A response under way."""

    def __init__(self, client: HttpClient, channel: _Channel, head: Head, seconds: float | None) -> None:
        self._client, self._channel, self._seconds = client, channel, seconds
        self.status, self.headers = head.status, head.headers

    async def parts(self) -> AsyncGenerator[bytes]:
        """The body as it arrives.

        Raises:
            ConnectionError: the connection ended before it, or what came is no response.
            TimeoutError: nothing came for too long.
        """
        while (part := await self._channel.part(self._seconds)) is not None:
            yield part

    async def read(self) -> bytes:
        """The whole body. Raises as :meth:`parts`."""
        return b"".join([part async for part in self.parts()])

    def close(self) -> None:
        """End the response; a connection whose response is not whole is closed, by which the server knows."""
        self._client.keep(self._channel)


class _Channel(asyncio.Protocol):
    """A connection, which has one request at a time."""

    def __init__(self) -> None:
        self.idle_since = 0.0
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._reader: ResponseReader | None = None
        self._parts: deque[bytes] = deque()
        self._waiter: asyncio.Future[None] | None = None
        self._fault: ConnectionError | None = None

    @property
    def reusable(self) -> bool:
        """Whether it can have another request: all of the last one's response is here, and nothing else."""
        reader, transport = self._reader, self._transport
        if transport is None or transport.is_closing() or self._fault is not None or reader is None:
            return False
        whole = reader.ended and not reader.surplus and not self._parts and not transport.get_write_buffer_size()
        return whole and reader.head is not None and reader.head.persistent

    def send(self, head: bytes, body: bytes) -> None:
        """Send a request; what the system does not take now is sent as it does."""
        assert self._transport is not None
        self._reader = ResponseReader()
        self._transport.writelines((head, body))

    async def head(self, seconds: float | None) -> Head:
        """The head of the response, once it is here."""
        assert self._reader is not None
        while self._reader.head is None:
            await self._wait(seconds)
        return self._reader.head

    async def part(self, seconds: float | None) -> bytes | None:
        """The next part of the body, once it is here; None after the last."""
        assert self._reader is not None
        while not self._parts and not self._reader.ended:
            await self._wait(seconds)
        return self._parts.popleft() if self._parts else None

    def abort(self) -> None:
        """Close it at once."""
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, received: bytes) -> None:
        if self._reader is None or self._fault is not None:
            self._fail(ProtocolError("a response that nobody asked for"))
            return
        try:
            self._parts.extend(self._reader.take(received))
        except ProtocolError as fault:
            self._fail(fault)
        self._wake()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._reader is None or exc is not None or not self._reader.close():
            self._fault = self._fault or Disconnected()
        self._wake()

    def _fail(self, fault: ConnectionError) -> None:
        self._fault = self._fault or fault
        self.abort()

    async def _wait(self, seconds: float | None) -> None:
        """Wait until something happens."""
        if self._fault is not None:
            raise self._fault
        waiter = self._waiter = self._loop.create_future()
        timer = None if seconds is None else self._loop.call_later(seconds, _expire, waiter)
        try:
            await waiter
        finally:
            self._waiter = None
            if timer is not None:
                timer.cancel()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)


def _expire(waiter: asyncio.Future[None]) -> None:
    if not waiter.done():
        waiter.set_exception(ReadTimeout())
