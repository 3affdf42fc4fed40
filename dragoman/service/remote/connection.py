"""The way to one worker process, over TCP or a Unix socket; used on the thread of one event loop."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Mapping
from contextlib import suppress
from typing import Any

import httpx

from dragoman.engine.core.errors import ServiceError, Unavailable
from dragoman.engine.models.models import NEARLY
from dragoman.service.remote.tasks import MESSAGE_BYTES, MESSAGE_TYPE, error_of
from dragoman.service.remote.wire import Frames, MessageError

UNIX = "unix://"
"""What the address of a socket in the file system begins with."""
GONE = (httpx.NetworkError, httpx.RemoteProtocolError)
"""What a request ends with whose worker is not there, or ends."""
_CONNECT_SECONDS = 2.0
_SIGN_SECONDS = 1.0
_REST_SECONDS = 1.0
"""How long a worker that could not be reached is asked after the others."""
_KINDS = {409: "Conflict", 413: "TooLarge", 422: "InvalidRequest", 429: "TooManyRequests"}


class Connection:
    """Sends requests to the worker at ``url``, with the token if there is one.

    A cancelled request closes its connection, and the worker then drops it. A silent worker is asked for a sign of
    life each second.
    """

    def __init__(self, url: str, token: str | None, silence_seconds: float) -> None:
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        limits = httpx.Limits(max_connections=None, max_keepalive_connections=16)
        socket = url.removeprefix(UNIX) if url.startswith(UNIX) else None
        transport = httpx.AsyncHTTPTransport(uds=socket, limits=limits, verify=False) if socket else None
        self.url = "http://worker" if socket else url.rstrip("/")
        self._client = httpx.AsyncClient(
            limits=limits, headers=headers, trust_env=False, transport=transport, base_url=self.url
        )
        self._silence_seconds = silence_seconds
        self._silent_since: float | None = None
        """When something was asked to which the worker has given no sign since; written on the loop's thread only."""
        self._listener: asyncio.Task[None] | None = None
        self._gone_at = float("-inf")
        self.under_way = 0
        """Items that it has been asked for and has not answered yet."""

    @property
    def rank(self) -> tuple[bool, bool, int]:
        """The least is to be asked first: one that answers, of those the one with the fewest items."""
        gone = time.monotonic() - self._gone_at < _REST_SECONDS
        return self.silence() is not None, gone, self.under_way

    def silence(self) -> str | None:
        """Why it counts as silent; None if it does not."""
        since = self._silent_since
        if since is None or (silent := time.monotonic() - since) <= NEARLY * self._silence_seconds:
            return None
        return f"the worker has given no sign of life for {silent:.0f} seconds"

    async def compute(
        self, message: bytes, items: int, seconds: float | None, headers: Mapping[str, str]
    ) -> AsyncGenerator[Any]:
        """The answers to a request, as they come.

        Raises:
            ServiceError: the worker refuses the request, is of another version, or cannot be reached.
            httpx.HTTPError: one of ``GONE`` where the worker ended, which computes nothing that another cannot.
        """
        timeout = httpx.Timeout(seconds, connect=min(seconds or _CONNECT_SECONDS, _CONNECT_SECONDS))
        sent = {"Content-Type": MESSAGE_TYPE, **headers}
        request = self._client.build_request("POST", "/v1/compute", content=message, headers=sent, timeout=timeout)
        self.under_way += items
        try:
            response = await self._send(request)
            try:
                if response.status_code != 200:
                    await response.aread()
                    raise worker_error(response)
                frames = Frames(MESSAGE_BYTES)
                async for part in response.aiter_raw():
                    for content in frames.take(part):
                        yield content
            finally:
                await response.aclose()
        except MessageError as fault:
            raise Unavailable("the worker's response is not valid; use a worker of the same version") from fault
        except GONE:
            self._gone_at = time.monotonic()
            raise
        finally:
            self.under_way -= items

    async def check_ready(self, seconds: float) -> None:
        """
        Raises:
            Unavailable: the worker does not respond, or cannot compute.
        """
        try:
            response = await self._send(self._client.build_request("GET", "/readyz", timeout=seconds))
            await response.aread()
            await response.aclose()
        except (httpx.HTTPError, httpx.InvalidURL) as fault:
            raise unreachable(fault) from fault
        if response.is_error:
            raise worker_error(response)

    async def metrics(self, seconds: float) -> str:
        """What the worker exposes for Prometheus; nothing where it does not respond."""
        with suppress(httpx.HTTPError, httpx.InvalidURL):
            response = await self._client.get("/metrics", timeout=seconds)
            return "" if response.is_error else response.text
        return ""

    async def close(self) -> None:
        """Close all connections."""
        if self._listener is not None:
            self._listener.cancel()
        await self._client.aclose()

    async def _send(self, request: httpx.Request) -> httpx.Response:
        if self._silent_since is None:
            self._silent_since = time.monotonic()
            if self._listener is None or self._listener.done():
                self._listener = asyncio.create_task(self._listen())
        return await self._hear(request)

    async def _listen(self) -> None:
        """Ask for a sign of life after each second of silence: work under way alone may take longer than that."""
        while (since := self._silent_since) is not None:
            await asyncio.sleep(min(_SIGN_SECONDS, self._silence_seconds / 3))
            if self._silent_since == since:
                with suppress(httpx.HTTPError, httpx.InvalidURL):
                    request = self._client.build_request("GET", "/healthz", timeout=self._silence_seconds)
                    await (await self._hear(request)).aclose()

    async def _hear(self, request: httpx.Request) -> httpx.Response:
        """Its response. Any end but a timeout ends the silence; a worker that cannot be reached fails requests soon."""
        try:
            response = await self._client.send(request, stream=True)
        except httpx.TimeoutException:
            raise
        except (httpx.HTTPError, httpx.InvalidURL):
            self._silent_since = None
            raise
        self._silent_since = None
        return response


def unreachable(fault: Exception) -> Unavailable:
    """The error of a worker that cannot be reached."""
    return Unavailable(f"the worker cannot be reached: {type(fault).__name__}")


def worker_error(response: httpx.Response) -> ServiceError:
    """The worker's 413, 422 and 429 as the caller's own; any other status means that it is unavailable."""
    kind = _KINDS.get(response.status_code, "Unavailable")
    return error_of(kind, _message(response), response.headers.get("Retry-After", ""))


def _message(response: httpx.Response) -> str:
    try:
        return str(response.json()["message"])
    except (ValueError, KeyError, TypeError):
        return f"it responded with status {response.status_code}"
