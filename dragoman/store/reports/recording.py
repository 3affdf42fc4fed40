"""Records searches and events for reports, in the background: a search costs one entry of a queue in memory.

What is in the queue is lost when the process dies. When the queue is full, what comes next is dropped, and counted.
"""

from __future__ import annotations

import hashlib
import hmac
import logging
import secrets
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from threading import Event, Lock, Thread
from typing import Any, Literal

from sqlalchemy import delete, func, insert, select
from sqlalchemy.orm import Session

from dragoman.engine.core.errors import Unavailable
from dragoman.engine.settings import Settings
from dragoman.files.atomic import atomic_file
from dragoman.lexicon.text.tokens import fold_term
from dragoman.store.database import Store
from dragoman.store.models import now
from dragoman.store.recorded_models import RecordedEvent, RecordedSearch, RecordedWord

logger = logging.getLogger("dragoman")

Kind = Literal["search", "qa", "job"]
KINDS: tuple[Kind, ...] = ("search", "qa", "job")
QUEUE = 10_000
"""Searches, and events, that wait to be written at most."""
_BATCH = 1_000
_PAUSE_SECONDS = 1.0
_WORDS = 100
"""Words of one search that are recorded at most, over all languages."""
_CLOSE_SECONDS = 5.0
_KEY = "reports.key"
_KEY_BYTES = 32


@dataclass(frozen=True, slots=True)
class SearchMade:
    """A search as it was answered; ``oov`` has, by target language, its words without translation."""

    request_id: str
    language: str
    query: str
    hits: int
    oov: Mapping[str, Sequence[str]]
    at: datetime
    kind: Kind = "search"


@dataclass(frozen=True, slots=True)
class EventMade:
    """What someone did with a document that a search found."""

    query_id: str
    object_id: str
    action_name: str
    client_id: str | None
    at: datetime


class Recording:
    """Records by the setting ``record_searches``. Every method may be called from any thread."""

    def __init__(self, store: Store, settings: Settings) -> None:
        self.mode = settings.reports.record_searches
        self._store = store
        self._most = settings.reports.record_most
        self._age = timedelta(days=settings.reports.record_days)
        self._key_file = settings.store.data_dir / _KEY
        self._queue: deque[SearchMade | EventMade] = deque()
        self._dropped = 0
        self._writing = Lock()
        self._closing = Event()
        self._thread: Thread | None = None

    def start(self) -> None:
        """Begin to write what is recorded, and to delete what is old, also where nothing is recorded any more."""
        self._thread = Thread(target=self._run, name="dragoman-recording", daemon=True)
        self._thread.start()

    def add(self, entry: SearchMade | EventMade) -> bool:
        """Record a search or an event, soon; returns whether it is recorded: not where that is off, or much waits."""
        if self.mode == "off":
            return False
        if len(self._queue) >= QUEUE:
            self._dropped += 1
            return False
        self._queue.append(entry)
        return True

    def flush(self) -> None:
        """Write all that waits, so that a report has it.

        Raises:
            Unavailable: the database cannot be written.
        """
        with self._writing:
            waiting = len(self._queue)
            while waiting > 0 and (written := self._write_batch()):
                waiting -= written

    def close(self) -> None:
        """Write what waits, and stop; what cannot be written is lost."""
        self._closing.set()
        if self._thread is not None:
            self._thread.join(_CLOSE_SECONDS)

    def hash_text(self, text: str) -> str:
        """The keyed hash of a text. Who has the key can tell whether it is that of a text, and not read it."""
        return hmac.new(self._hash_key(), text.encode(), hashlib.sha256).hexdigest()[:32]

    def _run(self) -> None:
        self._try(self._prune)
        while self.mode != "off" and not self._closing.wait(_PAUSE_SECONDS):
            self._try(self._write_and_prune)
        self._try(self._write_and_prune)

    def _write_and_prune(self) -> None:
        if self._queue:
            self.flush()
            self._prune()
        dropped, self._dropped = self._dropped, 0
        if dropped:
            logger.warning("%d searches and events were not recorded: too many waited to be written", dropped)

    def _try(self, work: Any) -> None:
        try:
            work()
        except Exception as fault:
            logger.warning("what is recorded for reports could not be written, and is tried again: %s", fault)

    def _write_batch(self) -> int:
        """Write the first entries of the queue, which stay in it if they cannot be written; returns how many."""
        batch = [self._queue[place] for place in range(min(_BATCH, len(self._queue)))]
        searches = [entry for entry in batch if isinstance(entry, SearchMade)]
        events = [self._event_row(entry) for entry in batch if isinstance(entry, EventMade)]
        with self._store.write() as session:
            self._insert_searches(session, searches)
            if events:
                session.execute(insert(RecordedEvent), events)
        for _ in batch:
            self._queue.popleft()
        return len(batch)

    def _insert_searches(self, session: Session, searches: Sequence[SearchMade]) -> None:
        if not searches:
            return
        rows = [
            {
                "at": search.at,
                "request_id": search.request_id,
                "language": search.language,
                "query": self._hide(search.query),
                "hashed": self.mode == "hashed",
                "hits": search.hits,
                "kind": search.kind,
            }
            for search in searches
        ]
        statement = insert(RecordedSearch).returning(RecordedSearch.id, sort_by_parameter_order=True)
        ids = session.scalars(statement, rows).all()
        words = [
            {"search_id": id, "position": position, "target": target, "word": self._hide(word)}
            for id, search in zip(ids, searches, strict=True)
            for position, (target, word) in enumerate(_words(search))
        ]
        if words:
            session.execute(insert(RecordedWord), words)

    def _event_row(self, event: EventMade) -> dict[str, Any]:
        return {
            "at": event.at,
            "query_id": event.query_id,
            "object_id": event.object_id,
            "action_name": event.action_name,
            "click": "click" in event.action_name.lower(),
            "client_id": None if event.client_id is None else self._hide(event.client_id),
        }

    def _prune(self) -> None:
        """Delete the oldest searches and events above their number, and all that are too old."""
        with self._store.write() as session:
            for model in (RecordedSearch, RecordedEvent):
                session.execute(delete(model).where(model.at < now() - self._age))
                newest = session.scalar(select(func.max(model.id)))
                if newest is not None:
                    session.execute(delete(model).where(model.id <= newest - self._most))

    def _hide(self, text: str) -> str:
        return self.hash_text(text) if self.mode == "hashed" else text

    def _hash_key(self) -> bytes:
        """The key of the hashes, from the file in the data directory, which is made when it is first needed.

        Raises:
            Unavailable: the file is not what was written.
        """
        if not self._key_file.exists():
            with atomic_file(self._key_file) as path:
                path.touch(mode=0o600)
                path.write_bytes(secrets.token_bytes(_KEY_BYTES))
        key = self._key_file.read_bytes()
        if len(key) != _KEY_BYTES:
            raise Unavailable(f"{_KEY} in the data directory is damaged: delete it; hashes are others then")
        return key


def _words(search: SearchMade) -> list[tuple[str, str]]:
    """The folded words of a search without translation, each with the target language."""
    folded = dict.fromkeys(
        (target, fold_term(word, search.language) or word) for target, words in search.oov.items() for word in words
    )
    return list(folded)[:_WORDS]
