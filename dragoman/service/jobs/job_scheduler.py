"""The job scheduler: which job gets a lease, the work in a lease, and the retries with backoff.

The rows of the database are the only record of jobs. Leases live in memory. An instance has its database to itself, so
no other one holds a lease, and a start simply schedules every unfinished job again.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from threading import Event, Thread

from dragoman.engine.core.errors import NotFound, classify
from dragoman.engine.core.key_limits import KeyLimits
from dragoman.engine.core.priority import Traffic
from dragoman.engine.observability.metrics import Metrics
from dragoman.engine.settings import Settings
from dragoman.engine.tables.snapshot import Snapshot
from dragoman.service.jobs.job_executor import JobExecutor
from dragoman.service.jobs.line import LineAnswers
from dragoman.service.jobs.training import TRAIN, TableTrainer
from dragoman.store.instance_lock import DatabaseTaken
from dragoman.store.jobs import (
    CANCELLED,
    CANCELLING,
    COMPLETED,
    EXPIRED,
    FAILED,
    JobInfo,
    JobRepository,
)
from dragoman.store.models import now
from dragoman.store.tables.service import Tables

logger = logging.getLogger("dragoman")

CHUNK_LINES = 64
"""Lines of a job that are stored per database transaction."""
TURN_SECONDS = 15.0
"""How long a job keeps its lease while other jobs wait."""
_POLL_SECONDS = 5.0
_CLEAN_SECONDS = 3600.0
_FIRST_PAUSE_SECONDS, _MAX_PAUSE_SECONDS = 1.0, 10.0
_MAX_UNEXPECTED_FAULTS = 5
_CLOSE_SECONDS = 6.0
"""How long a stop waits for the lines under way."""


@dataclass(slots=True, eq=False)
class _Run:
    """What is known of an unfinished job besides its rows; nothing of it has to survive a crash."""

    due: float
    """From this moment on it waits for a lease; the earliest gets the next one."""
    thread: Thread | None = None
    """The thread of its lease."""
    leased: float = 0.0
    cancelled: bool = False
    pause: float = _FIRST_PAUSE_SECONDS
    """That before its next lease, after a fault."""
    unexpected: int = 0
    snapshot: Snapshot | None = None
    failing_since: dict[int, float] = field(default_factory=dict)


class JobScheduler:
    """Leases the unfinished jobs in turn, each to a thread of its own, ``jobs_at_a_time`` of them.

    One thread gives the leases; it sleeps while there are no jobs.
    """

    def __init__(
        self,
        jobs: JobRepository,
        tables: Tables,
        answers: LineAnswers,
        trainer: TableTrainer,
        settings: Settings,
        metrics: Metrics,
        traffic: Traffic,
        uploading: Callable[[], list[str]],
        limits: Callable[[str], KeyLimits | None],
    ) -> None:
        """``uploading`` returns the jobs that are being uploaded, ``limits`` those of a key."""
        self._limits = limits
        self._jobs = jobs
        self._tables = tables
        self._answers = answers
        self._trainer = trainer
        self._settings = settings
        self._metrics = metrics
        self._traffic = traffic
        self._uploading = uploading
        self._changed = Event()
        self._stopping = Event()
        self._taken = False
        """Whether another instance uses the database, so that nothing can be stored."""
        self._others_wait = False
        self._runs: dict[str, _Run] = {}
        self._thread = Thread(target=self._run, name="dragoman-jobs", daemon=True)

    def start(self) -> None:
        """Resume the unfinished jobs."""
        self._thread.start()

    def wake(self) -> None:
        """Schedule now: there is a new job, or one to cancel."""
        self._changed.set()

    def cancel(self, job: str) -> None:
        """End a job's lease at once; its row says already that it is cancelled."""
        run = self._runs.get(job)
        if run is not None:
            run.cancelled = True
        self.wake()

    def close(self) -> None:
        """Store finished lines and leave the rest to the next start; does not wait for a database that is down."""
        self._stopping.set()
        self._changed.set()
        until = time.monotonic() + _CLOSE_SECONDS
        if self._thread.is_alive():
            self._thread.join(_CLOSE_SECONDS)
        threads = [self._thread, *filter(None, [run.thread for run in self._runs.values()])]
        for thread in threads:
            if thread.is_alive():
                thread.join(max(0.0, until - time.monotonic()))
        if any(thread.is_alive() for thread in threads):
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
                self._taken = False
            except DatabaseTaken as fault:
                if not self._taken:
                    logger.error("jobs no longer run here: %s", fault)
                self._taken = True
            except Exception as fault:
                error = classify(fault)
                logger.error("jobs cannot be scheduled now: %s", error or fault, exc_info=None if error else fault)
            self._changed.wait(pause)
            self._changed.clear()

    def _clean(self) -> None:
        leftovers = self._jobs.leftovers(timedelta(hours=self._settings.jobs.job_keep_hours))
        uploading = self._uploading()  # read after the rows: an upload is registered before it has a row
        for job in leftovers:
            if job not in uploading:
                self._jobs.purge(job)
        texts = self._trainer.list_texts()
        uploading = self._uploading()
        self._trainer.forget_others(texts, [*uploading, *(job.id for job in self._jobs.list_unfinished())])

    def _schedule(self) -> float:
        """Lease the jobs whose turn it is; returns the seconds until the next poll."""
        unfinished = self._jobs.list_unfinished()
        self._metrics.jobs([job.status for job in unfinished])
        uploading = self._uploading()  # read after the rows; whoever uploads one sees it as it was made
        unfinished = [job for job in unfinished if job.id not in uploading]
        moment = time.monotonic()
        leased = {id: run for id, run in self._runs.items() if run.thread is not None}
        runs = {job.id: self._runs.get(job.id) or _Run(moment) for job in unfinished}
        self._runs = leased | runs
        if not unfinished:
            return _CLEAN_SECONDS
        waiting: list[tuple[float, str]] = []
        for job in unfinished:
            run = runs[job.id]
            if run.thread is None and not self._finish_if_over(job):
                waiting.append((run.due, job.id))
        due = [id for moment_due, id in sorted(waiting, key=lambda turn: turn[0]) if moment_due <= moment]
        free = max(0, self._settings.jobs.jobs_at_a_time - len(leased))
        self._others_wait = len(due) > free
        for id in due[:free]:
            self._lease(id, runs[id])
        return min([_POLL_SECONDS, *(moment_due - moment for moment_due, _ in waiting if moment_due > moment)])

    def _finish_if_over(self, job: JobInfo) -> bool:
        """Whether a job was cancelled or has expired, which then is its final status."""
        if job.status != CANCELLING and now() < job.expires_at:
            return False
        self._trainer.forget(job.id)
        self._jobs.finish(job.id, CANCELLED if job.status == CANCELLING else EXPIRED)
        return True

    def _lease(self, job: str, run: _Run) -> None:
        run.cancelled, run.leased = False, time.monotonic()
        run.thread = Thread(target=self._work, args=(job, run), name="dragoman-job-lease", daemon=True)
        run.thread.start()

    def _work(self, job: str, run: _Run) -> None:
        """Do chunks of a job until it ends, has to wait, or its turn is over; then it joins the end of the line."""
        run.due = 0.0
        try:
            while self._advance(job, run) and not self._is_over(run):
                pass
        except Exception as fault:
            self._handle_fault(job, run, fault)
        finally:
            run.due = max(run.due, time.monotonic())
            run.thread = None
            self._changed.set()

    def _advance(self, id: str, run: _Run) -> bool:
        """Process a chunk of a job and store the results; returns whether there is more to do now."""
        job = self._jobs.start(id)
        if job is None or self._finish_if_over(job):
            return False
        lines = self._jobs.pending(id, CHUNK_LINES)
        if not lines:
            self._jobs.finish(id, COMPLETED)
            self._trainer.forget(id)
            return False
        if job.type == TRAIN:
            return self._train(job, run)
        snapshot = run.snapshot = run.snapshot or self._tables.snapshot_of(
            [version["id"] for version in job.table_versions if not version.get("named")]
        )
        chunk = JobExecutor(
            self._answers,
            self._traffic,
            self._settings,
            self._jobs,
            job,
            snapshot,
            run.failing_since,
            lambda: run.cancelled or self._is_halted(),
            self._limits(job.key_id) if job.limited and job.key_id is not None else None,
        )
        answered, fault = chunk.work(lines)
        self._jobs.save(id, answered, None if fault is None else f"waiting: {fault}")
        failed = sum(answer.failed for answer in answered)
        self._metrics.job_lines(len(answered) - failed, failed)
        run.unexpected = 0
        if fault is None:
            run.pause = _FIRST_PAUSE_SECONDS
            return True
        if snapshot.unserved:
            run.snapshot = None  # the missing table may be served next time
        self._back_off(run)
        return False

    def _train(self, job: JobInfo, run: _Run) -> bool:
        """Train the table of a job; returns whether there is more to do now."""
        answered = self._trainer.work(job, lambda: run.cancelled or self._is_halted())
        if answered is not None:
            self._jobs.save(job.id, [answered], None)
            self._metrics.job_lines(int(not answered.failed), int(answered.failed))
        return True

    def _is_halted(self) -> bool:
        return self._stopping.is_set() or self._taken

    def _is_over(self, run: _Run) -> bool:
        turn_over = time.monotonic() - run.leased >= TURN_SECONDS
        return self._is_halted() or (self._others_wait and turn_over)

    def _back_off(self, run: _Run) -> None:
        """Delay a job's next lease, with exponential backoff."""
        run.due = time.monotonic() + run.pause
        run.pause = min(2 * run.pause, _MAX_PAUSE_SECONDS)

    def _handle_fault(self, job: str, run: _Run, fault: Exception) -> None:
        """Handle a job that could not be processed: retry it later, or fail it if a retry cannot help."""
        error = classify(fault)
        self._back_off(run)
        if isinstance(error, DatabaseTaken):
            return  # the scheduling thread reports it
        logger.error("job %s: %s", job, error or fault, exc_info=None if error else fault)
        run.unexpected += error is None
        try:
            if isinstance(error, NotFound) or run.unexpected >= _MAX_UNEXPECTED_FAULTS:
                reason = str(error) if error else "the service failed on it repeatedly; its log has the cause"
                self._jobs.finish(job, FAILED, reason)
                self._trainer.forget(job)
            else:
                self._jobs.save(job, [], f"waiting: {error or 'the service failed on it; its log has the cause'}")
        except Exception as again:
            logger.error("job %s: %s", job, classify(again) or again)
