"""Durable execution by DBOS: leases of jobs, which a queue in a database hands out and finds again after a crash.

DBOS is one a process, so only one :class:`JobQueue` of a process can be open. Nothing else imports it. It keeps what it
knows in a database of its own (``jobs.db``) or, with PostgreSQL, in the schema ``dbos``; it talks to nobody.
"""

from __future__ import annotations

import json
import logging
import sqlite3
from collections.abc import Callable
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any

from dbos import DBOS, DBOSConfig, Serializer, SetWorkflowID

from dragoman.service.core.errors import Unavailable

_QUEUE = "dragoman-jobs"
_POLL_SECONDS = 0.5
_DRAIN_SECONDS = 4
_FORGOTTEN_AT_ONCE = 500
_OVER = ["SUCCESS", "ERROR", "CANCELLED", "MAX_RECOVERY_ATTEMPTS_EXCEEDED"]

_opening = Lock()
_open: JobQueue | None = None


@dataclass(frozen=True, slots=True)
class Lease:
    """A lease of a job that has not ended: it is scheduled, or a service has begun it."""

    job: str
    begun: bool
    here: bool
    """It is, or was when that died, a service over this data directory that began it."""


class _Json(Serializer):
    """DBOS pickles by default; leases hold nothing but names."""

    def serialize(self, data: Any) -> str:
        return json.dumps(data, default=repr)

    def deserialize(cls, serialized_data: str) -> Any:
        return json.loads(serialized_data)

    def name(self) -> str:
        return "dragoman_json"


class JobQueue:
    """Runs leases of jobs on threads of its own, so many at a time.

    Args:
        url: the database of the service; for SQLite only ``directory`` is used.
        directory: where ``jobs.db`` lies.
        instance: what this data directory is called among those that share a database.
        lease: entered for a lease, on its thread; gives whether the job is free to be worked on.
        advance: works on a job for some seconds; gives whether the lease goes on. It may be called again for work that
            it has done, after a crash.

    Raises:
        Unavailable: another one is open in this process, or the database cannot be used.
    """

    def __init__(
        self,
        url: str,
        directory: Path,
        instance: str,
        at_a_time: int,
        lease: Callable[[str], AbstractContextManager[bool]],
        advance: Callable[[str], bool],
    ) -> None:
        global _open
        self.lease = lease
        self.advance = advance
        self._instance = instance
        with _opening:
            if _open is not None:
                raise Unavailable("another service in this process runs jobs")
            _open = self
        try:
            self._launch(_database(url, directory), at_a_time)
        except Exception as fault:
            self.close()
            raise Unavailable(f"jobs cannot be run: {fault}") from fault

    def _launch(self, url: str, at_a_time: int) -> None:
        log = logging.getLogger("dbos")
        if not log.handlers:
            log.addHandler(logging.NullHandler())  # else it writes to standard error past our log
        config: DBOSConfig = {
            "name": "dragoman",
            "system_database_url": url,
            "sys_db_pool_size": at_a_time + 4,
            "application_version": "1",  # a job goes on after an upgrade
            "executor_id": self._instance,
            "log_level": "WARNING",
            "enable_otlp": False,
            "use_listen_notify": False,
            "serializer": _Json(),
            "max_executor_threads": 2 * at_a_time + 4,
            "scheduler_polling_interval_sec": 3600.0,
        }
        DBOS(config=config)
        DBOS.launch()
        DBOS.register_queue(
            _QUEUE, worker_concurrency=at_a_time, polling_interval_sec=_POLL_SECONDS, on_conflict="always_update"
        )

    def enqueue(self, job: str, lease: str) -> None:
        """Schedule a job. ``lease`` tells its leases apart."""
        with SetWorkflowID(f"{job}.{lease}"):
            DBOS.enqueue_workflow(_QUEUE, _lease, job)

    def leases(self) -> list[Lease]:
        """All leases that have not ended."""
        found = DBOS.list_workflows(status=["ENQUEUED", "PENDING"], load_input=False, load_output=False)
        return [
            Lease(one.workflow_id.partition(".")[0], one.status == "PENDING", one.executor_id == self._instance)
            for one in found
        ]

    def forget(self) -> None:
        """Delete what is kept of leases that have ended."""
        over = DBOS.list_workflows(status=_OVER, limit=_FORGOTTEN_AT_ONCE, load_input=False, load_output=False)
        if over:
            DBOS.delete_workflows([one.workflow_id for one in over])

    def close(self) -> None:
        """Let leases under way end, which ``advance`` should do soon, and close the database."""
        global _open
        try:
            DBOS.destroy(workflow_completion_timeout_sec=_DRAIN_SECONDS)
        finally:
            with _opening:
                _open = None


def _database(url: str, directory: Path) -> str:
    if not url.startswith("sqlite"):
        return url
    path = directory.absolute() / "jobs.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
    return f"sqlite:///{path}"


@DBOS.step(name="advance")
def _advance(job: str) -> bool:
    return _open is not None and _open.advance(job)


@DBOS.workflow(name="turn", max_recovery_attempts=None)  # stored by this name: jobs go on after an upgrade
def _lease(job: str) -> None:
    if _open is None:
        return
    with _open.lease(job) as free:
        while free and _advance(job):
            pass
