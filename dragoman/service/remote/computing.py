"""A request to a worker process at work: its items begin, and their results follow as they come."""

from __future__ import annotations

import asyncio
import hashlib
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, suppress
from contextvars import copy_context
from functools import partial
from threading import Event, Lock
from typing import Any

from dragoman.deadline import deadline
from dragoman.engine.core.errors import Conflict, Unavailable
from dragoman.engine.core.priority import background
from dragoman.engine.core.turns import on_behalf_of
from dragoman.engine.models.generation import Generate, Generated, Generating
from dragoman.engine.models.models import Models
from dragoman.engine.models.scoring import LocalScoring
from dragoman.engine.models.tagging import TagTexts
from dragoman.engine.models.tasks import Encode, Load, Score
from dragoman.engine.models.translating import Translate
from dragoman.service.remote.tasks import (
    Asked,
    Described,
    Failure,
    FindWindow,
    Piece,
    ReadTexts,
    Result,
    model_of,
)
from dragoman.service.remote.wire import frame, pack

_THREADS = 64
"""Requests whose texts are prepared, or wait for a reader, at a time."""
_BEGUN_AT_ONCE = 64
"""So many texts that need no preparation are queued on the event loop, which is quicker than another thread."""
_BACKGROUND_SECONDS = 3_600.0
"""The time of background work whose asker waits without an end: it is cancelled with the request."""


class Computing:
    """Computes the requests of API processes with the models of this one."""

    def __init__(self, models: Models, scoring: LocalScoring) -> None:
        self._models, self._scoring = models, scoring
        self._threads = ThreadPoolExecutor(_THREADS, "dragoman-computing")
        self._marks: dict[str, tuple[Any, str]] = {}

    def load(self, asked: Asked) -> list[Future[Any]]:
        """What is to be waited for before a request may begin: its model, unless that is loaded.

        Raises:
            ServiceError: it cannot be loaded now.
        """
        model = model_of(asked.task)
        if model is None or self._models.description(model) is not None:
            return []
        return self._models.load(model, background=asked.background)

    async def begin(self, asked: Asked) -> Begun:
        """Queue the items of a request, whose model is loaded.

        Raises:
            ServiceError: the queue is full, or the model hangs.
            Conflict: the model is another one than the asker expects.
        """
        model = model_of(asked.task)
        if model is not None and asked.expected is not None and asked.expected != self.mark(model):
            raise Conflict(f"the {model} is another one now; try again")
        loop = asyncio.get_running_loop()
        begun = Begun(loop, len(asked.contents))
        begin = partial(copy_context().run, self._begin, asked, begun)
        if isinstance(asked.task, Encode | TagTexts) and len(asked.contents) <= _BEGUN_AT_ONCE:
            begin()
        else:
            await loop.run_in_executor(self._threads, begin)
        return begun

    def close(self) -> None:
        """Begin nothing any more."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    def mark(self, model: str) -> str:
        """The mark of a loaded model's description."""
        info = self._models.description(model)
        marked = self._marks.get(model)
        if marked is None or marked[0] is not info:
            marked = self._marks[model] = info, hashlib.sha256(pack(_describe(info))).hexdigest()
        return marked[1]

    def _begin(self, asked: Asked, begun: Begun) -> None:
        seconds = asked.seconds or _BACKGROUND_SECONDS
        with ExitStack() as stack:
            if asked.background:
                stack.enter_context(background(seconds))
            stack.enter_context(on_behalf_of(asked.caller))
            stack.enter_context(deadline(seconds, begun.cancelled.is_set))
            if not asked.background and not isinstance(asked.task, Load) and (reason := self._models.stuck(seconds)):
                raise Unavailable(reason)
            self._submit(asked, begun, seconds)

    def _submit(self, asked: Asked, begun: Begun, seconds: float) -> None:
        task, contents = asked.task, asked.contents
        if isinstance(task, Load):
            (loaded,) = self._models.load(task.model, background=asked.background)
            begun.follow([Generating(loaded)], lambda info: Described(_describe(info), self.mark(task.model)))
        elif isinstance(task, Translate):
            begun.follow(self._models.translate(task.source, task.target, contents))
        elif isinstance(task, Generate):
            begun.follow(self._models.host.generate(task.model, contents, begun.emit), _convert_text)
        elif isinstance(task, Score):
            self._score(contents, begun, seconds)
        elif isinstance(task, ReadTexts):
            begun.follow([self._on_thread(self._models.host.read, work, begun.cancelled.is_set) for work in contents])
        elif isinstance(task, FindWindow):
            begun.follow(
                [self._on_thread(self._models.window, place.text, place.start, place.tokens) for place in contents]
            )
        else:
            futures = self._models.worker.submit(task, contents, background=asked.background)
            begun.follow([Generating(future) for future in futures])

    def _score(self, contents: list[Any], begun: Begun, seconds: float) -> None:
        """Each item is a whole request; its result comes once all of its documents are scored."""
        under_way = []
        for request in contents:
            self._scoring.admit(len(request.documents), seconds)
            pending = self._scoring.begin(request, seconds)
            under_way.append(Generating(_all_of(pending.futures, pending.finish), pending.cancel))
        begun.follow(under_way)

    def _on_thread(self, work: Callable[..., Any], *arguments: Any) -> Generating:
        context = copy_context()
        return Generating(self._threads.submit(context.run, work, *arguments))


class Begun:
    """The items of a request under way."""

    def __init__(self, loop: asyncio.AbstractEventLoop, items: int) -> None:
        self.cancelled = Event()
        self._loop, self._left = loop, items
        self._under_way: list[Generating] = []
        self._answers: asyncio.Queue[Result | Failure | Piece | None] = asyncio.Queue()
        self._computed: deque[Result | Failure | Piece] = deque()
        self._awaited = False
        """Whether the event loop has been told that there are some; the rest of a batch then needs no word."""

    def follow(self, under_way: list[Generating], convert: Callable[[Any], Any] = lambda content: content) -> None:
        """Send the result of each of them once it is there, in the form that crosses."""
        self._under_way = under_way
        for index, generating in enumerate(under_way):
            generating.future.add_done_callback(partial(self._note, index, convert))

    def emit(self, text: str) -> None:
        """Send a piece of a text that is generated; one is generated a request."""
        self._put(Piece(0, text))

    async def next(self) -> bytes:
        """The answers that are there, once one is; nothing after the last, or where the request is cancelled."""
        if not self._left:
            return b""
        answers = [await self._answers.get()]
        while not self._answers.empty():
            answers.append(self._answers.get_nowait())
        whole = [answer for answer in answers if answer is not None]
        if len(whole) < len(answers):  # cancelled
            self._left = 0
            return b""
        self._left -= sum(not isinstance(answer, Piece) for answer in whole)
        return b"".join(map(frame, whole))

    @property
    def ended(self) -> bool:
        """Whether all answers have been taken."""
        return not self._left

    def cancel(self) -> None:
        """Compute no more of it, on the thread of the event loop."""
        if self._left:
            self.cancelled.set()
            for generating in self._under_way:
                generating.cancel()
            self._answers.put_nowait(None)

    def _note(self, index: int, convert: Callable[[Any], Any], future: Future[Any]) -> None:
        if future.cancelled():
            self._put(Failure(index, "Unavailable", "the request was cancelled"))
            return
        fault = future.exception()
        try:
            answer = Result(index, convert(future.result())) if fault is None else Failure.of(index, fault)
        except Exception as failed:
            answer = Failure.of(index, failed)
        self._put(answer)

    def _put(self, answer: Result | Failure | Piece) -> None:
        self._computed.append(answer)
        if self._awaited:
            return
        self._awaited = True
        with suppress(RuntimeError):  # the loop has ended with the process
            self._loop.call_soon_threadsafe(self._take)

    def _take(self) -> None:
        """Take what was computed, on the thread of the event loop."""
        self._awaited = False  # before the first is taken, so that none is left
        while self._computed:
            self._answers.put_nowait(self._computed.popleft())


def _describe(info: Any) -> Any:
    """A description in the form that crosses: of a reranker, what it says of itself."""
    return getattr(info, "about", info)


def _convert_text(text: Any) -> Generated:
    return Generated(text.text, text.whole, text.prompt_tokens, text.completion_tokens, text.limit)


def _all_of(futures: Sequence[Future[Any]], finish: Callable[[], Any]) -> Future[Any]:
    """The result of ``finish`` once all futures are done."""
    done: Future[Any] = Future()
    left, changing = len(futures), Lock()

    def note(future: Future[Any]) -> None:
        nonlocal left
        with changing:
            left -= 1
            last = not left
        if not last or not done.set_running_or_notify_cancel():
            return
        try:
            done.set_result(finish())
        except Exception as fault:
            done.set_exception(fault)

    for future in futures:
        future.add_done_callback(note)
    return done
