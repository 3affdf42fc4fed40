"""The names in a query: found by the tagger on request, so that they stay whole when the query is translated."""

from __future__ import annotations

from dragoman.engine.core.answer import Degraded
from dragoman.engine.core.errors import ClientDisconnected, NotInstalled, ServiceError
from dragoman.engine.core.priority import in_background, wait_limit
from dragoman.engine.models.models import Models
from dragoman.engine.models.queue.gathering import gather
from dragoman.engine.models.tagging import Tagging, tagger_place
from dragoman.engine.query.translation import QueryName
from dragoman.engine.search.ranked import Retrieval
from dragoman.engine.search.request import SearchQuery
from dragoman.engine.settings import Settings

STAGE = "names"
LEAST_SCORE = 0.5
"""Names of a lower probability are read as other words are."""
PERSON = "PER"


class NameFinder:
    """Finds the names in queries. Safe from any thread."""

    def __init__(self, models: Models, settings: Settings) -> None:
        self._models = models
        self._settings = settings

    def is_needed(self, request: SearchQuery) -> bool:
        """Whether a search finds names: one that asks for it, by a method that translates the query term by term."""
        if not request.names or request.method in ("dense", "none", "smt"):
            return False
        try:
            tagger_place(self._settings, "ner")
        except NotInstalled:
            return False
        return True

    def find(self, retrieval: Retrieval) -> None:
        """Note the names in a query that may stay whole.

        Those of persons do so by their words as well. Names of places, organisations and works are mostly made of words
        that are translated ("United Nations"): they stay whole only where a table has all of one.

        Raises:
            ServiceError: in background work, they cannot be found now.
        """
        try:
            self._models.tagger("ner", retrieval.cancelled)
            underway = Tagging(self._models.worker, "ner", [retrieval.query.text], query=True)
            gather(underway.futures, wait_limit(self._settings.worker.worker_seconds), retrieval.cancelled)
            (tags,) = underway.results()
        except ClientDisconnected:
            raise
        except ServiceError as fault:
            if in_background():
                raise
            reason = f"names in the query were translated as other words: {fault}"
            retrieval.degraded.append(Degraded.of(STAGE, reason, fault.cause))
            return
        retrieval.names = [
            QueryName(tag.start, tag.end, tag.label == PERSON) for tag in tags if tag.score >= LEAST_SCORE
        ]
