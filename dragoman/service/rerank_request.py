"""A rerank request from its texts to an order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from dragoman.ranking.about import MartAbout
from dragoman.service.background import patience
from dragoman.service.detection import FALLBACK, detect
from dragoman.service.errors import InvalidRequest
from dragoman.service.reranking import Document, sigmoid
from dragoman.service.scoring import Pending, Scores
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
class Ranking:
    """(index, score) of the documents, best first and equal ones in the order given; and what was not as asked."""

    model: str
    best: list[tuple[int, float]]
    failed: dict[int, str]
    truncated: list[int]
    tokens: int
    query_cut: bool


def begin(
    runtime: Runtime,
    settings: Settings,
    asked: RerankAsked,
    texts: Sequence[str],
    snapshot: Snapshot | None = None,
) -> tuple[MartAbout, Pending]:
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
    known = {FALLBACK, *snapshot.languages}
    language = asked.query_language or detect(asked.query, known, snapshot.knows).language
    documents = [
        Document(text, asked.document_language or detect(text, known, snapshot.knows).language) for text in texts
    ]
    if asked.tables is not None:
        targets = {document.language for document in documents} - {language}
        snapshot = runtime.tables.registry.select(snapshot, asked.tables, language, targets)
    return runtime.reranking.begin(asked.query, language, documents, snapshot, patience(settings.worker_seconds))


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


def ranking(about: MartAbout, scores: Scores, *, raw: bool) -> Ranking:
    """The order of scored documents; scores are probabilities unless ``raw``."""
    scored = [(index, value) for index, value in enumerate(scores.standalone) if value is not None]
    best = sorted(scored, key=lambda one: (-one[1], one[0]))
    return Ranking(
        about.name,
        [(index, value if raw else sigmoid(value)) for index, value in best],
        scores.failed,
        scores.truncated,
        scores.tokens,
        scores.query_cut,
    )
