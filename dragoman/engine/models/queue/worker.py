"""The worker: one thread that batches the items of many requests into one forward pass.

Requests put items into a bounded queue. While one batch is computed, more items queue up. So batches grow with the
load, and no request waits for a batch to fill. A batch has items of one task, such as encoding, or translating from
one language to another. It takes them in turn from all callers, and from all their requests, that wait for the task.
So a long request does not delay a short one, nor do many requests delay those of another caller. Tasks are scheduled
round-robin as well. Urgent ones come first every other time. A batch of others makes way for them between its parts.
"""

from __future__ import annotations

import logging
import math
import time
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import Future
from threading import Condition, Thread
from typing import Any, Protocol

from dragoman.deadline import deadline
from dragoman.engine.core.admission import Limit
from dragoman.engine.core.errors import InternalError, ServiceError, TooManyRequests, Unavailable
from dragoman.engine.core.priority import in_background
from dragoman.engine.core.turns import caller
from dragoman.engine.models.queue.abandoned import abandon
from dragoman.engine.models.queue.batches import Batch, Limits, Paces, QueueEntry
from dragoman.engine.observability.metrics import task_name
from dragoman.engine.observability.tracing import current_span, forward_span

logger = logging.getLogger("dragoman")

Compute = Callable[[Any, list[Any]], Sequence[Any]]
"""Takes a task and its items, returns one result per item; a result that is an exception fails only that item."""

UNFINISHED = object()
"""The result of an item that the worker computes further, in its task's next batch and before items that wait."""

Cancelled = Callable[[], bool]
"""Whether the request was cancelled, for example because its client disconnected."""

_BACKGROUND_INTERVAL = 8
"""Every so many batches one is a background batch, even under load."""
_SHARE = 8
"""One of so many places in the queue is for the first items of a caller, though the others are taken."""
_WAIT_SECONDS = 5.0


class Observer(Protocol):
    """Receives events about items."""

    def batch(self, task: Any, items: int, cost: int, seconds: float) -> None: ...

    def count_refused(self, task: Any, items: int) -> None: ...

    def count_dropped(self, task: Any, items: int) -> None: ...


class _NullObserver:
    """Ignores all events."""

    def batch(self, task: Any, items: int, cost: int, seconds: float) -> None: ...

    def count_refused(self, task: Any, items: int) -> None: ...

    def count_dropped(self, task: Any, items: int) -> None: ...


_Queue = OrderedDict[Hashable, deque[deque[QueueEntry]]]
"""The waiting items by task and request; the next task comes first."""


class Worker:
    """Computes items in batches on its own thread, which starts with the first item.

    Args:
        compute: computes a batch; called only on the worker's thread.
        queue: the maximum number of waiting items.
        limits: the limits of a task's batches.
        observer: receives events about batches, and about items that were refused or dropped.
        urgent: says which tasks come before others, every other time, and which a batch of another one makes way for,
            wherever it asks for its deadline.
    """

    def __init__(
        self,
        compute: Compute,
        queue: int,
        limits: Callable[[Any], Limits],
        observer: Observer | None = None,
        urgent: Callable[[Any], bool] = lambda task: False,
    ) -> None:
        self._compute = compute
        self._urgent = urgent
        self._last_urgent = self._aside_now = False
        self._aside = self._aside_since = 0.0
        """Seconds that urgent batches took in the middle of others, in all and since the last batch began."""
        self._limit = Limit(queue, "texts are waiting to be computed")
        self._limits = limits
        self._observer = observer or _NullObserver()
        self._changed = Condition()
        self._request: _Queue = OrderedDict()
        self._background: _Queue = OrderedDict()
        self._waiting = 0
        self._turns = 0
        self._paces = Paces()
        self._closing = False
        self._computing: tuple[Hashable, float] | None = None
        self._thread: Thread | None = None

    def submit(
        self, task: Hashable, contents: Sequence[Any], background: bool = False, costs: Sequence[int] | None = None
    ) -> list[Future[Any]]:
        """Queue one request's items. A future that is cancelled while queued is never computed.

        The cost of an item is its length, unless ``costs`` are given. ``background`` items, and those of a thread that
        does background work, wait for all others, except for one batch in eight, and do not count for the queue's
        limit. A request that is longer than the queue is accepted if nothing else waits.

        Raises:
            TooManyRequests: the queue is full.
            Unavailable: the worker is closed.
        """
        background = background or in_background()
        priced = zip(contents, costs if costs is not None else map(len, contents), strict=True)
        origin = current_span()
        entries = [QueueEntry(content, cost, background, caller(), origin) for content, cost in priced]
        if not entries:
            return []
        with self._changed:
            self._admit(task, len(entries), background)
            if not background:
                self._waiting += len(entries)
            queue = self._background if background else self._request
            queue.setdefault(task, deque()).append(deque(entries))
            if self._thread is None:
                self._thread = Thread(target=self._work, name="dragoman-worker", daemon=True)
                self._thread.start()
            self._changed.notify_all()
        return [entry.result for entry in entries]

    def admit(self, task: Hashable, items: int) -> None:
        """Check that this many items would be accepted now, before they are prepared.

        Raises:
            TooManyRequests: the queue is full.
            Unavailable: the worker is closed.
        """
        with self._changed:
            self._admit(task, items, in_background())

    def waiting(self) -> dict[Hashable, tuple[int, int]]:
        """The number and total cost of the waiting items, by task."""
        totals: dict[Hashable, tuple[int, int]] = {}
        with self._changed:
            for queue in (self._request, self._background):
                for task, requests in queue.items():
                    count, cost = totals.get(task, (0, 0))
                    entries = [entry for request in requests for entry in request]
                    totals[task] = (count + len(entries), cost + sum(entry.cost for entry in entries))
        return totals

    def computing(self) -> tuple[Hashable, float] | None:
        """The task of the running forward pass, and the seconds since its start; None if there is none."""
        running = self._computing
        return None if running is None else (running[0], time.monotonic() - running[1])

    def stop(self) -> None:
        """Fail all waiting items, and begin no batch."""
        with self._changed:
            self._closing = True
            unfinished = [entry for queue in (self._request, self._background) for entry in _entries(queue)]
            self._request.clear()
            self._background.clear()
            self._waiting = 0
            self._changed.notify_all()
        for entry in unfinished:
            if entry.result.running() or entry.result.set_running_or_notify_cancel():
                entry.result.set_exception(Unavailable("the service is stopping"))

    def close(self, seconds: float | None = None) -> None:
        """Stop, and wait ``seconds`` for the running batch, by default a few.

        If the batch takes longer, as loading a model can, its thread is abandoned. Before the process ends,
        ``finish_computing`` of :mod:`~dragoman.engine.models.queue.abandoned` has to wait for it, or the process has to
        end with ``exit_if_computing``.
        """
        self.stop()
        if self._thread is not None:
            self._thread.join(_WAIT_SECONDS if seconds is None else seconds)
            if self._thread.is_alive():
                abandon(self._thread)
                logger.warning("a model is still computing")

    def _admit(self, task: Hashable, items: int, background: bool) -> None:
        if self._closing:
            raise Unavailable("the service is stopping")
        if background:
            return
        if self._waiting + items > self._limit.most:
            self._drop_cancelled()
        try:
            self._limit.check(self._waiting, items, self._waiting)
        except TooManyRequests:
            if self._is_first(items):
                return
            self._observer.count_refused(task, items)
            raise

    def _is_first(self, items: int) -> bool:
        """Whether they are few, and the only ones of a caller who should not suffer from those who fill the queue."""
        whose = caller()
        few = items <= self._limit.most // _SHARE
        return few and whose is not None and all(entry.caller != whose for entry in _entries(self._request))

    def _work(self) -> None:
        while (taken := self._take()) is not None:
            self._aside_since = 0.0
            with deadline(math.inf, self._make_way):
                self._work_on(*taken)
            self._computing = None

    def _work_on(self, task: Hashable, entries: list[QueueEntry]) -> None:
        started, aside = time.perf_counter(), self._aside
        with forward_span(task_name(task), [entry.origin for entry in entries]):
            unfinished = self._run(task, entries)
            self._continue(task, unfinished)
        seconds = time.perf_counter() - started - (self._aside - aside)
        cost = sum(entry.cost for entry in entries)
        self._limit.pace.note(len(entries) - len(unfinished), seconds)
        self._paces.note(task, cost, seconds)
        self._observer.batch(task, len(entries), cost, seconds)

    def _make_way(self) -> bool:
        """Compute a batch of each urgent task that waits, in the middle of another batch; that one is not cancelled.

        A batch that has made way for longer than it has been computed itself does not do so now.
        """
        computing = self._computing
        if not self._request or computing is None or self._aside_now:
            return False
        if self._aside_since > time.monotonic() - computing[1]:
            return False
        started, self._aside_now = time.perf_counter(), True
        try:
            with self._changed:
                urgent = [task for task in self._request if self._urgent(task)]
            for task in urgent:
                if entries := self._take_of(task):
                    self._work_on(task, entries)
        finally:
            spent = time.perf_counter() - started
            self._aside += spent
            self._aside_since += spent
            self._aside_now = False
            self._computing = computing[0], computing[1] + spent
        return False

    def _take(self) -> tuple[Hashable, list[QueueEntry]] | None:
        """The next batch, its items marked as running; None when the worker is closed."""
        with self._changed:
            while True:
                if self._closing:
                    return None
                queue = self._next_queue()
                if queue is None:
                    self._changed.wait()
                    continue
                if queue is self._request and not self._last_urgent:
                    self._put_first(next(filter(self._urgent, queue), None))
                task, entries = self._next_batch(queue)
                self._last_urgent = queue is self._request and self._urgent(task)
                if queue is self._request:
                    self._count_waiting()
                if entries:
                    return task, entries

    def _take_of(self, task: Hashable) -> list[QueueEntry]:
        with self._changed:
            if self._closing or task not in self._request:
                return []
            self._put_first(task)
            _, entries = self._next_batch(self._request)
            self._count_waiting()
            return entries

    def _put_first(self, task: Hashable) -> None:
        if task is not None:
            self._request.move_to_end(task, last=False)

    def _count_waiting(self) -> None:
        self._waiting = sum(map(len, (request for requests in self._request.values() for request in requests)))

    def _next_queue(self) -> _Queue | None:
        if not self._request or (self._background and self._turns >= _BACKGROUND_INTERVAL - 1):
            self._turns = 0
            return self._background or None
        self._turns += bool(self._background)
        return self._request

    def _next_batch(self, queue: _Queue) -> tuple[Hashable, list[QueueEntry]]:
        """Items taken in turn from callers and their requests, up to a full batch; cancelled ones are dropped.

        Where a request leaves room, background items that were begun are computed further.
        """
        task, requests = queue.popitem(last=False)
        batch = Batch(self._paces.within(task, self._limits(task)))
        taken: Counter[Hashable] = Counter()
        while requests:
            place = min(range(len(requests)), key=lambda place: taken[requests[place][0].caller])
            if not batch.fits(requests[place][0]):
                break
            request = requests[place]
            del requests[place]
            entry = request.popleft()
            taken[entry.caller] += 1
            if entry.result.running() or entry.result.set_running_or_notify_cancel():
                batch.add(entry)
            else:
                self._observer.count_dropped(task, 1)
            if request:
                requests.append(request)
        if requests:
            queue[task] = requests
        elif queue is self._request and batch.entries:
            self._add_begun(task, batch)
        return task, batch.entries

    def _add_begun(self, task: Hashable, batch: Batch) -> None:
        requests = self._background.get(task, deque())
        while requests and requests[0][0].result.running() and batch.fits(requests[0][0]):
            batch.add(requests.popleft()[0])
        if not requests:
            self._background.pop(task, None)

    def _drop_cancelled(self) -> None:
        for task, requests in self._request.items():
            for request in requests:
                for entry in [entry for entry in request if entry.result.cancelled()]:
                    request.remove(entry)
                    self._observer.count_dropped(task, 1)
        for task, requests in list(self._request.items()):
            remaining = deque(request for request in requests if request)
            if remaining:
                self._request[task] = remaining
            else:
                del self._request[task]
        self._waiting = sum(1 for _ in _entries(self._request))

    def _continue(self, task: Hashable, entries: Sequence[QueueEntry]) -> None:
        """Put items that are not finished before all others of their task, background items before those."""
        if not entries:
            return
        with self._changed:
            if not self._closing:
                for entry in reversed(entries):
                    self._waiting += not entry.background
                    queue = self._background if entry.background else self._request
                    queue.setdefault(task, deque()).appendleft(deque([entry]))
                return
        for entry in entries:
            entry.result.set_exception(Unavailable("the service is stopping"))

    def _run(self, task: Hashable, entries: list[QueueEntry]) -> list[QueueEntry]:
        """Compute a batch, and return its unfinished items.

        If it fails, compute its halves, so that only the bad items fail.
        """
        results = self._results(task, entries)
        if results is None:  # retried here, after the exception and its memory have been released
            half = len(entries) // 2
            return self._run(task, entries[:half]) + self._run(task, entries[half:])
        unfinished = []
        for entry, result in zip(entries, results, strict=True):
            if result is UNFINISHED:
                unfinished.append(entry)
            elif isinstance(result, Exception):
                entry.result.set_exception(result)
            else:
                entry.result.set_result(result)
        return unfinished

    def _results(self, task: Hashable, entries: list[QueueEntry]) -> Sequence[Any] | None:
        """One result per item, or the exception that all failed with; None if the halves should be tried."""
        self._computing = (task, time.monotonic())
        try:
            results = list(self._compute(task, [entry.content for entry in entries]))
            if len(results) != len(entries):
                raise InternalError(f"{len(results)} results for {len(entries)} texts")
            return results
        except Exception as fault:
            logger.warning("%d items failed together: %s", len(entries), fault)
            return [fault] * len(entries) if isinstance(fault, ServiceError) or len(entries) == 1 else None


def _entries(queue: _Queue) -> list[QueueEntry]:
    return [entry for requests in queue.values() for request in requests for entry in request]
