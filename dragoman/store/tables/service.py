"""Uploads, activates, rolls back and deletes translation tables: first in the database, then in the compiled files."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from threading import Event, Lock, Thread
from typing import TypeVar

from dragoman.engine.core.errors import Conflict, NotFound, Unavailable, classify
from dragoman.engine.core.key_limits import check_table, sees_table
from dragoman.engine.settings import Settings
from dragoman.engine.tables.choices import VersionKey
from dragoman.engine.tables.compiled import CompiledTables, content_checksum
from dragoman.engine.tables.lookup import Lookup, TermLookup
from dragoman.engine.tables.snapshot import Snapshot, TableRegistry
from dragoman.engine.tables.views import ActiveVersion
from dragoman.lexicon.formats.build import Normalised
from dragoman.lexicon.table.table import Table
from dragoman.lexicon.table.written import WrittenForms
from dragoman.lexicon.text.tokens import Analysis
from dragoman.store.database import EntryRow, Store
from dragoman.store.tables.changes import Patched, Upload, Uploaded, count_entries, new_version, validate_upload
from dragoman.store.tables.patching import Patch, apply_patch
from dragoman.store.tables.repository import Counts, NewVersion, TableInfo, TableRepository, check_languages
from dragoman.store.tables.table_browser import TableBrowser
from dragoman.store.tables.table_reader import read_table

__all__ = ["Patched", "Tables", "Upload", "Uploaded"]

logger = logging.getLogger("dragoman")

_RETRY_SECONDS = 10.0
T = TypeVar("T")


class Tables:
    """All translation tables of a service. Every method may be called from any thread.

    ``registry`` holds the active versions, compiled for searching. After :meth:`start` it changes right after the
    database.
    """

    def __init__(
        self,
        store: Store,
        settings: Settings,
        analysis: Callable[[str], Analysis],
        pinned: Callable[[int], str | None] = lambda id: None,
        installed: Callable[[Snapshot], object] = lambda snapshot: None,
    ) -> None:
        """``pinned`` names what still needs a version, by its row id, even if the version is no longer active.

        ``installed`` is called with every new snapshot that searches use.
        """
        self._store = TableRepository(store)
        self._settings = settings
        self._publishing = Lock()
        self._patching = Lock()
        self._serving = False
        self._pinned = pinned
        self._installed = installed
        self._closing = Event()
        self._terms = TermLookup(analysis, settings.requests.request_seconds)
        self._files = CompiledTables(settings.store.tables_dir, self._load, analysis)
        self.registry = TableRegistry(self._files, settings.tables.table_selection_bytes)
        self.browse = TableBrowser(self._store, self._files, self._terms, settings)

    def start(self) -> None:
        """Remove the remains of unfinished uploads, and compile active versions that are not compiled yet."""
        for row_id in self._store.list_unfinished():
            logger.warning("table version row %d was never finished and is removed", row_id)
            self._store.purge(row_id)
        self._serving = True
        self._serve()
        for version in self.registry.snapshot.versions:
            self._files.open_intact(version)
        if self.registry.snapshot.unserved:
            Thread(target=self._retry_unserved, name="dragoman-tables", daemon=True).start()

    def close(self) -> None:
        """Stop retrying tables that could not be compiled."""
        self._closing.set()

    def upload(self, upload: Upload, parts: Iterator[bytes], gzip: bool = False) -> Uploaded:
        """Read a streamed table file and store it as a new version, active at once if requested.

        A line without a valid entry is rejected with its number and the reason; the other lines are kept.

        Raises:
            InvalidRequest: a parameter is not allowed, or the file has no usable entry.
            Conflict: the table exists with other languages.
            ServiceError: the file cannot be read to its end; the message has the line. Nothing is stored.
        """
        upload = self.check(upload)
        read = read_table(parts, upload.source, upload.target, upload.read_as, self._settings, gzip)
        counts = count_entries(read)
        if upload.dry_run:
            version = self._store.next_number(upload.name)
        else:
            version = self._keep(new_version(upload, read), read, counts, upload.activate)
        return Uploaded(
            version=version,
            checksum=counts.checksum,
            source_terms=counts.source_terms,
            entries=counts.entries,
            rejected=read.rejected,
            rejected_total=counts.rejected,
            pruned=counts.pruned,
            active=upload.activate and not upload.dry_run,
            header=read.header,
            warnings=read.warnings,
            warnings_total=read.warnings_count,
            detected=read.detected,
        )

    def check(self, upload: Upload) -> Upload:
        """The upload with the codes that its languages are known by, before anything is read.

        Raises:
            InvalidRequest: a name or a language that is not allowed.
            Conflict: the table exists with other languages.
        """
        upload = validate_upload(upload)
        check_table(upload.name)
        present = self._store.languages(upload.name)
        if present is not None:
            check_languages(upload.name, present, (upload.source, upload.target))
        return upload

    def patch(self, name: str, patch: Patch, created_by: str | None = None) -> Patched:
        """Make a new version from the active one, or the newest if none is, and activate it if that one is active.

        Changes of one service come one after another.

        Raises:
            NotFound: there is no such table.
            InvalidRequest: see :func:`~dragoman.store.tables.patching.apply_patch`.
            Conflict: another version was made or activated meanwhile.
        """
        self.get(name)
        with self._patching:
            base = self._base(name)
            info = self.browse.info(base)
            table, written = self.browse.content(base)
            new = apply_patch(table, written, base.probabilities, patch, self._settings.tables.table_entries)
            read = new.normalised
            draft = NewVersion(
                name, base.source, base.target, base.kind, base.weight, info.format, created_by, info.written_forms
            )
            counts = count_entries(read)
            version = self._keep(draft, read, counts, info.active, base)
        return Patched(base, version, counts, len(patch.add), new.removed, info.active)

    def all(self) -> list[TableInfo]:
        """All tables by name."""
        return [table for table in self._store.tables() if sees_table(table.name)]

    def get(self, name: str) -> TableInfo:
        """One table; raises :class:`NotFound` if there is none of this name."""
        return self.browse.get(name)

    def look_up(self, name: str, term: str, version: int | None = None, inverse: bool | None = None) -> Lookup:
        """As :meth:`TableBrowser.look_up`."""
        return self.browse.look_up(name, term, version, inverse)

    def activate(self, name: str, version: int) -> TableInfo:
        """Make a version, newer or older, the active one of its table.

        Raises:
            NotFound: no such table or version.
        """
        with self._publishing:
            ready, active = self._store.ready()
            chosen = self.browse.find_version(ready, name, version)
            if chosen not in active:
                others = [other for other in active if other.name != name]
                self._switch(ready, [*others, chosen], lambda: self._store.activate(chosen.id))
        return self.get(name)

    def deactivate(self, name: str) -> TableInfo:
        """Make the active version of this table inactive, if there is one.

        Raises:
            NotFound: there is no table of this name.
        """
        self.get(name)
        with self._publishing:
            ready, active = self._store.ready()
            chosen = [version for version in active if version.name == name]
            if chosen:
                others = [other for other in active if other.name != name]
                self._switch(ready, others, lambda: self._store.deactivate(chosen[0].id))
        return self.get(name)

    def pin(
        self,
        commit: Callable[[Sequence[ActiveVersion], Sequence[ActiveVersion]], T],
        named: Collection[VersionKey] = (),
    ) -> T:
        """Call ``commit`` with the active versions and the other ones of ``named``, before any can be deleted.

        Versions of tables that whoever asks may not see are left out.
        """
        with self._publishing:
            ready, active = ([each for each in versions if sees_table(each.name)] for versions in self._store.ready())
            others = [version for version in ready if version not in active]
            return commit(active, [version for version in others if (version.name, version.version) in named])

    def snapshot_of(self, ids: Collection[int]) -> Snapshot:
        """The snapshot of pinned versions, by their row ids.

        Raises:
            NotFound: one has been deleted nevertheless.
        """
        ready, _ = self._store.ready()
        chosen = [version for version in ready if version.id in ids]
        if len(chosen) < len(set(ids)):
            raise NotFound("a required version of a translation table has been deleted")
        return self.registry.at(chosen)

    def delete(self, name: str, version: int) -> None:
        """Delete a version; its number is not reused while the table has other versions.

        Raises:
            NotFound: no such table or version.
            Conflict: it is active, or pinned.
        """
        with self._publishing:
            ready, active = self._store.ready()
            chosen = self.browse.find_version(ready, name, version)
            if chosen in active:
                raise Conflict(
                    f"version {version} of table '{name}' is active: activate another or deactivate the table first"
                )
            if (by := self._pinned(chosen.id)) is not None:
                raise Conflict(f"version {version} of table '{name}' is needed by {by}")
            others = [other for other in ready if other != chosen]
            self._switch(others, active, lambda: self._store.hide(chosen.id))
        self._store.purge(chosen.id)

    def active_for(self, source: str, target: str) -> list[tuple[ActiveVersion, Iterator[EntryRow]]]:
        """The active versions between two languages, in either direction, with their entries."""
        _, active = self._store.ready()
        languages = {source, target}
        return [
            (version, self._store.rows(version.id))
            for version in active
            if {version.source, version.target} == languages
        ]

    def _serve(self) -> None:
        """Install a snapshot of the active versions, without those that cannot be compiled."""
        with self._publishing:
            ready, active = self._store.ready()
            self._install(self.registry.prepare(active, allow_unserved=True), ready)

    def _retry_unserved(self) -> None:
        """Retry tables that could not be compiled, until all are."""
        while self.registry.snapshot.unserved and not self._closing.wait(_RETRY_SECONDS):
            try:
                self._serve()
            except Exception as fault:
                logger.warning("retrying to compile the tables failed: %s", classify(fault) or fault)

    def _load(self, version: ActiveVersion) -> tuple[Table, WrittenForms]:
        table, written = self._store.load(version)
        if content_checksum(table, written) != version.checksum:
            raise Unavailable(
                f"version {version.version} of table '{version.name}' in the database does not match its checksum:"
                " upload it again, or activate another version"
            )
        return table, written

    def _base(self, name: str) -> ActiveVersion:
        """The active version of a table, or its newest."""
        ready, active = self._store.ready()
        for versions in (active, ready):
            if named := [version for version in versions if version.name == name]:
                return max(named, key=lambda version: version.version)
        self.get(name)
        raise NotFound(f"table '{name}' has no version")

    def _keep(
        self, new: NewVersion, read: Normalised, counts: Counts, activate: bool, base: ActiveVersion | None = None
    ) -> int:
        row_id = self._store.begin(new)
        try:
            self._store.fill(row_id, read.table, read.written)
            return self._publish(row_id, new, read, counts, activate, base)
        except BaseException:
            self._store.purge(row_id)
            raise

    def _publish(
        self,
        row_id: int,
        new: NewVersion,
        read: Normalised,
        counts: Counts,
        activate: bool,
        base: ActiveVersion | None,
    ) -> int:
        """Compile a stored version, then make it visible, so that no search has to wait for compilation.

        It stays out of sight if its table has another ``base`` now.
        """
        with self._publishing:
            if base is not None and self._base(new.name) != base:
                raise Conflict(f"table '{new.name}' got another version meanwhile; look at it and try again")
            version_number = self._store.next_number(new.name)
            version = ActiveVersion(
                row_id,
                new.name,
                version_number,
                new.source,
                new.target,
                new.kind,
                new.weight,
                counts.checksum,
                counts.probabilities,
            )
            ready, active = self._store.ready()
            if activate:
                active = [*(other for other in active if other.name != new.name), version]
            try:
                self._files.save(version, read.table, read.written)
                self._switch(
                    [*ready, version], active, lambda: self._store.publish(row_id, version_number, counts, activate)
                )
            except BaseException:
                self.registry.clean(self._store.ready()[0])
                raise
        return version_number

    def _install(self, snapshot: Snapshot, ready: Iterable[ActiveVersion]) -> None:
        ready = list(ready)
        self.registry.install(snapshot, ready)
        self._terms.keep_only(ready, snapshot.versions)
        self._installed(snapshot)

    def _switch(
        self, ready: Sequence[ActiveVersion], active: Sequence[ActiveVersion], commit: Callable[[], None]
    ) -> None:
        """Compile the new snapshot, change the database, and then install the snapshot."""
        if not self._serving:
            commit()
            return
        snapshot = self.registry.prepare(active)
        commit()
        self._install(snapshot, ready)
