"""Compiled tables that another process makes and deletes: their files are opened, and nothing else."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from pathlib import Path

from dragoman.engine.core.errors import Unavailable
from dragoman.engine.tables.compiled import CompiledTables, describe_versions, view_paths
from dragoman.engine.tables.views import ActiveVersion, Pair, View
from dragoman.lexicon.table.table import CorruptTable, Table
from dragoman.lexicon.table.written import WrittenForms


class ReadCompiledTables(CompiledTables):
    """As :class:`CompiledTables`; what is not there, or damaged, is unavailable."""

    def save(self, version: ActiveVersion, table: Table, written: WrittenForms) -> None:
        raise _missing([version])

    def open_intact(self, version: ActiveVersion) -> Table | None:
        try:
            return Table.open(self._path(version))
        except (FileNotFoundError, CorruptTable):
            return None

    def keep_only(self, versions: Iterable[ActiveVersion], merged: Collection[str]) -> None:
        """Delete nothing."""

    def keep_only_selected(self, selected: Collection[str]) -> None:
        """Delete nothing."""

    def remove_selected(self, key: str) -> None:
        """Delete nothing."""

    def _compile(self, version: ActiveVersion) -> None:
        raise _missing([version])

    def _view(self, folder: Path, pair: Pair, members: Sequence[ActiveVersion]) -> View:
        surface, analysed = view_paths(folder, self.key(pair, members))
        try:
            return View(tuple(members), Table.open(surface), Table.open(analysed))
        except (FileNotFoundError, CorruptTable) as fault:
            raise _missing(members) from fault


def _missing(members: Sequence[ActiveVersion]) -> Unavailable:
    return Unavailable(f"{describe_versions(members)} is not compiled yet")
