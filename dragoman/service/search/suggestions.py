"""Other readings of a query of which no word was found: the languages in which its words are found."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from dragoman.lexicon.text.languages import LANGUAGES
from dragoman.service.collections.service import CollectionInfo
from dragoman.service.core.errors import ServiceError
from dragoman.service.schemas.search import Suggestion
from dragoman.service.search.bm25 import FirstStage
from dragoman.service.tables.snapshot import Snapshot

_MOST_WORDS = 3
"""Longer queries are rarely taken as another language."""
_TRIED = 20
_MOST = 3


def other_readings(
    text: str,
    language: str,
    languages: Iterable[str],
    tables: Callable[[str], Snapshot],
    first_stage: FirstStage,
    collections: Sequence[CollectionInfo],
) -> list[Suggestion]:
    """At most three languages other than ``language`` in which documents are found by the words of a short query.

    Each was searched, with the ``tables`` from that language; ``languages`` are those that tables translate from. A
    language counts by how many of the words it translates, then by the score of its best document.
    """
    if len(text.split()) > _MOST_WORDS:
        return []
    searched = {one for collection in collections for one in collection.languages}
    found: list[tuple[int, float, str]] = []
    for other in sorted((searched | set(languages)) - {language})[:_TRIED]:
        try:
            result = first_stage.rank(text, other, "psq", tables(other), collections, 1)
        except ServiceError:
            continue
        known = sum(not group.oov for one in result.translations if one.foreign for group in one.query.groups)
        if result.places and (known or not result.places[0].part.translated.foreign):
            found.append((-known, -result.places[0].score, other))
    return [_suggestion(text, language, other) for _, _, other in sorted(found)[:_MOST]]


def _suggestion(text: str, language: str, other: str) -> Suggestion:
    return Suggestion(
        query_language=other,
        reason=f"no document has a word of the query in {LANGUAGES[language]}; in {LANGUAGES[other]} it finds some",
    )
