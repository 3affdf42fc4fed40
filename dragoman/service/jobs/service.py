"""Batch jobs: taken as streams of lines, worked on behind all requests, read as results and errors."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from threading import Lock
from typing import Any

from sqlalchemy import and_, or_, select

from dragoman.engine.core.errors import Conflict, InvalidRequest
from dragoman.engine.core.key_limits import KeyLimits
from dragoman.engine.core.priority import Traffic
from dragoman.engine.core.trec import RunLine, trec_run
from dragoman.engine.observability.metrics import Metrics
from dragoman.engine.settings import Settings
from dragoman.service.jobs.job_scheduler import JobScheduler
from dragoman.service.jobs.line import LineAnswers
from dragoman.service.jobs.submission import (
    JobSubmission,
    NewJob,
    TrainingSubmission,
    line_error,
    stored_idempotency_key,
)
from dragoman.service.jobs.training import TRAIN, TableTrainer
from dragoman.store.database import Store
from dragoman.store.jobs import FAILED, PENDING, UPLOADING, JobInfo, JobRepository
from dragoman.store.models import Job, JobLine
from dragoman.store.tables.service import Tables

_KEY = re.compile(r"[!-~]{1,255}", re.ASCII)
_TAG = re.compile(r"[!-~]{1,64}", re.ASCII)


class Jobs:
    """All jobs of a service. Every method may be called from any thread."""

    def __init__(
        self,
        store: Store,
        tables: Tables,
        answers: LineAnswers,
        settings: Settings,
        metrics: Metrics,
        traffic: Traffic,
        limits: Callable[[str], KeyLimits | None],
    ) -> None:
        """``limits`` returns what a key may see, by its id."""
        self._store = store
        self._tables = tables
        self._answers = answers
        self._settings = settings
        self._jobs = JobRepository(store)
        self._lock = Lock()
        self._uploading: set[str] = set()
        self._trainer = TableTrainer(self._jobs, tables, settings)
        self._runner = JobScheduler(
            self._jobs, tables, answers, self._trainer, settings, metrics, traffic, lambda: self.uploading, limits
        )

    def start(self) -> None:
        """Go on with the jobs that are unfinished, in the background."""
        self._runner.start()

    def close(self) -> None:
        """Store what is done; the next start goes on with the rest."""
        self._runner.close()

    @property
    def uploading(self) -> list[str]:
        """The jobs whose lines are coming in."""
        with self._lock:
            return list(self._uploading)

    def submit(self, new: NewJob, parts: Iterator[bytes], gzip: bool = False) -> JobInfo:
        """Take a job's lines as they stream in. With an idempotency key that a job has, that job.

        Raises:
            InvalidRequest: a parameter that is not allowed, or no lines.
            Conflict: the key is that of another request.
            TooManyRequests: too many jobs are unfinished.
            ServiceError: the body cannot be read to its end, or be stored. Nothing is kept.
        """
        _check(new)
        upload = JobSubmission(self._store, self._tables, self._answers, self._settings, new)
        if new.training is not None:
            self._trainer.check(new.training)
            upload = TrainingSubmission(
                self._store, self._tables, self._answers, self._settings, new, self._trainer, new.training
            )
        if new.idempotency_key is not None and (earlier := self._find_earlier(new)) is not None:
            id, fingerprint = earlier
            if upload.fingerprint(parts, gzip) != fingerprint:
                raise Conflict("this Idempotency-Key was sent before with another body or other parameters")
            return self._jobs.get(id)
        with self._lock:
            self._uploading.add(upload.id)
        try:
            upload.begin()
            try:
                upload.take(parts, gzip)
            except BaseException:
                with suppress(Exception):  # where even that is impossible it is done later
                    self._trainer.forget(upload.id)
                    self._jobs.purge(upload.id)
                raise
            return self._jobs.get(upload.id)
        finally:
            with self._lock:
                self._uploading.discard(upload.id)
            self._runner.wake()

    def get(self, id: str, owner_id: str | None = None) -> JobInfo:
        """One job; with ``owner_id`` only one of this owner.

        Raises:
            NotFound: there is none of this id.
        """
        return self._jobs.get(id, owner_id)

    def all(self, limit: int, after: str | None = None, owner_id: str | None = None) -> list[JobInfo]:
        """Jobs, the newest first, from the one that follows ``after`` on; with ``owner_id`` those of this owner.

        Raises:
            NotFound: there is no job ``after``.
        """
        return self._jobs.all(limit, after, owner_id)

    def cancel(self, id: str) -> JobInfo:
        """Have a job stop; what is done of it stays.

        Raises:
            NotFound: there is none of this id.
            Conflict: it has finished otherwise.
        """
        job = self._jobs.cancel(id)
        self._runner.cancel(id)
        return job

    def delete(self, id: str) -> None:
        """Delete a finished job with its results.

        Raises:
            NotFound: there is none of this id.
            Conflict: it has not finished.
        """
        self._jobs.hide(id)
        self._jobs.purge(id)

    def results(self, id: str) -> Iterator[bytes]:
        """The results so far, a line of JSON each, in the order of the job's lines; some lines at a time.

        Raises:
            NotFound: there is none of this id.
        """
        self._jobs.get(id)
        return (b"".join(map(_result, rows)) for rows in self._jobs.lines(id, errors=False))

    def run(self, id: str) -> Iterator[bytes]:
        """The results so far as a TREC run.

        Raises:
            NotFound: there is none of this id.
        """
        job = self._jobs.get(id)
        if job.type == TRAIN:
            raise InvalidRequest("format: the result of a training is no run; use jsonl")
        alone = job.type != "rerank" and self._jobs.collection(id) is not None
        return ("".join(_trec(row, job, alone) for row in rows).encode() for rows in self._jobs.lines(id, errors=False))

    def errors(self, id: str) -> Iterator[bytes]:
        """The errors so far, a line of JSON each, in the order of the job's lines.

        Raises:
            NotFound: there is none of this id.
        """
        job = self._jobs.get(id)
        return (b"".join(_error(row, job) for row in rows) for rows in self._jobs.lines(id, errors=True))

    def _find_earlier(self, new: NewJob) -> tuple[str, str] | None:
        """The job of an idempotency key and its fingerprint; an upload that died is no job."""
        before = and_(Job.idempotency_key == new.idempotency_key, Job.key_id == new.owner)  # as it was once stored
        with self._store.read() as session:
            job = session.scalar(select(Job).where(or_(Job.idempotency_key == stored_idempotency_key(new), before)))
        if job is None:
            return None
        if job.status != UPLOADING:
            return job.id, job.fingerprint
        if job.id not in self.uploading:
            self._jobs.purge(job.id)
        return None


def _check(new: NewJob) -> None:
    if not _TAG.fullmatch(new.tag):
        raise InvalidRequest("query parameter tag: must be 1 to 64 visible ASCII characters without blanks")
    if new.idempotency_key is not None and not _KEY.fullmatch(new.idempotency_key):
        raise InvalidRequest("header Idempotency-Key: must be 1 to 255 visible ASCII characters without blanks")


def _result(row: JobLine) -> bytes:
    custom_id = json.dumps(row.custom_id, ensure_ascii=False)
    return f'{{"custom_id":{custom_id},"response":{row.answer}}}\n'.encode()


def _error(row: JobLine, job: JobInfo) -> bytes:
    error = row.answer
    if row.state == PENDING:  # never answered, and the job is over
        reason = job.message if job.status == FAILED and job.message else f"the job is {job.status}"
        error = line_error(reason, 409, job.status)
    custom_id = json.dumps(row.custom_id, ensure_ascii=False)
    return f'{{"custom_id":{custom_id},"line":{row.line},"error":{error}}}\n'.encode()


def _trec(row: JobLine, job: JobInfo, alone: bool) -> str:
    """The run of one line; ``alone`` says that all lines search one and the same collection."""
    response: dict[str, Any] = json.loads(row.answer or "{}")
    if job.type != "rerank":
        hits = response["hits"] if job.type == "search" else response.get("passages", [])
        scores = [hit["score"] for hit in hits]
        if scores != sorted(scores, reverse=True):  # hits are sorted by fields, and a run has falling scores
            scores = [1 / rank for rank in range(1, len(hits) + 1)]
        lines = [RunLine(hit["collection"], hit["id"], score) for hit, score in zip(hits, scores, strict=True)]
    else:
        ids = json.loads(row.ids) if row.ids is not None else {}
        lines = [RunLine("", _docid(ids, result["index"]), result["relevance_score"]) for result in response["results"]]
    return trec_run(row.custom_id or "", lines, job.tag, alone=alone or job.type == "rerank")


def _docid(ids: Any, index: int) -> str:
    id = ids[index] if ids else None
    return str(index) if id is None else str(id)
