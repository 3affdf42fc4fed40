"""How many content words of a sentence have a translation of a table in the other, and what a glossary asks for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dragoman.checking.check import Reason
from dragoman.checking.knowledge import TableView
from dragoman.checking.sentence import Side
from dragoman.deadline import check_each
from dragoman.lexicon.table.table import Entry

__all__ = ["Coverage", "check_glossary", "measure_coverage", "select_glossary_entries"]

LEAST_PROBABILITY = 0.01
"""Of a translation that counts."""
MOST_ENTRIES = 50
LONGEST_TERM = 4
"""Words of a glossary's term that are looked for together."""


@dataclass(frozen=True)
class Coverage:
    """Of the content words that a table has, those with a translation in the other sentence."""

    covered: int
    looked_up: int
    missing: tuple[str, ...] = ()
    """The words without one, as they are written."""

    @property
    def share(self) -> float:
        return self.covered / self.looked_up if self.looked_up else 1.0


def measure_coverage(source: Side, target: Side, view: TableView) -> Coverage:
    """The coverage of ``source`` by ``target``; words that no table has do not count."""
    covered = looked_up = 0
    missing: dict[str, None] = {}
    for token in check_each(source.content, 100):
        entries = view.analysed.translations(token.term, best=MOST_ENTRIES)
        terms = [entry.term for entry in entries if entry.p_forward >= LEAST_PROBABILITY]
        if not terms:
            continue
        looked_up += 1
        if token.term in target.terms or any(target.terms.issuperset(term.split(" ")) for term in terms):
            covered += 1
        else:
            missing[source.text[token.start : token.end]] = None
    return Coverage(covered, looked_up, tuple(missing))


def check_glossary(source: Side, target: Side, view: TableView, backward: TableView | None = None) -> list[Reason]:
    """The terms of the user's glossaries in ``source`` whose translations are not in ``target``."""
    if not view.glossaries:
        return []
    reasons = []
    place = 0
    while place < len(source.tokens):
        length, entries = _longest_term(source, place, view, backward)
        place += max(1, length)
        if not entries or any(_stands_in(entry.term, target) for entry in entries):
            continue
        span = source.tokens[place - length : place]
        written = source.text[span[0].start : span[-1].end]
        reasons.append(Reason("glossary", written, entries[0].term))
    return reasons


def _longest_term(source: Side, place: int, view: TableView, backward: TableView | None) -> tuple[int, list[Entry]]:
    """The longest term of a glossary that begins at a word, in words, with its translations."""
    for length in range(min(LONGEST_TERM, len(source.tokens) - place), 0, -1):
        tokens = source.tokens[place : place + length]
        if not all(token.term for token in tokens):
            continue
        term = " ".join(token.term for token in tokens)
        entries = view.analysed.translations(term, best=MOST_ENTRIES)
        if entries := _leave_out_parts(select_glossary_entries(term, entries, view, backward)):
            return length, entries
    return 0, []


def select_glossary_entries(
    term: str, entries: Sequence[Entry], view: TableView, backward: TableView | None
) -> list[Entry]:
    """The entries of glossaries that have ``term`` as a whole.

    Tables of index terms have the words of longer terms as well: *fire* alone is not the *forest fire* of a glossary.
    """
    of_glossary = [entry for entry in entries if entry.origin in view.glossaries]
    if " " in term or backward is None:
        return of_glossary
    return [entry for entry in of_glossary if not _is_part(term, entry, backward)]


def _is_part(term: str, entry: Entry, backward: TableView) -> bool:
    """Whether a word has a translation as a part of longer terms, to which it goes back more often."""
    sources = backward.analysed.translations(entry.term, best=MOST_ENTRIES)
    longer = sum(source.p_forward for source in sources if " " in source.term and term in source.term.split(" "))
    return longer > entry.p_backward


def _leave_out_parts(entries: list[Entry]) -> list[Entry]:
    """Entries without the single words of longer translations, which tables of index terms have as well."""
    parts = {word for entry in entries if " " in entry.term for word in entry.term.split(" ")}
    return [entry for entry in entries if entry.term not in parts]


def _stands_in(term: str, target: Side) -> bool:
    return target.terms.issuperset(term.split(" "))
