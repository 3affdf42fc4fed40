"""The audit log: what administrators did, through the API or the command line, and who used another key's jobs.

An entry is written before its action and completed after it. So no action lacks an entry, and an action whose process
died half-way shows as ``begun``.
"""

from __future__ import annotations

import logging
import math
import time
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from threading import Lock

from sqlalchemy import select, update

from dragoman.engine.core.errors import InternalError, classify
from dragoman.store.database import Store
from dragoman.store.models import AuditEntry

logger = logging.getLogger("dragoman")

BEGUN, DONE = "begun", "done"
COMMAND_LINE = "command line"
_OBJECT_CHARS = 640
_REPEAT_SECONDS = 3600.0
_REPEATS_KEPT = 10_000


@dataclass(frozen=True, slots=True)
class Actor:
    """Who acts: an API key, an anonymous caller of an open service, or the command line."""

    name: str
    key_id: str | None = None
    request_id: str | None = None
    owner_id: str | None = None
    """Of its jobs; see :attr:`dragoman.service.access.keys.KeyInfo.owner_id`."""


@dataclass(frozen=True, slots=True)
class AuditInfo:
    """One action; ``outcome`` is done, begun, or the type of the error that it ended with."""

    id: int
    at: datetime
    key_id: str | None
    actor: str
    action: str
    object: str
    outcome: str
    request_id: str | None


@dataclass(slots=True)
class Recording:
    """An entry that is being written; ``object`` may be set to what the action reveals, such as a new id."""

    object: str


class Audit:
    """The log of a database. Every method may be called from any thread."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = Lock()
        self._recent: OrderedDict[tuple[str, str, str], float] = OrderedDict()

    @contextmanager
    def record_hourly(self, actor: Actor, action: str, object: str) -> Iterator[None]:
        """As :meth:`record`, but an action that one caller repeats on one object is recorded once an hour.

        For what callers may repeat as often as they like, such as reading: the log must not grow with each.
        """
        repeated = (actor.name, action, object)
        with self._lock:
            recorded_at = self._recent.get(repeated, -math.inf)
        if time.monotonic() - recorded_at < _REPEAT_SECONDS:
            yield
            return
        with self.record(actor, action, object):
            self._remember(repeated)
            yield

    def _remember(self, repeated: tuple[str, str, str]) -> None:
        with self._lock:
            self._recent[repeated] = time.monotonic()
            self._recent.move_to_end(repeated)
            if len(self._recent) > _REPEATS_KEPT:
                self._recent.popitem(last=False)

    @contextmanager
    def record(self, actor: Actor, action: str, object: str) -> Iterator[Recording]:
        """Record the block's action on ``object``, and its outcome.

        Raises:
            ServiceError: the entry cannot be written; the block has not run.
        """
        recording = Recording(object)
        entry = AuditEntry(
            key_id=actor.key_id,
            actor=actor.name,
            action=action,
            object=_storable(object),
            outcome=BEGUN,
            request_id=actor.request_id,
        )
        with self._store.write() as session:
            session.add(entry)
        try:
            yield recording
        except Exception as fault:
            self._complete(entry.id, recording, (classify(fault) or InternalError).error_type)
            raise
        self._complete(entry.id, recording, DONE)

    def entries(self, limit: int, before: int | None = None) -> list[AuditInfo]:
        """The newest entries, newest first; with ``before`` only those older than that entry."""
        statement = select(AuditEntry).order_by(AuditEntry.id.desc()).limit(limit)
        if before is not None:
            statement = statement.where(AuditEntry.id < before)
        with self._store.read() as session:
            rows = session.scalars(statement).all()
        return [
            AuditInfo(row.id, row.at, row.key_id, row.actor, row.action, row.object, row.outcome, row.request_id)
            for row in rows
        ]

    def _complete(self, id: int, recording: Recording, outcome: str) -> None:
        """Write the outcome. If this fails, the entry stays ``begun``: the action cannot be undone."""
        changed = {"outcome": outcome, "object": _storable(recording.object)}
        try:
            with self._store.write() as session:
                session.execute(update(AuditEntry).where(AuditEntry.id == id).values(changed))
        except Exception as fault:
            logger.error("audit entry %d cannot be completed; its outcome was %s: %s", id, outcome, fault)


def _storable(object: str) -> str:
    """Text that every database accepts: callers may send any characters as a name."""
    clean = object.replace("\0", "\ufffd").encode("utf-8", "replace").decode()
    return clean if len(clean) <= _OBJECT_CHARS else clean[: _OBJECT_CHARS - 3] + "..."
