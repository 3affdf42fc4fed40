"""What can be set from outside: every value is also an environment variable ``DRAGOMAN_<NAME>``."""

from __future__ import annotations

import ipaddress
import re
from pathlib import Path
from typing import Literal

from pydantic import Field, SecretStr, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

KIB = 1024
MIB = 1024 * KIB
GIB = 1024 * MIB

DATABASE = "dragoman.db"
"""The SQLite file in the data directory."""


class Settings(BaseSettings):
    """Where the service keeps its data, where it listens, and the limits it holds requests to."""

    model_config = SettingsConfigDict(env_prefix="DRAGOMAN_", extra="ignore")

    data_dir: Path = Field(default=Path("data"), description="Folder of the database, indexes and compiled tables.")
    database_url: str | None = Field(
        default=None,
        description="SQLAlchemy URL, such as postgresql://user@host/db; default: SQLite in data_dir.",
    )
    host: str = Field(default="127.0.0.1", description="Address to listen on.")
    port: int = Field(default=8080, ge=0, le=65535, description="Port to listen on; 0 chooses a free one.")

    metrics_open: bool = Field(
        default=False, description="Whether /metrics is read without a key where there are keys."
    )
    key_requests_per_second: float = Field(
        default=200.0, ge=0, description="Requests per second of one API key, unless it has its own limit; 0: any."
    )
    key_burst: int = Field(
        default=400,
        gt=0,
        description="Requests that one API key may send at once after a pause, unless it has its own.",
    )
    key_concurrent_requests: int = Field(
        default=128, ge=0, description="Requests of one API key under way at a time, unless it has its own; 0: any."
    )
    anonymous_requests_per_second: float = Field(
        default=0.0, ge=0, description="Requests per second of all callers of an open service together; 0: any."
    )
    anonymous_burst: int = Field(
        default=400, gt=0, description="Requests that an open service takes at once after a pause, where it has a rate."
    )
    anonymous_concurrent_requests: int = Field(
        default=0, ge=0, description="Requests under way at a time in an open service; 0: any."
    )

    jvm_heap: str | None = Field(
        default=None,
        description="Largest Java heap, in which Lucene works, such as 512m or 2g; default 384m.",
    )
    index_commit_seconds: float = Field(
        default=5.0, gt=0, description="Pause between two rounds that make changed indexes durable."
    )
    startup_wait_seconds: float = Field(
        default=10.0, ge=0, description="How long a start waits for the database to be free, and then for the indexes."
    )

    log_level: Literal["debug", "info", "warning", "error"] = Field(
        default="info", description="Least important events that are logged: debug, info, warning or error."
    )
    log_format: Literal["text", "json"] = Field(
        default="text", description="Form of the log on standard error: text, or json, an object a line."
    )
    log_queries: bool = Field(
        default=False, description="Whether the log's line of a search or rerank request has its query."
    )
    traces: str | None = Field(
        default=None,
        pattern=r"^https?://[^/\s]+",
        description="OTLP/HTTP collector of traces, such as http://host:4318; default: OTEL_EXPORTER_OTLP_ENDPOINT.",
    )
    drain_seconds: float = Field(
        default=0.0, ge=0, description="How long requests are still taken after SIGTERM, while /readyz says 503."
    )
    shutdown_seconds: int = Field(
        default=30, ge=0, description="How long a stop waits for the requests under way, seconds."
    )

    body_bytes: int = Field(default=64 * MIB, gt=0, description="Largest JSON request body, bytes.")
    body_depth: int = Field(
        default=64, gt=0, le=200, description="Deepest nesting of a JSON request body or NDJSON line."
    )
    upload_bytes: int = Field(default=4 * GIB, gt=0, description="Largest streamed upload as sent, bytes.")
    decompressed_bytes: int = Field(default=16 * GIB, gt=0, description="Largest streamed upload unpacked, bytes.")
    decompression_ratio: int = Field(
        default=200,
        gt=1,
        description="Largest ratio of unpacked to packed bytes, checked once 16 MiB are unpacked.",
    )
    upload_idle_seconds: float = Field(
        default=60.0, gt=0, description="Longest pause between two parts of a request body."
    )
    body_bytes_per_second: int = Field(
        default=1 * KIB,
        gt=0,
        description="Slowest request body, bytes per second, once it has been waited for as long as a pause may be.",
    )
    request_head_seconds: float = Field(
        default=10.0, gt=0, description="How long the head of a request may take before its connection is closed."
    )
    concurrent_uploads: int = Field(default=8, gt=0, description="Streamed uploads worked on at a time; others wait.")

    ndjson_line_bytes: int = Field(default=8 * MIB, gt=0, description="Longest line of an NDJSON upload, bytes.")
    import_batch: int = Field(default=500, gt=0, description="Documents stored and indexed per database transaction.")
    import_batch_bytes: int = Field(
        default=8 * MIB, gt=0, description="Line bytes after which a batch is stored early."
    )
    rejected_lines: int = Field(
        default=10_000,
        gt=0,
        description="Rejected lines of one upload that are reported; one more ends the upload.",
    )
    table_line_bytes: int = Field(default=64 * KIB, gt=0, description="Longest line of a translation table, bytes.")

    query_chars: int = Field(default=10_000, gt=0, description="Longest query, characters.")
    top_k_max: int = Field(default=1_000, gt=0, description="Largest top_k of a search.")
    rerank_depth_max: int = Field(default=1_000, gt=0, description="Largest rerank.depth of a search.")
    search_names: int = Field(default=100, gt=0, description="Most collections, or tables, that one search may name.")
    concurrent_searches: int = Field(
        default=256, gt=0, description="Searches under way or waiting at a time; more are refused with 429."
    )

    encoder: str | None = Field(
        default=None,
        description="Sentence encoder of dense search: a folder or a Hugging Face name; default: the one shipped.",
    )
    translator: str | None = Field(
        default=None,
        description="Translator: a folder or the Hugging Face name of a seq2seq model; default: the one shipped.",
    )
    reranker: str | None = Field(
        default=None, description="Reranker: the folder of a trained MART; default: the one shipped."
    )
    rerank: Literal["auto", "never"] = Field(
        default="auto",
        description="Whether searches that don't say are reranked: auto, unless all hits are in the query's"
        " language or in pairs where the reranker was measured not to gain; never.",
    )
    rerank_seconds: float = Field(
        default=10.0, gt=0, description="How long a search waits for its reranking before it answers without."
    )
    rerank_precision: Literal["float32", "bfloat16"] = Field(
        default="float32",
        description="Numbers in which the reranker computes; bfloat16 is faster where the processor or GPU has it, and"
        " moves scores by some thousandths.",
    )
    rerank_documents: int = Field(default=2_048, gt=0, description="Most documents in one rerank request.")
    document_chars: int = Field(default=200_000, gt=0, description="Longest document in a rerank request, characters.")
    worker_url: str | None = Field(
        default=None, description="Address of a `dragoman worker` that reranks; default: a thread of this process."
    )
    worker_token: SecretStr | None = Field(
        default=None,
        min_length=16,
        description="Secret that a worker asks for and the API sends it; needed to listen beyond loopback.",
    )
    device: str = Field(default="cpu", description="Where the models compute, such as cpu or cuda.")
    torch_threads: int | None = Field(
        default=None, gt=0, description="Threads of PyTorch; default: as many as it chooses."
    )
    worker_queue: int = Field(
        default=4_096, gt=0, description="Texts that may wait for the models; more are refused with 429."
    )
    worker_batch: int = Field(default=32, gt=0, description="Most texts in one forward pass.")
    worker_batch_chars: int = Field(
        default=16_384, gt=0, description="Most characters in one forward pass of several texts."
    )
    worker_batch_tokens: int = Field(
        default=16_384, gt=0, description="Most subwords of queries and passages scored in one batch."
    )
    worker_seconds: float = Field(
        default=60.0, gt=0, description="How long a request waits for the models, which may have to be loaded."
    )
    worker_hung_seconds: float = Field(
        default=30.0, gt=0, description="How long one batch may take before /readyz says that the models hang."
    )
    embed: Literal["on_demand", "always"] = Field(
        default="on_demand",
        description="Which collections get embeddings: on_demand, from the first dense search on; always, all.",
    )
    embed_seconds: float = Field(
        default=10.0, ge=0, description="How long a dense search waits for documents without an embedding."
    )
    hybrid_dense_weight: float = Field(
        default=1.0, ge=0, description="What dense search's part counts in hybrid, where that of BM25 counts 1."
    )
    beam: int = Field(default=5, gt=0, le=64, description="Beam width of translations.")
    translate_texts: int = Field(default=100, gt=0, description="Most texts in one translation request.")
    translate_chars: int = Field(
        default=20_000, gt=0, description="Most characters in all texts of one translation request together."
    )
    translate_snippets_seconds: float = Field(
        default=10.0, gt=0, description="How long a search waits for the translations of its snippets."
    )

    job_lines: int = Field(default=100_000, gt=0, description="Most lines of a job.")
    jobs_unfinished: int = Field(default=100, gt=0, description="Jobs that may wait or run; more are refused with 429.")
    jobs_at_a_time: int = Field(
        default=2, gt=0, description="Jobs worked on at a time; where there are more they take turns."
    )
    job_threads: int = Field(default=1, gt=0, description="Lines of a job worked on at a time.")
    job_chunk_lines: int = Field(default=64, gt=0, description="Lines of a job stored per database transaction.")
    job_chunk_seconds: float = Field(
        default=5.0, gt=0, description="How long lines of a job are worked on before what is done is stored."
    )
    job_turn_seconds: float = Field(
        default=15.0, gt=0, description="How long a job is worked on before another one that waits has its turn."
    )
    job_line_seconds: float = Field(
        default=300.0, gt=0, description="How long a line of a job waits for the models, behind all requests."
    )
    job_retry_seconds: float = Field(
        default=600.0,
        ge=0,
        description="How long a line is tried again while something that it needs is down, before it is an error.",
    )
    job_expire_hours: float = Field(
        default=168.0, gt=0, description="Time that a job has to finish in; then what is done is kept."
    )
    job_keep_hours: float = Field(
        default=720.0, gt=0, description="How long a finished job is kept before it is deleted."
    )

    @field_validator("database_url")
    @classmethod
    def _with_driver(cls, url: str | None) -> str | None:
        if url is None:
            return None
        for prefix in ("postgresql://", "postgres://"):
            if url.startswith(prefix):
                return "postgresql+psycopg://" + url.removeprefix(prefix)
        if not url.startswith(("sqlite:///", "postgresql+psycopg://")):
            raise ValueError("use postgresql://user@host/database or sqlite:///path/to/file")
        return url

    @field_validator("worker_token")
    @classmethod
    def _fit_for_a_header(cls, token: SecretStr | None) -> SecretStr | None:
        if token is not None and not re.fullmatch(r"[!-~]+", token.get_secret_value()):
            raise ValueError("use ASCII letters, digits and punctuation alone")
        return token

    @property
    def url(self) -> str:
        """The database to use: ``database_url``, or the SQLite file in ``data_dir``."""
        return self.database_url or f"sqlite:///{self.data_dir.absolute() / DATABASE}"

    @property
    def indexes_dir(self) -> Path:
        return self.data_dir / "indexes"

    @property
    def dense_dir(self) -> Path:
        """Where the embeddings of collections lie."""
        return self.data_dir / "dense"

    @property
    def tables_dir(self) -> Path:
        """Where the compiled, memory-mapped translation tables lie."""
        return self.data_dir / "tables"

    @property
    def loopback(self) -> bool:
        """Whether ``host`` can be reached from this machine alone."""
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return self.host == "localhost"
