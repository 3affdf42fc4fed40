"""Reads versions of tables, active or not: look-ups, lists of terms, exports and comparisons."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dragoman import deadline
from dragoman.engine.core.errors import InvalidRequest, NotFound, Unavailable
from dragoman.engine.core.key_limits import sees_table
from dragoman.engine.settings import Settings
from dragoman.engine.tables.compiled import CompiledTables, Loaded
from dragoman.engine.tables.lookup import Lookup, TermLookup, show_entries
from dragoman.engine.tables.views import ActiveVersion
from dragoman.store.tables.contents import Difference, Terms, difference, list_terms
from dragoman.store.tables.exports import ExportFormat, choose_format, export_entries
from dragoman.store.tables.pair_lookup import PairLookup, choose_versions, look_up_all
from dragoman.store.tables.repository import TableInfo, TableRepository, VersionInfo


class TableBrowser:
    """The versions of all tables, from their compiled files. Every method may be called from any thread."""

    def __init__(self, store: TableRepository, files: CompiledTables, terms: TermLookup, settings: Settings) -> None:
        self._store = store
        self._files = files
        self._terms = terms
        self._seconds = settings.requests.request_seconds

    def get(self, name: str) -> TableInfo:
        """One table.

        Raises:
            NotFound: there is none of this name.
        """
        tables = self._store.tables(name) if sees_table(name) else []
        if not tables:
            raise NotFound(f"there is no translation table named {name[:64]!r}")
        return tables[0]

    def look_up(self, name: str, term: str, version: int | None = None, inverse: bool | None = None) -> Lookup:
        """The entries of a version (by default the active one) for a term, which is folded first, as they were written.

        If the version lacks the term, the answer has the entries of those of its terms that have the same index terms,
        as a search has. ``inverse`` says that the term is in the table's target language. By default the source side is
        searched first, then the target side. The first search by index terms analyses all terms of a side.

        Raises:
            NotFound: no such table or version, or none is active.
        """
        chosen = self._choose_version(name, version)
        table, written = self.content(chosen)
        sides = [table, table.inverse()] if inverse is None else [table.inverse() if inverse else table]
        return show_entries(self._terms.find(chosen, sides, term), table, written)

    def look_up_all(self, term: str, source: str, target: str) -> PairLookup:
        """The translations of a term by every table between two languages, made in either direction.

        Of a table it is the active version that is looked up, or else the newest; see :func:`pair_lookup.look_up_all`.

        Raises:
            InvalidRequest: it is one language.
        """
        if source == target:
            raise InvalidRequest("target: must be another language than source")
        ready, active = ([each for each in versions if sees_table(each.name)] for versions in self._store.ready())
        chosen = choose_versions(ready, active, source, target)
        with deadline.deadline(self._seconds):
            return look_up_all(chosen, term, source, self._content_if_there, self._terms)

    def _content_if_there(self, version: ActiveVersion) -> Loaded | None:
        try:
            return self.content(version)
        except (Unavailable, OSError):
            if version in self._store.ready()[0]:
                raise
            return None

    def terms(
        self, name: str, version: int | None, inverse: bool, prefix: str, cursor: str | None, limit: int
    ) -> tuple[int, Terms]:
        """The number of a version (by default the active one), and some terms of one of its sides.

        Raises:
            NotFound: no such table or version, or none is active.
            InvalidRequest: a cursor of something else.
        """
        chosen = self._choose_version(name, version)
        return chosen.version, list_terms(self.content(chosen), inverse, prefix, cursor, limit)

    def export(self, name: str, version: int | None, format: str | None) -> tuple[ExportFormat, Iterator[bytes]]:
        """The entries of a version (by default the active one) as they were written, as a file that an upload takes.

        The format is by default that of the upload.

        Raises:
            InvalidRequest: an unknown format, or a term that the format cannot hold.
            NotFound: no such table or version.
        """
        chosen = self._choose_version(name, version)
        export_format = choose_format(format, self.info(chosen).format)
        with deadline.deadline(self._seconds):
            blocks = export_entries(self.content(chosen), export_format, chosen.probabilities)
        return export_format, blocks

    def diff(self, name: str, before: int, after: int, cursor: str | None, limit: int) -> Difference:
        """Some of the entries that differ between two versions of a table.

        Raises:
            NotFound: no such table or version.
            InvalidRequest: a cursor of something else.
            DeadlinePassed: it takes too long.
        """
        old, new = (self._choose_version(name, version) for version in (before, after))
        forms = self.info(old).written_forms and self.info(new).written_forms
        with deadline.deadline(self._seconds):
            return difference(self.content(old), self.content(new), forms, cursor, limit)

    def content(self, version: ActiveVersion) -> Loaded:
        """The table of a version, in the direction it was uploaded in, and how its entries were written."""
        return self._files.table(version), self._files.written_forms(version)

    def info(self, version: ActiveVersion) -> VersionInfo:
        """What is stored about a version.

        Raises:
            NotFound: it has been deleted.
        """
        for info in self.get(version.name).versions:
            if info.version == version.version:
                return info
        raise NotFound(f"table '{version.name}' has no version {version.version}")

    def find_version(self, ready: Sequence[ActiveVersion], name: str, version: int) -> ActiveVersion:
        """The version of this number.

        Raises:
            NotFound: no such table or version.
        """
        if sees_table(name):
            for candidate in ready:
                if candidate.name == name and candidate.version == version:
                    return candidate
        self.get(name)
        raise NotFound(f"table '{name}' has no version {version}")

    def _choose_version(self, name: str, version: int | None) -> ActiveVersion:
        ready, active = self._store.ready()
        if version is not None:
            return self.find_version(ready, name, version)
        if sees_table(name):
            for candidate in active:
                if candidate.name == name:
                    return candidate
        self.get(name)
        raise NotFound(f"table '{name}' has no active version: name one with ?version=")
