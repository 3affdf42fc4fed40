"""Looks a term up in a table version: the term itself, or those that a search takes for the same."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from threading import Lock

from dragoman.lexicon.table.forms import Forms
from dragoman.lexicon.table.table import Entry, Table
from dragoman.lexicon.text.tokens import Analysis, fold_term
from dragoman.service.tables.views import ActiveVersion

_KEPT = 4


@dataclass(frozen=True, slots=True)
class Lookup:
    """The entries of a table version for a term of ``language``."""

    folded: str
    language: str
    version: int
    entries: Sequence[Entry]
    matched: Sequence[str]
    """The table's terms that these are the entries of."""


class TermLookup:
    """Look-ups in any version. It keeps the index terms of the last few that needed them. Thread-safe."""

    def __init__(self, analysis: Callable[[str], Analysis]) -> None:
        self._analysis = analysis
        self._kept: dict[tuple[int, str, str, str], Forms] = {}
        self._ready: frozenset[int] | None = None
        self._making = Lock()

    def keep_only(self, versions: Collection[ActiveVersion]) -> None:
        """Let go of all other versions, also of those that are looked up from now on."""
        with self._making:
            self._ready = frozenset(version.id for version in versions)
            for key in [key for key in self._kept if key[0] not in self._ready]:
                del self._kept[key]

    def find(self, version: ActiveVersion, sides: Sequence[Table], term: str) -> Lookup:
        """The entries of a term in the first of these sides of a version that has the term, folded.

        If none has it, the entries of the first side's terms that have the same index terms; empty if there are none.
        """
        answers = [_exact(side, term, version.version) for side in sides]
        found = next((answer for answer in answers if answer.entries), None)
        if found is not None:
            return found
        for side, answer in zip(sides, answers, strict=True):
            forms = self._forms(version, side)
            if matched := forms.of(term):
                return replace(answer, entries=forms.translations(matched), matched=matched)
        return answers[0]

    def _forms(self, version: ActiveVersion, side: Table) -> Forms:
        analysis = self._analysis(side.source)
        key = (version.id, version.checksum, side.source, analysis.fingerprint)
        with self._making:
            forms = self._kept.pop(key, None) or Forms(side, analysis)
            if self._ready is None or version.id in self._ready:
                self._kept[key] = forms
            if len(self._kept) > _KEPT:
                del self._kept[next(iter(self._kept))]
        return forms


def _exact(table: Table, term: str, version: int) -> Lookup:
    folded = fold_term(term, table.source)
    entries = table.translations(folded)
    return Lookup(folded, table.source, version, entries, [folded] if entries else [])
