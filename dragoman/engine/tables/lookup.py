"""Looks a term up in a table version: the term itself, or those that a search takes for the same."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from threading import Lock, Semaphore

from dragoman import deadline
from dragoman.engine.core.errors import Unavailable
from dragoman.engine.tables.views import ActiveVersion
from dragoman.lexicon.table.forms import Forms
from dragoman.lexicon.table.table import Entry, Table
from dragoman.lexicon.table.written import WrittenForms
from dragoman.lexicon.text.tokens import Analysis, fold_term, other_keys

MOST_SHOWN = 1_000
"""Entries of a term that an answer has."""
_CACHED = 4
_WAITING = 8
"""Look-ups that wait at a time, while one analyses a side of a table."""
_WAIT_SECONDS = 0.1
_Key = tuple[int, str, str, str]


@dataclass(frozen=True, slots=True)
class Lookup:
    """The entries of a table version for a term of ``language``."""

    folded: str
    language: str
    version: int
    entries: Sequence[Entry]
    matched: Sequence[str]
    """The table's terms that these are the entries of."""
    total: int = 0
    """How many entries there are; shown are :data:`MOST_SHOWN`."""


def show_entries(lookup: Lookup, table: Table, written: WrittenForms) -> Lookup:
    """What was found in a version, the most probable of it, with its terms as they were written.

    ``table`` is in the version's own direction.
    """
    inverse = lookup.language != table.source
    matched: dict[str, None] = {}
    entries = []
    unseen = dict.fromkeys(lookup.matched)
    for entry in lookup.entries[:MOST_SHOWN]:
        form = entry.term
        for term in lookup.matched:
            pair = written.of_pair(table, *((entry.term, term) if inverse else (term, entry.term)))
            if pair is not None:
                written_term, other = pair[::-1] if inverse else pair
                matched[written_term] = None
                unseen.pop(term, None)
                form = other if form == entry.term else form
        entries.append(replace(entry, term=form))
    more = unseen if len(lookup.entries) > MOST_SHOWN else ()  # of entries that are not shown
    return replace(lookup, entries=entries, matched=[*matched, *more], total=len(lookup.entries))


class TermLookup:
    """Look-ups in any version. It keeps the index terms of the last few that needed them. Thread-safe."""

    def __init__(self, analysis: Callable[[str], Analysis], seconds: float) -> None:
        """``seconds``: the longest that a look-up waits for the index terms of a side, and takes to make them."""
        self._analysis = analysis
        self._seconds = seconds
        self._cache: dict[_Key, Forms] = {}
        self._ready: frozenset[int] | None = None
        self._lock = Lock()
        self._making = Lock()
        self._places = Semaphore(_WAITING)

    def keep_only(self, versions: Collection[ActiveVersion], active: Collection[ActiveVersion]) -> None:
        """Let go of all versions that are not ``active``; of those looked up from now on, keep only ``versions``."""
        with self._lock:
            self._ready = frozenset(version.id for version in versions)
            active_ids = {version.id for version in active}
            for key in [key for key in self._cache if key[0] not in active_ids]:
                del self._cache[key]

    def find(self, version: ActiveVersion, sides: Sequence[Table], term: str) -> Lookup:
        """The entries of a term in the first of these sides of a version that has the term, folded.

        If none has it, the entries of the first side's terms that have the same index terms; empty if there are none.

        Raises:
            Unavailable: many look-ups wait for index terms.
            DeadlinePassed: it has waited too long for them.
        """
        answers = [_exact(side, term, version.version) for side in sides]
        match = next((answer for answer in answers if answer.entries), None)
        if match is not None:
            return match
        for side, answer in zip(sides, answers, strict=True):
            forms = self._forms(version, side)
            if matched := forms.of(term):
                return replace(answer, entries=forms.translations(matched), matched=matched)
        return answers[0]

    def find_exactly(self, version: ActiveVersion, side: Table, term: str) -> Lookup:
        """The entries of a term itself on a side of a version, folded; empty if it lacks the term."""
        return _exact(side, term, version.version)

    def _forms(self, version: ActiveVersion, side: Table) -> Forms:
        analysis = self._analysis(side.source)
        key = (version.id, version.checksum, side.source, analysis.fingerprint)
        if (forms := self._cached_forms(key)) is not None:
            return forms
        if not self._places.acquire(blocking=False):
            raise Unavailable("many look-ups wait for the index terms of a table; try again in a moment")
        try:
            with deadline.deadline(self._seconds):
                while not self._making.acquire(timeout=_WAIT_SECONDS):
                    deadline.check()
                try:
                    forms = self._cached_forms(key) or Forms(side, analysis)
                    self._keep(key, forms)
                    return forms
                finally:
                    self._making.release()
        finally:
            self._places.release()

    def _cached_forms(self, key: _Key) -> Forms | None:
        with self._lock:
            if (forms := self._cache.pop(key, None)) is not None:
                self._cache[key] = forms  # as the one that was used last
            return forms

    def _keep(self, key: _Key, forms: Forms) -> None:
        with self._lock:
            if self._ready is None or key[0] in self._ready:
                self._cache[key] = forms
                if len(self._cache) > _CACHED:
                    del self._cache[next(iter(self._cache))]


def _exact(table: Table, term: str, version: int) -> Lookup:
    folded = fold_term(term, table.source)
    entries = table.translations(folded)
    if not entries:
        other = next((key for key in other_keys(term, table.source) if key in table), folded)
        folded, entries = other, table.translations(other)
    return Lookup(folded, table.source, version, entries, [folded] if entries else [])
