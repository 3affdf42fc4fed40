"""Answers of questions: spans of a given context, or of the documents that search finds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dragoman.indexes.passages import sentences
from dragoman.service.collections.service import Collections
from dragoman.service.core.errors import ClientDisconnected, InvalidRequest, NotFound, ServiceError
from dragoman.service.core.priority import wait_limit
from dragoman.service.core.settings import Settings
from dragoman.service.inference.batching import Cancelled, gathered
from dragoman.service.inference.models import Models
from dragoman.service.inference.reading import Read, reader_place
from dragoman.service.query.language import detect
from dragoman.service.schemas.qa import AnswerDocument, QaAnswer, QaRequest, QaResponse
from dragoman.service.schemas.search import Degraded, Hit, SearchRequest
from dragoman.service.search.service import Search
from dragoman.service.tables.snapshot import Snapshot

if TYPE_CHECKING:
    from dragoman.reasoning.inference import SpanScorer

STAGE = "qa"
ANSWERS = 3


@dataclass(frozen=True)
class _Text:
    """A text to read, its language, and the document it is of."""

    text: str
    language: str
    document: AnswerDocument | None = None


class QuestionAnswering:
    """Answers questions. Every method may be called from any thread."""

    def __init__(self, models: Models, search: Search, collections: Collections, settings: Settings) -> None:
        self._models, self._search, self._collections, self._settings = models, search, collections, settings

    def answer(
        self,
        request: QaRequest,
        request_id: str,
        cancelled: Cancelled | None = None,
        snapshot: Snapshot | None = None,
    ) -> QaResponse:
        """The best answers, and the probability that there is none; searches use the tables of ``snapshot``.

        With collections, a reader that fails or takes too long leaves the passages, and is named in `degraded`.

        Raises:
            InvalidRequest: a field is not allowed; the message names it.
            NotFound: there is no such collection.
            TooManyRequests: the queue for the models is full.
            Unavailable: there is no reader, or it took too long for a given context.
        """
        self._check(request)
        place = reader_place(self._settings)
        question = request.question
        if request.context is not None:
            reader = self._models.reader(cancelled)
            language = request.question_language or _detected(question, reader)
            text = _Text(request.context, request.context_language or _detected(request.context, reader))
            answers, none = self._read(reader, question, language, [text], cancelled)
            return QaResponse(request_id=request_id, answers=answers, no_answer=none, model=reader.name, degraded=[])
        wanted = SearchRequest(
            query=question,
            query_language=request.question_language,
            collections=request.collections,
            top_k=self._settings.qa_passages,
        )
        found = self._search.search(wanted, request_id, cancelled, snapshot)
        response = QaResponse(
            request_id=request_id, answers=[], no_answer=1.0, model=place, passages=found.hits, degraded=found.degraded
        )
        try:
            reader = self._models.reader(cancelled)
            response.model = reader.name
            texts = self._texts(found.hits)
            response.answers, response.no_answer = self._read(reader, question, found.query.language, texts, cancelled)
        except ClientDisconnected:
            raise
        except ServiceError as fault:
            response.degraded.append(Degraded.of(STAGE, f"no passage was read: {fault}", fault.error_type))
        return response

    def _check(self, request: QaRequest) -> None:
        limits = (
            ("question", request.question, self._settings.query_chars),
            ("context", request.context, self._settings.qa_chars),
        )
        for name, text, most in limits:
            if text is not None and len(text) > most:
                raise InvalidRequest(f"{name}: {len(text)} characters; at most {most} are allowed")

    def _texts(self, hits: Sequence[Hit]) -> list[_Text]:
        """The documents of hits; one that was deleted meanwhile is left out."""
        found = []
        for hit in hits:
            try:
                text = self._collections.document(hit.collection, hit.id).text
            except NotFound:
                continue
            document = AnswerDocument(id=hit.id, collection=hit.collection, language=hit.language)
            found.append(_Text(text, hit.language, document))
        return found

    def _read(
        self, reader: SpanScorer, question: str, language: str, texts: Sequence[_Text], cancelled: Cancelled | None
    ) -> tuple[list[QaAnswer], float]:
        from dragoman.reasoning.reading import Reading, Request

        try:
            reading = Reading(reader.encoder, [Request(question, one.text, one.language != language) for one in texts])
        except ValueError as fault:
            raise InvalidRequest(f"question: {fault}") from fault
        costs = [len(part.row.ids) for part in reading.parts]
        futures = self._models.worker.submit(Read(), reading.parts, costs=costs)
        spans = gathered(futures, wait_limit(self._settings.worker_seconds), cancelled)
        found = [
            (answer, text)
            for text, answers in zip(texts, reading.answers(spans, ANSWERS), strict=True)
            for answer in answers
        ]
        best = sorted(found, key=lambda pair: -pair[0].score)[:ANSWERS]
        probabilities, none = reader.calibration.probabilities([answer for answer, _ in best])
        answers = [
            QaAnswer(
                text=answer.text,
                start=answer.start,
                end=answer.end,
                score=probability,
                sentence=_sentence(text.text, answer.start),
                document=text.document,
            )
            for (answer, text), probability in zip(best, probabilities, strict=True)
        ]
        return answers, none


def _detected(text: str, reader: SpanScorer) -> str:
    return detect(text, reader.languages, lambda language, word: False).language


def _sentence(text: str, place: int) -> str:
    """The sentence of a text that a place is in."""
    start, end = next((span for span in sentences(text) if span[0] <= place < span[1]), (0, len(text)))
    return text[start:end]
