"""Answers rerank requests: from their texts to a ranking."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, repeat

from dragoman.deadline import check_each
from dragoman.engine.core.errors import InvalidRequest
from dragoman.engine.core.priority import wait_limit
from dragoman.engine.models.scoring import Pending, Scores
from dragoman.engine.query.analysed_text import AnalysedText
from dragoman.engine.query.description import tables_used, undecided_message, why_untranslated
from dragoman.engine.query.language import FALLBACK, Detection, detect, detect_by_words
from dragoman.engine.query.readers import readers_of
from dragoman.engine.query.response import TableUsed
from dragoman.engine.rerank.reranking import Reranking
from dragoman.engine.settings import Settings
from dragoman.engine.tables.snapshot import Snapshot, TableRegistry, check_detectable
from dragoman.lexicon.text.tokens import Analysis
from dragoman.ranking.about import sigmoid

_SAMPLE = 300
"""Characters by which the language of a query or a document is detected."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RerankQuery:
    """What a ranking of texts is asked, except the texts."""

    query: str
    query_language: str | None = None
    document_language: str | None = None
    """That of all texts; None: detected for each."""
    tables: Sequence[str] | None = None
    reader_languages: Sequence[str] | None = None


@dataclass(frozen=True, slots=True)
class Languages:
    """The languages of a request, given or detected, and the tables that translate between them."""

    language: str
    detected: bool
    """Whether the query's language was detected."""
    probability: float
    """How sure the query's language is."""
    documents: Sequence[str | None] | None
    """The documents' detected languages, None for an assumed one; None if the request has one for all."""
    tables: Sequence[TableUsed]
    warnings: Sequence[str]
    """Messages about assumed languages and documents without a table."""


@dataclass(frozen=True, slots=True)
class Ranking:
    """(index, score) of the documents, best first, ties in input order; and what differs from the request."""

    model: str
    languages: Languages
    best: list[tuple[int, float]]
    failed: dict[int, str]
    truncated: list[int]
    tokens: int
    query_cut: bool


@dataclass(frozen=True, slots=True)
class PendingRanking:
    """A ranking whose scores are being computed."""

    pending: Pending
    languages: Languages

    def ranking(self, scores: Scores, *, raw: bool) -> Ranking:
        """The ranking by these scores, which become probabilities unless ``raw``."""
        scored = [(index, score) for index, score in enumerate(scores.values) if score is not None]
        best = sorted(scored, key=lambda entry: (-entry[1], entry[0]))
        languages = replace(self.languages, tables=[]) if scores.about.placebo else self.languages
        return Ranking(
            scores.about.name,
            languages,
            [(index, score if raw else sigmoid(score)) for index, score in best],
            scores.failed,
            scores.truncated,
            scores.tokens,
            scores.query_cut,
        )


class RerankRequests:
    """Answers the rerank requests of endpoints and jobs. Safe from any thread."""

    def __init__(
        self, reranking: Reranking, tables: TableRegistry, analysis: Callable[[str], Analysis], settings: Settings
    ) -> None:
        self._reranking = reranking
        self._analysis = analysis
        self._tables = tables
        self._settings = settings

    def begin(self, request: RerankQuery, texts: Sequence[str], snapshot: Snapshot | None = None) -> PendingRanking:
        """Start scoring the documents with the tables of ``snapshot``, or of the current snapshot.

        Raises:
            InvalidRequest: a limit is exceeded; the message names the field.
            NotFound: there is no such table.
            ServiceError: see :meth:`Scoring.begin`.
        """
        _check(self._settings, request, texts)
        snapshot = self._tables.include(snapshot or self._tables.snapshot, request.tables or ())
        if request.query_language is None or request.document_language is None:
            check_detectable(snapshot, [request.document_language] if request.document_language else [])
        readers = readers_of(request.reader_languages, self._settings.search.readers)
        query, *detections = _languages(request, texts, snapshot, readers)
        documents = [
            AnalysedText(text, detection.language, self._analysis)
            for text, detection in zip(texts, detections, strict=True)
        ]
        if request.tables is not None:
            targets = {document.language for document in documents} - {query.language}
            snapshot = self._tables.select(snapshot, request.tables, query.language, targets)
        languages = _describe_languages(request, query, detections, snapshot)
        seconds = wait_limit(self._settings.worker.worker_seconds)
        query_text = AnalysedText(request.query, query.language, self._analysis)
        return PendingRanking(self._reranking.begin(query_text, documents, snapshot, seconds), languages)


def _languages(
    request: RerankQuery, texts: Sequence[str], snapshot: Snapshot, readers: Sequence[str]
) -> Iterator[Detection]:
    """The language of the query and of each document, given or detected.

    Candidates are the languages of the tables and of the readers; where there is no table, all usual ones, of which the
    words alone decide.
    """
    candidates = {FALLBACK, *snapshot.languages}
    languages = chain([request.query_language], repeat(request.document_language))
    for text, language in check_each(zip([request.query, *texts], languages, strict=False)):
        if language is not None:
            yield Detection.of_request(language)
        elif snapshot.languages:
            yield detect(text[:_SAMPLE], candidates, snapshot.knows, readers=readers)
        else:
            yield detect_by_words(text[:_SAMPLE], readers)


def _describe_languages(
    request: RerankQuery, query: Detection, documents: Sequence[Detection], snapshot: Snapshot
) -> Languages:
    warnings = _guesses(query, documents)
    source_note = "" if request.query_language else f" (query language: {query.language})"
    counts = Counter(document.language for document in documents)
    views = {target: snapshot.view(query.language, target) for target in counts if target != query.language}
    warnings += [
        f"{why_untranslated(query.language, target, snapshot).reason}; "
        f"documents scored without one: {counts[target]}{source_note}"
        for target, view in views.items()
        if view is None
    ]
    detected = (
        None
        if request.document_language
        else [document.language if document.decided else None for document in documents]
    )
    tables = tables_used(view.members for view in views.values() if view is not None)
    return Languages(query.language, request.query_language is None, query.probability, detected, tables, warnings)


def _guesses(query: Detection, documents: Sequence[Detection]) -> list[str]:
    """Messages about languages that were assumed, and about those that are not sure."""
    warnings = [] if query.decided else [undecided_message(query.language)]
    if query.decided and query.unsure:
        warnings.append(
            f"the language of the query is not sure: {query.language} was taken, with probability"
            f" {query.probability:.2f}; query_language names it"
        )
    if vague := [document.language for document in documents if not document.decided]:
        warnings.append(f"documents whose language could not be detected, assumed to be {vague[0]}: {len(vague)}")
    if unsure := sum(document.decided and document.unsure for document in documents):
        warnings.append(f"documents whose language is not sure: {unsure}; document_language names it")
    return warnings


def _check(settings: Settings, request: RerankQuery, texts: Sequence[str]) -> None:
    if len(request.query) > settings.search.query_chars:
        raise InvalidRequest(f"query: longer than {settings.search.query_chars} characters")
    if len(texts) > settings.search.rerank_documents:
        raise InvalidRequest(f"documents: {len(texts)} of them; at most {settings.search.rerank_documents} are allowed")
    if len(request.tables or ()) > settings.search.search_names:
        raise InvalidRequest(
            f"tables: {len(request.tables or ())} of them; at most {settings.search.search_names} are allowed"
        )
    for place, text in enumerate(texts):
        if len(text) > settings.search.document_chars:
            raise InvalidRequest(f"documents[{place}]: longer than {settings.search.document_chars} characters")
