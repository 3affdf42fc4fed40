"""Completes what is typed by the terms of the tables in use, each with one translation, as they were written."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from dragoman.deadline import check_each
from dragoman.engine.core.answer import LEFT_OUT
from dragoman.engine.query.spelling import mass_of
from dragoman.engine.suggest.response import Completion
from dragoman.engine.tables.snapshot import Snapshot
from dragoman.engine.tables.views import PivotView, View, source_tables
from dragoman.engine.tables.written_terms import WrittenTerms
from dragoman.lexicon.table.beginnings import begin_ranges
from dragoman.lexicon.table.table import Entry, Table
from dragoman.lexicon.text.tokens import fold

_LOOKED_AT = 4
"""How many terms are looked at for each that is wanted: some have no translation into the documents' languages."""


class TermCompletion:
    """Completes terms. Usable from any thread."""

    def __init__(self, written: WrittenTerms) -> None:
        self._written = written

    def complete(
        self, snapshot: Snapshot, typed: str, sources: Sequence[str], targets: Sequence[str], most: int
    ) -> list[Completion]:
        """At most ``most`` completions of all that is typed, and then of its last word alone, heaviest terms first.

        ``sources`` are the languages of what is typed, ``targets`` those of the documents. A term that has no
        translation into one of these is left out, unless it is in one of them itself.
        """
        completions: dict[str, Completion] = {}
        for before, begun in _beginnings(typed):
            for _, source, term in self._heaviest(snapshot, begun, sources, most):
                if len(completions) == most:
                    return list(completions.values())
                translated = self._translate(snapshot, source, term, targets)
                if translated is not None:
                    written, translation = translated
                    completions.setdefault(before + written, Completion(before + written, "term", translation))
        return list(completions.values())

    def _heaviest(
        self, snapshot: Snapshot, begun: str, sources: Sequence[str], most: int
    ) -> list[tuple[float, str, str]]:
        """The terms that begin so, with their weights and languages: the same word first.

        A term weighs its mass by its length: of two that are as frequent, the shorter one is the likelier.
        """
        masses: dict[tuple[str, str], float] = {}
        for source, table in check_each(_tables_of(snapshot, sources)):
            folded = " ".join(fold(begun, source).split())
            prefix = f"{folded} " if begun[-1:].isspace() else folded
            for written, first, last in begin_ranges(table.sources, prefix, source) if folded else ():
                mass = mass_of(table, first, last) / np.diff(table.sources.offsets[first : last + 1])
                if table.sources[first] == written:
                    mass[0] = np.inf
                for place in np.argsort(-mass, kind="stable")[: most * _LOOKED_AT].tolist():
                    key = source, table.sources[first + place]
                    masses[key] = masses.get(key, 0.0) + float(mass[place])
        return sorted(((mass, *key) for key, mass in masses.items()), key=lambda term: (-term[0], *term[1:]))

    def _translate(self, snapshot: Snapshot, source: str, term: str, targets: Sequence[str]) -> tuple[str, Any] | None:
        """A term and its most probable translation into one of the languages, as they were written.

        A term of a language of the documents needs none.
        """
        best = _best_entry(snapshot, source, term, targets)
        if best is not None:
            return self._as_written(source, term, best)
        if source not in targets:
            return None
        best = _best_entry(snapshot, source, term, [target for first, target in snapshot.views if first == source])
        return None if best is None else (self._as_written(source, term, best)[0], LEFT_OUT)

    def _as_written(self, source: str, term: str, best: _Best) -> tuple[str, str]:
        """A term and its translation as their table has them; by way of a third language, as each of the two has it."""
        target, view, entry = best
        version = view.members[entry.origin]
        if isinstance(view, PivotView) and entry.origin >= view.direct:
            return self._written.of_source(view, source, term), self._written.of_term(version, target, entry.term)
        return self._written.of_pair(version, source, term, entry.term) or (term, entry.term)


class _Best(NamedTuple):
    """A translation of a term, its language, and the view that has it."""

    target: str
    view: View | PivotView
    entry: Entry


def _best_entry(snapshot: Snapshot, source: str, term: str, targets: Sequence[str]) -> _Best | None:
    """The most probable translation of a term into one of the languages."""
    best: _Best | None = None
    for target in targets:
        view = snapshot.view(source, target) if target != source else None
        entries = view.surface.translations(term, best=1) if view is not None else []
        if view is not None and entries and (best is None or entries[0].p_forward > best.entry.p_forward):
            best = _Best(target, view, entries[0])
    return best


def _tables_of(snapshot: Snapshot, sources: Sequence[str]) -> Iterator[tuple[str, Table]]:
    """The tables of the views from these languages, each once."""
    for source, target in sorted(snapshot.views):
        if source in sources:
            for table in source_tables(snapshot.views[source, target]):
                yield source, table


def _beginnings(typed: str) -> Iterator[tuple[str, str]]:
    """What is typed, and if it has several words the last one, each with what stands before it."""
    yield "", typed
    if len(words := typed.split()) > 1 and not typed[-1].isspace():
        before = typed[: len(typed) - len(words[-1])]
        yield before.lstrip(), words[-1]
