"""Changes of single entries of a table: those of a version with some removed and some added."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dragoman.engine.core.errors import InvalidRequest, TooLarge
from dragoman.lexicon.formats.build import Normalised, normalise
from dragoman.lexicon.formats.cells import term_of
from dragoman.lexicon.formats.items import Limits, RawEntry, Rejected, TableFormatError, quote
from dragoman.lexicon.table.table import Table
from dragoman.lexicon.table.vocabulary import Vocabulary
from dragoman.lexicon.table.written import WrittenForms, entry_number
from dragoman.lexicon.text.tokens import fold_term, other_keys
from dragoman.store.tables.repository import entry_rows


@dataclass(frozen=True, slots=True)
class Addition:
    """An entry to add; one that is there already is replaced."""

    source: str
    target: str
    probability: float | None = None


@dataclass(frozen=True, slots=True)
class Removal:
    """An entry to remove, or without a target all entries of a source term."""

    source: str
    target: str | None = None


@dataclass(frozen=True, slots=True)
class Patch:
    """What is removed from a table, and what is added afterwards."""

    add: Sequence[Addition]
    remove: Sequence[Removal]


@dataclass(frozen=True, slots=True)
class PatchedTable:
    """The table that a patch gives, and how many entries it removed from the one before."""

    normalised: Normalised
    removed: int


def apply_patch(table: Table, written: WrittenForms, probabilities: bool, patch: Patch, most: int) -> PatchedTable:
    """The table after a patch.

    Where no ``probabilities`` were given before and none is now, they are shared anew among each term's translations.
    Otherwise entries keep theirs, and an entry without one gets its share as at an upload.

    Raises:
        InvalidRequest: an entry to remove is not there, one to add has no searchable word, or none would be left.
        TooLarge: there would be more than ``most`` entries.
    """
    removed: set[int] = set()
    for index, removal in enumerate(patch.remove):
        matches = _match_entries(table, written, removal)
        if not matches:
            entry_text = removal.source if removal.target is None else f"{removal.source} → {removal.target}"
            raise InvalidRequest(f"remove[{index}]: the table has no entry {entry_text[:80]!r}")
        removed.update(matches)
    taken = len(removed)
    for index, addition in enumerate(patch.add):
        key = _key(table, index, addition)
        if (entry := entry_number(table, *key)) >= 0:
            removed.add(entry)
    if len(table) - len(removed) + len(patch.add) > most:
        raise TooLarge(f"the table would hold more than {most:,} entries")
    has_probabilities = probabilities or any(addition.probability is not None for addition in patch.add)

    def entries() -> Iterator[RawEntry]:
        for position, (source, target, p_ts, p_st, *forms) in enumerate(entry_rows(table, written)):
            if position not in removed:
                chances = (p_ts, p_st) if has_probabilities else (None, None)
                yield RawEntry(0, forms[0] or source, forms[1] or target, *chances)
        for addition in patch.add:
            yield RawEntry(0, addition.source, addition.target, addition.probability, None)

    try:
        return PatchedTable(normalise(entries(), table.source, table.target), taken)
    except TableFormatError as fault:
        raise InvalidRequest("no entry would be left: delete the table's versions instead") from fault


def _key(table: Table, index: int, addition: Addition) -> tuple[str, str]:
    keys = []
    for side, term, language in (
        ("source", addition.source, table.source),
        ("target", addition.target, table.target),
    ):
        try:
            keys.append(fold_term(term_of(side, term, Limits()), language))
        except Rejected as fault:
            raise InvalidRequest(f"add[{index}].{side}: {fault}") from fault
        if not keys[-1]:
            raise InvalidRequest(f"add[{index}].{side}: {quote(term)} has no searchable word")
    return keys[0], keys[1]


def _place(terms: Vocabulary, term: str, language: str) -> int:
    """The number of a term, in any case if there is none as it is written; -1 for none."""
    keys = (fold_term(term, language), *other_keys(term, language))
    return next((index for index in map(terms.index, keys) if index >= 0), -1)


def _match_entries(table: Table, written: WrittenForms, removal: Removal) -> list[int]:
    """The entries that a removal means: those written exactly so, or if there are none those that fold to the same."""
    source = _place(table.sources, removal.source, table.source)
    if source < 0:
        return []
    first, last = table.indptr[source : source + 2].tolist()
    forms = written.source.between(first, last)
    entries = list(range(first, last))
    if removal.target is not None:
        target = _place(table.targets, removal.target, table.target)
        entries = [entry for entry in entries if table.target_ids[entry] == target]
    exact = [entry for entry in entries if (forms[entry - first] or table.sources[source]) == removal.source]
    return exact or entries
