"""The settings that bound what one request, upload or connection may cost. Each is a variable ``DRAGOMAN_<NAME>``."""

from __future__ import annotations

from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict

KIB = 1024
MIB = 1024 * KIB
GIB = 1024 * MIB


class RequestLimits(BaseSettings):
    """The limits of bodies, uploads, connections and searches."""

    model_config = SettingsConfigDict(env_prefix="DRAGOMAN_", extra="ignore")

    body_bytes: int = Field(default=64 * MIB, gt=0, description="Largest JSON request body, bytes.")
    body_depth: int = Field(
        default=64, gt=0, le=200, description="Deepest nesting of a JSON request body or NDJSON line."
    )
    upload_bytes: int = Field(default=4 * GIB, gt=0, description="Largest streamed upload as sent, bytes.")
    decompressed_bytes: int = Field(
        default=16 * GIB, gt=0, description="Largest streamed upload after decompression, bytes."
    )
    decompression_ratio: int = Field(
        default=200,
        gt=1,
        description="Largest ratio of decompressed to compressed bytes, checked after 16 MiB of decompressed data.",
    )
    upload_idle_seconds: float = Field(
        default=60.0, gt=0, description="Longest pause between two parts of a request body."
    )
    body_bytes_per_second: int = Field(
        default=1 * KIB,
        gt=0,
        description="Slowest request body, bytes per second, checked after upload_idle_seconds of waiting.",
    )
    request_head_seconds: float = Field(
        default=10.0, gt=0, description="Request-header timeout, after which the connection is closed."
    )
    concurrent_uploads: int = Field(
        default=8, gt=0, description="Streamed uploads processed concurrently; others wait."
    )

    ndjson_line_bytes: int = Field(default=8 * MIB, gt=0, description="Longest line of an NDJSON upload, bytes.")
    import_batch: int = Field(default=500, gt=0, description="Documents stored and indexed per database transaction.")
    import_batch_bytes: int = Field(
        default=8 * MIB, gt=0, description="Size of the lines of a batch, bytes, above which it is stored early."
    )
    rejected_lines: int = Field(
        default=10_000,
        gt=0,
        description="Most rejected lines of one upload, all of them reported; one more ends the upload.",
    )
    table_line_bytes: int = Field(default=64 * KIB, gt=0, description="Longest line of a translation table, bytes.")
    table_entries: int = Field(
        default=20_000_000,
        gt=0,
        description="Most entries of a translation table; its upload takes up to 200 bytes of memory for each.",
    )
    table_selection_bytes: int = Field(
        default=256 * MIB,
        ge=0,
        description="Size of the compiled files kept for requests that choose among the tables, bytes; the least"
        " recently used are deleted. Those of the last such request are kept in any case.",
    )

    query_chars: int = Field(default=10_000, gt=0, description="Longest query, characters.")
    top_k_max: int = Field(default=1_000, gt=0, description="Largest top_k of a search.")
    rerank_depth_max: int = Field(default=1_000, gt=0, description="Largest rerank.depth of a search.")
    search_names: int = Field(default=100, gt=0, description="Most collections, or tables, that one search may name.")
    concurrent_searches: int = Field(
        default=256,
        gt=0,
        description="Concurrent searches, questions and rerank requests that are read, running or queued; more are"
        " refused with 429.",
    )
    concurrent_model_searches: int = Field(
        default=32,
        gt=0,
        description="Concurrent searches that wait for the models. More are refused with 429 if they name a method that"
        " needs the encoder; else they are made by psq, or without reranking.",
    )
