"""How the tables in use have their terms written, for showing: what is looked up is folded."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from threading import Lock

from dragoman.engine.core.errors import NotFound
from dragoman.engine.tables.compiled import CompiledTables, Loaded
from dragoman.engine.tables.views import ActiveVersion, PivotView, View
from dragoman.lexicon.table.table import Table

_OTHERS = 4
"""Versions that are not in use whose files stay open, those that requests chose last."""


class WrittenTerms:
    """The written forms of terms. Usable from any thread.

    The files of the versions in use stay open, as to open one reads all of it.
    """

    def __init__(self, files: CompiledTables, in_use: Callable[[], Iterable[ActiveVersion]]) -> None:
        self._files = files
        self._in_use = in_use
        self._contents: dict[tuple[int, str], Loaded] = {}
        self._lock = Lock()

    def keep_only(self, ready: Iterable[ActiveVersion]) -> None:
        """Let go of the files of versions that are not in use any more, or not there."""
        with self._lock:
            used = {(version.id, version.checksum) for version in self._in_use()}
            used &= {(version.id, version.checksum) for version in ready}
            self._contents = {key: content for key, content in self._contents.items() if key in used}

    def of_pair(self, version: ActiveVersion, language: str, term: str, other: str) -> tuple[str, str] | None:
        """An entry of a version as it was written: the term of ``language`` first.

        None if the version lacks it, or was deleted meanwhile.
        """
        try:
            table, written = self._content(version)
        except NotFound:
            return None
        ahead = version.source == language
        forms = written.of_pair(table, *((term, other) if ahead else (other, term)))
        return forms if ahead or forms is None else forms[::-1]

    def of_term(self, version: ActiveVersion, language: str, term: str) -> str:
        """A folded term of ``language`` as the entry with its most probable translation has it."""
        try:
            entries = self._side(version, language).translations(term, best=1)
        except NotFound:
            return term
        forms = self.of_pair(version, language, term, entries[0].term) if entries else None
        return forms[0] if forms else term

    def of_source(self, view: View | PivotView, language: str, term: str) -> str:
        """A folded term of a view's source language as the first of its tables has it that has it at all."""
        for version in view.members:
            with suppress(NotFound):
                if language in version.pair and term in self._side(version, language).sources:
                    return self.of_term(version, language, term)
        return term

    def _side(self, version: ActiveVersion, language: str) -> Table:
        table, _ = self._content(version)
        return table if version.source == language else table.inverse()

    def _content(self, version: ActiveVersion) -> Loaded:
        key = version.id, version.checksum
        content = self._contents.get(key)
        if content is None:
            content = self._files.table(version), self._files.written_forms(version)
            with self._lock:
                used = {(other.id, other.checksum) for other in self._in_use()}
                others = [other for other in self._contents if other not in used]
                self._contents = {
                    other: held
                    for other, held in self._contents.items()
                    if other in used or other in others[len(others) + 1 - _OTHERS :]
                }
                self._contents[key] = content
        return content
