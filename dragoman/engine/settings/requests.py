"""Settings that bound what requests, uploads and jobs may cost."""

from __future__ import annotations

from pydantic import Field

from dragoman.engine.core.limits import GIB, KIB, MIB
from dragoman.engine.settings.group import Group


class RequestsSettings(Group):
    """What one request may hold and how long it may take."""

    body_bytes: int = Field(default=32 * MIB, gt=0, description="Largest JSON request body, bytes.")
    body_depth: int = Field(
        default=64, gt=0, le=200, description="Deepest nesting of a JSON request body or NDJSON line."
    )
    body_values: int = Field(
        default=250_000,
        gt=0,
        le=50_000_000,
        description="Most values in a JSON request body, all levels and the names of fields counted.",
    )
    bodies_bytes: int = Field(
        default=128 * MIB,
        gt=0,
        description="Memory of all JSON request bodies under way together, as sent and as read, bytes; of one API key,"
        " half of it. Above it bodies over 64 KiB are refused with 503.",
    )
    body_bytes_per_second: int = Field(
        default=16 * KIB, gt=0, description="Slowest request body, and slowest reader of an answer, bytes per second."
    )
    upload_idle_seconds: float = Field(
        default=30.0,
        gt=0,
        description="How long the server waits for a request body in all; what arrives makes up for the wait at"
        " body_bytes_per_second.",
    )
    request_seconds: float = Field(
        default=30.0,
        gt=0,
        description="How long a request may wait for its turn and compute. Then what can be left out is, as degraded,"
        " or it is answered with 503. Waiting for the models counts against their own limits.",
    )


class UploadsSettings(Group):
    """What a streamed upload of documents, tables or job lines may hold."""

    upload_bytes: int = Field(default=4 * GIB, gt=0, description="Largest streamed upload as sent, bytes.")
    decompressed_bytes: int = Field(
        default=16 * GIB, gt=0, description="Largest streamed upload after decompression, bytes."
    )
    decompression_ratio: int = Field(
        default=200,
        gt=1,
        description="Largest ratio of decompressed to compressed bytes, checked after 16 MiB of decompressed data.",
    )
    concurrent_uploads: int = Field(
        default=4, gt=0, description="Streamed uploads processed concurrently, while they have data; others wait."
    )
    open_uploads: int = Field(
        default=32,
        gt=0,
        description="Streamed uploads under way, processed or waiting for their clients; more are refused with 429. One"
        " API key may have half of them.",
    )
    ndjson_line_bytes: int = Field(default=8 * MIB, gt=0, description="Longest line of an NDJSON upload, bytes.")
    rejected_lines: int = Field(
        default=10_000,
        gt=0,
        description="Most rejected lines of one upload, all of them reported; one more ends the upload.",
    )


class JobsSettings(Group):
    """Jobs of many lines."""

    job_lines: int = Field(default=100_000, gt=0, description="Most lines of a job.")
    jobs_unfinished: int = Field(
        default=100, gt=0, description="Most unfinished jobs, of one key half of them; more are refused with 429."
    )
    jobs_at_a_time: int = Field(default=2, gt=0, description="Jobs processed concurrently; more are scheduled in turn.")
    job_threads: int = Field(default=1, gt=0, description="Lines of a job processed concurrently.")
    job_line_seconds: float = Field(
        default=300.0, gt=0, description="How long a line of a job waits for the models, which serve requests first."
    )
    job_retry_seconds: float = Field(
        default=600.0,
        ge=0,
        description="How long a line is retried while a dependency is down, before it becomes an error.",
    )
    job_expire_hours: float = Field(
        default=168.0, gt=0, description="Deadline of a job; the results up to then are kept."
    )
    job_keep_hours: float = Field(
        default=720.0, gt=0, description="How long a finished job is kept before it is deleted."
    )
