"""The way to one worker process, over TCP or a Unix socket; used on the thread of one event loop."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import suppress
from typing import Any

from dragoman.engine.core.errors import ServiceError, Unavailable
from dragoman.engine.models.models import NEARLY
from dragoman.service.remote.http_client import HttpClient, Response
from dragoman.service.remote.tasks import MESSAGE_BYTES, MESSAGE_TYPE, error_of
from dragoman.service.remote.wire import Frames, MessageError

GONE = ConnectionError
"""What a request ends with whose worker is not there, or ends."""
_CONNECT_SECONDS = 2.0
_SIGN_SECONDS = 1.0
_REST_SECONDS = 1.0
"""How long a worker that could not be reached is asked after the others."""
_OK = 200
_KINDS = {409: "Conflict", 413: "TooLarge", 422: "InvalidRequest", 429: "TooManyRequests"}


class Connection:
    """Sends requests to the worker at ``url``, with the token if there is one.

    A cancelled request closes its connection, and the worker then drops it. A silent worker is asked for a sign of
    life each second.
    """

    def __init__(
        self, url: str, token: str | None, silence_seconds: float, hangs: Callable[[], object] | None = None
    ) -> None:
        """``hangs`` is called where the worker was silent for ``silence_seconds``, and again after as many more."""
        self.url = url
        self._client = HttpClient(url, {} if token is None else {"Authorization": f"Bearer {token}"})
        self._silence_seconds, self._hangs = silence_seconds, hangs
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
            ConnectionError: the worker ended, which computes nothing that another cannot.
            TimeoutError: it sent nothing for as long as the request waits.
        """
        self.under_way += items
        try:
            response = await self._hear(
                "POST", "/v1/compute", message, {"Content-Type": MESSAGE_TYPE, **headers}, seconds
            )
            try:
                if response.status != _OK:
                    raise worker_error(response.status, response.headers, await response.read())
                frames = Frames(MESSAGE_BYTES)
                async for part in response.parts():
                    for content in frames.take(part):
                        yield content
            finally:
                response.close()
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
            response = await self._hear("GET", "/readyz", seconds=seconds)
            try:
                body = await response.read()
            finally:
                response.close()
        except OSError as fault:
            raise unreachable(fault) from fault
        if response.status != _OK:
            raise worker_error(response.status, response.headers, body)

    async def metrics(self, seconds: float) -> str:
        """What the worker exposes for Prometheus; nothing where it does not respond."""
        with suppress(OSError):
            response = await self._client.send("GET", "/metrics", seconds=seconds)
            try:
                return (await response.read()).decode() if response.status == _OK else ""
            finally:
                response.close()
        return ""

    async def close(self) -> None:
        """Close all connections."""
        if self._listener is not None:
            self._listener.cancel()
        self._client.close()

    async def _listen(self) -> None:
        """Ask for a sign of life while there is silence, or work under way, which alone may take longer than that.

        What counts for ``hangs`` are the seconds that this task has seen: while the whole machine was halted, no worker
        could answer.
        """
        tick = min(_SIGN_SECONDS, self._silence_seconds / 3)
        asked: asyncio.Task[None] | None = None
        ticks, since = 0, self._silent_since
        while self._silent_since is not None or self.under_way:
            await asyncio.sleep(tick)
            ticks, since = ticks + 1 if self._silent_since == since else 0, self._silent_since
            if ticks and (asked is None or asked.done()):
                asked = asyncio.create_task(self._ask_for_sign())
            if since is not None and ticks * tick >= self._silence_seconds and self._hangs is not None:
                ticks = 0
                await asyncio.to_thread(self._hangs)
        if asked is not None:
            asked.cancel()

    async def _ask_for_sign(self) -> None:
        with suppress(OSError):
            response = await self._hear("GET", "/healthz", seconds=self._silence_seconds)
            try:
                await response.read()  # else the connection cannot be used again
            finally:
                response.close()

    async def _hear(
        self,
        method: str,
        path: str,
        body: bytes = b"",
        headers: Mapping[str, str] | None = None,
        seconds: float | None = None,
    ) -> Response:
        """A response. Any end but a timeout ends the silence; a worker that cannot be reached fails requests soon."""
        if self._silent_since is None:
            self._silent_since = time.monotonic()
            if self._listener is None or self._listener.done():
                self._listener = asyncio.create_task(self._listen())
        connecting = min(seconds or _CONNECT_SECONDS, _CONNECT_SECONDS)
        try:
            response = await self._client.send(method, path, body, headers, seconds=seconds, connect_seconds=connecting)
        except ConnectionError:
            self._silent_since = None
            raise
        self._silent_since = None
        return response


def unreachable(fault: Exception) -> Unavailable:
    """The error of a worker that cannot be reached."""
    return Unavailable(f"the worker cannot be reached: {type(fault).__name__}")


def worker_error(status: int, headers: Mapping[str, str], body: bytes) -> ServiceError:
    """The worker's 413, 422 and 429 as the caller's own; any other status means that it is unavailable.

    ``headers`` are by their names in lower case.
    """
    try:
        message = str(json.loads(body)["message"])
    except (ValueError, KeyError, TypeError):
        message = f"it responded with status {status}"
    return error_of(_KINDS.get(status, "Unavailable"), message, headers.get("retry-after", ""))
