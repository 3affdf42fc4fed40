"""Answers of questions: spans of a given context, or of the documents that search finds."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from dragoman.indexes.passages import sentences
from dragoman.service.collections.service import Collections
from dragoman.service.core.errors import ClientDisconnected, InternalError, InvalidRequest, NotFound, ServiceError
from dragoman.service.core.priority import Traffic, in_background, wait_limit
from dragoman.service.core.settings import Settings
from dragoman.service.inference.batching import Cancelled, gathered
from dragoman.service.inference.models import Models
from dragoman.service.inference.reading import Read, reader_place
from dragoman.service.observability.metrics import Metrics
from dragoman.service.query.language import FALLBACK, detect
from dragoman.service.query.translation import undecided
from dragoman.service.schemas.qa import AnswerDocument, QaAnswer, QaRequest, QaResponse
from dragoman.service.schemas.search import Degraded, Hit, Method, QueryRead, SearchRequest
from dragoman.service.search.gloss import Glosses
from dragoman.service.search.service import Search
from dragoman.service.tables.snapshot import Snapshot

if TYPE_CHECKING:
    from dragoman.reasoning.inference import SpanScorer
    from dragoman.reasoning.reading import Answer, Part
    from dragoman.reasoning.spans import Span

logger = logging.getLogger("dragoman")

STAGE = "qa"
ANSWERS = 3
_QUEUED = 64
"""Windows of one request that are queued at a time."""


@dataclass(frozen=True)
class _Text:
    """A text to read, its language, and the document it is of."""

    text: str
    language: str
    document: AnswerDocument | None = None


@dataclass(frozen=True)
class _Question:
    """A question, its language, and what translates words into it where glosses are wanted."""

    text: str
    language: str
    glosses: Glosses | None


class QuestionAnswering:
    """Answers questions. Every method may be called from any thread."""

    def __init__(
        self,
        models: Models,
        search: Search,
        collections: Collections,
        settings: Settings,
        metrics: Metrics,
        traffic: Traffic,
    ) -> None:
        self._models, self._search, self._collections, self._settings = models, search, collections, settings
        self._metrics, self._traffic = metrics, traffic

    def answer(
        self,
        request: QaRequest,
        request_id: str,
        cancelled: Cancelled | None = None,
        snapshot: Snapshot | None = None,
        method: Method | None = None,
    ) -> QaResponse:
        """The best answers, and the probability that there is none.

        Documents are searched for with the tables of ``snapshot`` and by ``method``, each by default that of now.

        Where documents are searched for, a reader that fails or takes too long leaves the passages, and is named in
        `degraded`; background work fails instead.

        Raises:
            InvalidRequest: a field is not allowed; the message names it.
            NotFound: there is no such collection.
            TooManyRequests: the queue for the models is full.
            InternalError: the reader failed on a given context.
            Unavailable: there is no reader, or it took too long for a given context.
        """
        self._check(request)
        reader_place(self._settings)
        snapshot = snapshot or self._search.snapshot
        with self._traffic.live():
            if request.context is not None:
                return self._of_context(request, request.context, request_id, cancelled, snapshot)
            return self._of_documents(request, self._wanted(request, method), request_id, cancelled, snapshot)

    def default_method(self, request: QaRequest) -> Method | None:
        """The method by which documents are searched for as of now; None where a context is given.

        Raises:
            NotFound: there is no such collection.
        """
        return None if request.context is not None else self._search.default_method(self._wanted(request))

    def _wanted(self, request: QaRequest, method: Method | None = None) -> SearchRequest:
        """The search for the documents to read."""
        return SearchRequest(
            query=request.question,
            query_language=request.question_language,
            collections=request.collections,
            method=method,
            top_k=min(self._settings.qa_passages, self._settings.top_k_max),
            gloss=request.gloss,
        )

    def _of_context(
        self, request: QaRequest, context: str, request_id: str, cancelled: Cancelled | None, snapshot: Snapshot
    ) -> QaResponse:
        reader = self._models.reader(cancelled)
        degraded: list[Degraded] = []
        language = request.question_language or _detected("question", request.question, reader, degraded)
        text = _Text(context, request.context_language or _detected("context", context, reader, degraded))
        answers, none = self._read(reader, self._question(request, language, snapshot), [text], cancelled)
        self._metrics.degraded(degraded)
        return QaResponse(
            request_id=request_id,
            query=QueryRead(text=request.question, language=language, detected=request.question_language is None),
            answers=answers,
            no_answer=none,
            model=reader.name,
            degraded=degraded,
            truncated=[],
        )

    def _of_documents(
        self,
        request: QaRequest,
        wanted: SearchRequest,
        request_id: str,
        cancelled: Cancelled | None,
        snapshot: Snapshot,
    ) -> QaResponse:
        found = self._search.search(wanted, request_id, cancelled, snapshot)
        response = QaResponse(
            request_id=request_id,
            query=found.query,
            answers=[],
            model=Path(reader_place(self._settings)).name,
            passages=found.hits,
            degraded=found.degraded,
            truncated=found.truncated,
        )
        started = time.perf_counter()
        try:
            reader = self._models.reader(cancelled)
            response.model = reader.name
            texts = self._texts(found.hits, response.truncated)
            question = self._question(request, found.query.language, snapshot)
            response.answers, response.no_answer = self._read(reader, question, texts, cancelled)
        except (ClientDisconnected, InvalidRequest):
            raise
        except ServiceError as fault:
            if in_background():
                raise
            self._failed(response, fault)
        except Exception as fault:
            if in_background():
                raise
            logger.error("reading failed", exc_info=fault)
            self._failed(response, InternalError("the reader failed"))
        self._metrics.stage(STAGE, time.perf_counter() - started)
        return response

    def _question(self, request: QaRequest, language: str, snapshot: Snapshot) -> _Question:
        glosses = self._search.glosses(language, snapshot) if request.gloss else None
        return _Question(request.question, language, glosses)

    def _failed(self, response: QaResponse, fault: ServiceError) -> None:
        degraded = Degraded.of(STAGE, f"no passage was read: {fault}", fault.error_type)
        self._metrics.degraded([degraded])
        response.degraded.append(degraded)

    def _check(self, request: QaRequest) -> None:
        for name, text, most in (
            ("question", request.question, self._settings.query_chars),
            ("context", request.context, self._settings.qa_chars),
        ):
            if text is not None and len(text) > most:
                raise InvalidRequest(f"{name}: {len(text)} characters; at most {most} are allowed")

    def _texts(self, hits: Sequence[Hit], truncated: list[str]) -> list[_Text]:
        """The documents of hits, as much as a context may have together; one that was deleted meanwhile is left out."""
        found = []
        left = self._settings.qa_chars
        for hit in hits:
            try:
                text = self._collections.document(hit.collection, hit.id).text
            except NotFound:
                continue
            if len(text) > left:
                truncated.append(f"{hit.collection}/{hit.id}: {left} of {len(text)} characters were read")
            document = AnswerDocument(id=hit.id, collection=hit.collection, language=hit.language)
            found.append(_Text(text[:left], hit.language, document))
            left -= len(found[-1].text)
        return found

    def _read(
        self, reader: SpanScorer, question: _Question, texts: Sequence[_Text], cancelled: Cancelled | None
    ) -> tuple[list[QaAnswer], float]:
        from dragoman.reasoning.reading import Reading, Request

        try:
            requests = [Request(question.text, one.text, one.language != question.language) for one in texts]
            reading = Reading(reader.encoder, requests)
        except ValueError as fault:
            raise InvalidRequest(f"question: {fault}") from fault
        spans = self._spans(reading.parts, cancelled)
        found = [
            (answer, text)
            for text, answers in zip(texts, reading.answers(spans, ANSWERS), strict=True)
            for answer in answers
        ]
        best = sorted(found, key=lambda pair: -pair[0].score)[:ANSWERS]
        probabilities, none = reader.calibration.probabilities([answer for answer, _ in best])
        return [_answer(*pair, score, question.glosses) for pair, score in zip(best, probabilities, strict=True)], none

    def _spans(self, parts: Sequence[Part], cancelled: Cancelled | None) -> list[list[Span]]:
        """The spans of each part; a long text's are queued a few at a time, so that others are not refused."""
        until = time.monotonic() + wait_limit(self._settings.worker_seconds)
        found: list[list[Span]] = []
        for start in range(0, len(parts), _QUEUED):
            some = parts[start : start + _QUEUED]
            futures = self._models.worker.submit(Read(), some, costs=[len(part.row.ids) for part in some])
            try:
                found += gathered(futures, max(0.0, until - time.monotonic()), cancelled)
            except ServiceError:
                raise
            except Exception as fault:
                logger.error("the reader failed", exc_info=fault)
                raise InternalError("the reader failed on this text; the service's log has the cause") from fault
        return found


def _answer(answer: Answer, text: _Text, score: float, glosses: Glosses | None) -> QaAnswer:
    start, end = _sentence(text.text, answer.start, answer.end)
    sentence = text.text[start:end]
    made = QaAnswer(
        text=answer.text,
        start=answer.start,
        end=answer.end,
        score=score,
        sentence=sentence,
        sentence_start=start,
    )
    if glosses is not None:
        made.gloss = glosses.of_text(sentence, text.language, "text", start)
    if text.document is not None:
        made.document = text.document
    return made


def _detected(name: str, text: str, reader: SpanScorer, degraded: list[Degraded]) -> str:
    """The language of a text, among those that the reader learned; a guess is reported."""
    found = detect(text, reader.languages or {FALLBACK}, lambda language, word: False)
    if not found.decided:
        degraded.append(Degraded.of("detect", f"{name}: {undecided(found.language)}", "undecided"))
    return found.language


def _sentence(text: str, start: int, end: int) -> tuple[int, int]:
    """From the beginning of the sentence that a span begins in to the end of the one that it ends in."""
    touched = [span for span in sentences(text) if span[0] < end and start < span[1]]
    return (min(touched[0][0], start), max(touched[-1][1], end)) if touched else (start, end)
