"""Other readings of a query of which no word was found: the languages in which its words are found."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from dragoman.deadline import check_each
from dragoman.engine.core.errors import ClientDisconnected, ServiceError
from dragoman.engine.search.bm25 import FirstStage
from dragoman.engine.search.ranked import Retrieval
from dragoman.engine.search.response import Suggestion
from dragoman.engine.tables.snapshot import Snapshot
from dragoman.lexicon.text.languages import LANGUAGES

_MOST_WORDS = 3
"""Longer queries are rarely taken as another language."""
_TRIED = 20
_MOST = 3


def other_readings(
    search: Retrieval, languages: Iterable[str], tables: Callable[[str], Snapshot], first_stage: FirstStage
) -> list[Suggestion]:
    """At most three other languages in which documents are found by the words of a short query.

    Each was searched, with the ``tables`` from that language; ``languages`` are those that tables translate from. A
    language counts by how many of the words it translates, then by the score of its best document.
    """
    if len(search.query.text.split()) > _MOST_WORDS:
        return []
    searched = {one for collection in search.collections for one in collection.languages}
    found: list[tuple[int, float, str]] = []
    for other in check_each(sorted((searched | set(languages)) - {search.query.language})[:_TRIED]):
        query = replace(search.query, language=other)
        try:
            again = Retrieval(search.request, query, tables(other), search.collections, search.room)
            first_stage.rank(again, "psq", 1)
        except ClientDisconnected:
            raise
        except ServiceError:
            continue
        known = sum(not group.oov for one in again.translations if one.foreign for group in one.query.groups)
        if again.documents and (known or again.documents[0].language == other):
            found.append((-known, -again.documents[0].score, other))
    return [_suggestion(search.query.language, other) for _, _, other in sorted(found)[:_MOST]]


def _suggestion(language: str, other: str) -> Suggestion:
    return Suggestion(
        query_language=other,
        reason=f"no document has a word of the query in {LANGUAGES[language]}; in {LANGUAGES[other]} it finds some",
    )
