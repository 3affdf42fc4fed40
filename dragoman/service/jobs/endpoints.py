"""``/v1/jobs``: batches of rerank or search requests or questions, processed in the background."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Header, Path, Query, Request, Response
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, Field

from dragoman.engine.core.names import ID_CHARS
from dragoman.engine.core.trec import TREC_TYPE
from dragoman.engine.query.response import TableUsed
from dragoman.service.access.audit import Actor
from dragoman.service.dependencies import KNOWN_PARAMETERS, ActorDep, CallerDep, RuntimeDep
from dragoman.service.http.bodies import NDJSON_TYPES, StrictRoute, check_media_type, content_gzip
from dragoman.service.http.streaming import work_on_upload
from dragoman.service.jobs.line import JobType
from dragoman.service.jobs.submission import NewJob
from dragoman.service.runtime import Runtime
from dragoman.store.jobs import JobInfo

router = APIRouter(prefix="/v1/jobs", route_class=StrictRoute, tags=["jobs"])

NDJSON_TYPE = "application/x-ndjson"

_LINE_SCHEMA = {
    "type": "object",
    "required": ["custom_id"],
    "properties": {
        "custom_id": {"type": "string", "minLength": 1, "maxLength": ID_CHARS},
        "query": {"type": "string", "minLength": 1, "description": "For rerank and search"},
        "question": {"type": "string", "minLength": 1, "description": "Only for qa; as in POST /v1/qa"},
        "documents": {"type": "array", "description": "Only for rerank; as in POST /v1/rerank", "items": {}},
    },
    "description": "The fields of POST /v1/rerank, POST /v1/search or POST /v1/qa, and custom_id.",
}
_BODY = {
    "requestBody": {
        "required": True,
        "description": "One request per line; plain, or gzip with or without Content-Encoding: gzip.",
        "content": {NDJSON_TYPE: {"schema": _LINE_SCHEMA}},
    }
}
_STREAM: dict[int | str, dict[str, Any]] = {
    200: {"description": "One JSON object per line.", "content": {NDJSON_TYPE: {"schema": {"type": "string"}}}}
}
_RESULTS: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "One JSON object per line, or a TREC run.",
        "content": {NDJSON_TYPE: {"schema": {"type": "string"}}, TREC_TYPE: {"schema": {"type": "string"}}},
    }
}

JobId = Annotated[str, Path(description="The job's id.")]
Status = Literal["validating", "in_progress", "finalizing", "completed", "failed", "cancelling", "cancelled", "expired"]


async def _owner(caller: CallerDep) -> str | None:
    return None if "admin" in caller.scopes and caller.limits is None else caller.owner_id


OwnerDep = Annotated[str | None, Depends(_owner)]
"""The owner whose jobs the caller sees; None for those of all keys, which an admin key without limits sees."""


class Counts(BaseModel):
    """Lines of a job; once it has finished, total is the sum of completed and failed."""

    total: int
    completed: int = Field(description="Lines with a result.")
    failed: int = Field(description="Lines with an error.")


class JobBody(BaseModel):
    """A job."""

    id: str
    type: JobType | Literal["train"] = Field(description="train: a table, see POST /v1/tables/{name}/train.")
    tag: str = Field(description="The last column of its TREC run.")
    status: Status = Field(description="validating until it is first scheduled")
    message: str | None = Field(description="Why it is waiting or has failed.")
    counts: Counts
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    expires_at: datetime = Field(description="Its deadline; the results up to then are kept.")
    table_versions: list[TableUsed] = Field(
        description="The table versions used for all its lines, and those that some of them name."
    )


class JobList(BaseModel):
    """Jobs, newest first."""

    jobs: list[JobBody]
    has_more: bool = Field(description="Whether there are older ones; set `after` to the id of the last one.")


@router.post("", status_code=202, openapi_extra=_BODY, dependencies=[KNOWN_PARAMETERS])
async def create_job(
    request: Request,
    runtime: RuntimeDep,
    actor: ActorDep,
    type: Annotated[JobType, Query(description="The type of its lines.")],
    tag: Annotated[
        str | None, Query(description="Name of its TREC run; default: dragoman-rerank, -search or -qa.")
    ] = None,
    idempotency_key: Annotated[
        str | None, Header(description="The same key with the same request of one API key gives the same job.")
    ] = None,
) -> JobBody:
    """Create a job from a batch of requests, streamed as NDJSON. When this returns, the job is durable.

    An invalid line becomes an error of the job. A fault of the whole body creates no job.
    """
    check_media_type(request, NDJSON_TYPES, "NDJSON (Content-Type: application/x-ndjson)")
    gzip = content_gzip(request)
    tag = f"dragoman-{type}" if tag is None else tag
    new = NewJob(type, tag, idempotency_key, actor.key_id, owner_id=actor.owner_id)

    def submit(parts: Iterator[bytes]) -> JobInfo:
        return runtime.jobs.submit(new, parts, gzip)

    return job_body(await work_on_upload(request, submit))


@router.get("", dependencies=[KNOWN_PARAMETERS])
def list_jobs(
    runtime: RuntimeDep,
    actor: ActorDep,
    owner: OwnerDep,
    limit: Annotated[int, Query(ge=1, le=1000, description="Most jobs to return.")] = 100,
    after: Annotated[str | None, Query(description="Id of the job after which to continue.")] = None,
) -> JobList:
    """The jobs of the key and of those that it replaced, newest first; with an admin key those of all keys."""
    jobs = runtime.jobs.all(limit + 1, after, owner)
    if any(job.owner_id != actor.owner_id for job in jobs[:limit]):
        with runtime.audit.record_hourly(actor, "jobs.list", "jobs of other keys"):
            pass
    return JobList(jobs=[job_body(job) for job in jobs[:limit]], has_more=len(jobs) > limit)


@router.get("/{id}")
def get_job(id: JobId, runtime: RuntimeDep, actor: ActorDep, owner: OwnerDep) -> JobBody:
    """One job: its progress and its table versions."""
    job = runtime.jobs.get(id, owner)
    with _audit(runtime, actor, "read", job):
        return job_body(job)


@router.post("/{id}/cancel")
def cancel_job(id: JobId, runtime: RuntimeDep, actor: ActorDep, owner: OwnerDep) -> JobBody:
    """Cancel a job; its results so far are kept. 409 if it has already finished."""
    job = runtime.jobs.get(id, owner)
    with _audit(runtime, actor, "cancel", job, changes=not job.finished):
        return job_body(runtime.jobs.cancel(id))


@router.delete("/{id}", status_code=204, response_class=Response)
def delete_job(id: JobId, runtime: RuntimeDep, actor: ActorDep, owner: OwnerDep) -> None:
    """Delete a finished job with its results; 409 if it is unfinished."""
    job = runtime.jobs.get(id, owner)
    with _audit(runtime, actor, "delete", job, changes=job.finished):
        runtime.jobs.delete(id)


@router.get("/{id}/results", response_class=StreamingResponse, responses=_RESULTS, dependencies=[KNOWN_PARAMETERS])
def job_results(
    id: JobId,
    runtime: RuntimeDep,
    actor: ActorDep,
    owner: OwnerDep,
    format: Annotated[Literal["jsonl", "trec"], Query(description="jsonl, or a TREC run.")] = "jsonl",
) -> StreamingResponse:
    """The results so far, in the order of the lines; all of them once the job has finished."""
    with _audit(runtime, actor, "results", runtime.jobs.get(id, owner)):
        if format == "trec":
            return _stream(runtime.jobs.run(id), TREC_TYPE)
        return _stream(runtime.jobs.results(id), NDJSON_TYPE)


@router.get("/{id}/errors", response_class=StreamingResponse, responses=_STREAM)
def job_errors(id: JobId, runtime: RuntimeDep, actor: ActorDep, owner: OwnerDep) -> StreamingResponse:
    """The errors so far, in the order of the lines; all of them once the job has finished."""
    with _audit(runtime, actor, "errors", runtime.jobs.get(id, owner)):
        return _stream(runtime.jobs.errors(id), NDJSON_TYPE)


@contextmanager
def _audit(runtime: Runtime, actor: Actor, action: str, job: JobInfo, changes: bool = False) -> Iterator[None]:
    """Record in the audit log what a key does with a job of another owner.

    What changes nothing may be repeated at any rate, so it is recorded once an hour.
    """
    if job.owner_id == actor.owner_id:
        yield
        return
    record = runtime.audit.record if changes else runtime.audit.record_hourly
    with record(actor, f"job.{action}", job.id):
        yield


def _stream(lines: Iterator[bytes], media_type: str) -> StreamingResponse:
    return StreamingResponse(lines, media_type=media_type)


def job_body(job: JobInfo) -> JobBody:
    return JobBody.model_validate(
        {
            "id": job.id,
            "type": job.type,
            "tag": job.tag,
            "status": job.status,
            "message": job.message,
            "counts": {"total": job.total, "completed": job.completed, "failed": job.failed},
            "created_at": job.created_at,
            "started_at": job.started_at,
            "finished_at": job.finished_at,
            "expires_at": job.expires_at,
            "table_versions": [
                {"name": version["name"], "version": version["version"]} for version in job.table_versions
            ],
        }
    )
