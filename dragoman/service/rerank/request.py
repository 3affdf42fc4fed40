"""A rerank request from its texts to an order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, repeat
from typing import Protocol

from dragoman.service.core.errors import InvalidRequest
from dragoman.service.core.priority import patience
from dragoman.service.core.settings import Settings
from dragoman.service.inference.scoring import Pending, Scores
from dragoman.service.query.language import FALLBACK, Detection, detect
from dragoman.service.query.translation import tables_used, undecided, why_untranslated
from dragoman.service.rerank.scoring import Document, Reranking, sigmoid
from dragoman.service.schemas.search import TableUsed
from dragoman.service.tables.service import check_active, check_detectable
from dragoman.service.tables.snapshot import Snapshot, TableRegistry


class RerankAsked(Protocol):
    """What all forms of a rerank request say beside the documents."""

    query: str
    query_language: str | None
    document_language: str | None
    tables: list[str] | None


@dataclass(frozen=True, slots=True)
class Understood:
    """What a request was taken to be in, and what there is to translate it."""

    language: str
    detected: bool
    """The query's language was."""
    documents: Sequence[str | None] | None
    """The documents' languages, None for a guess; None where the request gave one for all."""
    tables: Sequence[TableUsed]
    told: Sequence[str]
    """What was found out of the languages that one may not have expected."""


@dataclass(frozen=True, slots=True)
class Ranking:
    """(index, score) of the documents, best first and equal ones in the order given; and what was not as asked."""

    model: str
    understood: Understood
    best: list[tuple[int, float]]
    failed: dict[int, str]
    truncated: list[int]
    tokens: int
    query_cut: bool


@dataclass(frozen=True, slots=True)
class Begun:
    """A ranking whose scores are under way."""

    pending: Pending
    understood: Understood

    def ranking(self, scores: Scores, *, raw: bool) -> Ranking:
        """The order of scored documents; scores are probabilities unless ``raw``."""
        scored = [(index, value) for index, value in enumerate(scores.values) if value is not None]
        best = sorted(scored, key=lambda one: (-one[1], one[0]))
        understood = replace(self.understood, tables=[]) if scores.about.placebo else self.understood
        return Ranking(
            scores.about.name,
            understood,
            [(index, value if raw else sigmoid(value)) for index, value in best],
            scores.failed,
            scores.truncated,
            scores.tokens,
            scores.query_cut,
        )


class RerankRequests:
    """Answers rerank requests, of the endpoints and of jobs. Safe from any thread."""

    def __init__(self, reranking: Reranking, tables: TableRegistry, settings: Settings) -> None:
        self._reranking = reranking
        self._tables = tables
        self._settings = settings

    def begin(self, asked: RerankAsked, texts: Sequence[str], snapshot: Snapshot | None = None) -> Begun:
        """Have the documents scored with one snapshot of the tables: this one, or the present.

        Raises:
            InvalidRequest: a limit is passed; the message names the field.
            NotFound: there is no such table.
            ServiceError: see :meth:`Scoring.begin`.
        """
        _check(self._settings, asked, texts)
        snapshot = snapshot or self._tables.snapshot
        check_active(asked.tables or (), snapshot)
        if asked.query_language is None or asked.document_language is None:
            check_detectable(snapshot, [asked.document_language] if asked.document_language else [])
        query, *found = _languages(asked, texts, snapshot)
        documents = [Document(text, one.language) for text, one in zip(texts, found, strict=True)]
        if asked.tables is not None:
            targets = {document.language for document in documents} - {query.language}
            snapshot = self._tables.select(snapshot, asked.tables, query.language, targets)
        understood = _understood(asked, query, found, snapshot)
        seconds = patience(self._settings.worker_seconds)
        return Begun(self._reranking.begin(asked.query, query.language, documents, snapshot, seconds), understood)


def _languages(asked: RerankAsked, texts: Sequence[str], snapshot: Snapshot) -> Iterator[Detection]:
    """The language of the query and of each document, as given or detected."""
    known = {FALLBACK, *snapshot.languages}
    given = chain([asked.query_language], repeat(asked.document_language))
    for text, language in zip([asked.query, *texts], given, strict=False):
        yield detect(text, known, snapshot.knows) if language is None else Detection(language, True)


def _understood(asked: RerankAsked, query: Detection, documents: Sequence[Detection], snapshot: Snapshot) -> Understood:
    told = [] if query.decided else [undecided(query.language)]
    if vague := [one.language for one in documents if not one.decided]:
        told.append(f"documents whose language nothing tells, taken as {vague[0]}: {len(vague)}")
    taken = "" if asked.query_language else f" (the query was taken as {query.language})"
    many = Counter(one.language for one in documents)
    views = {target: snapshot.views.get((query.language, target)) for target in many if target != query.language}
    told += [
        f"{why_untranslated(query.language, target, snapshot).reason}; "
        f"documents scored without one: {many[target]}{taken}"
        for target, view in views.items()
        if view is None
    ]
    detected = None if asked.document_language else [one.language if one.decided else None for one in documents]
    tables = tables_used(view for view in views.values() if view is not None)
    return Understood(query.language, asked.query_language is None, detected, tables, told)


def _check(settings: Settings, asked: RerankAsked, texts: Sequence[str]) -> None:
    if len(asked.query) > settings.query_chars:
        raise InvalidRequest(f"query: longer than {settings.query_chars} characters")
    if len(texts) > settings.rerank_documents:
        raise InvalidRequest(f"documents: {len(texts)} of them; at most {settings.rerank_documents} are allowed")
    if len(asked.tables or ()) > settings.search_names:
        raise InvalidRequest(f"tables: {len(asked.tables or ())} of them; at most {settings.search_names} are allowed")
    for place, text in enumerate(texts):
        if len(text) > settings.document_chars:
            raise InvalidRequest(f"documents[{place}]: longer than {settings.document_chars} characters")
