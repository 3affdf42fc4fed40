"""The models where they are in worker processes: ``dragoman worker`` on this machine or others.

A request goes to the worker that has the least to do, and to another one where that one ends before it has answered.
One that cannot be reached is tried again by later requests, so that a restarted worker is found automatically. While
none has given a sign of life for as long as a search waits, requests fail at once.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import Future
from contextlib import aclosing
from dataclasses import dataclass
from threading import Lock, Thread
from typing import Any

from dragoman.engine.core.errors import Conflict, ServiceError, Unavailable
from dragoman.engine.core.memory import return_freed
from dragoman.engine.core.priority import in_background, wait_limit
from dragoman.engine.core.turns import caller
from dragoman.engine.models.drafts import SourceSentence
from dragoman.engine.models.generation import Generate, Generating, Prompted
from dragoman.engine.models.queue.gathering import gather
from dragoman.engine.models.queue.worker import Cancelled
from dragoman.engine.models.reading import FindAnswers, JudgeStatement
from dragoman.engine.models.tagging import TagTexts
from dragoman.engine.models.tasks import Encode, Load, Score
from dragoman.engine.models.translating import Translate
from dragoman.engine.observability import tracing
from dragoman.engine.observability.logs import request_id
from dragoman.service.remote.connection import GONE, Connection, unreachable
from dragoman.service.remote.tasks import (
    Asked,
    Described,
    Failure,
    FindWindow,
    Piece,
    ReadTexts,
    Result,
    Window,
    model_of,
)
from dragoman.service.remote.together import Entry, Together, fail, follow
from dragoman.service.remote.wire import pack

STARTING = "the service is starting"
"""What a worker answers while it starts; see :mod:`dragoman.service.http.starting`."""
_CLOSE_SECONDS = 5.0
_READY_SECONDS = 4.0
_LOAD_SECONDS = 600.0
_FAILED_SECONDS = 30.0
"""How long a model that could not be loaded is done without, where that is possible."""
_ATTEMPTS = 3
"""How often a request is made to a worker that is started again: it may be the request that ends it."""
_PACKED_AT_ONCE = 32
"""Messages of at most so many items are made on the event loop, which is quicker than another thread."""
Emit = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class _Kind:
    """What queries have in common that go together."""

    task: Any
    caller: str | None
    expected: str | None
    headers: tuple[tuple[str, str], ...]


class RemoteHost:
    """Asks workers, each of which has all models. Safe from any thread.

    Args:
        addresses: gives the workers' addresses when they are first needed; all must have the same models.
        token: is sent to them.
        seconds: how long a request waits.
        silence_seconds: how long a worker may be silent before requests fail at once.
        end: ends the one worker that this process has started, which is started again where it ends by itself.
        kill: kills it, where it has been silent for so long.
    """

    def __init__(
        self,
        addresses: Callable[[], Sequence[str]],
        token: str | None,
        seconds: float,
        silence_seconds: float,
        end: Callable[[], object] | None = None,
        kill: Callable[[], object] | None = None,
    ) -> None:
        self._addresses, self._token, self._silence_seconds = addresses, token, silence_seconds
        self._end, self._kill = end, kill
        self._seconds = seconds
        self._starting = Lock()
        self._closed = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._connections: list[Connection] = []
        self._together = Together(self._answer_together)
        self._described: dict[str, Described] = {}
        self._failed: dict[str, tuple[float, str]] = {}

    @property
    def worker(self) -> RemoteHost:
        """What computes: this itself."""
        return self

    @property
    def workers(self) -> tuple[()]:
        """None: each worker process has gauges of its own."""
        return ()

    def addresses(self) -> list[str]:
        """The workers' addresses, for other processes; one that this process starts for itself is started now."""
        self._start()
        return [connection.url for connection in self._connections]

    def submit(
        self, task: Any, contents: Sequence[Any], background: bool = False, costs: Sequence[int] | None = None
    ) -> list[Future[Any]]:
        """Send one request's items; workers know their costs. Once all futures are cancelled, the request is dropped.

        Raises:
            Unavailable: no worker gives signs of life.
        """
        return self.ask(task, contents, background=background)

    def admit(self, task: Hashable, items: int) -> None:
        """Check that a worker gives signs of life; it refuses requests itself when its queue is full."""
        if reason := self.stuck():
            raise Unavailable(reason)

    def waiting(self) -> dict[Hashable, tuple[int, int]]:
        """None: each worker process has a queue of its own."""
        return {}

    def computing(self) -> None:
        """None: each worker process knows its own."""

    def load(self, model: str, *, background: bool = False) -> list[Future[Any]]:
        """Begin to have a model loaded; the result describes it."""
        described: Future[Any] = Future()
        (answer,) = self.ask(Load(model), [model], background=background, seconds=_LOAD_SECONDS)
        described.add_done_callback(lambda future: future.cancelled() and answer.cancel())
        answer.add_done_callback(lambda future: self._note(model, future, described))
        return [described]

    def description(self, model: str) -> Any:
        """The description of a loaded model; None for one that still has to be loaded, or loaded again."""
        described = self._described.get(model)
        return None if described is None else described.info

    def failure(self, model: str) -> str | None:
        """Why a model could not be loaded lately; None if it was, or was not tried."""
        moment, message = self._failed.get(model, (-math.inf, ""))
        return message if time.monotonic() < moment + _FAILED_SECONDS else None

    def loading_hangs(self) -> None:
        """None: a worker says so itself."""

    def stuck(self, seconds: float = math.inf) -> str | None:
        """Why no worker is asked, which is their silence; None if one may answer."""
        silences = [connection.silence() for connection in self._connections]
        return silences[0] if silences and all(silences) else None

    def read(self, work: FindAnswers | JudgeStatement, cancelled: Cancelled | None) -> Any:
        """The best answers to a question, or whether a statement is true.

        Raises:
            ServiceError: as where the models are in this process.
        """
        seconds = wait_limit(self._seconds)
        model = "reader" if isinstance(work, FindAnswers) else "statement_reader"
        return gather(self.ask(ReadTexts(model), [work], seconds=seconds), seconds, cancelled)[0]

    def window(self, text: str, start: int, tokens: int) -> tuple[int, int]:
        """The span of a text that has at most so many of the LLM's tokens; see :meth:`Reasoner.window`."""
        first, last = gather(self.ask(FindWindow(), [Window(text, start, tokens)]), wait_limit(self._seconds))[0]
        return first, last

    def generate(self, model: str, prompts: Sequence[Prompted], emit: Emit | None = None) -> list[Generating]:
        """Have texts generated; `emit` receives their pieces on the thread of the connections."""
        return [Generating(future) for future in self.ask(Generate(model), prompts, emit=emit)]

    def translate(self, source: str, target: str, sentences: Sequence[SourceSentence]) -> list[Generating]:
        """Have sentences translated."""
        return [Generating(future) for future in self.ask(Translate(source, target), sentences)]

    def ask(
        self,
        task: Any,
        contents: Sequence[Any],
        *,
        seconds: float | None = None,
        background: bool = False,
        emit: Emit | None = None,
    ) -> list[Future[Any]]:
        """Send a request; ``seconds`` is how long whoever asks waits, by default as long as any request.

        Raises:
            Unavailable: no worker gives signs of life.
        """
        if not contents:
            return []
        loop = self._start()
        if reason := self.stuck():
            raise Unavailable(reason)
        background = background or in_background()
        if seconds is None and not background:
            seconds = wait_limit(self._seconds)
        described = None if isinstance(task, Score) else self._described.get(model_of(task) or "")
        whose = None if (holder := caller()) is None else str(holder)
        mark = None if described is None else described.mark
        futures: list[Future[Any]] = [Future() for _ in contents]
        headers, request = tracing.headers(), request_id.get() or None
        if _is_query(task) and len(contents) == 1 and seconds is not None and not background:
            kind = _Kind(task, whose, mark, tuple(headers.items()))
            loop.call_soon_threadsafe(self._together.add, kind, Entry(contents[0], futures[0], seconds, request))
            return futures
        asked = Asked(task, list(contents), seconds, background, whose, mark)
        if request:
            headers["X-Request-Id"] = request
        loop.call_soon_threadsafe(self._begin, asked, futures, headers, emit)
        return futures

    def check_ready(self) -> None:
        """Check that a worker is ready; one that this process starts is so until it is first used, and while it starts.

        Raises:
            Unavailable: none responds, or can compute.
        """
        if self._end is not None and self._loop is None:
            return
        loop = self._start()
        faults: list[ServiceError] = []
        for connection in self._connections:
            try:
                asyncio.run_coroutine_threadsafe(connection.check_ready(_READY_SECONDS), loop).result(
                    2 * _READY_SECONDS
                )
            except ServiceError as fault:
                if self._end is not None and str(fault).endswith(STARTING):
                    return
                faults.append(fault)
            except TimeoutError:
                faults.append(Unavailable("the worker did not respond in time"))
            else:
                return
        raise faults[0]

    def metrics(self) -> str:
        """What the worker that this process has started exposes for Prometheus; others are asked by themselves."""
        if self._end is None or self._loop is None:
            return ""
        asked = asyncio.run_coroutine_threadsafe(self._connections[0].metrics(_READY_SECONDS), self._loop)
        try:
            return asked.result(2 * _READY_SECONDS)
        except TimeoutError:
            return ""

    def trim(self) -> None:
        """Return memory that is free to the system."""
        return_freed()

    def close(self) -> None:
        """Close all connections; what is under way fails."""
        with self._starting:
            self._closed = True
        if self._loop is not None:
            asyncio.run_coroutine_threadsafe(self._disconnect(), self._loop).result(_CLOSE_SECONDS)
            self._loop.call_soon_threadsafe(self._loop.stop)
        if self._end is not None:
            self._end()

    def _start(self) -> asyncio.AbstractEventLoop:
        with self._starting:
            if self._closed:
                raise Unavailable("the service is stopping")
            if self._loop is None:
                self._connections = [
                    Connection(url, self._token, self._silence_seconds, self._kill) for url in self._addresses()
                ]
                self._loop = asyncio.new_event_loop()
                Thread(target=self._loop.run_forever, name="dragoman-remote-models", daemon=True).start()
            return self._loop

    def _note(self, model: str, answer: Future[Any], described: Future[Any]) -> None:
        """Keep a model's description, or why there is none, and pass it on."""
        if answer.cancelled() or not described.set_running_or_notify_cancel():
            described.cancel()
        elif (fault := answer.exception()) is not None:
            self._failed[model] = time.monotonic(), str(fault)
            described.set_exception(fault)
        else:
            self._described[model] = answer.result()
            self._failed.pop(model, None)
            described.set_result(self._described[model].info)
            if self._loop is not None:  # what else its first use has loaded here
                self._loop.call_soon_threadsafe(self._loop.run_in_executor, None, self.trim)

    def _begin(self, asked: Asked, futures: Sequence[Future[Any]], headers: dict[str, str], emit: Emit | None) -> None:
        answering = asyncio.get_running_loop().create_task(self._answer(asked, futures, headers, emit))
        follow(answering, futures)

    async def _answer_together(self, kind: _Kind, entries: Sequence[Entry]) -> None:
        """Set the futures of queries that go together, each of whose askers waits for it by a clock of its own."""
        contents, seconds = [entry.content for entry in entries], max(entry.seconds for entry in entries)
        asked = Asked(kind.task, contents, seconds, False, kind.caller, kind.expected)
        headers = dict(kind.headers)
        if entries[0].request:
            headers["X-Request-Id"] = entries[0].request
        await self._answer(asked, [entry.future for entry in entries], headers, None)

    async def _answer(
        self, asked: Asked, futures: Sequence[Future[Any]], headers: dict[str, str], emit: Emit | None
    ) -> None:
        """Set the futures as a worker's answers come; every one is done in the end."""
        fault: Exception = Unavailable("the service is stopping")
        try:
            large = len(futures) > _PACKED_AT_ONCE
            message = await asyncio.to_thread(pack, asked) if large else pack(asked)
            fault = await self._try_workers(asked, message, futures, headers, emit)
        except Exception as failed:
            fault = failed
        finally:
            fail(futures, fault)

    async def _try_workers(
        self, asked: Asked, message: bytes, futures: Sequence[Future[Any]], headers: dict[str, str], emit: Emit | None
    ) -> Exception:
        """Ask workers until one has answered; returns why a future is not done, should one be left."""
        tried: list[Connection] = []
        while True:
            connection = min(self._list_candidates(tried), key=lambda candidate: candidate.rank)
            tried.append(connection)
            emitted = False
            try:
                async with aclosing(connection.compute(message, len(futures), asked.seconds, headers)) as answers:
                    async for answer in answers:
                        emitted = emitted or isinstance(answer, Piece)
                        self._take(answer, futures, emit)
                return Unavailable("the worker's response is not whole")
            except GONE as gone:
                self._described.clear()  # a restarted worker may hold another model
                if emitted or not self._list_candidates(tried):
                    return unreachable(gone)
            except TimeoutError as failed:
                return unreachable(failed)
            except Conflict as changed:
                self._described.pop(model_of(asked.task) or "", None)
                return Unavailable(str(changed))

    def _list_candidates(self, tried: Sequence[Connection]) -> list[Connection]:
        if self._end is not None:  # its socket stays, and another process comes
            return self._connections if len(tried) < _ATTEMPTS else []
        return [connection for connection in self._connections if connection not in tried]

    @staticmethod
    def _take(answer: Any, futures: Sequence[Future[Any]], emit: Emit | None) -> None:
        if isinstance(answer, Piece):
            if emit is not None:
                emit(answer.text)
            return
        if not isinstance(answer, Result | Failure) or not 0 <= answer.index < len(futures):
            raise Unavailable("the worker's response is not valid; use a worker of the same version")
        future = futures[answer.index]
        if future.done() or not future.set_running_or_notify_cancel():
            return
        if isinstance(answer, Failure):
            future.set_exception(answer.error())
        else:
            future.set_result(answer.content)

    async def _disconnect(self) -> None:
        fail([entry.future for entry in self._together.stop()], Unavailable("the service is stopping"))
        under_way = asyncio.all_tasks() - {asyncio.current_task()}
        for task in under_way:
            task.cancel()
        await asyncio.gather(*under_way, return_exceptions=True)
        for connection in self._connections:
            await connection.close()


def _is_query(task: Any) -> bool:
    """Whether a search waits for it."""
    return isinstance(task, Encode) or (isinstance(task, TagTexts) and task.query)
