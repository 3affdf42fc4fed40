"""Scoring by a worker process over HTTP: ``dragoman worker`` on this machine or another.

A cancelled request closes its connection, and the worker then drops it. The next request tries a worker that cannot be
reached again, so that a restarted worker is found automatically. A silent worker is asked for a sign of life each
second. While it has given none for as long as a search waits, requests fail at once.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Coroutine
from concurrent.futures import Future, wait
from contextlib import suppress
from threading import Lock, Thread
from typing import Any, TypeVar

import httpx
from pydantic import BaseModel, ValidationError

from dragoman.engine.core.errors import ClientDisconnected, ServiceError, TooLarge, TooManyRequests, Unavailable
from dragoman.engine.core.turns import waiting_for_models
from dragoman.engine.models.models import NEARLY
from dragoman.engine.models.scoring import Pending, ScoreRequest, Scores
from dragoman.engine.models.worker import Cancelled
from dragoman.engine.observability import tracing
from dragoman.engine.observability.logs import request_id
from dragoman.ranking.about import RerankerAbout
from dragoman.service.remote.wire import ModelBody, ScoreBody, ScoresBody

B = TypeVar("B", bound=BaseModel)

_POLL_SECONDS = 0.1
_CONNECT_SECONDS = 2.0
_READY_SECONDS = 4.0
_SIGN_SECONDS = 1.0
_ABOUT_SECONDS = 60.0
"""How long a worker may take to load its model."""


class RemoteScoring:
    """Scores with the worker at ``url``, and sends it the token if there is one. Safe from any thread.

    Args:
        silence_seconds: how many seconds the worker may be silent before requests fail at once.
    """

    def __init__(self, url: str, token: str | None, silence_seconds: float) -> None:
        self._url = url.rstrip("/")
        self._headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        self._starting = Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._client: httpx.AsyncClient | None = None
        self._about: RerankerAbout | None = None
        self._silence_seconds = silence_seconds
        self._silent_since: float | None = None
        """When something was asked to which the worker has given no sign since; written on the loop's thread only."""
        self._listener: asyncio.Task[None] | None = None

    def about(self, cancelled: Cancelled | None = None, seconds: float | None = None) -> RerankerAbout:
        about = self._about
        if about is None:
            self._check_heard()
            body = self._get("/v1/model", min(_ABOUT_SECONDS, seconds or _ABOUT_SECONDS), cancelled)
            about = self._about = _parse(ModelBody, body).about()
        return about

    def name(self) -> str | None:
        return None if self._about is None else self._about.name

    def admit(self, documents: int, seconds: float) -> None:
        """Check that the worker is not silent; it refuses requests itself when its queue is full."""
        self._check_heard()

    def begin(self, request: ScoreRequest, seconds: float) -> Pending:
        body = ScoreBody.of(request, seconds).model_dump_json().encode()
        answer = self._begin("POST", "/v1/score", body, seconds)
        return Pending([answer], lambda: self._scores(answer, request))

    def ready(self) -> None:
        """Check that the worker is ready.

        Raises:
            Unavailable: the worker does not respond, or cannot score.
        """
        self._get("/readyz", _READY_SECONDS, None)

    def close(self) -> None:
        """Close all connections."""
        if self._loop is not None and self._client is not None:
            asyncio.run_coroutine_threadsafe(self._disconnect(self._client), self._loop).result(5)
            self._loop.call_soon_threadsafe(self._loop.stop)

    def _scores(self, answer: Future[httpx.Response], request: ScoreRequest) -> Scores:
        scores = _parse(ScoresBody, self._content_of(answer)).scores()
        if len(scores.values) != len(request.documents):
            raise Unavailable(f"the worker did not return one score for each of {len(request.documents)} documents")
        self._about = scores.about  # a worker that was replaced may hold another model
        return scores

    def _get(self, path: str, seconds: float, cancelled: Cancelled | None) -> bytes:
        answer = self._begin("GET", path, None, seconds)
        until = time.monotonic() + seconds
        try:
            with waiting_for_models():
                while not answer.done():
                    wait([answer], _POLL_SECONDS)
                    if time.monotonic() >= until:
                        raise Unavailable("the worker did not respond in time")
                    if cancelled is not None and cancelled():
                        raise ClientDisconnected("the client disconnected")
            return self._content_of(answer)
        finally:
            answer.cancel()

    def _content_of(self, answer: Future[httpx.Response]) -> bytes:
        try:
            response = answer.result(0)
        except (httpx.HTTPError, httpx.InvalidURL) as fault:
            if isinstance(fault, httpx.NetworkError | httpx.RemoteProtocolError):
                self._about = None  # a restarted worker may hold another model
            raise Unavailable(f"the worker cannot be reached: {type(fault).__name__}") from fault
        if response.is_error:
            raise _worker_error(response)
        return response.content

    def _begin(self, method: str, path: str, body: bytes | None, seconds: float) -> Future[httpx.Response]:
        with self._starting:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                Thread(target=self._loop.run_forever, name="dragoman-remote-scoring", daemon=True).start()
                limits = httpx.Limits(max_connections=None, max_keepalive_connections=16)
                self._client = httpx.AsyncClient(limits=limits, headers=self._headers, trust_env=False)
        assert self._client is not None
        timeout = httpx.Timeout(seconds, connect=min(seconds, _CONNECT_SECONDS))
        headers = tracing.headers()
        if identifier := request_id.get():
            headers["X-Request-Id"] = identifier
        if body is not None:
            headers["Content-Type"] = "application/json"
        request = self._client.request(method, self._url + path, content=body, headers=headers, timeout=timeout)
        return asyncio.run_coroutine_threadsafe(self._ask(request, self._client), self._loop)

    def _check_heard(self) -> None:
        since = self._silent_since
        if since is not None and (silent := time.monotonic() - since) > NEARLY * self._silence_seconds:
            raise Unavailable(f"the worker has given no sign of life for {silent:.0f} seconds")

    async def _ask(self, request: Coroutine[Any, Any, httpx.Response], client: httpx.AsyncClient) -> httpx.Response:
        if self._silent_since is None:
            self._silent_since = time.monotonic()
            if self._listener is None or self._listener.done():
                self._listener = asyncio.create_task(self._listen(client))
        return await self._heard(request)

    async def _listen(self, client: httpx.AsyncClient) -> None:
        """Ask for a sign of life after each second of silence: work under way alone may take longer than that."""
        while (since := self._silent_since) is not None:
            await asyncio.sleep(min(_SIGN_SECONDS, self._silence_seconds / 3))
            if self._silent_since == since:
                with suppress(httpx.HTTPError, httpx.InvalidURL):
                    await self._heard(client.get(f"{self._url}/healthz", timeout=self._silence_seconds))

    async def _heard(self, request: Coroutine[Any, Any, httpx.Response]) -> httpx.Response:
        """Its response. Any end but a timeout ends the silence; a worker that cannot be reached fails requests soon."""
        try:
            response = await request
        except httpx.TimeoutException:
            raise
        except (httpx.HTTPError, httpx.InvalidURL):
            self._silent_since = None
            raise
        self._silent_since = None
        return response

    async def _disconnect(self, client: httpx.AsyncClient) -> None:
        if self._listener is not None:
            self._listener.cancel()
        await client.aclose()


def _parse(kind: type[B], body: bytes) -> B:
    try:
        return kind.model_validate_json(body)
    except ValidationError as fault:
        raise Unavailable("the worker's response is not valid; use a worker of the same version") from fault


def _worker_error(response: httpx.Response) -> ServiceError:
    """The worker's 413 and 429 as the caller's own; any other status means that it is unavailable."""
    if response.status_code == 429:
        seconds = response.headers.get("Retry-After", "")
        return TooManyRequests(_message(response), int(seconds) if seconds.isdecimal() else 1)
    return (TooLarge if response.status_code == 413 else Unavailable)(_message(response))


def _message(response: httpx.Response) -> str:
    try:
        message: Any = response.json()["message"]
        return f"worker: {message}"
    except (ValueError, KeyError, TypeError):
        return f"the worker responded with status {response.status_code}"
