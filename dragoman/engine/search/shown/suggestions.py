"""Other readings of a query of which no word was found: the languages in which its words are found."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from dragoman.deadline import check_each
from dragoman.engine.core.errors import ClientDisconnected, ServiceError
from dragoman.engine.search.first_stage import FirstStage
from dragoman.engine.search.ranked import Retrieval
from dragoman.engine.search.response import Suggestion
from dragoman.engine.tables.snapshot import Snapshot
from dragoman.lexicon.text.languages import LANGUAGES

_MOST_WORDS = 3
"""Longer queries are rarely taken as another language."""
_TRIED = 20
_MOST = 3


def other_readings(
    retrieval: Retrieval, languages: Iterable[str], tables: Callable[[str], Snapshot], first_stage: FirstStage
) -> list[Suggestion]:
    """At most three other languages in which documents are found by the words of a short query.

    Each was searched, with the ``tables`` from that language; ``languages`` are those that tables translate from. A
    language counts by how many of the words it translates, then by the score of its best document.
    """
    if len(retrieval.query.text.split()) > _MOST_WORDS:
        return []
    readings: list[tuple[int, float, str]] = []
    for other in check_each(sorted((retrieval.languages | set(languages)) - {retrieval.query.language})[:_TRIED]):
        query = replace(retrieval.query, language=other)
        try:
            again = Retrieval(retrieval.request, query, tables(other), retrieval.collections, retrieval.room)
            first_stage.rank(again, "psq", 1)
        except ClientDisconnected:
            raise
        except ServiceError:
            continue
        translated_terms = sum(
            not group.oov
            for translated in again.translations
            if translated.foreign
            for group in translated.query.groups
        )
        if again.documents and (translated_terms or again.documents[0].language == other):
            readings.append((-translated_terms, -again.documents[0].score, other))
    return [_suggestion(retrieval.query.language, other) for _, _, other in sorted(readings)[:_MOST]]


def _suggestion(language: str, other: str) -> Suggestion:
    return Suggestion(
        query_language=other,
        reason=f"no document has a word of the query in {LANGUAGES[language]}; in {LANGUAGES[other]} it finds some",
    )
