"""Reports of what was recorded: words without translation, and searches without a click, by how often there were."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import case, exists, func, select

from dragoman.engine.core.answer import Answer
from dragoman.store.database import Store
from dragoman.store.recorded_models import RecordedEvent, RecordedSearch, RecordedWord
from dragoman.store.reports.recording import KINDS, Recording


@dataclass(slots=True, kw_only=True)
class MissingWord(Answer):
    """A word of queries in ``source`` that no table translated into ``target``."""

    word: str
    """Folded; or a keyed hash of that."""
    hashed: bool
    source: str
    target: str
    searches: int
    """How many searches had it, of any kind."""
    last_at: datetime
    kinds: dict[str, int]
    """How many of them were a ``search``, a question (``qa``), or a line of a ``job``, without kinds of none."""


@dataclass(slots=True, kw_only=True)
class VocabularyReport(Answer):
    """The words without translation, the most frequent first."""

    recording: str
    """What is recorded now: off, hashed or plain."""
    since: datetime | None
    """When the oldest search that is recorded was made; null: there is none."""
    total: int
    """How many words there are, of which the first are listed."""
    words: list[MissingWord]


@dataclass(slots=True, kw_only=True)
class UnclickedQuery(Answer):
    """A query with searches after which nobody clicked on a hit."""

    query: str
    """As it was sent; or a keyed hash of that."""
    hashed: bool
    language: str
    searches: int
    without_click: int
    """How many of its searches have no event whose action is a click."""
    without_hits: int
    """How many of its searches had no hit."""
    last_at: datetime
    kind: str
    """``search``, or ``qa`` for a question whose passages were searched for."""


@dataclass(slots=True, kw_only=True)
class SearchesReport(Answer):
    """The queries without a click, those first that were made most often so."""

    recording: str
    """What is recorded now: off, hashed or plain."""
    since: datetime | None
    """When the oldest search that is recorded was made; null: there is none."""
    searches: int
    """How many searches and questions are recorded; lines of jobs have no reader who could click."""
    without_click: int
    """How many of them nobody clicked after."""
    total: int
    """How many queries there are, of which the first are listed."""
    queries: list[UnclickedQuery]


class Reports:
    """Makes reports. Every method may be called from any thread."""

    def __init__(self, store: Store, recording: Recording) -> None:
        self._store = store
        self._recording = recording

    def vocabulary(self, limit: int) -> VocabularyReport:
        """The words without translation.

        Raises:
            Unavailable: the database cannot be used.
        """
        self._recording.flush()
        word, search = RecordedWord, RecordedSearch
        count = func.count().label("searches")
        by = (word.word, search.hashed, search.language, word.target)
        grouped = (
            select(
                *by,
                count,
                func.max(search.at).label("last_at"),
                func.count().over().label("total"),
                *(func.sum(case((search.kind == kind, 1), else_=0)).label(f"kind_{kind}") for kind in KINDS),
            )
            .join(search, search.id == word.search_id)
            .group_by(*by)
            .order_by(count.desc(), *by)
            .limit(limit)
        )
        rows, since = self._read(grouped)
        words = [
            MissingWord(
                word=row.word,
                hashed=row.hashed,
                source=row.language,
                target=row.target,
                searches=row.searches,
                last_at=row.last_at,
                kinds={kind: count for kind in KINDS if (count := getattr(row, f"kind_{kind}"))},
            )
            for row in rows
        ]
        return VocabularyReport(
            recording=self._recording.mode, since=since, total=rows[0].total if rows else 0, words=words
        )

    def searches(self, limit: int) -> SearchesReport:
        """The queries without a click.

        Raises:
            Unavailable: the database cannot be used.
        """
        self._recording.flush()
        search, event = RecordedSearch, RecordedEvent
        clicked = exists().where(event.query_id == search.request_id, event.click)
        selected = select(
            search.query,
            search.hashed,
            search.language,
            search.hits,
            search.at,
            search.kind,
            case((clicked, 0), else_=1).label("no"),
        )
        counted = selected.where(search.kind != "job").subquery()
        without = func.sum(counted.c.no).label("without_click")
        by = (counted.c.query, counted.c.hashed, counted.c.language, counted.c.kind)
        grouped = (
            select(
                *by,
                func.count().label("searches"),
                without,
                func.sum(case((counted.c.hits == 0, 1), else_=0)).label("without_hits"),
                func.max(counted.c.at).label("last_at"),
            )
            .group_by(*by)
            .subquery()
        )
        unclicked = (
            select(grouped, func.count().over().label("total"))
            .where(grouped.c.without_click > 0)
            .order_by(grouped.c.without_click.desc(), *(grouped.c[column.name] for column in by))
            .limit(limit)
        )
        rows, since = self._read(unclicked)
        sums = self._store.rows(select(func.count().label("searches"), func.sum(counted.c.no).label("no")), {})[0]
        return SearchesReport(
            recording=self._recording.mode,
            since=since,
            searches=sums.searches,
            without_click=sums.no or 0,
            total=rows[0].total if rows else 0,
            queries=[_to_query(row) for row in rows],
        )

    def _read(self, statement: Any) -> tuple[Sequence[Any], datetime | None]:
        with self._store.read() as session:
            return session.execute(statement).all(), session.scalar(select(func.min(RecordedSearch.at)))


def _to_query(row: Any) -> UnclickedQuery:
    return UnclickedQuery(
        query=row.query,
        hashed=row.hashed,
        language=row.language,
        searches=row.searches,
        without_click=row.without_click,
        without_hits=row.without_hits,
        last_at=row.last_at,
        kind=row.kind,
    )
