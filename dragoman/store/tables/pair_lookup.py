"""What all tables between two languages have for a term, active or not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from dragoman import deadline
from dragoman.deadline import check_each
from dragoman.engine.core.errors import Unavailable
from dragoman.engine.core.stages import optional
from dragoman.engine.tables.compiled import Loaded
from dragoman.engine.tables.lookup import Lookup, TermLookup, show_entries
from dragoman.engine.tables.views import ActiveVersion
from dragoman.lexicon.table.table import Table

MOST_OF_ALL = 10_000
"""Entries that an answer has."""


@dataclass(frozen=True, slots=True)
class TableLookup:
    """What one version of a table has for a term."""

    version: ActiveVersion
    active: bool
    lookup: Lookup


@dataclass(frozen=True, slots=True)
class PairLookup:
    """What all tables of a pair of languages have for a term."""

    tables: list[TableLookup]
    by_word_alone: list[str]
    """The tables that lack the term and could not be looked up by index terms, and why."""


@dataclass(slots=True)
class _Opened:
    version: ActiveVersion
    active: bool
    content: Loaded
    side: Table
    lookup: Lookup

    def show(self, most: int) -> TableLookup:
        lookup = show_entries(self.lookup, *self.content)
        return TableLookup(self.version, self.active, replace(lookup, entries=lookup.entries[:most]))


def choose_versions(
    ready: Sequence[ActiveVersion], active: Sequence[ActiveVersion], source: str, target: str
) -> list[tuple[ActiveVersion, bool]]:
    """Of each table between two languages its active version, or the newest; and whether it is active.

    The active ones come first, then the others, each by name.
    """
    chosen: dict[str, ActiveVersion] = {}
    for version in [*sorted(ready, key=lambda version: version.version), *active]:
        if {version.source, version.target} == {source, target}:
            chosen[version.name] = version
    return sorted(
        ((version, version in active) for version in chosen.values()), key=lambda entry: (not entry[1], entry[0].name)
    )


def look_up_all(
    chosen: Sequence[tuple[ActiveVersion, bool]],
    term: str,
    source: str,
    content: Callable[[ActiveVersion], Loaded | None],
    terms: TermLookup,
) -> PairLookup:
    """What some versions have for a term of the language ``source``, as they were written.

    Those that lack the term are looked up by index terms while there is time. ``content`` gives None for a version
    that was deleted meanwhile.

    Raises:
        DeadlinePassed: not even the term itself could be looked up in time.
    """
    opened = []
    for version, active in check_each(chosen):
        if (loaded := content(version)) is not None:
            side = loaded[0] if loaded[0].source == source else loaded[0].inverse()
            opened.append(_Opened(version, active, loaded, side, terms.find_exactly(version, side, term)))
    waiting = [table for table in opened if not table.lookup.entries]
    try:
        with optional():
            while waiting:
                deadline.check()
                table = waiting[0]
                table.lookup = terms.find(table.version, [table.side], term)
                waiting.pop(0)
    except Unavailable:
        pass  # which `waiting` says
    tables: list[TableLookup] = []
    remaining = MOST_OF_ALL
    for table in opened:
        tables.append(table.show(remaining))
        remaining -= len(tables[-1].lookup.entries)
    return PairLookup(tables, [table.version.name for table in waiting])
