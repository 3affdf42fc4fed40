"""Searches as they are recorded for reports."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from dragoman.engine.query.description import oov
from dragoman.engine.search.ranked import Retrieval
from dragoman.engine.search.request import SearchQuery
from dragoman.engine.search.response import SearchResponse
from dragoman.store.models import now
from dragoman.store.reports.recording import Kind, Recording, SearchMade


def record_search(recording: Recording, request: SearchQuery, results: SearchResponse, kind: Kind = "search") -> None:
    """Record a search that was answered, if searches are recorded.

    One that chooses its tables says nothing of what the tables in use lack: its words are not recorded.
    """
    if recording.mode == "off":
        return
    query, missing = results.query, Missing()
    if request.tables is None:
        missing.add(results.translation.oov)
        if results.method != "none":
            for text in (*(results.translation.must or ()), *(results.translation.must_not or ())):
                missing.add({language: reading.literal for language, reading in text.languages.items()})
    identifier = "" if kind == "job" else results.request_id
    search = SearchMade(identifier, query.language, query.text, len(results.hits), missing.words, now(), kind)
    recording.add(search)


def record_retrieval(recording: Recording, request_id: str, retrieval: Retrieval, kind: Kind = "qa") -> None:
    """Record the search for the passages that a question was asked of, as :func:`record_search`."""
    if recording.mode == "off":
        return
    query = retrieval.query
    words = oov(query.text, retrieval.translations) if retrieval.request.tables is None else {}
    identifier = "" if kind == "job" else request_id
    search = SearchMade(identifier, query.language, query.text, len(retrieval.documents), words, now(), kind)
    recording.add(search)


class Missing:
    """Words without translation by language, each once."""

    def __init__(self) -> None:
        self.words: dict[str, list[str]] = {}

    def add(self, words: Mapping[str, Iterable[str]]) -> None:
        """Add what of these is not there yet."""
        for language, more in words.items():
            present = self.words.setdefault(language, [])
            present.extend(word for word in dict.fromkeys(more) if word not in present)
