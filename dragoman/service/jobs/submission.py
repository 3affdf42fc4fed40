"""The upload of a job: its lines stream into the database, and it is a job once all of them are there."""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Literal, cast
from uuid import uuid4

from sqlalchemy import func, insert, select, update
from sqlalchemy.exc import IntegrityError

from dragoman.engine.core.admission import Limit
from dragoman.engine.core.errors import Conflict, InvalidRequest, TooLarge, classify
from dragoman.engine.core.key_limits import current_limits
from dragoman.engine.core.limits import BATCH_BYTES, BATCH_LINES
from dragoman.engine.search.request import Method
from dragoman.engine.settings import Settings
from dragoman.engine.tables.choices import VersionKey, versions_named
from dragoman.engine.tables.views import ActiveVersion
from dragoman.files.streams import Line, lines, unpack
from dragoman.service.jobs.line import JobType, LineAnswers, parse_line, run_names
from dragoman.service.jobs.training import TableTrainer, Training
from dragoman.service.qa.schemas import QaRequest
from dragoman.service.rerank.schemas import RerankV1
from dragoman.service.search.schemas import SearchRequest
from dragoman.store.database import Store
from dragoman.store.jobs import FAILED, PENDING, UNFINISHED, UPLOADING, VALIDATING, owner_of_job, pins
from dragoman.store.line import LineRejected, parse_object
from dragoman.store.models import Job, JobLine, now
from dragoman.store.tables.service import Tables


@dataclass(frozen=True, slots=True)
class NewJob:
    """What a job is to be, besides its lines."""

    type: JobType | Literal["train"]
    tag: str
    idempotency_key: str | None = None
    key_id: str | None = None
    """The API key that makes it."""
    training: Training | None = None
    """What a job of type ``train`` makes."""
    owner_id: str | None = None
    """Of the key; see :attr:`dragoman.service.access.keys.KeyInfo.owner_id`."""

    @property
    def owner(self) -> str | None:
        """Whose job it is to be."""
        return self.owner_id or self.key_id


@dataclass(slots=True)
class _Batch:
    rows: list[dict[str, Any]] = field(default_factory=list)
    size: int = 0


def stored_idempotency_key(new: NewJob) -> str | None:
    """A job's idempotency key as it is stored: that of another owner is another one."""
    if new.idempotency_key is None:
        return None
    return hashlib.sha256(f"{new.owner or ''}\0{new.idempotency_key}".encode()).hexdigest()


class JobSubmission:
    """Takes one body. Nothing of it is left where it cannot be read to its end."""

    def __init__(self, store: Store, tables: Tables, answers: LineAnswers, settings: Settings, new: NewJob) -> None:
        self.id = f"job_{uuid4().hex}"
        self._store = store
        self._tables = tables
        self._answers = answers
        self._settings = settings
        self._new = new
        self._digest = hashlib.sha256(json.dumps([new.type, new.tag]).encode())
        self._total = 0
        self._failed = 0
        self._reached = 0
        self._methods: dict[bytes, Method | None] = {}
        """The method of searches that name none, and of those for questions, by the checksum of their collections."""
        self._versions: set[VersionKey] = set()
        """The versions of tables that lines name by number, of those that there are."""

    def begin(self) -> None:
        """Make the row of the job.

        Raises:
            TooManyRequests: too many jobs are unfinished, or more than half as many of one key.
            Conflict: another upload with this idempotency key is under way.
        """
        row = Job(
            id=self.id,
            type=self._new.type,
            tag=self._new.tag,
            status=UPLOADING,
            idempotency_key=stored_idempotency_key(self._new),
            key_id=self._new.key_id,
            owner_id=self._new.owner,
            limited=current_limits() is not None,
            expires_at=now() + timedelta(hours=self._settings.jobs.job_expire_hours),
        )
        try:
            with self._store.write() as session:
                there = select(func.count()).where(Job.status.in_((*UNFINISHED, UPLOADING)))
                most = self._settings.jobs.jobs_unfinished
                Limit(most, "jobs are unfinished").check(session.scalar(there) or 0)
                if (owner := self._new.owner) is not None:
                    of_key = session.scalar(there.where(owner_of_job() == owner)) or 0
                    Limit(max(1, most // 2), "jobs of this key are unfinished").check(of_key)
                session.add(row)
        except IntegrityError as fault:
            raise Conflict("another upload with this Idempotency-Key is under way; try again when it ends") from fault

    def take(self, parts: Iterator[bytes], gzip: bool) -> None:
        """Store all lines, then let the job be seen.

        Raises:
            ServiceError: the body cannot be read to its end, or something cannot be stored.
        """
        try:
            self._store_lines(parts, gzip)
            if not self._total:
                raise InvalidRequest("the body holds no lines: send one JSON object per line")
            self._tables.pin(self._publish, self._versions)
        except Exception as fault:
            error = classify(fault)
            if error is None:
                raise
            raise type(error)(f"line {self._reached + 1}: {error}; no job was made") from fault

    def fingerprint(self, parts: Iterator[bytes], gzip: bool) -> str:
        """What the body would be known by, without storing any of it."""
        for _ in self._unpack(parts, gzip):
            pass
        return self._digest.hexdigest()

    def _unpack(self, parts: Iterator[bytes], gzip: bool) -> Iterator[bytes]:
        settings = self._settings
        limits = {"limit": settings.uploads.decompressed_bytes, "ratio": settings.uploads.decompression_ratio}
        for part in unpack(parts, gzip=gzip, **limits):
            self._digest.update(part)
            yield part

    def _store_lines(self, parts: Iterator[bytes], gzip: bool) -> None:
        settings = self._settings
        batch = _Batch()
        for line in lines(self._unpack(parts, gzip), settings.uploads.ndjson_line_bytes):
            if self._total >= settings.jobs.job_lines:
                raise TooLarge(f"a job has at most {settings.jobs.job_lines} lines")
            batch.rows.append(self._row(line))
            batch.size += len(line.content or b"")
            self._total += 1
            if len(batch.rows) >= BATCH_LINES or batch.size >= BATCH_BYTES:
                full, batch = batch, _Batch()
                self._save(full)
            self._reached = line.line_number
        if batch.rows:
            self._save(batch)

    def _row(self, line: Line) -> dict[str, Any]:
        row = {
            "job_id": self.id,
            "line": line.line_number,
            "custom_id": None,
            "request": None,
            "answer": None,
            "ids": None,
        }
        try:
            if line.content is None:
                raise LineRejected(f"the line is longer than {self._settings.uploads.ndjson_line_bytes} bytes")
            request = parse_line(line.content, cast("JobType", self._new.type), self._settings.requests.body_depth)
        except LineRejected as fault:
            return row | {"state": FAILED, "custom_id": fault.id, "answer": line_error(str(fault))}
        if not isinstance(request.request, QaRequest):
            self._versions |= self._tables.registry.find_ready(versions_named(request.request.tables or ()))
        packed = zlib.compress(self._settle_method(line.content, request.request), 1)
        row |= {"state": PENDING, "custom_id": request.custom_id, "request": packed}
        return row if self._new.type == "rerank" else row | {"ids": run_names(request.request)}

    def _settle_method(self, content: bytes, request: RerankV1 | SearchRequest | QaRequest) -> bytes:
        """The line with a method, which is chosen once, so that all lines of a job are answered alike."""
        if isinstance(request, RerankV1) or (isinstance(request, SearchRequest) and request.method is not None):
            return content
        if isinstance(request, QaRequest) and request.context is not None:
            return content
        collections = hashlib.sha256(json.dumps(request.collections).encode()).digest()
        if collections not in self._methods:
            self._methods[collections] = self._answers.default_method(request)
        method = self._methods[collections]
        if method is None:  # the line is answered with the fault
            return content
        fields = parse_object(content, self._settings.requests.body_depth) | {"method": method}
        return json.dumps(fields, ensure_ascii=False).encode()

    def _save(self, batch: _Batch) -> None:
        """Store some lines; of those with one custom_id only the first is a request."""
        ids = {row["custom_id"] for row in batch.rows if row["custom_id"] is not None}
        with self._store.write() as session:
            stored = select(JobLine.custom_id, func.min(JobLine.line)).where(
                JobLine.job_id == self.id, JobLine.custom_id.in_(ids)
            )
            first = {row.custom_id: row[1] for row in session.execute(stored.group_by(JobLine.custom_id))}
            for row in batch.rows:
                before = first.setdefault(row["custom_id"], row["line"])
                if row["custom_id"] is not None and before != row["line"]:
                    reason = f"custom_id: that of line {before} already"
                    row |= {"state": FAILED, "request": None, "answer": line_error(reason)}
            session.execute(insert(JobLine), batch.rows)
        self._failed += sum(row["state"] == FAILED for row in batch.rows)

    def _publish(self, versions: Sequence[ActiveVersion], named: Sequence[ActiveVersion]) -> None:
        values = {
            "status": VALIDATING,
            "fingerprint": self._digest.hexdigest(),
            "total": self._total,
            "failed": self._failed,
            "table_versions": pins(versions, named),
            "created_at": now(),
        }
        with self._store.write() as session:
            session.execute(update(Job).where(Job.id == self.id).values(values))


class TrainingSubmission(JobSubmission):
    """Takes a text to train a table from: a job of one line, which is its parameters, and a file."""

    def __init__(
        self,
        store: Store,
        tables: Tables,
        answers: LineAnswers,
        settings: Settings,
        new: NewJob,
        trainer: TableTrainer,
        training: Training,
    ) -> None:
        super().__init__(store, tables, answers, settings, new)
        self._trainer = trainer
        self._training = training
        self._fields = json.dumps(training.as_fields()).encode()
        self._digest.update(self._fields)

    def _store_lines(self, parts: Iterator[bytes], gzip: bool) -> None:
        self._trainer.keep(self.id, self._training, self._unpack(parts, gzip))
        row = {"job_id": self.id, "line": 1, "custom_id": self._training.name, "answer": None, "ids": None}
        self._save(_Batch([row | {"state": PENDING, "request": zlib.compress(self._fields)}]))
        self._total = 1

    def _publish(self, versions: Sequence[ActiveVersion], named: Sequence[ActiveVersion]) -> None:
        super()._publish([], [])  # it needs no table


def line_error(message: str, status: int = 422, error_type: str = "validation") -> str:
    """The error of a line as it is stored and returned."""
    return json.dumps({"status": status, "error_type": error_type, "message": message}, ensure_ascii=False)
