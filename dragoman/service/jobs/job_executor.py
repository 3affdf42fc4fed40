"""Answers a chunk of a job's lines on a few threads, with lower priority than requests."""

from __future__ import annotations

import logging
import time
import zlib
from collections.abc import Callable, MutableMapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import cast

from dragoman.deadline import DeadlinePassed, deadline
from dragoman.engine.core.errors import InternalError, NotInstalled, ServiceError, Unavailable, classify
from dragoman.engine.core.key_limits import KeyLimits, limited_to
from dragoman.engine.core.limits import BATCH_BYTES
from dragoman.engine.core.priority import Traffic, background
from dragoman.engine.settings import Settings
from dragoman.engine.tables.snapshot import Snapshot
from dragoman.service.jobs.line import JobType, LineAnswers, parse_line
from dragoman.service.jobs.submission import line_error
from dragoman.store.jobs import Answered, JobInfo, JobRepository
from dragoman.store.line import LineRejected

logger = logging.getLogger("dragoman")

_RETRIED_STATUSES = (429, 503, 507)
"""Statuses of transient faults, after which a line is retried."""
_YIELD_SECONDS = 1.0
CHUNK_SECONDS = 5.0
"""How long lines of a job are processed before the results so far are stored."""


class JobExecutor:
    """Answers lines until all are answered, the time or size limit of a chunk is reached, or ``cancelled()``.

    ``failing_since`` has the times of the lines' first failed attempts; it outlives the chunk.
    """

    def __init__(
        self,
        answers: LineAnswers,
        traffic: Traffic,
        settings: Settings,
        jobs: JobRepository,
        job: JobInfo,
        snapshot: Snapshot,
        failing_since: MutableMapping[int, float],
        cancelled: Callable[[], bool],
        limits: KeyLimits | None = None,
    ) -> None:
        """``limits`` are those of the key that made the job."""
        self._limits = limits
        self._answers = answers
        self._traffic = traffic
        self._settings = settings
        self._jobs = jobs
        self._job = job
        self._snapshot = snapshot
        self._failing_since = failing_since
        self._cancelled = cancelled
        self._until = time.monotonic() + CHUNK_SECONDS
        self._chars = 0
        self._fault: ServiceError | None = None

    def work(self, lines: Sequence[tuple[int, str]]) -> tuple[list[Answered], ServiceError | None]:
        """The answered lines, and the transient fault of a line that could not be answered now, or None."""
        threads = min(self._settings.jobs.job_threads, len(lines))
        with ThreadPoolExecutor(threads, thread_name_prefix="dragoman-job") as pool:
            answered = [answer for answer in pool.map(self._line, lines) if answer is not None]
        return answered, self._fault

    def _line(self, line: tuple[int, str]) -> Answered | None:
        line_number, _ = line
        if self._over():
            return None
        self._traffic.wait_until_idle(_YIELD_SECONDS)
        try:
            seconds = self._settings.jobs.job_line_seconds
            with background(seconds), deadline(seconds, self._cancelled), limited_to(self._limits):
                answer = self._answer(line_number)
        except Exception as fault:
            return None if self._cancelled() else self._answer_fault(line_number, fault)
        if self._cancelled():
            return None  # the answer may be incomplete
        if answer is not None:
            self._chars += len(answer.answer)
        self._failing_since.pop(line_number, None)
        return answer

    def _over(self) -> bool:
        late = time.monotonic() >= self._until
        return late or self._cancelled() or self._fault is not None or self._chars > BATCH_BYTES

    def _answer(self, line_number: int) -> Answered | None:
        packed = self._jobs.request(self._job.id, line_number)
        if packed is None:
            return None
        type = cast("JobType", self._job.type)
        try:
            request = parse_line(zlib.decompress(packed), type, self._settings.requests.body_depth, stored=True)
        except LineRejected as fault:  # accepted by an earlier version of the service
            return Answered(line_number, True, line_error(str(fault)))
        answer = self._answers.answer(request, self._snapshot, self._cancelled)
        return Answered(line_number, False, answer.response, answer.ids)

    def _answer_fault(self, line_number: int, fault: Exception) -> Answered | None:
        """The error of a line, or None if it should be retried."""
        if isinstance(fault, DeadlinePassed):  # not retried: it would take as long again
            timeout = Unavailable(f"the line took longer than {self._settings.jobs.job_line_seconds:g} seconds")
            return Answered(line_number, True, line_error(str(timeout), timeout.status, timeout.error_type))
        error = classify(fault)
        if error is None:
            logger.error("job %s, line %d failed", self._job.id, line_number, exc_info=fault)
            error = InternalError(f"the service failed; its log has the cause under job {self._job.id}")
        if error.status in _RETRIED_STATUSES and not isinstance(error, NotInstalled):
            since = self._failing_since.setdefault(line_number, time.monotonic())
            if time.monotonic() - since < self._settings.jobs.job_retry_seconds:
                self._fault = error
                return None
        return Answered(line_number, True, line_error(str(error), error.status, error.error_type))
