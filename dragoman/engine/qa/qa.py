"""Questions answered and statements judged: by a given context, or by the documents that search finds."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING

from dragoman.deadline import DeadlinePassed, WorkCancelled
from dragoman.engine.core.answer import Degraded
from dragoman.engine.core.errors import ClientDisconnected, InternalError, InvalidRequest, ServiceError
from dragoman.engine.core.priority import Traffic, in_background, wait_limit
from dragoman.engine.core.turns import Turns, turn
from dragoman.engine.models.batching import Cancelled
from dragoman.engine.models.models import Models
from dragoman.engine.models.reading import reader_place
from dragoman.engine.observability.metrics import Metrics
from dragoman.engine.qa.answers import Answers
from dragoman.engine.qa.request import QaQuery
from dragoman.engine.qa.response import AnswerDocument, QaResponse, StatementResponse
from dragoman.engine.qa.statements import Statements
from dragoman.engine.qa.texts import Asked, Text
from dragoman.engine.query.language import FALLBACK, NEIGHBOURS, Detection, detect
from dragoman.engine.query.readers import readers_of
from dragoman.engine.query.response import QueryRead
from dragoman.engine.query.translation import undecided
from dragoman.engine.search.ranked import RankedDocument
from dragoman.engine.search.request import Method, SearchQuery
from dragoman.engine.search.service import Search
from dragoman.engine.settings import Settings
from dragoman.engine.tables.snapshot import Snapshot

if TYPE_CHECKING:
    from dragoman.reasoning.inference import PackedReader

logger = logging.getLogger("dragoman")

STAGE = "qa"
_READING = 2
"""Requests whose long texts are read at a time, each of another caller. One's windows take up to 150 MB."""
_SHORT_CHARS = 16_384
"""Texts of one request that are read without a turn. Any number of such requests may be read in one batch."""
Response = QaResponse | StatementResponse


class QuestionAnswering:
    """Answers questions and judges statements. Every method may be called from any thread."""

    def __init__(self, models: Models, search: Search, settings: Settings, metrics: Metrics, traffic: Traffic) -> None:
        self._models, self._search, self._settings = models, search, settings
        self._metrics, self._traffic = metrics, traffic
        self._turns = Turns(_READING, 1)
        self._answers, self._statements = Answers(models, settings), Statements(models, settings)

    def answer(
        self,
        request: QaQuery,
        request_id: str,
        cancelled: Cancelled | None = None,
        snapshot: Snapshot | None = None,
        method: Method | None = None,
    ) -> Response:
        """The best answers and the probability that there is none, or whether a statement is true.

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
        reader_place(self._settings, self._work(request).kind)
        snapshot = snapshot or self._search.snapshot
        with self._traffic.live():
            if request.context is not None:
                return self._of_context(request, request.context, request_id, cancelled, snapshot)
            return self._of_documents(request, self._wanted(request, method), request_id, cancelled, snapshot)

    def default_method(self, request: QaQuery) -> Method | None:
        """The method by which documents are searched for as of now; None where a context is given.

        Raises:
            NotFound: there is no such collection.
        """
        return None if request.context is not None else self._search.default_method(self._wanted(request))

    def _wanted(self, request: QaQuery, method: Method | None = None) -> SearchQuery:
        """The search for the documents to read."""
        return SearchQuery(
            query=request.asked,
            query_language=request.question_language,
            reader_languages=request.reader_languages,
            collections=request.collections,
            method=method,
            top_k=min(self._settings.qa.qa_passages, self._settings.search.top_k_max),
            gloss=request.gloss,
        )

    def _of_context(
        self, request: QaQuery, context: str, request_id: str, cancelled: Cancelled | None, snapshot: Snapshot
    ) -> Response:
        work = self._work(request)
        reader = work.reader(cancelled)
        degraded: list[Degraded] = []
        of_context = request.context_language or _detected("context", context, reader, degraded).language
        asked = self._asked_in(request, of_context, reader, degraded)
        language = asked.language
        _note_unlearned([(_field(request), language), ("context", of_context)], reader, degraded)
        text = Text(context, of_context)
        response = work.response(
            request_id=request_id,
            query=QueryRead(
                text=request.asked,
                language=language,
                detected=request.question_language is None,
                language_probability=round(asked.probability, 4),
            ),
            model=reader.name,
            degraded=degraded,
            truncated=[],
        )
        with self._reading([text], cancelled):
            work.fill(response, reader, self._asked(request, language, snapshot), [text], cancelled)
        self._metrics.degraded(degraded)
        return response

    def _of_documents(
        self,
        request: QaQuery,
        wanted: SearchQuery,
        request_id: str,
        cancelled: Cancelled | None,
        snapshot: Snapshot,
    ) -> Response:
        found = self._search.retrieve(wanted, cancelled, snapshot)
        work = self._work(request)
        response = work.response(
            request_id=request_id,
            query=found.understood,
            model=reader_place(self._settings, work.kind).name,
            passages=[one.hit for one in found.documents],
            degraded=found.degraded,
            truncated=found.truncated,
        )
        started = time.perf_counter()
        try:
            reader = work.reader(cancelled)
            response.model = reader.name
            texts = self._texts(found.documents, response.truncated)
            languages = [(_field(request), found.query.language)]
            languages += [("documents", language) for language in sorted({one.language for one in texts})]
            _note_unlearned(languages, reader, response.degraded)
            with self._reading(texts, cancelled):
                work.fill(response, reader, self._asked(request, found.query.language, snapshot), texts, cancelled)
        except (ClientDisconnected, InvalidRequest, DeadlinePassed, WorkCancelled):
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

    def _asked_in(self, request: QaQuery, of_context: str, reader: PackedReader, degraded: list[Degraded]) -> Detection:
        """The language of the question or statement: given, or most likely that of its context or of a reader."""
        if request.question_language is not None:
            return Detection.given(request.question_language)
        readers = readers_of(request.reader_languages, self._settings.search.readers)
        return _detected(_field(request), request.asked, reader, degraded, of_context, readers)

    def _reading(self, texts: Sequence[Text], cancelled: Cancelled | None) -> AbstractContextManager[None]:
        """A turn to read long texts: more of them in rows at a time take memory, and the worker reads none sooner."""
        if sum(len(one.text) for one in texts) <= _SHORT_CHARS:
            return nullcontext()
        return turn(self._turns, wait_limit(self._settings.worker.worker_seconds), cancelled)

    def _work(self, request: QaQuery) -> Answers | Statements:
        return self._answers if request.statement is None else self._statements

    def _asked(self, request: QaQuery, language: str, snapshot: Snapshot) -> Asked:
        glosses = self._search.glosses(language, snapshot) if request.gloss else None
        return Asked(_field(request), request.asked, language, glosses)

    def _failed(self, response: Response, fault: ServiceError) -> None:
        degraded = Degraded.of(STAGE, f"no passage was read: {fault}", fault.error_type)
        self._metrics.degraded([degraded])
        response.degraded.append(degraded)

    def _check(self, request: QaQuery) -> None:
        for name, text, most in (
            (_field(request), request.asked, self._settings.search.query_chars),
            ("context", request.context, self._settings.qa.qa_chars),
        ):
            if text is not None and len(text) > most:
                raise InvalidRequest(f"{name}: {len(text)} characters; at most {most} are allowed")

    def _texts(self, documents: Sequence[RankedDocument], truncated: list[str]) -> list[Text]:
        """The texts of documents, as much as a context may have together."""
        found = []
        left = self._settings.qa.qa_chars
        for one in documents:
            text = one.stored.part(0, left + 1)
            if len(text) > left:
                length = one.stored.length()
                truncated.append(f"{one.hit.collection}/{one.hit.id}: {left} of {length} characters were read")
            found.append(Text(text[:left], one.stored.language, AnswerDocument.of(one.hit)))
            left -= len(found[-1].text)
        return found


def _field(request: QaQuery) -> str:
    return "question" if request.statement is None else "statement"


def _detected(
    name: str,
    text: str,
    reader: PackedReader,
    degraded: list[Degraded],
    likely: str | None = None,
    readers: Sequence[str] = (),
) -> Detection:
    """The language of a text, which the reader need not have learned; a guess is reported.

    A question is more often in the language of its context, `likely`, than in another one.
    """
    candidates = {FALLBACK, *reader.languages, *NEIGHBOURS} if reader.languages else {FALLBACK}
    found = detect(text, candidates, lambda language, word: False, lambda language: float(language == likely), readers)
    if not found.decided:
        degraded.append(Degraded.of("detect", f"{name}: {undecided(found.language)}", "undecided"))
    return found


def _note_unlearned(languages: Sequence[tuple[str, str]], reader: PackedReader, degraded: list[Degraded]) -> None:
    """Name the fields in languages that the reader did not learn from; a reader may not say what it learned."""
    for name, language in languages:
        if reader.languages and language not in reader.languages:
            reason = f"{name}: {reader.name} did not learn to read {language!r}"
            degraded.append(Degraded.of(STAGE, reason, "language"))
