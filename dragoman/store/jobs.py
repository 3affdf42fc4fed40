"""Jobs in the database. Each line is a row with one state, so that it is answered exactly once even after crashes."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, and_, delete, func, or_, select, update
from sqlalchemy.orm import Session, defer

from dragoman.engine.core.errors import Conflict, NotFound
from dragoman.engine.tables.views import ActiveVersion
from dragoman.store.database import Store
from dragoman.store.models import Job, JobLine, now

UPLOADING, DELETED = "uploading", "deleted"
VALIDATING, IN_PROGRESS, FINALIZING, COMPLETED = "validating", "in_progress", "finalizing", "completed"
FAILED, CANCELLING, CANCELLED, EXPIRED = "failed", "cancelling", "cancelled", "expired"
UNFINISHED = (VALIDATING, IN_PROGRESS, FINALIZING, CANCELLING)
HIDDEN = (UPLOADING, DELETED)
PENDING = "pending"

_DELETE_BATCH = 2_000
_READ_BATCH = 100
_READ_CHARS = 4_000_000
"""Characters of answers after which a batch of lines ends early."""


@dataclass(frozen=True, slots=True)
class JobInfo:
    """The public state of a job."""

    id: str
    type: str
    tag: str
    status: str
    message: str | None
    key_id: str | None
    total: int
    completed: int
    failed: int
    table_versions: list[dict[str, Any]]
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    expires_at: datetime
    limited: bool = False
    """Whether the key that made it is limited."""
    owner_id: str | None = None
    """The first of the keys that see it: each of them replaced another, and one of them made it."""

    @property
    def finished(self) -> bool:
        return self.status not in UNFINISHED


@dataclass(frozen=True, slots=True)
class Answered:
    """A finished line; ``failed`` if the answer is an error."""

    line: int
    failed: bool
    answer: str
    ids: str | None = None


class JobRepository:
    """The jobs of a database. Jobs that are being uploaded or deleted are not visible."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def get(self, id: str, owner_id: str | None = None) -> JobInfo:
        """One job; with ``owner_id`` only one of this owner.

        Raises:
            NotFound: there is none of this id.
        """
        with self._store.read() as session:
            return _info(_visible(session, id, owner_id))

    def all(self, limit: int, after: str | None, owner_id: str | None = None) -> list[JobInfo]:
        """Jobs, newest first, starting with the one that follows ``after``; with ``owner_id`` those of this owner.

        Raises:
            NotFound: there is no job ``after``.
        """
        statement = select(Job).where(Job.status.not_in(HIDDEN)).order_by(Job.created_at.desc(), Job.id.desc())
        if owner_id is not None:
            statement = statement.where(owner_of_job() == owner_id)
        with self._store.read() as session:
            if after is not None:
                last = _visible(session, after, owner_id)
                same = and_(Job.created_at == last.created_at, Job.id < last.id)
                statement = statement.where(or_(Job.created_at < last.created_at, same))
            return [_info(job) for job in session.scalars(statement.limit(limit))]

    def list_unfinished(self) -> list[JobInfo]:
        """Unfinished jobs, oldest first."""
        with self._store.read() as session:
            statement = select(Job).where(Job.status.in_(UNFINISHED)).order_by(Job.created_at, Job.id)
            return [_info(job) for job in session.scalars(statement)]

    def pinned_by(self, version: int) -> str | None:
        """A description of the unfinished job that needs a table version, or None."""
        for job in self.list_unfinished():
            if any(pin["id"] == version for pin in job.table_versions):
                return f"the unfinished job '{job.id}'"
        return None

    def start(self, id: str) -> JobInfo | None:
        """Mark a job as in progress; None if it is finished or deleted."""
        with self._store.write() as session:
            job = _lock(session, id)
            if job is None or job.status not in UNFINISHED:
                return None
            if job.status == VALIDATING:
                job.status, job.started_at = IN_PROGRESS, now()
            return _info(job)

    def pending(self, id: str, limit: int) -> list[tuple[int, str]]:
        """(number, custom_id) of the first lines without an answer."""
        statement = select(JobLine.line, JobLine.custom_id).where(JobLine.job_id == id, JobLine.state == PENDING)
        with self._store.read() as session:
            rows = session.execute(statement.order_by(JobLine.line).limit(limit)).all()
        return [(line, custom_id or "") for line, custom_id in rows]

    def request(self, id: str, line: int) -> bytes | None:
        """A line as sent, compressed; None if it has been answered."""
        with self._store.read() as session:
            return session.scalar(select(JobLine.request).where(JobLine.job_id == id, JobLine.line == line))

    def save(self, id: str, answered: Sequence[Answered], message: str | None) -> None:
        """Store answers in one transaction; lines that were answered before stay unchanged."""
        with self._store.write() as session:
            job = _lock(session, id)
            if job is None or job.status not in UNFINISHED:
                return
            lines = [answer.line for answer in answered]
            of_job = (JobLine.job_id == id, JobLine.line.in_(lines), JobLine.state == PENDING)
            waiting = set(session.scalars(select(JobLine.line).where(*of_job)))
            new = [answer for answer in answered if answer.line in waiting]
            if new:
                session.execute(update(JobLine), [_row(id, answer) for answer in new])
            failed = sum(answer.failed for answer in new)
            job.failed += failed
            job.completed += len(new) - failed
            job.message = message
            if job.status == IN_PROGRESS and job.completed + job.failed == job.total:
                job.status = FINALIZING

    def finish(self, id: str, status: str, message: str | None = None) -> None:
        """Store the final status of a job; lines without an answer count as failed."""
        with self._store.write() as session:
            job = _lock(session, id)
            if job is None or job.status not in UNFINISHED:
                return
            counted = select(JobLine.state, func.count()).where(JobLine.job_id == id).group_by(JobLine.state)
            counts = {row.state: row[1] for row in session.execute(counted)}
            job.completed = counts.get(COMPLETED, 0)
            job.failed = job.total - job.completed
            job.status, job.message = status, message
            job.finished_at = now()

    def cancel(self, id: str) -> JobInfo:
        """Cancel a job; one that has not started is cancelled at once.

        Raises:
            NotFound: there is none of this id.
            Conflict: it has already finished.
        """
        with self._store.write() as session:
            job = _visible(session, id, lock=True)
            if job.status in (IN_PROGRESS, FINALIZING):
                job.status = CANCELLING
            elif job.status == VALIDATING:
                job.status, job.finished_at = CANCELLED, now()
                job.failed = job.total
            elif job.status not in (CANCELLING, CANCELLED):
                raise Conflict(f"the job is {job.status} already")
            return _info(job)

    def hide(self, id: str) -> None:
        """Make a finished job invisible.

        Raises:
            NotFound: there is none of this id.
            Conflict: it has not finished.
        """
        with self._store.write() as session:
            job = _visible(session, id, lock=True)
            if job.status in UNFINISHED:
                raise Conflict(f"the job is {job.status}: cancel it first")
            job.status, job.idempotency_key = DELETED, None

    def purge(self, id: str) -> None:
        """Remove a hidden job in batches of lines."""
        of_job = JobLine.job_id == id
        while True:
            with self._store.write() as session:
                hidden = session.scalar(select(Job.id).where(Job.id == id, Job.status.in_(HIDDEN)))
                first = session.scalar(select(func.min(JobLine.line)).where(of_job))
                if hidden is None:
                    return
                if first is None:
                    session.execute(delete(Job).where(Job.id == id))
                    return
                session.execute(delete(JobLine).where(of_job, JobLine.line < first + _DELETE_BATCH))

    def leftovers(self, retention: timedelta) -> list[str]:
        """Jobs to purge, unless they are being uploaded: dead uploads, deleted jobs, and those finished long ago."""
        old = and_(Job.finished_at.is_not(None), Job.finished_at < now() - retention)
        with self._store.write() as session:
            session.execute(update(Job).where(old).values(status=DELETED, idempotency_key=None))
            return list(session.scalars(select(Job.id).where(Job.status.in_(HIDDEN))))

    def lines(self, id: str, errors: bool) -> Iterator[Sequence[JobLine]]:
        """The results or errors of a job in line order, in batches.

        The errors of a finished job include the lines that were never answered.
        """
        with self._store.read() as session:
            finished = _visible(session, id).status not in UNFINISHED
        states = ([FAILED, PENDING] if finished else [FAILED]) if errors else [COMPLETED]
        last = 0
        while True:
            chosen = (JobLine.job_id == id, JobLine.state.in_(states), JobLine.line > last)
            with self._store.read() as session:
                if not (upto := _batch_end(session, chosen)):
                    return
                statement = select(JobLine).where(*chosen, JobLine.line <= upto).order_by(JobLine.line)
                rows = session.scalars(statement.options(defer(JobLine.request))).all()
            yield rows
            last = upto

    def collection(self, id: str) -> str | None:
        """The collection that all searches of a job name, and none of them another; None if there is no such one."""
        statement = select(JobLine.ids).where(JobLine.job_id == id, JobLine.ids.is_not(None)).distinct().limit(2)
        with self._store.read() as session:
            named = session.scalars(statement).all()
        name: str | None = json.loads(named[0])["collection"] if len(named) == 1 and named[0] is not None else None
        return name


def _batch_end(session: Session, chosen: Sequence[ColumnElement[bool]]) -> int:
    """The last of the next lines to read at a time: answers are up to megabytes each; 0 if there is no line."""
    sizes = select(JobLine.line, func.length(JobLine.answer)).where(*chosen).order_by(JobLine.line).limit(_READ_BATCH)
    last = total = 0
    for line, size in session.execute(sizes):
        total += size or 0
        if last and total > _READ_CHARS:
            break
        last = line
    return last


def pins(active: Sequence[ActiveVersion], named: Sequence[ActiveVersion]) -> list[dict[str, Any]]:
    """The table versions of a job in their stored form; the ``named`` ones are for lines that name them alone."""
    stored = [_pin(version) for version in active] + [_pin(version) | {"named": True} for version in named]
    return sorted(stored, key=lambda pin: (pin["name"], pin["version"]))


def _pin(version: ActiveVersion) -> dict[str, Any]:
    return {"id": version.id, "name": version.name, "version": version.version}


def owner_of_job() -> ColumnElement[str | None]:
    """The owner of the key that made a job."""
    return func.coalesce(Job.owner_id, Job.key_id)


def _visible(session: Session, id: str, owner_id: str | None = None, *, lock: bool = False) -> Job:
    job = _lock(session, id) if lock else session.get(Job, id)
    if job is None or job.status in HIDDEN or owner_id not in (None, job.owner_id or job.key_id):
        raise NotFound(f"there is no job {id[:64]!r}")
    return job


def _lock(session: Session, id: str) -> Job | None:
    return session.scalar(select(Job).where(Job.id == id).with_for_update())


def _row(id: str, answer: Answered) -> dict[str, Any]:
    row = {
        "job_id": id,
        "line": answer.line,
        "state": FAILED if answer.failed else COMPLETED,
        "request": None,
        "answer": answer.answer,
    }
    return row if answer.ids is None else row | {"ids": answer.ids}  # those of a failed search stay as they were sent


def _info(job: Job) -> JobInfo:
    return JobInfo(
        id=job.id,
        type=job.type,
        tag=job.tag,
        status=job.status,
        message=job.message,
        key_id=job.key_id,
        total=job.total,
        completed=job.completed,
        failed=job.failed,
        table_versions=job.table_versions,
        created_at=job.created_at,
        started_at=job.started_at,
        finished_at=job.finished_at,
        expires_at=job.expires_at,
        limited=job.limited,
        owner_id=job.owner_id or job.key_id,
    )
