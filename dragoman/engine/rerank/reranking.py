"""Scores documents for a query across languages, with the reranker and the active tables."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from dragoman.deadline import check_each
from dragoman.engine.core.errors import ClientDisconnected, Unavailable
from dragoman.engine.core.priority import in_background
from dragoman.engine.models.queue.worker import Cancelled
from dragoman.engine.models.scoring import Pending, ScoreRequest, Scores, Scoring, SpannedText
from dragoman.engine.query.analysed_text import AnalysedText
from dragoman.engine.rerank.references import make_references, readable_part, words_of
from dragoman.engine.tables.snapshot import Snapshot
from dragoman.lexicon.text.tokens import Analysis
from dragoman.ranking.about import RerankerAbout
from dragoman.ranking.attention import NO_LINKS, Words
from dragoman.ranking.limits import LINKS, LINKS_OF_DOCUMENT, QUERY_WORDS

_LEAST_SECONDS = 0.001
_MOST_SECONDS = 60.0
_QUESTION = "which gates of the wall were left when the railway arrived"
"""Of the documents that are scored to see how long it takes."""


class Reranking:
    """Scores documents of any languages for a query. Safe from any thread."""

    def __init__(self, scoring: Scoring, analysis: Callable[[str], Analysis]) -> None:
        self._scoring = scoring
        self._analysis = analysis

    def about(self, cancelled: Cancelled | None = None, seconds: float | None = None) -> RerankerAbout:
        """The model that scores; waits for it for at most ``seconds``.

        Raises:
            Unavailable: there is none, or it cannot be reached.
        """
        return self._scoring.about(cancelled, seconds)

    def name(self) -> str | None:
        """The name of the model that scores, as far as it is known now, without loading it."""
        return self._scoring.name()

    def time(self, texts: Sequence[str], cancelled: Cancelled | None = None, seconds: float | None = None) -> float:
        """The seconds that scoring documents takes, with their wait for the model, and without tables.

        Raises:
            ServiceError: they cannot be scored, in ``seconds`` if they are limited.
        """
        limit = math.inf if seconds is None else seconds
        self._scoring.about(cancelled, seconds)
        started = time.monotonic()
        query, *documents = (SpannedText(text, _spans(text)) for text in (_QUESTION, *texts))
        request = ScoreRequest(query, documents, [NO_LINKS] * len(documents))
        pending = self._scoring.begin(request, min(limit, _MOST_SECONDS))
        pending.result(started + min(limit, _MOST_SECONDS), cancelled)
        return time.monotonic() - started

    def begin(
        self,
        query: AnalysedText,
        documents: Sequence[AnalysedText],
        snapshot: Snapshot,
        seconds: float,
        cancelled: Cancelled | None = None,
    ) -> Pending:
        """Start scoring documents with the tables of one snapshot.

        Raises:
            Unavailable: the documents were not analysed in time, or the client disconnected. In background work also:
                a table for these languages cannot be served now.
            ServiceError: see :meth:`Scoring.begin`.
        """
        until = time.monotonic() + seconds
        about = self._scoring.about(cancelled, seconds)
        self._scoring.admit(len(documents), seconds)
        shorter = [readable_part(document) for document in documents]
        words_of_documents = _words_of(shorter, until, cancelled)
        request = self._request(query, shorter, words_of_documents, snapshot, about)
        pending = self._scoring.begin(request, max(_LEAST_SECONDS, until - time.monotonic()))
        most = _links_of_one(len(documents))
        cut = {index for index, document in enumerate(shorter) if document is not documents[index]}
        cut |= {index for index, links in enumerate(request.links) if len(links.left) >= most}
        return replace(pending, finish=lambda: _validate_scores(pending.finish(), about, cut))

    def _request(
        self,
        query: AnalysedText,
        documents: Sequence[AnalysedText],
        words_of_documents: Sequence[Words],
        snapshot: Snapshot,
        about: RerankerAbout,
    ) -> ScoreRequest:
        for target in {document.language for document in documents}:
            if in_background() and (missing := snapshot.missing(query.language, target)) is not None:
                raise Unavailable(f"a required table cannot be served now: {missing}")
        languages = (document.language for document in documents)
        read = zip(languages, words_of_documents, strict=True)
        references = make_references(query, read, snapshot, about.direction, self._analysis)
        most = _links_of_one(len(documents))
        links = [
            NO_LINKS if about.placebo else references[document.language].links(words, most)
            for document, words in check_each(zip(documents, words_of_documents, strict=True))
        ]
        texts = [
            SpannedText(document.text, words.spans)
            for document, words in zip(documents, words_of_documents, strict=True)
        ]
        return ScoreRequest(SpannedText(query.text, words_of(query.tokens[:QUERY_WORDS]).spans), texts, links)


def _spans(text: str) -> list[tuple[int, int]]:
    return [match.span() for match in re.finditer(r"\w+", text)]


def _links_of_one(documents: int) -> int:
    """How many links each of so many documents may have."""
    return min(LINKS_OF_DOCUMENT, LINKS // max(1, documents))


def _words_of(documents: Sequence[AnalysedText], until: float, cancelled: Cancelled | None) -> list[Words]:
    words_of_documents = []
    for document in check_each(documents):
        if time.monotonic() >= until:
            raise Unavailable("the documents were not analysed in time")
        if cancelled is not None and cancelled():
            raise ClientDisconnected("the client disconnected")
        words_of_documents.append(words_of(document.tokens))
    return words_of_documents


def _validate_scores(scores: Scores, linked: RerankerAbout, cut: set[int]) -> Scores:
    """The scores, with the documents ``cut`` before scoring added to those that the model truncated.

    Raises:
        Unavailable: the model that scored reads tables differently from the one that the links were made for.
    """
    if (scores.about.direction, scores.about.placebo) != (linked.direction, linked.placebo):
        raise Unavailable("the worker now has a model that reads tables differently; try again")
    return replace(scores, truncated=sorted(cut.union(scores.truncated)))
