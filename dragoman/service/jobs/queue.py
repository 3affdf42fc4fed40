"""Durable execution with DBOS: a queue in a database that assigns leases of jobs, and recovers them after a crash.

DBOS is a singleton, so a process can have only one open :class:`JobQueue`. No other module imports DBOS. It stores its
state in a separate database (``jobs.db``) or, with PostgreSQL, in the schema ``dbos``. It makes no network calls.
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
_DELETE_BATCH = 500
_ENDED = ["SUCCESS", "ERROR", "CANCELLED", "MAX_RECOVERY_ATTEMPTS_EXCEEDED"]

_opening = Lock()
_open: JobQueue | None = None


@dataclass(frozen=True, slots=True)
class Lease:
    """An unfinished lease of a job: it is scheduled, or a service has started it."""

    job: str
    begun: bool
    here: bool
    """Whether a service on this data directory started it, which may have died since."""


class _Json(Serializer):
    """JSON instead of pickle, the default of DBOS; leases hold only names."""

    def serialize(self, data: Any) -> str:
        return json.dumps(data, default=repr)

    def deserialize(cls, serialized_data: str) -> Any:
        return json.loads(serialized_data)

    def name(self) -> str:
        return "dragoman_json"


class JobQueue:
    """Runs leases of jobs on its own threads, up to ``at_a_time`` concurrently.

    Args:
        url: the database of the service; for SQLite only ``directory`` is used.
        directory: the folder of ``jobs.db``.
        instance: the name of this data directory among those that share a database.
        lease: entered for a lease, on its thread; yields whether the job is free.
        advance: works on a job for some seconds; returns whether the lease continues. After a crash it may be called
            again for work that is already done.

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
            log.addHandler(logging.NullHandler())  # otherwise DBOS writes to standard error, not to our log
        config: DBOSConfig = {
            "name": "dragoman",
            "system_database_url": url,
            "sys_db_pool_size": at_a_time + 4,
            "application_version": "1",  # constant, so that jobs continue after an upgrade
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
        """Schedule a job. ``lease`` distinguishes its leases."""
        with SetWorkflowID(f"{job}.{lease}"):
            DBOS.enqueue_workflow(_QUEUE, _lease, job)

    def leases(self) -> list[Lease]:
        """All unfinished leases."""
        found = DBOS.list_workflows(status=["ENQUEUED", "PENDING"], load_input=False, load_output=False)
        return [
            Lease(one.workflow_id.partition(".")[0], one.status == "PENDING", one.executor_id == self._instance)
            for one in found
        ]

    def delete_ended(self) -> None:
        """Delete the records of leases that have ended."""
        ended = DBOS.list_workflows(status=_ENDED, limit=_DELETE_BATCH, load_input=False, load_output=False)
        if ended:
            DBOS.delete_workflows([one.workflow_id for one in ended])

    def close(self) -> None:
        """Wait for running leases, which ``advance`` should end soon, and close the database."""
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


@DBOS.workflow(name="turn", max_recovery_attempts=None)  # stored by this name: jobs continue after an upgrade
def _lease(job: str) -> None:
    if _open is None:
        return
    with _open.lease(job) as free:
        while free and _advance(job):
            pass
