"""The settings that bound what one request, upload or connection may cost. Each is a variable ``DRAGOMAN_<NAME>``."""

from __future__ import annotations

from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict

KIB = 1024
MIB = 1024 * KIB
GIB = 1024 * MIB

READER_LANGUAGES = 10
"""Most languages that readers have."""
QUERY_CHARS = 1_000_000
TEXT_CHARS = 10_000_000
DOCUMENTS = 100_000
TEXTS = 10_000
NAMES = 10_000
"""What no setting can raise: the longest query and text, characters, and the most documents, texts and names of one
request. A list above them is refused before any of its elements is looked at."""


class RequestLimits(BaseSettings):
    """The limits of bodies, uploads, connections and searches."""

    model_config = SettingsConfigDict(env_prefix="DRAGOMAN_", extra="ignore")

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
    memory_bytes: int | None = Field(
        default=None,
        gt=0,
        description="Memory of the process, mapped files left out, above which requests with a body are refused with"
        " 503; default: 90% of what the machine or its container has.",
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
        default=30.0,
        gt=0,
        description="How long the server waits for a request body in all; what arrives makes up for the wait at"
        " body_bytes_per_second.",
    )
    body_bytes_per_second: int = Field(
        default=16 * KIB, gt=0, description="Slowest request body, and slowest reader of an answer, bytes per second."
    )
    send_idle_seconds: float = Field(
        default=30.0,
        gt=0,
        description="How long a client may go without reading its answer; what it reads makes up for the wait at"
        " body_bytes_per_second. Then the connection is closed.",
    )
    unsent_bytes: int = Field(
        default=64 * MIB,
        gt=0,
        description="Answers that wait for their clients to read, bytes, above which those who don't read lose theirs.",
    )
    connections: int | None = Field(
        default=None,
        gt=0,
        description="Most connections; default: half of the files that the process may open, at most 4096. Above it"
        " those that wait without a request are closed, then new ones get 503.",
    )
    open_requests_per_second: float = Field(
        default=100.0,
        ge=0,
        description="Requests per second of one address to what needs no key, /healthz apart; 0: no limit.",
    )
    open_burst: int = Field(
        default=200, gt=0, description="Burst of one address to what needs no key: requests at once after a pause."
    )
    failed_sign_ins_per_second: float = Field(
        default=5.0,
        ge=0,
        description="Requests per second of one address without a valid key that get 401; more get 429. 0: no limit.",
    )
    failed_sign_ins_burst: int = Field(
        default=100, gt=0, description="Burst of one address of requests without a valid key."
    )
    request_head_seconds: float = Field(
        default=10.0, gt=0, description="Request-header timeout, after which the connection is closed."
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
    import_batch: int = Field(default=500, gt=0, description="Documents stored and indexed per database transaction.")
    import_batch_bytes: int = Field(
        default=8 * MIB, gt=0, description="Size of the lines of a batch, bytes, above which it is stored early."
    )
    analysis_seconds: float = Field(
        default=60.0, gt=0, description="Longest analysis of one document, seconds; over it the document is rejected."
    )
    rejected_lines: int = Field(
        default=10_000,
        gt=0,
        description="Most rejected lines of one upload, all of them reported; one more ends the upload.",
    )
    table_line_bytes: int = Field(default=64 * KIB, gt=0, description="Longest line of a translation table, bytes.")
    table_entries: int = Field(
        default=1_000_000,
        gt=0,
        description="Most entries of a translation table; its upload and activation take memory for each.",
    )
    table_spreadsheet_bytes: int = Field(
        default=64 * MIB,
        gt=0,
        description="Largest spreadsheet (.xlsx, .ods) that is read as a translation table, unpacked, bytes.",
    )
    table_selection_bytes: int = Field(
        default=256 * MIB,
        ge=0,
        description="Size of the compiled files kept for requests that choose among the tables, bytes; the least"
        " recently used are deleted. Those of the last such request are kept in any case.",
    )

    request_seconds: float = Field(
        default=30.0,
        gt=0,
        description="How long a request may wait for its turn and compute. Then what can be left out is, as degraded,"
        " or it is answered with 503. Waiting for the models counts against their own limits.",
    )
    query_chars: int = Field(default=10_000, gt=0, le=QUERY_CHARS, description="Longest query, characters.")
    query_words: int = Field(
        default=500,
        gt=0,
        description="Most words of a query that are searched; `truncated` reports that a query has more.",
    )
    top_k_max: int = Field(default=1_000, gt=0, description="Largest top_k of a search.")
    answer_bytes: int = Field(
        default=16 * MIB,
        ge=4 * MIB,
        description="Room in the answer of a search, bytes, for titles, highlights, glosses, names and contributions"
        " beside the snippets; what does not fit is left out of the lower hits and named in `truncated`.",
    )
    rerank_depth_max: int = Field(default=1_000, gt=0, description="Largest rerank.depth of a search.")
    search_names: int = Field(
        default=100, gt=0, le=NAMES, description="Most collections, or tables, that one search may name."
    )
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
