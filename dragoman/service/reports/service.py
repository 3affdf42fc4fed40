"""Searches as they are recorded for reports."""

from __future__ import annotations

from dragoman.engine.search.response import SearchResponse
from dragoman.store.models import now
from dragoman.store.reports.recording import Recording, SearchMade


def record_search(recording: Recording, results: SearchResponse) -> None:
    """Record a search that was answered, if searches are recorded."""
    if recording.mode != "off":
        query = results.query
        search = SearchMade(
            results.request_id, query.language, query.text, len(results.hits), results.translation.oov, now()
        )
        recording.add(search)
