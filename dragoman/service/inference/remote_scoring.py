"""Scoring by a worker process over HTTP: ``dragoman worker`` on this machine or another.

A cancelled request closes its connection, and the worker then drops it. The next request tries a worker that did not
respond again, so that a restarted worker is found automatically.
"""

from __future__ import annotations

import asyncio
import time
from concurrent.futures import Future, wait
from threading import Lock, Thread
from typing import Any, TypeVar

import httpx
from pydantic import BaseModel, ValidationError

from dragoman.ranking.about import RerankerAbout
from dragoman.service.core.errors import ClientDisconnected, ServiceError, TooLarge, TooManyRequests, Unavailable
from dragoman.service.inference.batching import Cancelled
from dragoman.service.inference.scoring import Pending, ScoreRequest, Scores
from dragoman.service.inference.wire import ModelBody, ScoreBody, ScoresBody
from dragoman.service.observability import tracing
from dragoman.service.observability.logs import request_id

B = TypeVar("B", bound=BaseModel)

_POLL_SECONDS = 0.1
_CONNECT_SECONDS = 2.0
_READY_SECONDS = 4.0
_ABOUT_SECONDS = 60.0
"""How long a worker may take to load its model."""


class RemoteScoring:
    """Scores with the worker at ``url``, and sends it the token if there is one. Safe from any thread."""

    def __init__(self, url: str, token: str | None = None) -> None:
        self._url = url.rstrip("/")
        self._headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        self._starting = Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._client: httpx.AsyncClient | None = None
        self._about: RerankerAbout | None = None

    def about(self, cancelled: Cancelled | None = None, seconds: float | None = None) -> RerankerAbout:
        known = self._about
        if known is None:
            body = self._get("/v1/model", min(_ABOUT_SECONDS, seconds or _ABOUT_SECONDS), cancelled)
            known = self._about = _parsed(ModelBody, body).about()
        return known

    def admit(self, documents: int) -> None:
        """Do nothing: the worker itself refuses requests when its queue is full."""

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
            asyncio.run_coroutine_threadsafe(self._client.aclose(), self._loop).result(5)
            self._loop.call_soon_threadsafe(self._loop.stop)

    def _scores(self, answer: Future[httpx.Response], request: ScoreRequest) -> Scores:
        found = _parsed(ScoresBody, self._checked(answer)).scores()
        if len(found.values) != len(request.documents):
            raise Unavailable(f"the worker did not return one score for each of {len(request.documents)} documents")
        self._about = found.about  # a worker that was replaced may hold another model
        return found

    def _get(self, path: str, seconds: float, cancelled: Cancelled | None) -> bytes:
        answer = self._begin("GET", path, None, seconds)
        until = time.monotonic() + seconds
        try:
            while not answer.done():
                wait([answer], _POLL_SECONDS)
                if time.monotonic() >= until:
                    raise Unavailable("the worker did not respond in time")
                if cancelled is not None and cancelled():
                    raise ClientDisconnected("the client disconnected")
            return self._checked(answer)
        finally:
            answer.cancel()

    def _checked(self, answer: Future[httpx.Response]) -> bytes:
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
        return asyncio.run_coroutine_threadsafe(request, self._loop)


def _parsed(kind: type[B], body: bytes) -> B:
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
        found: Any = response.json()["message"]
        return f"worker: {found}"
    except (ValueError, KeyError, TypeError):
        return f"the worker responded with status {response.status_code}"
