"""Questions answered and statements judged: by a given context, or by the documents that search finds."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext

from dragoman.deadline import DeadlinePassed, WorkCancelled
from dragoman.engine.checking.translations import CheckedTranslations
from dragoman.engine.core.answer import Degraded
from dragoman.engine.core.errors import ClientDisconnected, InternalError, InvalidRequest, ServiceError
from dragoman.engine.core.priority import Traffic, in_background, wait_limit
from dragoman.engine.core.turns import Turns, turn
from dragoman.engine.models.models import Models
from dragoman.engine.models.queue.worker import Cancelled
from dragoman.engine.models.readers import ReaderInfo, reader_place
from dragoman.engine.observability.metrics import Metrics
from dragoman.engine.qa.answer_translations import add_translations
from dragoman.engine.qa.answers import Answers
from dragoman.engine.qa.offsets import count_in_utf16
from dragoman.engine.qa.request import QaQuery
from dragoman.engine.qa.response import AnswerDocument, QaResponse, StatementResponse
from dragoman.engine.qa.statements import Statements
from dragoman.engine.qa.texts import Question, SourceText
from dragoman.engine.query.description import undecided_message
from dragoman.engine.query.language import FALLBACK, NEIGHBOURS, Detection, detect
from dragoman.engine.query.readers import readers_of
from dragoman.engine.query.response import QueryRead
from dragoman.engine.search.ranked import RankedDocument, Retrieval
from dragoman.engine.search.request import Method, SearchQuery
from dragoman.engine.search.service import Search
from dragoman.engine.search.shown.glosses import no_gloss
from dragoman.engine.settings import Settings
from dragoman.engine.tables.snapshot import Snapshot

logger = logging.getLogger("dragoman")

STAGE = "qa"
_READING = 2
"""Requests whose long texts are read at a time, each of another caller. One's windows take up to 150 MB."""
_SHORT_CHARS = 16_384
"""Texts of one request that are read without a turn. Any number of such requests may be read in one batch."""
Response = QaResponse | StatementResponse


class QuestionAnswering:
    """Answers questions and judges statements. Every method may be called from any thread."""

    def __init__(
        self,
        models: Models,
        search: Search,
        settings: Settings,
        metrics: Metrics,
        traffic: Traffic,
        translations: CheckedTranslations,
    ) -> None:
        self._models, self._search, self._settings, self._translations = models, search, settings, translations
        self._metrics, self._traffic = metrics, traffic
        self._turns = Turns(_READING, 1)
        self._answers, self._statements = Answers(models), Statements(models, search.analysis, settings)

    def answer(
        self,
        request: QaQuery,
        request_id: str,
        cancelled: Cancelled | None = None,
        snapshot: Snapshot | None = None,
        method: Method | None = None,
        retrieved: Callable[[Retrieval], None] = lambda retrieval: None,
    ) -> Response:
        """The best answers and the probability that there is none, or whether a statement is true, false or unknown.

        Documents are searched for with the tables of ``snapshot`` and by ``method``, each by default that of now.
        ``retrieved`` is told of the search.

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
        reader_place(self._settings, self._work(request).kind)
        snapshot = snapshot or self._search.snapshot
        with self._traffic.live():
            if request.context is not None:
                return self._of_context(request, request.context, request_id, cancelled, snapshot)
            search = self._passage_search(request, method)
            return self._of_documents(request, search, request_id, cancelled, snapshot, retrieved)

    def default_method(self, request: QaQuery) -> Method | None:
        """The method by which documents are searched for as of now; None where a context is given.

        Raises:
            NotFound: there is no such collection.
        """
        return None if request.context is not None else self._search.default_method(self._passage_search(request))

    def _passage_search(self, request: QaQuery, method: Method | None = None) -> SearchQuery:
        """The search for the documents to read."""
        return SearchQuery(
            query=request.asked,
            query_language=request.question_language,
            reader_languages=request.reader_languages,
            collections=request.collections,
            filter=request.filter,
            method=method,
            top_k=min(self._settings.qa.qa_passages, self._settings.search.top_k_max),
            gloss=bool(request.gloss),
            offsets=request.offsets,
        )

    def _of_context(
        self, request: QaQuery, context: str, request_id: str, cancelled: Cancelled | None, snapshot: Snapshot
    ) -> Response:
        work = self._work(request)
        reader = work.reader(cancelled)
        degraded: list[Degraded] = []
        of_context = request.context_language or _detect("context", context, reader, degraded).language
        detection = self._question_language(request, of_context, reader, degraded)
        language = detection.language
        _note_unlearned([(_field(request), language), ("context", of_context)], reader, degraded)
        text = SourceText(context, of_context)
        response = work.response(
            request_id=request_id,
            query=QueryRead(
                text=request.asked,
                language=language,
                detected=request.question_language is None,
                language_probability=round(detection.probability, 4),
            ),
            model=reader.name,
            degraded=degraded,
            truncated=[],
        )
        with self._reading([text], cancelled):
            work.fill(response, self._question(request, language, snapshot), [text], cancelled)
        if request.gloss and text.language != language and snapshot.view(text.language, language) is None:
            degraded.append(no_gloss(text.language, language, snapshot))
        degraded += self._translate(request, response, language, of_context, snapshot, cancelled)
        if isinstance(response, QaResponse):
            response.judge_answers()
        if request.offsets == "utf16":
            count_in_utf16(response, [text])
        self._metrics.count_degraded(degraded)
        return response

    def _of_documents(
        self,
        request: QaQuery,
        search: SearchQuery,
        request_id: str,
        cancelled: Cancelled | None,
        snapshot: Snapshot,
        retrieved: Callable[[Retrieval], None],
    ) -> Response:
        retrieval = self._search.retrieve(search, cancelled, snapshot)
        retrieved(retrieval)
        work = self._work(request)
        response = work.response(
            request_id=request_id,
            query=retrieval.understood,
            model=reader_place(self._settings, work.kind).name,
            passages=[document.hit for document in retrieval.documents],
            degraded=retrieval.degraded,
            truncated=retrieval.truncated,
        )
        started = time.perf_counter()
        texts: list[SourceText] = []
        try:
            reader = work.reader(cancelled)
            response.model = reader.name
            texts = self._texts(retrieval.documents, response.truncated)
            languages = [(_field(request), retrieval.query.language)]
            languages += [("documents", language) for language in sorted({text.language for text in texts})]
            _note_unlearned(languages, reader, response.degraded)
            with self._reading(texts, cancelled):
                work.fill(response, self._question(request, retrieval.query.language, snapshot), texts, cancelled)
            language = retrieval.query.language
            degraded = self._translate(request, response, language, language, snapshot, cancelled)
            self._metrics.count_degraded(degraded)
            response.degraded += degraded
            if isinstance(response, QaResponse):
                response.judge_answers(retrieval.verdict)
        except (ClientDisconnected, InvalidRequest, DeadlinePassed, WorkCancelled):
            raise
        except ServiceError as fault:
            if in_background():
                raise
            self._note_failure(response, fault)
        except Exception as fault:
            if in_background():
                raise
            logger.error("reading failed", exc_info=fault)
            self._note_failure(response, InternalError("the reader failed"))
        if request.offsets == "utf16":
            count_in_utf16(response, texts)
        self._metrics.stage(STAGE, time.perf_counter() - started)
        return response

    def _question_language(
        self, request: QaQuery, of_context: str, reader: ReaderInfo, degraded: list[Degraded]
    ) -> Detection:
        """The language of the question or statement: given, or most likely that of its context or of a reader."""
        if request.question_language is not None:
            return Detection.of_request(request.question_language)
        readers = readers_of(request.reader_languages, self._settings.search.readers)
        return _detect(_field(request), request.asked, reader, degraded, of_context, readers)

    def _reading(self, texts: Sequence[SourceText], cancelled: Cancelled | None) -> AbstractContextManager[None]:
        """A turn to read long texts: more of them in rows at a time take memory, and the worker reads none sooner."""
        if sum(len(text.text) for text in texts) <= _SHORT_CHARS:
            return nullcontext()
        return turn(self._turns, wait_limit(self._settings.worker.worker_seconds), cancelled)

    def _work(self, request: QaQuery) -> Answers | Statements:
        return self._answers if request.statement is None else self._statements

    def _question(self, request: QaQuery, language: str, snapshot: Snapshot) -> Question:
        glosses = None if request.gloss is False else self._search.glosses(language, snapshot)
        return Question(_field(request), request.asked, language, glosses, snapshot, request.gloss is True)

    def _translate(
        self,
        request: QaQuery,
        response: Response,
        language: str,
        of_context: str,
        snapshot: Snapshot,
        cancelled: Cancelled | None,
    ) -> list[Degraded]:
        """Translate the sentences of answers where that is asked for; those of a context are ``of_context``."""
        if not request.translate or not isinstance(response, QaResponse):
            return []
        answers = [(answer, answer.document.language if answer.document else of_context) for answer in response.answers]
        glosses = self._search.glosses(language, snapshot)
        return add_translations(answers, language, self._translations, snapshot, glosses, cancelled)

    def _note_failure(self, response: Response, fault: ServiceError) -> None:
        degraded = Degraded.of(STAGE, f"no passage was read: {fault}", fault.cause)
        self._metrics.count_degraded([degraded])
        response.degraded.append(degraded)

    def _check(self, request: QaQuery) -> None:
        for name, text, most in (
            (_field(request), request.asked, self._settings.search.query_chars),
            ("context", request.context, self._settings.qa.qa_chars),
        ):
            if text is not None and len(text) > most:
                raise InvalidRequest(f"{name}: {len(text)} characters; at most {most} are allowed")

    def _texts(self, documents: Sequence[RankedDocument], truncated: list[str]) -> list[SourceText]:
        """The texts of documents, as much as a context may have together."""
        texts = []
        remaining = self._settings.qa.qa_chars
        for document in documents:
            text = document.stored.part(0, remaining + 1)
            if len(text) > remaining:
                length = document.stored.length()
                truncated.append(
                    f"{document.hit.collection}/{document.hit.id}: {remaining} of {length} characters were read"
                )
            texts.append(SourceText(text[:remaining], document.stored.language, AnswerDocument.of(document.hit)))
            remaining -= len(texts[-1].text)
        return texts


def _field(request: QaQuery) -> str:
    return "question" if request.statement is None else "statement"


def _detect(
    name: str,
    text: str,
    reader: ReaderInfo,
    degraded: list[Degraded],
    likely: str | None = None,
    readers: Sequence[str] = (),
) -> Detection:
    """The language of a text, which the reader need not have learned; a guess is reported.

    A question is more often in the language of its context, `likely`, than in another one.
    """
    candidates = {FALLBACK, *reader.languages, *NEIGHBOURS} if reader.languages else {FALLBACK}
    detection = detect(
        text, candidates, lambda language, word: False, lambda language: float(language == likely), readers
    )
    if not detection.decided:
        degraded.append(Degraded.of("detect", f"{name}: {undecided_message(detection.language)}", "undecided"))
    return detection


def _note_unlearned(languages: Sequence[tuple[str, str]], reader: ReaderInfo, degraded: list[Degraded]) -> None:
    """Name the fields in languages that the reader did not learn from; a reader may not say what it learned."""
    for name, language in languages:
        if reader.languages and language not in reader.languages:
            reason = f"{name}: {reader.name} did not learn to read {language!r}"
            degraded.append(Degraded.of(STAGE, reason, "language"))
