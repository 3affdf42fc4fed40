"""The job scheduler: which job gets a lease, the work in a lease, and the retries with backoff."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from threading import Event, Lock, Thread
from typing import TYPE_CHECKING
from uuid import uuid4

from dragoman.service.core.errors import NotFound, classify
from dragoman.service.core.priority import Traffic
from dragoman.service.core.settings import Settings
from dragoman.service.jobs.executor import JobExecutor
from dragoman.service.jobs.line import LineAnswers
from dragoman.service.jobs.repository import (
    CANCELLED,
    CANCELLING,
    COMPLETED,
    EXPIRED,
    FAILED,
    JobInfo,
    JobRepository,
)
from dragoman.service.observability.metrics import Metrics
from dragoman.service.storage.instance_lock import DatabaseTaken
from dragoman.service.storage.models import now
from dragoman.service.tables.service import Tables
from dragoman.service.tables.snapshot import Snapshot

if TYPE_CHECKING:
    from dragoman.service.jobs.queue import JobQueue

logger = logging.getLogger("dragoman")

_POLL_SECONDS = 5.0
_CLEAN_SECONDS = 3600.0
_IDLE_SECONDS = 60.0
_MAX_LEASE_SECONDS = 120.0
_RECOVERY_SECONDS = 30.0
_TAKEOVER_AFTER = timedelta(minutes=10)
"""After this time without progress, a lease that another service started is taken over."""
_MAX_BACKOFF_SECONDS = 10.0
_MAX_UNEXPECTED_FAULTS = 5
_CLOSE_SECONDS = 6.0
"""Shutdown timeout; longer than the time for draining leases."""


class JobScheduler:
    """Keeps every unfinished job scheduled or leased, whatever state a crash leaves behind.

    Only one thread schedules jobs and uses the queue; it sleeps while there are no jobs.
    """

    def __init__(
        self,
        jobs: JobRepository,
        tables: Tables,
        answers: LineAnswers,
        settings: Settings,
        metrics: Metrics,
        traffic: Traffic,
        instance: str,
        uploading: Callable[[], list[str]],
    ) -> None:
        """``uploading`` returns the jobs that are being uploaded."""
        self._jobs = jobs
        self._tables = tables
        self._answers = answers
        self._settings = settings
        self._metrics = metrics
        self._traffic = traffic
        self._instance = instance
        self._uploading = uploading
        self._changed = Event()
        self._stopping = Event()
        self._lock = Lock()
        self._running: dict[str, float] = {}
        self._cancelled: set[str] = set()
        self._not_before: dict[str, float] = {}
        self._pauses: dict[str, float] = {}
        self._unexpected: dict[str, int] = {}
        self._failing_since: dict[tuple[str, int], float] = {}
        self._snapshots: dict[str, Snapshot] = {}
        self._waiting = 0
        self._queue: JobQueue | None = None
        self._opened = 0.0
        self._idle_since = 0.0
        self._thread = Thread(target=self._run, name="dragoman-jobs", daemon=True)

    def start(self) -> None:
        """Resume the unfinished jobs."""
        self._thread.start()

    def wake(self) -> None:
        """Schedule now: there is a new job, or one to cancel."""
        self._changed.set()

    def cancel(self, job: str) -> None:
        """End a job that runs here at once."""
        with self._lock:
            if job in self._running:
                self._cancelled.add(job)
        self.wake()

    def close(self) -> None:
        """Store finished lines and leave the rest to the next start; does not wait for a database that is down."""
        self._stopping.set()
        self._changed.set()
        if self._thread.is_alive():
            self._thread.join(_CLOSE_SECONDS)
            if self._thread.is_alive():
                logger.warning("jobs have not ended in %g seconds; the next start repeats lost work", _CLOSE_SECONDS)

    def _run(self) -> None:
        cleaned = -_CLEAN_SECONDS
        while not self._stopping.is_set():
            pause = _POLL_SECONDS
            try:
                if time.monotonic() - cleaned >= _CLEAN_SECONDS:
                    self._clean()
                    cleaned = time.monotonic()
                pause = self._schedule()
            except DatabaseTaken as fault:
                self._release_queue(fault)
                pause = _IDLE_SECONDS
            except Exception as fault:
                known = classify(fault)
                logger.error("jobs cannot be scheduled now: %s", known or fault, exc_info=None if known else fault)
            self._changed.wait(pause)
            self._changed.clear()
        if self._queue is not None:
            self._queue.close()

    def _release_queue(self, fault: DatabaseTaken) -> None:
        """Leave the queue to the instance that uses the database now; a later poll notices when that one stops."""
        if self._queue is not None:
            logger.error("jobs no longer run here: %s", fault)
            taken, self._queue = self._queue, None
            try:
                taken.close()
            except Exception as again:
                logger.error("the job queue could not be closed: %s", classify(again) or again)

    def _clean(self) -> None:
        kept = timedelta(hours=self._settings.job_keep_hours)
        leftovers = self._jobs.leftovers(self._instance, kept)
        uploading = self._uploading()  # read after the rows: an upload is registered before it has a row
        for job in leftovers:
            if job not in uploading:
                self._jobs.purge(job)

    def _schedule(self) -> float:
        """Enqueue every job that is neither scheduled nor leased; returns the seconds until the next poll."""
        unfinished = self._jobs.unfinished()
        self._metrics.jobs([job.status for job in unfinished])
        self._prune_state({job.id for job in unfinished})
        if not unfinished:
            return self._close_idle_queue()
        self._idle_since = time.monotonic()
        if self._queue is None:
            self._open()
        assert self._queue is not None
        self._queue.delete_ended()
        leases = self._queue.leases()
        waiting = [lease.job for lease in leases if not lease.begun]
        begun = {lease.job: lease.here for lease in leases if lease.begun}
        pause = _POLL_SECONDS
        for job in unfinished:
            if self._is_active(job, waiting, begun):
                continue
            if job.status == CANCELLING or now() >= job.expires_at:
                self._jobs.finish(job.id, CANCELLED if job.status == CANCELLING else EXPIRED)
            elif (left := self._not_before.get(job.id, 0.0) - time.monotonic()) > 0:
                pause = min(pause, left)
            else:
                self._queue.enqueue(job.id, uuid4().hex[:12])
                waiting.append(job.id)
        self._waiting = len(set(waiting))
        return pause

    def _is_active(self, job: JobInfo, waiting: list[str], begun: dict[str, bool]) -> bool:
        """Whether a job is scheduled or leased, as far as this instance knows."""
        with self._lock:
            if job.id in self._running:
                return True
        if job.id in begun:
            if begun[job.id]:
                return time.monotonic() - self._opened < _RECOVERY_SECONDS
            return now() - job.touched_at < _TAKEOVER_AFTER
        return job.id in waiting and job.status != CANCELLING and now() < job.expires_at

    def _open(self) -> None:
        from dragoman.service.jobs.queue import JobQueue  # imported here to save memory while there are no jobs

        settings = self._settings
        self._queue = JobQueue(
            settings.url, settings.data_dir, self._instance, settings.jobs_at_a_time, self.lease, self.advance
        )
        self._opened = time.monotonic()

    def _close_idle_queue(self) -> float:
        """Close the queue after a while without jobs; returns the seconds until the next poll."""
        if self._queue is None:
            return _CLEAN_SECONDS
        left = self._idle_since + _IDLE_SECONDS - time.monotonic()
        if left > 0:
            return left
        self._queue.close()
        self._queue = None
        return _CLEAN_SECONDS

    @contextmanager
    def lease(self, job: str) -> Iterator[bool]:
        """A lease of a job; yields False if another lease of it is running here."""
        with self._lock:
            free = job not in self._running and not self._stopping.is_set()
            if free:
                self._running[job] = time.monotonic()
        try:
            yield free
        finally:
            if free:
                with self._lock:
                    del self._running[job]
                    self._cancelled.discard(job)
                self._changed.set()

    def advance(self, job: str) -> bool:
        """Process a chunk of a job and store the results; returns whether its lease continues."""
        try:
            unfinished = self._advance(job)
        except Exception as fault:
            self._failed(job, fault)
            return False
        self._unexpected.pop(job, None)
        return unfinished and not self._lease_is_over(job)

    def _advance(self, id: str) -> bool:
        job = self._jobs.start(id)
        if job is None:
            return False
        if job.status == CANCELLING or now() >= job.expires_at:
            self._jobs.finish(id, CANCELLED if job.status == CANCELLING else EXPIRED)
            return False
        lines = self._jobs.pending(id, self._settings.job_chunk_lines)
        if not lines:
            self._jobs.finish(id, COMPLETED)
            return False
        if id not in self._snapshots:
            self._snapshots[id] = self._tables.pinned([one["id"] for one in job.table_versions])
        chunk = JobExecutor(
            self._answers,
            self._traffic,
            self._settings,
            self._jobs,
            job,
            self._snapshots[id],
            self._failing_since,
            lambda: self._is_cancelled(id),
        )
        answered, fault = chunk.work(lines)
        self._jobs.save(id, answered, None if fault is None else f"waiting: {fault}")
        if self._snapshots[id].unserved and fault is not None:
            del self._snapshots[id]  # the missing table may be served next time
        failed = sum(one.failed for one in answered)
        self._metrics.job_lines(len(answered) - failed, failed)
        if fault is not None:
            self._back_off(id)
        else:
            self._pauses.pop(id, None)
        return fault is None

    def _is_cancelled(self, job: str) -> bool:
        return self._stopping.is_set() or job in self._cancelled

    def _lease_is_over(self, job: str) -> bool:
        spent = time.monotonic() - self._running.get(job, 0.0)
        longest = self._settings.job_turn_seconds if self._waiting else _MAX_LEASE_SECONDS
        return self._stopping.is_set() or spent >= longest

    def _back_off(self, job: str) -> None:
        """Delay a job's next lease, with exponential backoff."""
        pause = min(2 * self._pauses.get(job, 0.5), _MAX_BACKOFF_SECONDS)
        self._pauses[job] = pause
        self._not_before[job] = time.monotonic() + pause

    def _failed(self, job: str, fault: Exception) -> None:
        """Handle a job that could not be processed: retry it later, or fail it if a retry cannot help."""
        known = classify(fault)
        if isinstance(known, DatabaseTaken):
            self._changed.set()  # the scheduling thread then reports it
            return
        logger.error("job %s: %s", job, known or fault, exc_info=None if known else fault)
        self._back_off(job)
        self._unexpected[job] = self._unexpected.get(job, 0) + (known is None)
        try:
            if isinstance(known, NotFound) or self._unexpected[job] >= _MAX_UNEXPECTED_FAULTS:
                reason = str(known) if known else "the service failed on it repeatedly; its log has the cause"
                self._jobs.finish(job, FAILED, reason)
            else:
                self._jobs.save(job, [], f"waiting: {known or 'the service failed on it; its log has the cause'}")
        except Exception as again:
            logger.error("job %s: %s", job, classify(again) or again)

    def _prune_state(self, unfinished: set[str]) -> None:
        for known in (self._not_before, self._pauses, self._unexpected, self._snapshots):
            for job in [job for job in known if job not in unfinished]:
                known.pop(job, None)
        for job, line in [one for one in self._failing_since if one[0] not in unfinished]:
            self._failing_since.pop((job, line), None)
