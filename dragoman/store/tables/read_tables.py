"""The active translation tables as another process has compiled them, followed by what the database says."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from threading import Lock

from dragoman.engine.core.errors import Unavailable
from dragoman.engine.settings import Settings
from dragoman.engine.tables.read_compiled import ReadCompiledTables
from dragoman.engine.tables.snapshot import Snapshot, TableRegistry
from dragoman.engine.tables.views import ActiveVersion
from dragoman.lexicon.table.table import Table
from dragoman.lexicon.table.written import WrittenForms
from dragoman.lexicon.text.tokens import Analysis
from dragoman.store.database import Store
from dragoman.store.tables.repository import TableRepository

logger = logging.getLogger("dragoman")

_PAUSE_SECONDS = 0.5
"""Between two tries to open tables that are not compiled."""


class ReadTables:
    """The active versions, of which ``registry`` has the snapshot. Safe from any thread."""

    def __init__(
        self,
        store: Store,
        settings: Settings,
        analysis: Callable[[str], Analysis],
        installed: Callable[[Snapshot], object],
    ) -> None:
        """``installed`` is called with every new snapshot."""
        self._commits = store.commits
        self._repository = TableRepository(store)
        self._installed = installed
        files = ReadCompiledTables(settings.store.tables_dir, _load, analysis)
        self.registry = TableRegistry(files, settings.tables.table_selection_bytes)
        self._lock = Lock()
        self._count: tuple[int, int] | None = None
        self._versions: tuple[list[ActiveVersion], list[ActiveVersion]] | None = None
        self._served = False
        self._next_try = 0.0

    def is_current(self) -> bool:
        """Whether the registry has the active versions of the database, all of them; newer ones are opened first."""
        count = self._commits.count()  # before they are read, so that what is noted is never newer
        with self._lock:
            if count is None or count != self._count:
                versions = self._repository.ready()
                if versions != self._versions or not self._served:
                    self._install(*versions)
                self._count = count if self._served else None
            return self._served

    def _install(self, ready: list[ActiveVersion], active: list[ActiveVersion]) -> None:
        if self._versions == (ready, active) and time.monotonic() < self._next_try:
            return
        snapshot = self.registry.prepare(active, allow_unserved=True)
        self.registry.install(snapshot, ready)
        self._installed(snapshot)
        self._versions, self._served = (ready, active), not snapshot.unserved
        self._next_try = time.monotonic() + _PAUSE_SECONDS


def _load(version: ActiveVersion) -> tuple[Table, WrittenForms]:
    raise Unavailable(f"version {version.version} of table '{version.name}' is not compiled yet")
