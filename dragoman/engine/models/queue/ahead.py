"""Queries that are encoded while their searches wait for their turns, those of several searches in one pass.

The encoder takes hardly longer for a few queries than for one, as it reads all of its weights for either. A search that
is alone has its query encoded at once. Where many wait for their turns, there is time for more of them to come.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Hashable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from contextvars import Context, ContextVar, copy_context
from threading import Lock
from typing import Any

from dragoman.engine.core.turns import on_behalf_of

logger = logging.getLogger("dragoman")

_SOON = 2
"""Encoding begins once no more than so many whose encoding has begun wait for their turns."""
_MOST = 16
"""Most queries of a pass: those of others wait for it."""
_ahead: ContextVar[QueryAhead | None] = ContextVar("dragoman_query_ahead", default=None)
BeginEncoding = Callable[[Sequence[str]], Sequence[Future[Any] | None]]
"""Begins to encode queries; None for one where that is not possible, or not needed."""


class QueryAhead:
    """The query of a search that waits for its turn."""

    def __init__(self, text: str, begin: BeginEncoding) -> None:
        self.text, self.begin = text, begin
        self._encoding: Future[Any] | None = None
        self._ended = False
        """Whether nobody will take what is begun of it."""
        self._lock = Lock()

    def note(self, encoding: Future[Any] | None) -> None:
        """Its encoding has begun."""
        with self._lock:
            self._encoding, ended = encoding, self._ended
        if ended and encoding is not None:
            encoding.cancel()

    def take(self, text: str) -> Future[Any] | None:
        """What was begun for this text, which whoever takes it may cancel; None if that is nothing, or has failed."""
        if text != self.text:
            return None
        with self._lock:
            encoding, self._encoding, self._ended = self._encoding, None, True
        failed = encoding is not None and encoding.done() and (encoding.cancelled() or encoding.exception() is not None)
        return None if failed else encoding

    def end(self) -> None:
        """Cancel what was begun, or is just being begun, unless it was taken."""
        with self._lock:
            encoding, self._encoding, self._ended = self._encoding, None, True
        if encoding is not None:
            encoding.cancel()

    @contextmanager
    def offer(self) -> Iterator[None]:
        """In the block this thread's search takes it."""
        token = _ahead.set(self)
        try:
            yield
        finally:
            _ahead.reset(token)


class QueriesAhead:
    """The queries of all searches that wait for their turns. Safe from any thread."""

    def __init__(self) -> None:
        self._coming: dict[QueryAhead, tuple[Hashable, Context]] = {}
        """Those whose encoding has not begun, the oldest first: whose they are, and how their requests are traced."""
        self._begun: set[QueryAhead] = set()
        self._lock = Lock()

    def add(self, query: QueryAhead, caller: Hashable) -> None:
        """A search begins to wait for its turn."""
        with self._lock:
            self._coming[query] = caller, copy_context()
        self._begin_some()

    def remove(self, query: QueryAhead) -> None:
        """Its turn has come."""
        with self._lock:
            self._coming.pop(query, None)
            self._begun.discard(query)
        self._begin_some()

    def leave(self, query: QueryAhead) -> None:
        """Its search has ended, or nobody waits for it any more: it is not encoded unless the search has asked."""
        query.end()
        self.remove(query)

    def _begin_some(self) -> None:
        by_caller: dict[Hashable, list[QueryAhead]] = {}
        contexts: dict[Hashable, Context] = {}
        with self._lock:
            if len(self._begun) > _SOON:
                return
            for query in list(self._coming)[:_MOST]:
                caller, context = self._coming.pop(query)
                by_caller.setdefault(caller, []).append(query)
                contexts.setdefault(caller, context)
                self._begun.add(query)
        for caller, queries in by_caller.items():
            contexts[caller].run(_begin, queries, caller)


def taken_ahead(text: str) -> Future[Any] | None:
    """The encoding of a query that was begun before this thread's search had its turn; None if there is none."""
    query = _ahead.get()
    return None if query is None else query.take(text)


def _begin(queries: Sequence[QueryAhead], caller: Hashable) -> None:
    """Where it fails, which is no fault of the search whose thread this is, they are encoded in their turns."""
    try:
        with on_behalf_of(caller):
            encodings = queries[0].begin([query.text for query in queries])
        for query, encoding in zip(queries, encodings, strict=True):
            query.note(encoding)
    except Exception:
        logger.exception("queries cannot be encoded ahead")
