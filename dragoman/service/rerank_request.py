"""A rerank request from its texts to an order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from dragoman.service.background import patience
from dragoman.service.detection import FALLBACK, detect
from dragoman.service.errors import InvalidRequest
from dragoman.service.reranking import Document, sigmoid
from dragoman.service.schemas.search import TableUsed
from dragoman.service.scoring import Pending, Scores
from dragoman.service.search_translation import tables_used, undecided, why_untranslated
from dragoman.service.settings import Settings
from dragoman.service.tables import check_active, check_detectable
from dragoman.service.tables_registry import Snapshot

if TYPE_CHECKING:
    from dragoman.service.runtime import Runtime


class RerankAsked(Protocol):
    """What all forms of a rerank request say beside the documents."""

    query: str
    query_language: str | None
    document_language: str | None
    tables: list[str] | None


@dataclass(frozen=True, slots=True)
class Evidence:
    """The languages and tables that scores rest on."""

    query_language: str
    detected: Sequence[str] | None
    """The documents' languages; None where the request gave them."""
    tables: Sequence[TableUsed]
    told: Sequence[str]
    """What was found out of the languages that one may not have expected."""


@dataclass(frozen=True, slots=True)
class Ranking:
    """(index, score) of the documents, best first and equal ones in the order given; and what was not as asked."""

    model: str
    evidence: Evidence
    best: list[tuple[int, float]]
    failed: dict[int, str]
    truncated: list[int]
    tokens: int
    query_cut: bool


@dataclass(frozen=True, slots=True)
class Begun:
    """A ranking whose scores are under way."""

    pending: Pending
    evidence: Evidence

    def ranking(self, scores: Scores, *, raw: bool) -> Ranking:
        """The order of scored documents; scores are probabilities unless ``raw``."""
        scored = [(index, value) for index, value in enumerate(scores.standalone) if value is not None]
        best = sorted(scored, key=lambda one: (-one[1], one[0]))
        return Ranking(
            scores.about.name,
            self.evidence,
            [(index, value if raw else sigmoid(value)) for index, value in best],
            scores.failed,
            scores.truncated,
            scores.tokens,
            scores.query_cut,
        )


def begin(
    runtime: Runtime,
    settings: Settings,
    asked: RerankAsked,
    texts: Sequence[str],
    snapshot: Snapshot | None = None,
) -> Begun:
    """Have the documents scored with one snapshot of the tables: this one, or the present.

    Raises:
        InvalidRequest: a limit is passed; the message names the field.
        NotFound: there is no such table.
        ServiceError: see :meth:`Scoring.begin`.
    """
    _check(settings, asked, texts)
    snapshot = snapshot or runtime.tables.registry.snapshot
    check_active(asked.tables or (), snapshot)
    if asked.query_language is None or asked.document_language is None:
        check_detectable(snapshot, [asked.document_language] if asked.document_language else [])
    language, query_told = _query_language(asked, snapshot)
    documents, documents_told = _documents(asked, texts, snapshot)
    if asked.tables is not None:
        targets = {document.language for document in documents} - {language}
        snapshot = runtime.tables.registry.select(snapshot, asked.tables, language, targets)
    pending = runtime.reranking.begin(asked.query, language, documents, snapshot, patience(settings.worker_seconds))
    taken = "" if asked.query_language else f" (the query was taken as {language})"
    lacking = [f"{reason}{taken}" for reason in _without_tables(language, documents, snapshot)]
    detected = None if asked.document_language else [document.language for document in documents]
    pairs = {(language, document.language) for document in documents}
    tables = tables_used(snapshot.views[pair] for pair in pairs if pair in snapshot.views)
    return Begun(pending, Evidence(language, detected, tables, [*query_told, *documents_told, *lacking]))


def _query_language(asked: RerankAsked, snapshot: Snapshot) -> tuple[str, list[str]]:
    """The query's language, and what is to be said of it."""
    if asked.query_language is not None:
        return asked.query_language, []
    found = detect(asked.query, {FALLBACK, *snapshot.languages}, snapshot.knows)
    return found.language, [] if found.decided else [undecided(found.language)]


def _documents(asked: RerankAsked, texts: Sequence[str], snapshot: Snapshot) -> tuple[list[Document], list[str]]:
    """The documents with their languages, and what is to be said of those."""
    if asked.document_language is not None:
        return [Document(text, asked.document_language) for text in texts], []
    known = {FALLBACK, *snapshot.languages}
    found = [detect(text, known, snapshot.knows) for text in texts]
    documents = [Document(text, one.language) for text, one in zip(texts, found, strict=True)]
    vague = [one.language for one in found if not one.decided]
    if not vague:
        return documents, []
    return documents, [f"documents whose language nothing tells, taken as {vague[0]}: {len(vague)}"]


def _without_tables(source: str, documents: Sequence[Document], snapshot: Snapshot) -> list[str]:
    """A reason for each language of documents that no table translates the query to."""
    foreign = Counter(document.language for document in documents if document.language != source)
    return [
        f"{why_untranslated(source, target, snapshot).reason}; documents scored without one: {many}"
        for target, many in foreign.items()
        if (source, target) not in snapshot.views
    ]


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
