"""Settings of the process: where it listens and keeps data, who may call it, and what it logs."""

from __future__ import annotations

import ipaddress
import re
from pathlib import Path
from typing import Literal

from pydantic import Field, field_validator

from dragoman.engine.core.limits import MIB
from dragoman.engine.settings.group import Group

DATABASE = "dragoman.db"
"""The SQLite file in the data directory."""


_ROOT = re.compile(r"(/(?!\.{1,2}(/|$))[A-Za-z0-9._~-]+)+", re.ASCII)
_TAKEN = frozenset(
    {
        "v1",
        "v2",
        "web",
        "docs",
        "openapi.json",
        "healthz",
        "readyz",
        "metrics",
        "rerank",
        "mcp",
        "embed",
        "info",
        "retrieval",
        "integrations",
    }
)
"""How the service's own paths begin: under such a prefix nobody could tell what a proxy has stripped."""
_ORIGIN = re.compile(r"[a-z][a-z0-9+.-]*://[^/\s?#@,*]+", re.ASCII)


def _split(names: str) -> frozenset[str]:
    """Names separated by commas, in lower case."""
    return frozenset(name.strip().lower() for name in names.split(",")) - {""}


class ServerSettings(Group):
    """Where the service listens, how it starts and stops, and what its connections and process may take."""

    host: str = Field(default="127.0.0.1", description="Address to listen on.")
    root_path: str = Field(
        default="",
        description="Path under which a proxy serves this service, such as /dragoman, whether it strips it or not.",
    )
    port: int = Field(default=8080, ge=0, le=65535, description="Port to listen on; 0 chooses a free one.")
    processes: int = Field(
        default=1,
        ge=1,
        le=64,
        description="Processes that answer searches, this one and others beside it; about one for each two cores.",
    )
    startup_wait_seconds: float = Field(
        default=10.0, ge=0, description="How long startup waits for the database to be free, and then for the indexes."
    )
    drain_seconds: float = Field(
        default=0.0, ge=0, description="How long requests are still accepted after SIGTERM, while /readyz returns 503."
    )
    shutdown_seconds: int = Field(
        default=30, ge=0, description="How long shutdown waits for requests under way, seconds."
    )
    connections: int | None = Field(
        default=None,
        gt=0,
        description="Most connections of each process; default: half of the files that the process may open, at most"
        " 4096. Above it those that wait without a request are closed, then new ones get 503.",
    )
    request_head_seconds: float = Field(
        default=10.0, gt=0, description="Request-header timeout, after which the connection is closed."
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
    memory_bytes: int | None = Field(
        default=None,
        gt=0,
        description="Memory of the process, mapped files left out, above which requests with a body are refused with"
        " 503; default: 90% of what the machine or its container has.",
    )

    @field_validator("root_path")
    @classmethod
    def _check_root(cls, path: str) -> str:
        path = path.rstrip("/")
        if path and _ROOT.fullmatch(path) is None:
            raise ValueError("must be / and names of letters, digits, '.', '_', '~' and '-', such as /tools/dragoman")
        if path.split("/")[1:2] and path.split("/")[1] in _TAKEN:
            raise ValueError(f"{path!r} begins as the service's own paths do: choose another name")
        return path

    @property
    def loopback(self) -> bool:
        """Whether ``host`` can be reached from this machine only."""
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return self.host == "localhost"


class StoreSettings(Group):
    """Where data are kept."""

    data_dir: Path = Field(default=Path("data"), description="Folder of the database, indexes and compiled tables.")
    database_url: str | None = Field(
        default=None,
        description="SQLAlchemy URL, such as postgresql://user@host/db; default: SQLite in data_dir.",
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

    @property
    def url(self) -> str:
        """The database to use: ``database_url``, or the SQLite file in ``data_dir``."""
        return self.database_url or f"sqlite:///{self.data_dir.absolute() / DATABASE}"

    @property
    def indexes_dir(self) -> Path:
        """The folder of the collections' Lucene indexes."""
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
    def models_dir(self) -> Path:
        """The folder of models that `dragoman model install` puts there, and of those that are converted once."""
        return self.data_dir / "models"


class AccessSettings(Group):
    """Who may call, and how often."""

    allowed_hosts: str = Field(
        default="",
        description="Names besides loopback addresses under which a service without keys may be reached, separated by"
        " commas, such as that of a proxy on this machine.",
    )
    cors_origin: str = Field(
        default="",
        description="Web sites whose pages may call the service from a browser, separated by commas, such as"
        " https://app.example.org; * is any site, without credentials. Default: none.",
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

    @field_validator("cors_origin")
    @classmethod
    def _check_origins(cls, origins: str) -> str:
        listed = _split(origins)
        for origin in listed - {"*"}:
            if _ORIGIN.fullmatch(origin) is None:
                raise ValueError(f"{origin[:80]!r} is no origin: give https://host or https://host:port, or *")
        if "*" in listed and len(listed) > 1:
            raise ValueError("* stands for every origin: give it alone")
        return origins

    @property
    def origins(self) -> frozenset[str]:
        """``cors_origin`` as a set, in lower case."""
        return _split(self.cors_origin)

    @property
    def host_names(self) -> frozenset[str]:
        """``allowed_hosts`` as a set, in lower case."""
        return _split(self.allowed_hosts)


class ReportsSettings(Group):
    """What is recorded of searches, for reports of what to add next."""

    record_searches: Literal["off", "hashed", "plain"] = Field(
        default="off",
        description="Whether searches and events are recorded for reports: off; hashed, queries and words by a keyed"
        " hash, so that they can be counted and not read; plain, as they are.",
    )
    record_most: int = Field(
        default=100_000, gt=0, description="Most searches, and most events, that are recorded; the oldest go."
    )
    record_days: float = Field(
        default=90.0, gt=0, le=36_500, description="How long searches and events stay recorded, days."
    )


class LogSettings(Group):
    """What is logged and traced."""

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
