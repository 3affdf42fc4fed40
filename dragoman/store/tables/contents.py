"""What versions of tables hold, as it was written: listed by term, and compared with each other."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterator
from dataclasses import dataclass

from dragoman import deadline
from dragoman.engine.core.errors import InvalidRequest
from dragoman.lexicon.table.table import Table
from dragoman.lexicon.table.written import WrittenForms, entries_from
from dragoman.lexicon.text.tokens import fold
from dragoman.store.database import EntryRow
from dragoman.store.tables.exports import Content
from dragoman.store.tables.repository import entry_rows

_CHECKED_EVERY = 4_096


@dataclass(frozen=True, slots=True)
class WrittenEntry:
    """One entry as it was written."""

    source: str
    target: str
    probability: float
    """P(target | source)"""
    inverse_probability: float
    """P(source | target)"""


@dataclass(frozen=True, slots=True)
class ListedTerm:
    """A term of a version, and how many entries it has."""

    term: str
    folded: str
    translations: int


@dataclass(frozen=True, slots=True)
class Terms:
    """Some terms of one side of a version, in the order of their folded forms."""

    language: str
    terms: list[ListedTerm]
    next: str | None


@dataclass(frozen=True, slots=True)
class Difference:
    """Some of the entries that differ between two versions, in the order of the folded terms."""

    added: list[WrittenEntry]
    removed: list[WrittenEntry]
    changed: list[tuple[WrittenEntry, WrittenEntry]]
    """Before and after."""
    next: str | None


def list_terms(content: Content, inverse: bool, prefix: str, cursor: str | None, limit: int) -> Terms:
    """The terms of the source side, or with ``inverse`` of the target side, whose folded form begins with ``prefix``.

    Raises:
        InvalidRequest: a cursor of something else.
    """
    table, written = content
    language = table.target if inverse else table.source
    terms = table.targets if inverse else table.sources
    begin = fold(prefix.strip(), language)
    first = terms.place(begin)
    if cursor is not None:
        (after,) = _place(cursor, 1)
        first = max(first, terms.place(after) + (after in terms))
    page: list[ListedTerm] = []
    for index in range(first, min(first + limit + 1, len(terms))):
        folded = terms[index]
        if not folded.startswith(begin):
            break
        page.append(_list_term(table, written, inverse, index, folded))
    more = len(page) > limit
    return Terms(language, page[:limit], _cursor(page[limit - 1].folded) if more else None)


def _list_term(table: Table, written: WrittenForms, inverse: bool, index: int, folded: str) -> ListedTerm:
    side = table.by_target if inverse else table.by_source
    first, last = side.indptr[index : index + 2].tolist()
    pair = (table.sources[int(side.ids[first])], folded) if inverse else (folded, table.targets[int(side.ids[first])])
    forms = written.of_pair(table, *pair)
    return ListedTerm(folded if forms is None else forms[int(inverse)], folded, last - first)


def difference(before: Content, after: Content, forms: bool, cursor: str | None, limit: int) -> Difference:
    """The first ``limit`` differences between two versions after those that ``cursor`` ends.

    ``forms`` says whether a term that is written otherwise is a difference.

    Raises:
        InvalidRequest: a cursor of something else.
        DeadlinePassed: it takes too long.
    """
    start = None if cursor is None else _place(cursor, 2)
    rows = [entry_rows(*content, entries_from(content[0], *start) if start else 0) for content in (before, after)]
    page = Difference([], [], [], None)
    last: tuple[str, str] | None = None
    for step, (old, new) in enumerate(_align(*rows)):
        if step % _CHECKED_EVERY == 0:
            deadline.check()
        if old is not None and new is not None and old[:4] == new[:4] and (not forms or old[4:] == new[4:]):
            continue
        if len(page.added) + len(page.removed) + len(page.changed) == limit and last is not None:
            return Difference(page.added, page.removed, page.changed, _cursor(*last))
        if old is not None and new is not None:
            page.changed.append((_entry(old), _entry(new)))
        elif new is not None:
            page.added.append(_entry(new))
        elif old is not None:
            page.removed.append(_entry(old))
        row = old or new
        last = None if row is None else row[:2]
    return page


def _align(before: Iterator[EntryRow], after: Iterator[EntryRow]) -> Iterator[tuple[EntryRow | None, EntryRow | None]]:
    """The entries of two versions side by side, by their folded terms."""
    old, new = next(before, None), next(after, None)
    while old is not None or new is not None:
        if new is None or (old is not None and old[:2] < new[:2]):
            yield old, None
            old = next(before, None)
        elif old is None or new[:2] < old[:2]:
            yield None, new
            new = next(after, None)
        else:
            yield old, new
            old, new = next(before, None), next(after, None)


def _entry(row: EntryRow) -> WrittenEntry:
    source, target, p_ts, p_st, *written = row
    return WrittenEntry(written[0] or source, written[1] or target, p_ts, p_st)


def _cursor(*terms: str) -> str:
    return base64.urlsafe_b64encode(json.dumps(terms).encode()).decode()


def _place(cursor: str, count: int) -> list[str]:
    try:
        terms = json.loads(base64.urlsafe_b64decode(cursor.encode()))
        if isinstance(terms, list) and len(terms) == count and all(isinstance(term, str) for term in terms):
            return terms
    except (binascii.Error, ValueError, RecursionError):
        pass
    raise InvalidRequest("cursor: not one that an answer of this endpoint gave")
